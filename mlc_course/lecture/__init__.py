"""How is a lesson given in a hall, from slides that go on when the kernel does not?

The slides are the cells of the lesson's notebook (``slides``). What they showed when they were
recorded (``recording``, ``widget_answers``) is on the wall before a kernel has started, and after
one has died. ``page`` makes one HTML page of both, ``server`` serves it beside the kernels, and
``poll`` lets the hall vote. Read ``slides`` first.
"""

from mlc_course.lecture.page import build
from mlc_course.lecture.poll import Poll
from mlc_course.lecture.recording import (
    VIEW,
    Recording,
    load,
    outdated,
    path_of,
    record,
    recordings,
)
from mlc_course.lecture.server import serve
from mlc_course.lecture.slides import Cell, Deck, Place, Slide, lesson_notebook, read_deck
from mlc_course.lecture.widget_answers import answers, write_answers

__all__ = [
    "Cell",
    "Deck",
    "Place",
    "Poll",
    "Recording",
    "Slide",
    "VIEW",
    "answers",
    "build",
    "lesson_notebook",
    "load",
    "outdated",
    "path_of",
    "read_deck",
    "record",
    "recordings",
    "serve",
    "write_answers",
]

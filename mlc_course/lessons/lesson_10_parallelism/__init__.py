"""Lesson 10: who waits for whom? The task timeline, and the lesson's programs.

``programs`` has the programs and counts who writes what; ``sentences`` says what came out;
``blanks`` and ``checks`` judge what the reader writes.
"""

from mlc_course.lessons.lesson_10_parallelism import blanks, checks, programs, sentences
from mlc_course.lessons.lesson_10_parallelism.task_timeline import TaskTimeline
from mlc_course.lessons.lesson_10_parallelism.timeline_picture import gantt_svg, owners_svg

__all__ = [
    "TaskTimeline",
    "blanks",
    "checks",
    "gantt_svg",
    "owners_svg",
    "programs",
    "sentences",
]

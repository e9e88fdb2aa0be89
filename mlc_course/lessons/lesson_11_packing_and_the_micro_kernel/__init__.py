"""Lesson 11: how does a program pass NumPy? The ladder as a widget, and the lesson's programs.

``kernels`` has the programs, in sizes of this machine; ``sentences`` and ``story`` say what came
out; ``blanks`` and ``checks`` judge what the reader writes.
"""

from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import (
    blanks,
    checks,
    kernels,
    ladder_widget,
    sentences,
    story,
)
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.ladder_widget import LadderWidget
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.sets_picture import (
    Layout,
    sentence,
    sets_svg,
)
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.tile_race import (
    order_sentence,
    race_svg,
    spill_sentence,
)

__all__ = [
    "LadderWidget",
    "Layout",
    "blanks",
    "checks",
    "kernels",
    "ladder_widget",
    "order_sentence",
    "race_svg",
    "sentence",
    "sentences",
    "sets_svg",
    "spill_sentence",
    "story",
]

"""Lesson 15: what does a GPU do with a kernel? The access meter, and eight puzzles.

The box itself is ``mlc_course.mugraph.box``.
"""

from mlc_course.lessons.lesson_15_gpu_in_a_box.access_meter import AccessMeter
from mlc_course.lessons.lesson_15_gpu_in_a_box.count_pictures import (
    compared,
    transactions_svg,
    transpose_sentence,
    wavefronts_svg,
    without_barriers,
)
from mlc_course.lessons.lesson_15_gpu_in_a_box.gpu_picture import gpu_svg, gpu_words
from mlc_course.lessons.lesson_15_gpu_in_a_box.puzzles import PUZZLES, attempt, verdict

__all__ = [
    "AccessMeter",
    "PUZZLES",
    "attempt",
    "compared",
    "gpu_svg",
    "gpu_words",
    "transactions_svg",
    "transpose_sentence",
    "verdict",
    "wavefronts_svg",
    "without_barriers",
]

"""Lesson 2: what does a block promise? The block inspector, and programs that lie."""

from mlc_course.lessons.lesson_02_tensor_program_abstraction import blanks, checks
from mlc_course.lessons.lesson_02_tensor_program_abstraction.block_inspector import BlockInspector
from mlc_course.lessons.lesson_02_tensor_program_abstraction.inspection_picture import inspector_svg
from mlc_course.lessons.lesson_02_tensor_program_abstraction.judges import judged, refusal
from mlc_course.lessons.lesson_02_tensor_program_abstraction.order_freedom import (
    Freedom,
    by_iterations,
    by_kinds,
)
from mlc_course.lessons.lesson_02_tensor_program_abstraction.order_picture import pairs_svg
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE, remark
from mlc_course.lessons.lesson_02_tensor_program_abstraction.small_programs import SMALL

__all__ = [
    "BlockInspector",
    "Freedom",
    "ONE",
    "SMALL",
    "blanks",
    "by_iterations",
    "by_kinds",
    "checks",
    "inspector_svg",
    "judged",
    "pairs_svg",
    "refusal",
    "remark",
]

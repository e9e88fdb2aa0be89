"""Lesson 2: what does a block promise? The block inspector, and programs that lie."""

from mlc_course.lessons.lesson_02_tensor_program_abstraction.block_inspector import BlockInspector
from mlc_course.lessons.lesson_02_tensor_program_abstraction.inspection_picture import inspector_svg
from mlc_course.lessons.lesson_02_tensor_program_abstraction.judges import judged
from mlc_course.lessons.lesson_02_tensor_program_abstraction.order_freedom import (
    Freedom,
    by_iterations,
    by_kinds,
)
from mlc_course.lessons.lesson_02_tensor_program_abstraction.remarks import ONE, remark
from mlc_course.lessons.lesson_02_tensor_program_abstraction.small_programs import SMALL

__all__ = [
    "BlockInspector",
    "Freedom",
    "ONE",
    "SMALL",
    "by_iterations",
    "by_kinds",
    "inspector_svg",
    "judged",
    "remark",
]

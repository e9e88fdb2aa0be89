"""Lesson 1: a network as tensor functions, from development form to deployment form."""

from mlc_course.lessons.lesson_01_primitive_tensor_functions import (
    blanks,
    checks,
    counts,
    deployment,
    loop_forms,
    numpy_forms,
    pictures,
)
from mlc_course.lessons.lesson_01_primitive_tensor_functions.functions_picture import digits_svg
from mlc_course.lessons.lesson_01_primitive_tensor_functions.network_explorer import (
    FunctionExplorer,
)
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import (
    along_rows,
    chains,
)

__all__ = [
    "FunctionExplorer",
    "along_rows",
    "blanks",
    "chains",
    "checks",
    "counts",
    "deployment",
    "digits_svg",
    "loop_forms",
    "numpy_forms",
    "pictures",
]

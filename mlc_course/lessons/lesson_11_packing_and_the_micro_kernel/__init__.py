"""Lesson 11: how does a program pass NumPy? The ladder, as a widget."""

from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import ladder_widget
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.ladder_widget import LadderWidget

__all__ = [
    "LadderWidget",
    "ladder_widget",
]

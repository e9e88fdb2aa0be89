"""Lesson 0: which of many readings is the time of a program? The noise lab."""

from mlc_course.lessons.lesson_00_measuring_honestly.noise_lab import NoiseLab
from mlc_course.lessons.lesson_00_measuring_honestly.readings_picture import readings_svg

__all__ = [
    "NoiseLab",
    "readings_svg",
]

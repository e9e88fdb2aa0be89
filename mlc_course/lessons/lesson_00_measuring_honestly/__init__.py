"""Lesson 0: which of many readings is the time of a program? The noise lab."""

from mlc_course.lessons.lesson_00_measuring_honestly import blanks, checks, figures, logs
from mlc_course.lessons.lesson_00_measuring_honestly.noise_lab import NoiseLab
from mlc_course.lessons.lesson_00_measuring_honestly.readings_picture import (
    readings_html,
    readings_svg,
)

__all__ = [
    "NoiseLab",
    "blanks",
    "checks",
    "figures",
    "logs",
    "readings_html",
    "readings_svg",
]

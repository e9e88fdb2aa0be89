"""Lesson 17: how good is one test? The evidence meter, at primes small enough to err."""

from mlc_course.lessons.lesson_17_finite_field_verification.evidence import (
    LOWEST,
    Evidence,
    above,
    accepted,
    draw_tiny,
    needed,
    recorded,
    tiny_levels,
    trial,
    zeros,
)
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_meter import EvidenceMeter
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_picture import evidence_svg
from mlc_course.lessons.lesson_17_finite_field_verification.fixed_field import P, Q, accepts
from mlc_course.lessons.lesson_17_finite_field_verification.formula_text import written_as
from mlc_course.lessons.lesson_17_finite_field_verification.tower_picture import tower_svg
from mlc_course.lessons.lesson_17_finite_field_verification.zeros_picture import zeros_svg

__all__ = [
    "Evidence",
    "EvidenceMeter",
    "LOWEST",
    "P",
    "Q",
    "above",
    "accepted",
    "accepts",
    "draw_tiny",
    "evidence_svg",
    "needed",
    "recorded",
    "tiny_levels",
    "tower_svg",
    "trial",
    "written_as",
    "zeros",
    "zeros_svg",
]

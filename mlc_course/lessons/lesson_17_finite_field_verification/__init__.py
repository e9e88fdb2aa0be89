"""Lesson 17: how good is one test? The evidence meter, at primes small enough to err."""

from mlc_course.lessons.lesson_17_finite_field_verification import blanks, checks
from mlc_course.lessons.lesson_17_finite_field_verification.conjugates_picture import (
    conjugates_svg,
    norm,
    of_order,
)
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import (
    LOWEST,
    Evidence,
    above,
    accepted,
    beyond_luck,
    draw_tiny,
    needed,
    recorded,
    tiny_levels,
    trial,
    zeros,
)
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_meter import EvidenceMeter
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_picture import evidence_svg
from mlc_course.lessons.lesson_17_finite_field_verification.fixed_field import (
    HEAD,
    P,
    Q,
    accepts,
    always_passes,
    verdicts,
)
from mlc_course.lessons.lesson_17_finite_field_verification.formula_text import written_as
from mlc_course.lessons.lesson_17_finite_field_verification.rewrites import LOOPED, PROGRAM
from mlc_course.lessons.lesson_17_finite_field_verification.tower_picture import (
    exp_tower_svg,
    tower_svg,
)
from mlc_course.lessons.lesson_17_finite_field_verification.zeros_picture import zeros_svg

__all__ = [
    "Evidence",
    "EvidenceMeter",
    "HEAD",
    "LOOPED",
    "LOWEST",
    "P",
    "PROGRAM",
    "Q",
    "above",
    "accepted",
    "accepts",
    "always_passes",
    "beyond_luck",
    "blanks",
    "checks",
    "conjugates_svg",
    "draw_tiny",
    "evidence_svg",
    "exp_tower_svg",
    "needed",
    "norm",
    "of_order",
    "recorded",
    "tiny_levels",
    "tower_svg",
    "trial",
    "verdicts",
    "written_as",
    "zeros",
    "zeros_svg",
]

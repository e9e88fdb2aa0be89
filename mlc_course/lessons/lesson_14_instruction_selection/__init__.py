"""Lesson 14: may the compiler use this instruction? The candidate race, from tests to the proof.

Read ``candidate_races`` first: candidates that a search kept, and what refuted each; ``survey``
runs them. ``standing_picture`` draws how long each one stood, ``bits_picture`` the input that
refuted it, and ``candidate_race`` is the widget. ``registers_picture`` draws a whole program.
"""

from mlc_course.lessons.lesson_14_instruction_selection.bits_picture import bits_said, bits_svg
from mlc_course.lessons.lesson_14_instruction_selection.candidate_race import CandidateRace
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import (
    PROOF,
    RACED,
    STOPS,
    Candidate,
    Race,
    Sample,
    race_for,
)
from mlc_course.lessons.lesson_14_instruction_selection.registers_picture import (
    register_picture,
    register_said,
)
from mlc_course.lessons.lesson_14_instruction_selection.standing_picture import (
    candidates_svg,
    curve_said,
    curve_svg,
)
from mlc_course.lessons.lesson_14_instruction_selection.survey import run_race

__all__ = [
    "Candidate",
    "CandidateRace",
    "PROOF",
    "Race",
    "STOPS",
    "Sample",
    "bits_said",
    "bits_svg",
    "candidates_svg",
    "curve_said",
    "curve_svg",
    "race_for",
    "RACED",
    "register_picture",
    "register_said",
    "run_race",
]

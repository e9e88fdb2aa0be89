"""Lesson 14: may the compiler use this instruction? The candidate race, from tests to the proof.

Read ``races`` first: candidates that a search kept, and what refuted each; ``survey`` runs them.
``standing_picture`` draws how long each one stood, ``bits_picture`` the input that refuted it, and
``candidate_race`` is the widget.
"""

from mlc_course.lessons.lesson_14_instruction_selection.bits_picture import bits_said, bits_svg
from mlc_course.lessons.lesson_14_instruction_selection.candidate_race import CandidateRace
from mlc_course.lessons.lesson_14_instruction_selection.races import (
    PROOF,
    STOPS,
    Candidate,
    Race,
    Sample,
    recorded_race,
    recorded_races,
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
    "recorded_race",
    "recorded_races",
    "run_race",
]

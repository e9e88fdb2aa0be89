"""Lesson 14: may the compiler use this instruction? The candidate race, from tests to the proof.

Read ``races`` first: candidates that a search kept, and what refuted each. ``standing_picture``
draws how long each one stood, ``bits_picture`` the input that refuted it, ``candidate_race`` is the
widget. ``register_picture`` draws a program on whole registers.
"""

from mlc_course.lessons.lesson_14_instruction_selection.candidate_race import CandidateRace

__all__ = ["CandidateRace"]

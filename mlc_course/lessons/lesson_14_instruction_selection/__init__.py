"""Lesson 14: may the compiler use this instruction? The candidate race, from tests to the proof.

Read ``candidate_races`` first: candidates that a search kept, and what refuted each; ``survey``
runs them. ``standing_picture`` draws how long each one stood, ``bits_picture`` the input that
refuted it, and ``candidate_race`` is the widget; ``registers_picture`` draws a whole program.
``standing`` holds a reader's programs, which ``program_text`` reads, against tests and the proof.
``loop_races`` and ``bytes_matmul`` are timed or recorded; ``rows`` and ``hunted`` are for the
exercises.
"""

from mlc_course.lessons.lesson_14_instruction_selection import blanks, checks
from mlc_course.lessons.lesson_14_instruction_selection.bits_picture import bits_said, bits_svg
from mlc_course.lessons.lesson_14_instruction_selection.bytes_matmul import (
    matmul_race,
    matmul_schedule,
    record_matmul,
)
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
from mlc_course.lessons.lesson_14_instruction_selection.hunted import (
    DOT,
    THREE,
    TO_REFUTE,
    packed,
    without_permutation,
)
from mlc_course.lessons.lesson_14_instruction_selection.last_words import last_sentence
from mlc_course.lessons.lesson_14_instruction_selection.loop_races import (
    LoopRace,
    loop_race,
    record,
    recorded_race,
)
from mlc_course.lessons.lesson_14_instruction_selection.program_text import read_program
from mlc_course.lessons.lesson_14_instruction_selection.registers_picture import (
    register_picture,
    register_said,
)
from mlc_course.lessons.lesson_14_instruction_selection.rows import TO_WRITE
from mlc_course.lessons.lesson_14_instruction_selection.shipped_intrinsic import tvm_dot
from mlc_course.lessons.lesson_14_instruction_selection.standing import (
    judged,
    searched,
    standing_table,
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
    "DOT",
    "LoopRace",
    "PROOF",
    "RACED",
    "Race",
    "STOPS",
    "Sample",
    "THREE",
    "TO_REFUTE",
    "TO_WRITE",
    "bits_said",
    "bits_svg",
    "blanks",
    "candidates_svg",
    "checks",
    "curve_said",
    "curve_svg",
    "judged",
    "last_sentence",
    "loop_race",
    "matmul_race",
    "matmul_schedule",
    "packed",
    "race_for",
    "read_program",
    "record",
    "record_matmul",
    "recorded_race",
    "register_picture",
    "register_said",
    "run_race",
    "searched",
    "standing_table",
    "tvm_dot",
    "without_permutation",
]

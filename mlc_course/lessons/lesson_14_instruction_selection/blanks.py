"""The lines that the reader of lesson 14 writes: a program, and a probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlc_course.exercise import called, given, returns
from mlc_course.grading.checks import Examined
from mlc_course.instruction_selection.spec import entry
from mlc_course.lessons.kit import Blank, asks
from mlc_course.lessons.lesson_14_instruction_selection.hunted import check_proved, read_answer


@dataclass(frozen=True)
class IsProved:
    """A program that computes a specification of the catalogue for all inputs."""

    name: str
    hint: str
    kind: ClassVar[str] = "proof"

    def judge(self, answer: Examined) -> str:
        cell = entry(self.name).specification.cell
        program = read_answer(answer.value, cell, "your program")
        check_proved(cell, program, "your program", self.hint)
        count = len(program.instructions)
        return f"equal for all 65,536 inputs, in {count} instruction{'s' * (count != 1)}"


floor = Blank(
    asks(given, IsProved("avg_floor_u8", "when is the rounded average one too large?")),
    (
        "The rounded average is (A + B + 1) >> 1. It is one too large where A + B is odd.",
        "Modulo 256, A + B is the rounded average plus the average rounded down.",
        "So take pavgb(A, B) away from paddb(A, B); psubb subtracts.",
    ),
    'floored = "psubb(paddb(A, B), pavgb(A, B))"',
)
exposed = Blank(
    asks(
        called,
        returns(1, result=2.0**-32, hint="one pair of 2**32 is the wrong one"),
        returns(
            1e6,
            result=1 - (1 - 2.0**-32) ** 1_000_000,
            hint="not to expose it, all tests have to miss",
        ),
        returns(2.0**33, result=1 - (1 - 2.0**-32) ** 2.0**33, hint="no probability is above 1"),
    ),
    (
        "How likely is it that one test misses? And that all of them do, independently?",
        "One test misses with 1 - 2**-32, so all miss with (1 - 2**-32) ** tests.",
    ),
    "return 1 - (1 - 2**-32) ** tests",
)

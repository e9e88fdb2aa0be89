"""A check of programs that several exercises share: nothing is computed again and again."""

from __future__ import annotations

from mlc_course.errors import UnmetCheck
from mlc_course.grading.process import Program
from mlc_course.tensor_program.processor import flops

# In units of the problem's operations. Partial sums that are added at the end take up to 1.01; what
# computes a stage of a fused program twice 1.06 or more, and sums in two halves 1.5.
MOST_WORK = 1.03


def check_work(program: Program, share: float = MOST_WORK) -> None:
    """Raise ``UnmetCheck`` for more operations on floats than this share of the problem's.

    Ratios such as loads for each multiply-add say nothing about a program with idle arithmetic.
    """
    most, found = int(share * program.problem.flops), flops(program.module)
    if found > most:
        raise UnmetCheck(
            "the program computes more than its problem asks for",
            expected=f"at most {most:,} operations; the problem has {program.problem.flops:,}",
            got=f"{found:,}",
            hint="which loop is the repeated work in, and how often does it run?",
        )

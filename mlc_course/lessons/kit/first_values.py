"""A check of programs that several exercises share: no buffer is read before it is written."""

from __future__ import annotations

from mlc_course.errors import UnmetCheck
from mlc_course.grading.process import Program
from mlc_course.tensor_program.tir import accesses


def begun(program: Program) -> str:
    """Check that every buffer but X is written before it is read.

    Raises ``UnmetCheck`` for the first one that is not.
    """
    seen = {"X"}
    for each in accesses(program.module):
        if each.buffer not in seen and not each.writes:
            raise UnmetCheck(
                f"{each.buffer} is read before anything is written to it",
                expected="a first value",
                got=f"whatever the memory of {each.buffer} holds",
                hint="memory does not start out as zeros",
            )
        seen.add(each.buffer)
    return "every buffer has a first value"

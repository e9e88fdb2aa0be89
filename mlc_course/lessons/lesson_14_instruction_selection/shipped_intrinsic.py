"""TVM's own dot product of bytes: what its description says, and what its instructions compute."""

from __future__ import annotations

from mlc_course.instruction_selection.tvm_intrinsics import IntrinsicRun, run_intrinsic
from mlc_course.lessons.lesson_14_instruction_selection.recorded import recorded

NAME = "dot_16x4_avx512"
A, B = 255, 127  # of which the recording has the processor's answer


def tvm_dot(a: int = A, b: int = B) -> IntrinsicRun:
    """Run TVM's intrinsic where all lanes of A are ``a`` and all of B are ``b``, and print it.

    Raises:
        UsageError: a value is outside its type.
    """
    found = run_intrinsic(NAME, {"A": a, "B": b})
    print(f"A = {a}, B = {b}, four products added to 0")
    print(f"its description            {found.described[0]:>8,}")
    print(f"its three instructions     {found.implemented[0]:>8,}   on exact integers")
    if found.processor is not None:
        print(f"this processor             {found.processor[0]:>8,}")
    elif (a, b) == (A, B):
        kept = recorded("tvm_dot")
        where = f"{kept['machine']}, {kept['date']}"
        print(f"a processor with AVX-512   {kept['processor']:>8,}   recorded: {where}")
    return found

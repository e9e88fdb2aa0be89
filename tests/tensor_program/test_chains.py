from __future__ import annotations

import pytest

from mlc_course.tensor_program.assembly import read_assembly
from mlc_course.tensor_program.chains import longest_chain


def chain(*instructions: str) -> int:
    """The longest chain of a function of these instructions, without a loop."""
    body = "\n".join(f"\t{each}" for each in instructions)
    return longest_chain(read_assembly(f"\t.cfi_startproc\n{body}\n\t.cfi_endproc\n", "any"))


@pytest.mark.parametrize(
    ("length", "instructions"),
    [
        (2, ["vaddps (%rdi), %zmm0, %zmm0", "vaddps 64(%rdi), %zmm0, %zmm0"]),
        (1, ["vaddps (%rdi), %zmm0, %zmm0", "vaddps 64(%rdi), %zmm1, %zmm1"]),
        # The same registers under their shorter names.
        (2, ["vaddps %zmm1, %zmm0, %zmm0", "vaddss %xmm1, %xmm0, %xmm0"]),
        # A multiply-add reads its destination, an addition with three operands does not.
        (2, ["vfmadd231ps %zmm1, %zmm2, %zmm0", "vfmadd231ps %zmm3, %zmm4, %zmm0"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vaddps %zmm3, %zmm4, %zmm0"]),
        (2, ["addps %xmm1, %xmm0", "addps %xmm2, %xmm0"]),  # SSE: two operands
        # A move passes a chain on; a load ends it.
        (2, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps %zmm0, %zmm5", "vaddps %zmm5, %zmm5, %zmm6"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps (%rdi), %zmm0", "vaddps %zmm0, %zmm1, %zmm3"]),
        (1, ["vaddps %zmm1, %zmm2, %zmm0", "vmovaps %zmm0, (%rdi,%rcx,4)"]),
        # A chain may go on in other registers.
        (3, [f"vfmadd132ps (%r9), %zmm{i}, %zmm{i + 1}" for i in range(3)]),
        (2, ["vaddps (%rdi,%rax,4), %zmm0, %zmm1 {%k1}", "vmulps %zmm1, %zmm2, %zmm3"]),
        (2, ["fadd v0.4s, v0.4s, v1.4s", "fadd v0.4s, v0.4s, v2.4s"]),
        (1, ["ldp q3, q4, [x10]", "fadd v1.4s, v1.4s, v4.4s", "fadd v2.4s, v2.4s, v3.4s"]),
        (2, ["fmla v6.4s, v2.4s, v0.s[0]", "fmla v6.4s, v3.4s, v0.s[1]"]),
        (2, ["fmadd s2, s1, s3, s0", "fadd s4, s2, s5"]),
        (1, ["fmadd s2, s1, s3, s0", "fmadd s2, s4, s5, s0"]),
        (1, ["fadd v0.4s, v1.4s, v2.4s", "str q0, [x0, x8, lsl #2]"]),
    ],
)
def test_the_longest_chain(length: int, instructions: list[str]) -> None:
    assert chain(*instructions) == length

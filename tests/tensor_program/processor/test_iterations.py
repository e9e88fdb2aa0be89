"""Counters are read from the text; what cannot be read is told as that."""

from __future__ import annotations

import pytest

from mlc_course.tensor_program.processor.control_flow import functions
from mlc_course.tensor_program.processor.iterations import Counters


def iterations(before: str, body: str) -> int | None:
    """The iterations of a loop, each instruction on a line of its own."""
    lines = [*before.split("; "), "LBB0_1:", *body.split("; "), "ret"]
    shown = "\n".join(each if each.endswith(":") else f"\t{each}" for each in lines if each)
    (found,) = functions(f"main:\n\t.cfi_startproc\n{shown}\n\t.cfi_endproc\n")
    (head,) = found.loops
    return Counters(found).iterations(head)


ONE = "addq $1, %rax; cmpq $64, %rax; jne LBB0_1"


@pytest.mark.parametrize(
    ("before", "body", "times"),
    [
        ("xorl %eax, %eax", ONE, 64),
        ("xorl %eax, %eax", "addq $16, %rax; cmpq $512, %rax; jne LBB0_1", 32),
        ("movq $-512, %rax", "addq $16, %rax; jne LBB0_1", 32),
        ("movl $7, %ecx", "decq %rcx; jne LBB0_1", 7),
        ("movl $7, %ecx", "decq %rcx; vaddps %ymm0, %ymm1, %ymm2; jne LBB0_1", 7),
        ("xorl %eax, %eax", "cmpq $63, %rax; leaq 1(%rax), %rax; jne LBB0_1", 64),
        ("xorl %eax, %eax", "cmpq $60, %rax; leaq 8(%rax), %rax; jb LBB0_1", 9),
        ("xorl %eax, %eax", "incq %rax; cmpq $10, %rax; jle LBB0_1", 11),
        ("movl $10, %eax", "decq %rax; cmpq $3, %rax; jg LBB0_1", 7),
        # The next value is made in another register; the counter lies on the stack.
        ("xorl %eax, %eax", "leaq 4(%rax), %rcx; cmpq $40, %rcx; movq %rcx, %rax; jne LBB0_1", 10),
        (
            "movq $0, 8(%rsp)",
            "movq 8(%rsp), %rax; addq $2, %rax; movq %rax, 8(%rsp); cmpq $20, %rax; jne LBB0_1",
            10,
        ),
        # The end is in a register, and stays.
        ("xorl %eax, %eax; movl $12, %edx", "incq %rax; cmpq %rdx, %rax; jne LBB0_1", 12),
        ("mov x8, xzr", "add x8, x8, #4; cmp x8, #1024; b.ne LBB0_1", 256),
        ("mov x8, xzr", "add x8, x8, #1, lsl #12; cmp x8, #4, lsl #12; b.ne LBB0_1", 4),
        ("mov w8, #9", "subs x8, x8, #1; b.ne LBB0_1", 9),
        ("mov w8, #9", "sub x8, x8, #1; cbnz x8, LBB0_1", 9),
        ("mov x8, xzr; mov w9, #32", "ldr q0, [x8], #16; cmp x8, x9; b.ne LBB0_1", 2),
        ("str xzr, [sp, #8]", "ldr x8, [sp, #8]; add x8, x8, #1; b.eq LBB0_1", None),
    ],
)
def test_a_counter_between_two_numbers_is_read(before: str, body: str, times: int | None) -> None:
    assert iterations(before, body) == times


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("", ONE),  # starts anywhere
        ("movq (%rdi), %rax", ONE),
        ("xorl %eax, %eax", "addq %rdx, %rax; cmpq $64, %rax; jne LBB0_1"),
        ("xorl %eax, %eax", "addq $1, %rax; cmpq %rdx, %rax; jne LBB0_1"),
        ("xorl %eax, %eax", "addq $1, %rax; addq (%rdi), %rax; cmpq $64, %rax; jne LBB0_1"),
        ("xorl %eax, %eax", "addq $3, %rax; cmpq $64, %rax; jne LBB0_1"),  # never there
        ("xorl %eax, %eax", "subq $1, %rax; cmpq $64, %rax; jne LBB0_1"),
        ("xorl %eax, %eax", "incq %rax; vucomiss %xmm0, %xmm1; jne LBB0_1"),
        # The end moves, too.
        (
            "xorl %eax, %eax; movl $64, %edx",
            "incq %rax; incq %rdx; cmpq %rdx, %rax; jne LBB0_1",
        ),
        # A second way out.
        ("xorl %eax, %eax", f"testq %rdx, %rdx; je LBB0_2; {ONE}; LBB0_2:"),
        # Two ways of counting, of which each iteration takes one.
        (
            "xorl %eax, %eax",
            f"testq %rdx, %rdx; je LBB0_2; incq %rax; LBB0_2:; {ONE}",
        ),
        ("mov x8, xzr", "whilelo p0.s, x8, x9; b.mi LBB0_1"),
    ],
)
def test_any_other_loop_runs_nobody_knows_how_often(before: str, body: str) -> None:
    assert iterations(before, body) is None

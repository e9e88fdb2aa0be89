"""Demands of the exercises of lesson 19, one function for each graded cell."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import check, check_parts, given, holds, same_program, seal, shown
from mlc_course.grading.checks import read
from mlc_course.lessons.lesson_19_from_graph_to_code.knobs import (
    GPU,
    crowded,
    form,
    loaded_bytes,
    waits,
    without_barriers,
)
from mlc_course.mugraph.codegen import retiled
from mlc_course.mugraph.kernel_checks import first_fault
from mlc_course.mugraph.kernels import Barrier, walk
from mlc_course.mugraph.programs import published
from mlc_course.mugraph.thread_kernels import lower_for_threads, thread_program

LETTERS = ["A", "B", "C", "D"]
SAYS = ("memory", "field", "nothing")
SEALS = {  # of the line, and of what refuses the kernel
    "A": ("8cf10acbd5e7", "ab49173ac81a"),
    "B": ("834840b5af92", "edcc45ab62a8"),
    "C": ("c5b58c7312fb", "13ff381123cf"),
    "D": ("ddbff17e4cd6", "97ec186d7510"),
}
PRODUCT = """
two_weights(X[b=16, d=1024], W[d, n=512], V[d, n]):
  wv = add(W, V)
  Y = matmul(X, wv)
  return Y
"""


def barriers(answer: Any) -> None:
    """Check that nothing races without these barriers, and that no other can go."""
    check(given(answer), holds(_enough, kind="races"))


def grid(answer: Any) -> None:
    """Check the four counts of a tiling."""
    check(given(answer), holds(_fits, kind="counts"))


def hunt(answer: Any) -> None:
    """Check how many of the changed lines, and of what refuses them, are right."""
    check(given(answer), holds(_found, kind="hunt"))


def once(answer: Any) -> None:
    """Check a graph that computes the same, and whose kernel waits once an iteration."""
    check(given(answer), same_program(PRODUCT), holds(_waits_once, kind="barriers"))


def _enough(value: Any) -> str:
    lowered = form(published("rms_norm_matmul_fused"), "no copies ahead").small().kernel
    kernel = crowded(lowered)
    count = sum(isinstance(each, Barrier) for each in walk(kernel.body))
    numbers: list[Any] = value if type(value) is list else [None]
    known = all(type(n) is int and 0 <= n < count for n in numbers)
    if not known or len(set(numbers)) < len(numbers):
        expected = f"a list of different numbers from 0 to {count - 1}"
        raise UnmetCheck("not a list of barriers", expected=expected, got=shown(value))
    left = without_barriers(kernel, set(numbers))
    fault = first_fault(left)
    if fault:
        raise UnmetCheck("without these, it is wrong", expected="no fault", got=str(fault)[:200])
    least, now = waits(lowered.body), waits(left.body)
    if now > least:
        expected = f"at most {least} waits of a block, of four iterations"
        raise UnmetCheck("right, but it waits too often", expected=expected, got=now)
    return f"no race, and a block waits {now} times, not {waits(kernel.body)}"


def _fits(value: Any) -> str:
    if type(value) is not dict or sorted(map(str, value)) != ["k", "x"]:
        raise UnmetCheck("not two tiles", expected='{"x": ..., "k": ...}', got=shown(value))
    for axis, most in (("x", 512), ("k", 4096)):
        n = value[axis]
        if type(n) is not int or not 8 <= n <= most or n % 8:
            expected = f"a multiple of 8, up to {most}"
            raise UnmetCheck(f"{axis} is not a tile", expected=expected, got=shown(n))
    if 4096 % value["k"]:
        raise UnmetCheck("k does not divide 4096", expected="a divisor", got=shown(value["k"]))
    if value["x"] * value["k"] > 1 << 15:
        got = f"{2 * value['x'] * value['k']:,} bytes"
        raise UnmetCheck("a tile of W that fits no block", expected="at most 65,536", got=got)
    graph = published("rms_norm_matmul_fused")
    tiling = retiled(graph, 0, value)
    kernel = lower_for_threads(graph, 0, tiling, GPU)
    if kernel.blocks < 132:
        raise UnmetCheck("too few blocks", expected="at least 132", got=f"{kernel.blocks:,}")
    for what, n, most in (
        ("many bytes loaded by all blocks", loaded_bytes(graph, 0, tiling), 80_000_000),
        ("many bytes of shared memory", kernel.shared_bytes, 80_000),
        ("many waits of a block", waits(kernel.body), 40),
    ):
        if n > most:
            raise UnmetCheck(f"too {what}", expected=f"at most {most:,}", got=f"{n:,}")
    return f"{kernel.blocks} blocks, {kernel.shared_bytes:,} bytes each, all four within bounds"


def _found(value: Any) -> str:
    """Count the lines and checks that are right, without telling which."""
    check_parts(value, LETTERS)
    for letter, answer in value.items():
        parts = answer if type(answer) is list and len(answer) == 2 else [None, None]
        if type(parts[0]) is not int or not 1 <= parts[0] <= 54:
            expected = "[line, check], with a line from 1 to 54"
            raise UnmetCheck(f"{letter}: not a line", expected=expected, got=shown(answer))
        if parts[1] not in SAYS:
            raise UnmetCheck(f"{letter}: not a check", expected=" | ".join(SAYS), got=shown(answer))
    lines, checks = (
        sum(seal(str(value[letter][n]), letter) == SEALS[letter][n] for letter in LETTERS)
        for n in range(2)
    )
    if lines + checks < 2 * len(LETTERS):
        raise UnmetCheck(
            f"{lines} of 4 lines and {checks} of 4 checks are right",
            hint="compare the four listings line by line: three of them agree on each line",
        )
    return "all four lines, and what refuses each"


def _waits_once(text: Any) -> str:
    graph = read(text)
    blocks = [block for _, block in graph.blocks]
    shape = [(dict(each.grid), dict(each.loops)) for each in blocks]
    if len(graph.equations) != 1 or shape != [({"x": 8}, {"k": 16})]:
        expected = "one block graph, grid(x=8) loop(k=16)"
        raise UnmetCheck(
            "another grid or loop, or more kernels", expected=expected, got=shown(shape)
        )
    (kernel,) = thread_program(graph, GPU).program.kernels
    count = waits(kernel.body)
    if count > 16:
        hint = "what do threads hand to each other before the product?"
        raise UnmetCheck(
            "a block waits too often", expected="at most 16 times", got=count, hint=hint
        )
    return f"a block waits {count} times"

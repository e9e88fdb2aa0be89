"""Lesson 2's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent

import pytest
from answers import Complain

ASSIGNMENT = "02_tensor_program_abstraction"


def program(name: str, body: str, **buffers: str) -> str:
    given = ", ".join(f'{b}: T.Buffer({shape}, "float32")' for b, shape in buffers.items())
    return f"@T.prim_func(s_tir=True)\ndef {name}({given}):\n{indent(body.strip(), '    ')}\n"


def broadcast(
    *,
    grid: str = "24, 16",
    block: str = "C",
    kinds: str = "SS",
    value: str = "A[vi, 0] + B[vj]",
    a: str = "(24, 1)",
) -> str:
    body = f"""
for i, j in T.grid({grid}):
    with T.sblock("{block}"):
        vi, vj = T.axis.remap("{kinds}", [i, j])
        C[vi, vj] = {value}
"""
    return program("broadcast_add", body, A=a, B="(16,)", C="(24, 16)")


NO_BLOCK = program(
    "broadcast_add",
    "for i, j in T.grid(24, 16):\n    C[i, j] = A[i, 0] + B[j]",
    A="(24, 1)",
    B="(16,)",
    C="(24, 16)",
)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (broadcast(kinds="SR"), "got       SR"),
        (broadcast(value="A[vi, 0] + B[vi]"), "the index leaves the buffer"),
        (broadcast(value="A[vi, vj] + B[vj]"), "which index is always 0?"),
        (broadcast(value="A[vi, 0] * B[vj]"), "C[0, 0] is wrong, and so are"),
        (broadcast(value="A[vi, 0]"), "one element of A plus one of B"),
        (broadcast(grid="16, 16"), "it is never written"),
        (broadcast(block="update"), "no block 'C'"),
        (broadcast(a="(24,)", value="A[vi] + B[vj]"), "other parameters than the problem"),
        (NO_BLOCK, "loops alone"),
        ("def broadcast_add(A, B):\n    return A + B", "an answer of another kind"),
    ],
)
def test_broadcasts(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "broadcast-test", answer, hidden=False)


def test_another_broadcast(complain: Complain) -> None:
    body = """
for j in range(16):
    for i in T.parallel(24):
        with T.sblock("C"):
            row = T.axis.spatial(24, i)
            column = T.axis.spatial(16, j)
            C[row, column] = B[column] + A[row, 0]
"""
    answer = program("broadcast_add", body, A="(24, 1)", B="(16,)", C="(24, 16)")
    assert not complain(ASSIGNMENT, "broadcast-test", answer)


def kinds(**changed: object) -> str:
    right = {"column_max": "RS", "outer": "SS", "matmul": "RSS", "depthwise": "SSR"}
    return f"letters = {right | changed}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("letters = ['RS', 'SS', 'RSS', 'SSR']", "not an answer to every part"),
        (kinds(scan="SS"), "not an answer to every part"),
        (kinds(outer="ss"), "not one of the choices"),
        (kinds(outer=["S", "S"]), "not one of the choices"),
        (kinds(depthwise="SS"), "3 of 4 are right"),
        (kinds(column_max="SR"), "3 of 4 are right"),
        (kinds(matmul="SSR"), "3 of 4 are right"),
        (kinds(depthwise="SRR"), "3 of 4 are right"),
    ],
)
def test_kinds(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "axis-kinds-test", answer, hidden=False)


def test_what_is_visible_does_not_tell_which_kinds_are_right(complain: Complain) -> None:
    said = complain(ASSIGNMENT, "axis-kinds-test", kinds(column_max="SR"), hidden=False)
    assert said.startswith("✘ 3 of 4 are right")
    assert "column_max" not in said


def product(
    *,
    order: str = "i, j, k",
    kinds: str = "SSR",
    init: str = "with T.init():\n    C[vi, vj] = T.float32(0)",
    b: str = "B[vk, vj]",
) -> str:
    axes = ", ".join(f"v{name}" for name in order.split(", "))
    body = f"""
for {order} in T.grid(16, 16, 16):
    with T.sblock("C"):
        {axes} = T.axis.remap("{kinds}", [{order}])
{indent(init, " " * 8)}
        C[vi, vj] = C[vi, vj] + A[vi, vk] * {b}
"""
    return program("product", body, A="(16, 16)", B="(16, 16)", C="(16, 16)")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (product(kinds="SSS", init="", b="B[vj, vk]"), "the axes of block C have other kinds"),
        (product(kinds="SSS"), "the axes of block C have other kinds"),
        (product(kinds="SRS"), "axis vj of block C is declared R"),
        (product(init=""), "the sums have no first value"),
        (product(b="B[vj, vk]"), "row i of A times column j of B"),
        (product(init="with T.init():\n    C[vi, vj] = T.float32(1)"), "C[0, 0] is wrong"),
        ("product = colleagues_product = None", "there is no answer yet"),
    ],
)
def test_products(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "bug-hunt-test", answer, hidden=False)


TWO_BLOCKS = """
for i, j in T.grid(16, 16):
    with T.sblock("zero"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = T.float32(0)
for k, i, j in T.grid(16, 16, 16):
    with T.sblock("C"):
        vk, vi, vj = T.axis.remap("RSS", [k, i, j])
        C[vi, vj] += A[vi, vk] * B[vk, vj]
"""


LOOPS_AND_A_BLOCK = """
for i, j in T.grid(16, 16):
    C[i, j] = T.float32(0)
for i, j, k in T.grid(16, 16, 16):
    with T.sblock("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


@pytest.mark.parametrize(
    "answer",
    [
        product(order="i, k, j", kinds="SRS"),
        product(init="with T.init():\n    C[vi, vj] = 0"),
        program("product", TWO_BLOCKS, A="(16, 16)", B="(16, 16)", C="(16, 16)"),
        program("product", LOOPS_AND_A_BLOCK, A="(16, 16)", B="(16, 16)", C="(16, 16)"),
    ],
    ids=["another order", "an integer zero", "two blocks", "zeros by loops alone"],
)
def test_other_products(complain: Complain, answer: str) -> None:
    assert not complain(ASSIGNMENT, "bug-hunt-test", answer)


def convolution(
    *,
    columns: int = 16,
    kinds: str = "SSRR",
    init: str = "with T.init():\n    Y[vo, vi] = T.float32(0)",
    value: str = "X[vc, vi + vr] * W[vo, vc, vr]",
) -> str:
    body = f"""
for o, i, c, r in T.grid(4, {columns}, 3, 5):
    with T.sblock("Y"):
        vo, vi, vc, vr = T.axis.remap("{kinds}", [o, i, c, r])
{indent(init, " " * 8)}
        Y[vo, vi] = Y[vo, vi] + {value}
"""
    return program("convolution", body, X="(3, 20)", W="(4, 3, 5)", Y=f"(4, {columns})")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (convolution(columns=20), "other parameters than the problem"),
        (convolution(columns=15), "other parameters than the problem"),
        (convolution(kinds="SSSR"), "the axes of block Y have other kinds"),
        (convolution(kinds="SSSS"), "the axes of block Y have other kinds"),
        (convolution(value="X[vc, vi - vr] * W[vo, vc, vr]"), "the index leaves the buffer"),
        (convolution(value="X[vc, vi + 4 - vr] * W[vo, vc, vr]"), "which X meets which W?"),
        (convolution(value="X[vc, vi] * W[vo, vc, vr]"), "which X meets which W?"),
        (convolution(init=""), "it is never written"),
    ],
)
def test_convolutions(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "convolution-test", answer, hidden=False)


def test_another_convolution(complain: Complain) -> None:
    flipped = convolution(value="W[vo, 2 - vc, 4 - vr] * X[2 - vc, vi + 4 - vr]")
    assert not complain(ASSIGNMENT, "convolution-test", flipped)


def strip(body: str) -> str:
    return program("strip", body, X="(3,)", W="(4,)", Y="(32,)")


def one_loop(value: str) -> str:
    return strip(f"""
for i in range(32):
    with T.sblock("Y"):
        v = T.axis.spatial(32, i)
        Y[v] = {value} * W[v // 8]
""")


def two_axes(loops: str, m: str, n: str, colour: str = "X[(v_n + 2) // 4]") -> str:
    return strip(f"""
for {loops}:
    with T.sblock("Y"):
        v_m = T.axis.spatial(4, {m})
        v_n = T.axis.spatial(8, {n})
        Y[v_m * 8 + v_n] = {colour} * W[v_m]
""")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (one_loop("X[(v % 8 + 2) // 4]"), "got       X[(i % 8 + 2) // 4]"),
        (two_axes("i in range(32)", "i // 8", "i % 8"), "got       X[(i % 8 + 2) // 4]"),
        (one_loop("X[(v + 2) % 8 // 4]"), "Y[6] is wrong, and so are 7 others of 32"),
        (one_loop("X[v % 8 // 4]"), "which colour belongs there?"),
        (one_loop("X[(v + 2) // 4 % 3]"), "Y[8] is wrong"),
        (one_loop("X[(v + 2) // 4]"), "the index leaves the buffer"),
        (
            two_axes("m, n in T.grid(4, 8)", "m", "n", "X[v_n // 3]"),
            "which stretch is this column in",
        ),
        ("def strip(X, W, Y):\n    Y[:] = X[1]", "an answer of another kind"),
    ],
)
def test_strips(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "strip-test", answer, hidden=False)


LOOPS_ALONE = """
for m in range(4):
    for n in range(2):
        Y[m * 8 + n] = X[0] * W[m]
        Y[m * 8 + 6 + n] = X[2] * W[m]
    for n in range(4):
        Y[m * 8 + 2 + n] = X[1] * W[m]
"""


@pytest.mark.parametrize(
    "answer",
    [
        one_loop("X[(v + 2) // 4 - v // 8 * 2]"),
        one_loop("T.if_then_else(v % 8 < 2, X[0], T.if_then_else(v % 8 < 6, X[1], X[2]))"),
        two_axes("n, m in T.grid(8, 4)", "m", "n"),
        strip("for m, n in T.grid(4, 8):\n    Y[m * 8 + n] = X[(n + 2) // 4] * W[m]"),
        strip(LOOPS_ALONE),
    ],
    ids=["a difference", "conditions", "another order", "no block", "loops alone"],
)
def test_other_strips(complain: Complain, answer: str) -> None:
    assert not complain(ASSIGNMENT, "strip-test", answer)


def test_the_right_kinds_are_those_of_the_printed_programs(
    solution: Callable[[str, str], str],
) -> None:
    answer: dict[str, dict[str, str]] = {}
    exec(solution(ASSIGNMENT, "axis-kinds"), answer)
    programs = solution(ASSIGNMENT, "axis-kinds-question").split("```")[1].split("\n\n")
    found = {}
    for text in programs:
        (name,) = re.findall(r"# (\w+):", text)
        (axes,) = re.findall(r"(v\w[, \w]*) = T.axis.remap", text)
        (target,) = re.findall(r"\w\[(.*?)\] = ", text)
        written = target.split(", ")
        found[name] = "".join("S" if axis in written else "R" for axis in axes.split(", "))
    assert found == answer["letters"]

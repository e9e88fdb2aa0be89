"""A mu-graph from elsewhere: what it is told, and what is refused before anything is computed."""

from __future__ import annotations

import time
from textwrap import indent
from typing import Any

import pytest

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks.mugraphs import MOST_HARD, MOST_OPERATORS, filled, read, same_program
from mlc_course.lessons.lesson_16_mu_graphs import example

HEAD = "f(X[b=4, d=8]):\n"
PROGRAM = f"{HEAD}  Y = square(X)\n  return Y"
SEVEN, ONE = example("seven_kernels"), example("one_kernel")
SECONDS = 5.0  # of a processor; each of these takes a few hundredths

FRAME = """
product(A[m=8, d=6], B[d, n=4]):
  block grid(x=2) loop(k=3):
    a = load(A, ...)
    b = load(B, ...)
    p = matmul(a, b)
    c = accumulate(p)
    C = store(c, ...)
  return C
"""
PRODUCT = "product(A[m=8, d=6], B[d, n=4]):\n  C = matmul(A, B)\n  return C"
MAPS = {
    "a": {"imap": {"x": 0}, "fmap": {"k": 1}},
    "b": {"fmap": {"k": 0}},
    "C": {"omap": {"x": 0}},
}


def lines(*equations: str) -> str:
    return HEAD + "".join(f"  {each}\n" for each in (*equations, "return Y"))


def chain(equation: str, length: int) -> str:
    """``equation`` over and over, each time of the value before."""
    names = ["X", *(f"v{n}" for n in range(length - 1)), "Y"]
    pairs = zip(names, names[1:], strict=False)
    return lines(*(f"{new} = {equation.format(old)}" for old, new in pairs))


def block(axes: str, *inside: str) -> str:
    return lines(f"block {axes}:", *(f"  {each}" for each in inside))


def complaint(program: str, answer: object, **limits: Any) -> str:
    """What the check says, which has to come soon."""
    began = time.thread_time()
    with pytest.raises(UnmetCheck) as caught:
        same_program(program, **limits).inspect(answer)
    assert time.thread_time() - began < SECONDS
    return str(caught.value)


def test_the_same_function_is_accepted_with_what_was_counted() -> None:
    said = same_program(SEVEN, kernels=1, shared=20_000, loaded=2_000_000).inspect(ONE)
    assert said.startswith("computes what seven_kernels does")
    assert ": kernels 1, shared memory 18,560 bytes, loaded 1,851,392 bytes" in said


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"kernels": 0}, "kernels\n  expected  at most 0\n  got       1"),
        (
            {"shared": 18_559},
            "shared memory of a block\n  expected  at most 18,559 bytes\n  got       18,560",
        ),
        ({"loaded": 1_000_000}, "bytes loaded\n  expected  at most 1,000,000 bytes"),
        ({"loaded_by_block": 1_000}, "bytes that one block loads, in kernel 'block Y'"),
    ],
)
def test_a_graph_beyond_a_limit_is_refused(limits: dict[str, int], words: str) -> None:
    assert words in complaint(SEVEN, ONE, **limits)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("W, imap={x: 1}", "W, imap={y: 1}", "18432 of 24576 elements differ"),
        ("1/d", "1/n", "0.866 times that, in every element"),
        ("1/d", "1/512", ""),
        ("1/d", "1/384", "0.866 times that, in every element"),
        ("sum(s, axis=1)", "mean(s, axis=1)", "5.657 times that, in every element"),
        ("k=16", "k=32", ""),
        ("sum(s, axis=1)", "sum(s, axis=0)", "elementwise: extents (in line 12:"),
        ("omap={x: 1, y: 0}", "omap={x: 1}", "all 4 blocks along y write the same place"),
        ("return Y", "return Y, Y", "other shapes of what is returned"),
        ("d=512", "d=256", "other inputs than those of seven_kernels"),
        ("G[1, d]", "H[1, d]", "nothing is called 'G' (in line 4:"),
    ],
)
def test_another_function_is_refused(old: str, new: str, words: str) -> None:
    text = ONE.replace(old, new)
    if words:
        assert words in complaint(SEVEN, text)
    else:
        assert same_program(SEVEN).inspect(text)


def test_a_mean_is_a_sum_with_a_scale() -> None:
    text = SEVEN.replace("r = sum(s, axis=1)\n", "m = mean(s, axis=1)\n")
    assert same_program(SEVEN).inspect(text.replace("  m = scale(r, by=1/d)\n", ""))


def test_a_text_may_be_indented_as_a_whole() -> None:
    assert same_program(indent(SEVEN, "    ")).inspect(indent(ONE, "  "))


def test_outputs_in_another_order_are_other_outputs() -> None:
    two = lines("Y = square(X)", "Z = neg(X)").replace("return Y", "return Y, Z")
    assert same_program(two).inspect(two)
    assert "output 0:" in complaint(two, two.replace("return Y, Z", "return Z, Y"))


HOSTILE = {
    "another kind": (None, "an answer of another kind"),
    "long": ("#" * 6001, "a text that is too long"),
    "many lines": ("\n" * 121, "a text that is too long"),
    "empty": ("", "an empty text"),
    "exponent": (lines("Y = scale(X, by=1e999999999)"), "a number that no graph here needs"),
    "digits": (lines(f"Y = scale(X, by={'9' * 3000})"), "a number that no graph here needs"),
    "product": (
        lines(f"Y = scale(X, by={'*'.join(['9999999'] * 700)})"),
        "computes something else",
    ),
    "repeat": (lines("Y = repeat(X, axis=0, times=9999999)"), "a tensor that is too large"),
    "doubling": (chain("concat({0}, {0}, axis=0)", 50), "a tensor that is too large"),
    "nesting": (lines(f"Y = reshape(X, shape={'[' * 2000}{']' * 2000})"), "not a constant"),
    "brackets": (lines(f"Y = square({'[{(' * 1500}"), "an equation (in line 2"),
    "superscript": ("f(X[b=²]):\n  return X", "X: dimension b"),
    "grid": (
        block(
            "grid(x=4, y=9999999)", "x = load(X, imap={x: 0})", "Y = store(x, omap={x: 0, y: 1})"
        ),
        "a tensor that is too large",
    ),
    "idle blocks": (
        block("grid(x=4) loop(k=9999999)", "x = load(X, imap={x: 0})", "Y = store(x, omap={x: 0})"),
        "too many iterations in all blocks",
    ),
    "inner": (
        block(
            "grid(x=4) loop(k=1000, j=1000)",
            "x = load(X, imap={x: 0})",
            "y = accumulate(x, fmap={k: 0, j: 1})",
            "Y = store(y, omap={x: 0})",
        ),
        "a tensor that is too large",
    ),
    "work": (
        block(
            "grid(x=4) loop(k=4000)",
            "x = load(X, imap={x: 0})",
            "r = repeat(x, axis=0, times=5000)",
            "y = accumulate(r)",
            "Y = store(y, omap={x: 0})",
        ),
        "too many operations on numbers",
    ),
    "towers": (chain("exp({0})", 40), "an operator that f does not need"),
    "degrees": (chain("square({0})", 40), "computes something else"),
    "operators": (chain("neg({0})", MOST_OPERATORS + 2), "more operators than this exercise needs"),
    "infinite": (lines("Z = sub(X, X)", "Y = div(X, Z)"), "computes something else"),
}


@pytest.mark.parametrize(("text", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_refused_soon(text: object, words: str) -> None:
    assert words in complaint(PROGRAM, text)


def test_operators_of_the_program_may_not_be_piled_up() -> None:
    program = lines("Y = exp(X)")
    assert same_program(program).inspect(program)
    assert "more operators" in complaint(program, chain("exp({0})", MOST_HARD + 1))


def test_operators_inside_blocks_and_threads_count() -> None:
    text = block(
        "grid(x=4)",
        "x = load(X, imap={x: 0})",
        "thread:",
        *(f"  v{n} = exp({'x' if n == 0 else f'v{n - 1}'})" for n in range(MOST_HARD + 1)),
        f"Y = store(v{MOST_HARD}, omap={{x: 0}})",
    )
    assert "an operator that f does not need" in complaint(PROGRAM, text)
    assert "more operators" in complaint(lines("Y = exp(X)"), text)


def test_maps_fill_the_holes_of_a_frame() -> None:
    said = same_program(PRODUCT, frame=FRAME).inspect(MAPS)
    assert said.startswith("computes what product does")
    assert "b = load(B, fmap={k: 0})" in filled(FRAME, MAPS)
    assert "b = load(B)\n" in filled(FRAME, MAPS | {"b": {}})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b": {}}, "matmul(A, B): inner dimensions"),
        ({"a": {"imap": {"x": 0}}, "b": {}}, "3 times that, in every element"),
        ({"a": {"fmap": {"k": 1}}}, "other shapes of what is returned"),
        ({"C": {"omap": {}}}, "all 2 blocks along x write the same place"),
        ({"d": {}}, "not maps for every tensor"),
        ({"a": [0]}, "a: not its maps"),
        ({"a": {"omap": {"x": 0}}}, "a: not its maps"),
        ({"a": {"imap": {"x": "0"}}}, "a: imap"),
        ({"a": {"imap": {"x": True}}}, "a: imap"),
        ({"a": {"imap": {"x: 0}, fmap={k": 1}}}, "a: imap"),
        ({"a": {"imap": ["x"]}}, "a: imap"),
        ({"a": {"imap": {"q": 0}}}, "no axis 'q'"),
        ({"a": {"imap": {"x": -1}}}, "a map"),
        ({"a": {"imap": {"x": 10**30}}}, "a number that no graph here needs"),
    ],
)
def test_wrong_maps_are_told(change: dict[str, object], words: str) -> None:
    with pytest.raises(UnmetCheck) as caught:
        same_program(PRODUCT, frame=FRAME).inspect({**MAPS, **change})
    assert words in str(caught.value)


def test_maps_of_another_kind_are_refused() -> None:
    with pytest.raises(UnmetCheck, match="not maps for every tensor"):
        filled(FRAME, "imap")


def test_an_error_repeats_no_more_than_a_line() -> None:
    with pytest.raises(UnmetCheck) as caught:
        read(lines(f"Y = {'q' * 3000}(X)"))
    assert len(str(caught.value)) < 800

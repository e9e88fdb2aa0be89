"""What is said of two graphs that differ."""

from __future__ import annotations

import pytest

from mlc_course.lessons.lesson_16_mu_graphs import example
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.verify.counterexample import difference

PROGRAM = "f(X[b=8, d=4]):\n  Y = square(X)\n  return Y"


def graph(*lines: str, returns: str = "Y") -> str:
    return "\n  ".join(["g(X[b=8, d=4]):", *lines, f"return {returns}"])


def test_nothing_is_said_of_graphs_that_agree() -> None:
    assert not difference(parse(example("one_kernel")), parse(example("seven_kernels")))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (graph("Y = mul(X, X)"), ""),
        (graph("Z = square(X)", "Y = scale(Z, by=3)"), "3 times that, in every element"),
        (graph("Y = neg(X)"), "32 of 32 elements differ, first at (0, 0)"),
        (
            graph("A = split(X, axis=0, parts=2, part=0)", "Z = concat(A, A, axis=0)"),
            "not those in rows 0 to 3, first at (4, 0)",
        ),
        (
            graph("A = split(X, axis=1, parts=4, part=1)", "Z = concat(A, A, A, A, axis=1)"),
            "not those in columns 1, first at (0, 0)",
        ),
    ],
)
def test_it_says_where(text: str, words: str) -> None:
    if "Z = concat" in text:
        text = text.replace("  return Y", "  Y = square(Z)\n  return Y")
    said = difference(parse(text), parse(PROGRAM))
    assert words in said
    assert bool(said) == bool(words)


def test_rows_that_are_right_are_counted_in_runs() -> None:
    parts = [f"P{n} = split(X, axis=0, parts=8, part={n})" for n in range(8)]
    rows = ["P0", "P0", "P2", "P0", "P4", "P0", "P6", "P0"]
    text = graph(*parts, f"Z = concat({', '.join(rows)}, axis=0)", "Y = square(Z)")
    assert "rows 0, 2, 4, ..., first at (1, 0)" in difference(parse(text), parse(PROGRAM))


def test_each_output_is_named() -> None:
    two = PROGRAM.replace("return Y", "Z = neg(X)\n  return Y, Z")
    other = two.replace("neg(X)", "scale(X, by=2)")
    assert difference(parse(other), parse(two)) == "output 1: -2 times that, in every element"


def test_an_infinite_result_differs() -> None:
    text = graph("Z = sub(X, X)", "Y = div(X, Z)")
    assert "32 of 32 elements differ" in difference(parse(text), parse(PROGRAM))

"""Checks of superoptimizers: what is wrong with a graph is said, and bars lie where they should."""

from __future__ import annotations

import math

import pytest

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import (
    Demand,
    Examined,
    Faster,
    findings_here,
    least_bytes,
    moves,
    race,
    same_graph,
)
from mlc_course.grading.process import Bench, Finding, Verdict, optimized, values
from mlc_course.mugraph.ir import parse

PROGRAM = """
twice(X[b=64, d=128]):
  E = exp(X)
  Y = mul(E, X)
  return Y
"""
FUSED = """
twice(X[b=64, d=128]):
  block grid(x=8):
    x = load(X, imap={x: 0})
    e = exp(x)
    y = mul(e, x)
    Y = store(y, omap={x: 0})
  return Y
"""


def to_itself(text):  # type: ignore[no-untyped-def]
    return text


def to_nothing(text):  # type: ignore[no-untyped-def]
    return None


def without_end(text):  # type: ignore[no-untyped-def]
    return without_end(text)


def asked(function: object, *checks: object) -> list[Finding]:
    return findings_here(Demand(optimized(function, lambda seed: PROGRAM), checks))  # type: ignore


def on_bench(graph: object) -> Examined:
    bench = Bench()
    bench.load_graph(values.to_text(graph), PROGRAM)
    return Examined(bench)


def test_the_program_itself_is_equal_and_moves_too_much() -> None:
    same, moved = asked(to_itself, same_graph(), moves(1, left=0.5))
    assert same.verdict is Verdict.MET
    assert moved.what == "equal, but too many kernels"
    (moved,) = asked(to_itself, moves(2, left=0.99))
    assert moved.what == "equal, but too many bytes loaded and stored"


def test_a_fused_graph_meets_the_least() -> None:
    said = moves(1, left=0.0).judge(on_bench(FUSED))
    assert said.startswith("2 kernels became 1; 0.40 of the bytes")
    assert "computes what twice does" in same_graph().judge(on_bench(FUSED))
    assert least_bytes(parse(PROGRAM)) == 2 * 4 * 64 * 128


@pytest.mark.parametrize(
    "graph",
    [
        None,
        7,
        ["x"],
        "",
        "x" * 10_000,
        FUSED.replace("exp(x)", "square(x)"),
        FUSED.replace("X[b=64, d=128]", "X[b=32, d=128]"),
        FUSED.replace("x: 0}", "x: 1}", 1),
        FUSED.replace("mul(e, x)", "tanh(e)"),
    ],
)
def test_a_wrong_graph_earns_nothing(graph: object) -> None:
    with pytest.raises(UnmetCheck):
        same_graph().judge(on_bench(graph))


def test_a_block_that_holds_too_much_is_refused() -> None:
    with pytest.raises(UnmetCheck, match="held by a block"):
        moves(1, left=1.0, shared=1000).judge(on_bench(FUSED))


@pytest.mark.parametrize(
    ("function", "words"),
    [(to_nothing, "an answer of another kind"), (without_end, "RecursionError")],
)
def test_what_a_page_does_wrong_is_told(function: object, words: str) -> None:
    (found, *_) = asked(function, same_graph())
    assert found.verdict is Verdict.UNMET and words in str(found)


def test_a_graph_races_its_program() -> None:
    found = race(on_bench(FUSED), "unfused")
    assert found.ratio > 0 and math.isfinite(found.ratio)
    assert Faster(1e-9, "unfused").judge(on_bench(FUSED)).endswith("the unfused one")

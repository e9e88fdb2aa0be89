"""The tilings of one program that the lesson walks through, and a kernel that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mlc_course.lessons.lesson_21_capstone.plain_programs import Moved, measured, passes
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.verify import verify

TEMPLATE = """
fused(X[b=1024, d=512], W[d, n=64]):
  block grid(x=BLOCKS) loop(k=ITERATIONS):
    x = load(X, imap={x: 0}, fmap={k: 1})
    w = load(W, fmap={k: 0})
    squares = square(x)
    sums = sum(squares, axis=1)
    total = accumulate(sums)
    part = matmul(x, w)
    product = accumulate(part)
    mean = scale(total, by=1/d)
    rms = sqrt(mean)
    y = div(product, rms)
    Y = store(y, omap={x: 0})
  return Y
"""
LINEAR_TEMPLATE = """
linear(X[m=1024, d=512], W[d, n=128], C[1, n]):
  block grid(x=BLOCKS) loop(k=ITERATIONS):
    x = load(X, imap={x: 0}, fmap={k: 1})
    w = load(W, fmap={k: 0})
    c = load(C)
    part = matmul(x, w)
    product = accumulate(part)
    moved = add(product, c)
    y = relu(moved)
    Y = store(y, omap={x: 0})
  return Y
"""
EXTENTS = (2, 4, 8, 16, 32, 64, 128)


class Candidate(NamedTuple):
    """A tiling: blocks of the grid, iterations of the loop, the graph's text, and its counts."""

    blocks: int
    iterations: int
    text: str
    moved: Moved


def candidates(template: str) -> list[Candidate]:
    """Return the graphs of a template, with BLOCKS and ITERATIONS in it, that are valid."""
    return [*_candidates(template)]


def _candidates(template: str) -> Iterator[Candidate]:
    for blocks in EXTENTS:
        for iterations in EXTENTS:
            text = template.replace("BLOCKS", str(blocks)).replace("ITERATIONS", str(iterations))
            yield Candidate(blocks, iterations, text, measured(text))


def accepted(program: str, graph: str, tests: int) -> int:
    """Return how many of so many tests modulo 31 a graph passes."""
    return sum(passes(program, graph, seed) for seed in range(tests))


def proof(program: str, graph: str) -> str:
    """Return the verifier's word on two texts."""
    return str(verify(parse(program), parse(graph)))

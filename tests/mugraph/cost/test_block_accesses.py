"""Tiles come from the maps; the interpreter, which copies them, is asked for the same."""

from __future__ import annotations

import numpy as np
import pytest
from small_graphs import small

from mlc_course.errors import UsageError
from mlc_course.mugraph.cost.block_accesses import sentence, tiles
from mlc_course.mugraph.ir import FLOAT64, Access, KernelGraph, evaluate, indices, parse
from mlc_course.mugraph.programs import PROGRAM_OF, published

TWO_LOOPS = parse("""
two_loops(X[b=8, d=64], W[d, n=32], B[1, n]):
  block grid(x=2, y=2) loop(i=4, j=2):
    x = load(X, imap={x: 0}, fmap={i: 1, j: 1})
    w = load(W, imap={y: 1}, fmap={i: 0, j: 0})
    c = load(B, imap={y: 1})
    p = matmul(x, w)
    P = accumulate(p)
    y = add(P, c)
    Y = store(y, omap={x: 0, y: 1})
  return Y
""")
NO_LOOP = parse("""
no_loop(X[b=8, d=64]):
  s = square(X)
  block grid(x=4):
    x = load(s, imap={x: 0})
    y = sqrt(x)
    Y = store(y, omap={x: 0})
  return Y
""")
GRAPHS = [TWO_LOOPS, NO_LOOP, *(small(published(name)) for name in PROGRAM_OF)]


def accesses(graph: KernelGraph) -> list[Access]:
    """Every copy that the interpreter makes."""
    seen: list[Access] = []
    inputs = [np.ones(shape) for shape in graph.shapes[: len(graph.inputs)]]
    evaluate(graph, inputs, FLOAT64, seen.append)
    return seen


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_every_tile_is_the_one_that_the_interpreter_copies(graph: KernelGraph) -> None:
    seen = accesses(graph)
    for place, block in graph.blocks:
        loads = len(block.loads)
        for each in (each for each in seen if each.place == place):
            found = tiles(graph, place, each.block, each.iteration)
            number = each.number + (loads if each.kind == "store" else 0)
            assert found[number].kind == each.kind
            assert found[number].now == each.slices
    assert seen


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)
def test_a_part_is_what_the_tiles_of_all_iterations_make_together(graph: KernelGraph) -> None:
    for place, block in graph.blocks:
        for index in indices(block.grid):
            touched = [np.zeros(tile.shape, bool) for tile in tiles(graph, place, index)]
            for iteration in (*indices(block.loops), ()):
                for tile, seen in zip(tiles(graph, place, index, iteration), touched, strict=True):
                    if tile.now is not None:
                        seen[tile.now] = True
            for tile, seen in zip(tiles(graph, place, index), touched, strict=True):
                assert seen[tile.part].all()
                assert seen.sum() == seen[tile.part].size


def test_a_block_in_words() -> None:
    assert sentence(TWO_LOOPS, 0, (1, 0), (2, 1)) == (
        "block x=1, y=0, iteration i=2, j=1 loads X[4:8, 40:48], W[40:48, 0:16], B[0:1, 0:16]."
    )
    assert sentence(TWO_LOOPS, 0, (1, 0)) == (
        "block x=1, y=0, after its loop, stores Y[4:8, 0:16]."
    )
    assert sentence(NO_LOOP, 1, (3,)) == "block x=3 loads s[6:8, 0:64] and stores Y[6:8, 0:64]."


@pytest.mark.parametrize(
    ("place", "block", "iteration", "complaint"),
    [
        (1, (0, 0), (0, 0), "no block graph at 1"),
        (0, (0,), (0, 0), "no such block"),
        (0, (0, 2), (0, 0), "no such block"),
        (0, (0, -1), (0, 0), "no such block"),
        (0, (0, 0), (0,), "no such iteration"),
        (0, (0, 0), (4, 0), "no such iteration"),
    ],
)
def test_what_is_not_there_is_refused(
    place: int, block: tuple[int, ...], iteration: tuple[int, ...], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        tiles(TWO_LOOPS, place, block, iteration)


def test_an_iteration_where_there_is_no_loop_is_refused() -> None:
    with pytest.raises(UsageError, match="no such iteration"):
        tiles(NO_LOOP, 1, (0,), (0,))

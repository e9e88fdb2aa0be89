"""One compilation of a mu-graph runs at every size; what cannot is refused with its equation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mlc_course.errors import GraphError, ShapeError, SizeError, UsageError
from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.programs import PROGRAM_OF, free_sized, published, workload
from mlc_course.mugraph.runtime import empty, random_inputs
from mlc_course.mugraph.symbolic import CompiledSymbolic, compile_symbolic, symbolic_graph

Array = NDArray[Any]
TILES = {
    "rms_norm_matmul_in_rows": {"b": 4, "d": 16, "n": 32},
    "softmax_in_two_passes": {"b": 4, "n": 32},
    "online_softmax_attention": {"h": 1, "m": 8, "n": 32},
}


@cache
def compiled(name: str) -> CompiledSymbolic:
    return compile_symbolic(free_sized(name), TILES[name])


def normal(rng: np.random.Generator, *shape: int) -> Array:
    array = empty(shape, "float32")
    array[...] = rng.standard_normal(shape)
    return array


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.asarray(e / e.sum(-1, keepdims=True))


def in_float64(name: str, *given: Array) -> Array:
    arrays = [np.asarray(each, np.float64) for each in given]
    match name:
        case "rms_norm_matmul_in_rows":
            x, g, w = arrays
            return np.asarray((x * g / np.sqrt((x**2).mean(1, keepdims=True))) @ w)
        case "softmax_in_two_passes":
            return softmax(arrays[0])
    q, k, v = arrays
    return np.asarray(softmax(q @ k / np.sqrt(q.shape[-1])) @ v)


def shapes(name: str, sizes: dict[str, int]) -> list[tuple[int, ...]]:
    return [
        tuple(sizes.get(dim) or free_sized(name).size_of[dim] for dim in each.dims)
        for each in free_sized(name).inputs
    ]


def every_residue(tile: int) -> Iterator[int]:
    """One size for each residue, of one tile, two or three."""
    return (rest + tile * (rest % 3) or tile for rest in range(tile))


def sweeps(name: str) -> Iterator[dict[str, int]]:
    """Each size over all residues of its tile, 1 and primes; the others meanwhile at some size."""
    tiles = TILES[name]
    meanwhile = {name: itertools.cycle([1, 2 * tile, tile + 3]) for name, tile in tiles.items()}
    for size, tile in tiles.items():
        for own in (1, *every_residue(tile), 2, 13, 61, 97, 3 * tile):
            yield {**{other: next(turn) for other, turn in meanwhile.items()}, size: own}


@pytest.mark.parametrize("name", TILES)
def test_one_compilation_is_right_at_all_sizes(name: str) -> None:
    rng = np.random.default_rng(0)
    took = set()
    for sizes in sweeps(name):
        inputs = [normal(rng, *shape) for shape in shapes(name, sizes)]
        bound = compiled(name).bind(*inputs)
        (found,) = bound()
        wanted = in_float64(name, *inputs)
        assert found.shape == wanted.shape
        error = np.abs(found - wanted).max() / np.abs(wanted).max()
        assert error < 2e-5, (sizes, error)
        took |= set(bound.took.values())
    assert took == {"exact", "masked"}


@pytest.mark.parametrize("name", TILES)
def test_a_guard_picks_the_variant_on_either_side_of_it(name: str) -> None:
    rng, tiles = np.random.default_rng(1), TILES[name]
    sizes = {size: 2 * tile for size, tile in tiles.items()}
    for change, variant in ((0, "exact"), (1, "masked"), (-1, "masked")):
        at = {size: n + change * (tiles[size] > 1) for size, n in sizes.items()}
        bound = compiled(name).bind(*(normal(rng, *shape) for shape in shapes(name, at)))
        assert set(bound.took.values()) == {variant}
        assert bound.sizes == at


def test_scores_that_all_are_very_low_are_not_lost_in_padding() -> None:
    """Padding of 0 would be the largest of them, and each weight exp(-200) = 0."""
    x = empty((3, 33), "float32")
    x[...] = -200 - np.arange(33) / 8
    (found,) = compiled("softmax_in_two_passes")(x)
    np.testing.assert_allclose(found, softmax(x.astype(np.float64)), rtol=1e-5)


def test_infinite_numbers_stay_where_they_are() -> None:
    """Zero times an infinite number that padding repeats would be no number."""
    rng = np.random.default_rng(2)
    x, g, w = (normal(rng, *shape) for shape in ((3, 17), (1, 17), (17, 5)))
    w[16, 2] = np.inf
    (found,) = compiled("rms_norm_matmul_in_rows")(x, g, w)
    assert np.isinf(found[:, 2]).all()
    assert np.isfinite(np.delete(found, 2, axis=1)).all()


def test_operators_get_kernels_of_all_sizes_too() -> None:
    """Of attention without fusion the rows are free; keys are not, a block holds all of them."""
    graph = workload("stable_attention").resized({"h": 2, "m": 16, "n": 24, "d": 8, "v": 8})
    rows, rng = compile_symbolic(graph, {"m": 4}), np.random.default_rng(3)
    for m in (1, 3, 4, 9, 16):
        q, k, v = (normal(rng, *shape) for shape in ((2, m, 8), (2, 8, 24), (2, 24, 8)))
        bound = rows.bind(q, k, v)
        np.testing.assert_allclose(
            bound()[0], in_float64("attention", q, k, v), rtol=1e-4, atol=1e-5
        )
        assert set(bound.took.values()) == {"masked" if m % 4 else "exact"}


def test_a_call_checks_what_kernels_assume() -> None:
    rng, attention = np.random.default_rng(4), compiled("online_softmax_attention")
    good = [(2, 5, 64), (2, 64, 7), (2, 7, 64)]
    for wrong in ((2, 5, 63), (2, 0, 64), (5, 64)):
        with pytest.raises(ShapeError, match="Q"):
            attention(*(normal(rng, *shape) for shape in (wrong, *good[1:])))
    with pytest.raises(ShapeError, match="V"):
        attention(*(normal(rng, *shape) for shape in (*good[:2], (2, 8, 64))))
    with pytest.raises(GraphError, match="inputs"):
        attention(normal(rng, *good[0]))
    with pytest.raises(UsageError, match="an array"):
        attention(Q=1.0, K=2.0, V=3.0)


# ---- what is refused

MEAN = """
centred(X[b=8, n=12]):
  block grid(x=2):
    x = load(X, imap={x: 1})
    mean = mean(x, axis=1)
    y = sub(x, mean)
    Y = store(y, omap={x: 1})
  return Y
"""
KEPT = """
doubled(X[b=8, n=12]):
  block grid(x=2) loop(k=3):
    x = load(X, imap={x: 0}, fmap={k: 1})
    whole = accumulate(x, fmap={k: 1})
    y = add(whole, whole)
    Y = store(y, omap={x: 0})
  return Y
"""
SQUARED = """
squared(X[b=8, n=12]):
  block grid(x=2) loop(k=3):
    x = load(X, imap={x: 0}, fmap={k: 1})
    part = sum(x, axis=1)
    bent = square(part)
    total = accumulate(bent)
    Y = store(total, omap={x: 0})
  return Y
"""
TWO_NAMES = """
added(X[b=8, n=12], Z[c=8, n]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    z = load(Z, imap={x: 0})
    y = add(x, z)
    Y = store(y, omap={x: 0})
  return Y
"""
REPEATED = """
repeated(X[b=8, n=12]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    total = sum(x, axis=1)
    y = repeat(total, axis=1, times=b)
    Y = store(y, omap={x: 0})
  return Y
"""


@pytest.mark.parametrize(
    ("graph", "size", "said"),
    [
        (published("rms_norm_matmul_fused"), "b", "b is kept whole inside the block, in x = load"),
        (published("attention_split_kv"), "n", "n is cut by two axes, in k = load"),
        (workload("softmax"), "n", "n is kept whole inside the block"),
        (parse(MEAN), "n", "n is not free, in mean = mean of x"),
        (parse(KEPT), "n", "whole = accumulate: it keeps all of n inside the block"),
        (parse(SQUARED), "n", "n is not free, in part = sum of x"),
        (parse(TWO_NAMES), "b", "axis x cuts different sizes"),
        (parse(REPEATED), "b", "y = repeat: its times is a free size"),
    ],
    ids=lambda each: each.name if isinstance(each, KernelGraph) else "",
)
def test_what_does_not_do_the_same_at_every_size_is_refused(
    graph: KernelGraph, size: str, said: str
) -> None:
    with pytest.raises(GraphError, match=said):
        symbolic_graph(graph, {size: 2})


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match="no size"):
        symbolic_graph(workload("softmax"), {"q": 2})
    with pytest.raises(SizeError, match="elements of a tile"):
        symbolic_graph(workload("softmax"), {"b": 0})
    with pytest.raises(UsageError, match="threads"):
        compile_symbolic(workload("softmax"), {"b": 2}, threads=0)


# ---- published graphs, as far as their sizes may be free

SMALL = {
    "qk_norm_attention_fused": {"h": 2, "m": 32, "n": 512, "d": 8, "v": 8},
    "attention_fused": {"h": 2, "m": 32, "n": 512, "d": 8, "v": 8},
    "gated_mlp_fused": {"b": 4},
    "n_trans_fused": {"d": 32},
    "lora_looped": {"b": 4, "r": 4},
    "lora_fused": {"b": 4, "r": 4, "d": 16},
    "rms_norm_matmul_fused": {"b": 4},
}


@pytest.mark.parametrize(
    ("name", "free"),
    [
        ("qk_norm_attention_fused", {"h": 1, "m": 4, "n": 8}),
        ("attention_fused", {"h": 1, "m": 4, "n": 8}),
        ("attention_fused", {"n": 8}),
        ("gated_mlp_fused", {"d": 8, "n": 16}),
        ("n_trans_fused", {"b": 2}),
        ("lora_looped", {"n": 8, "d": 8}),
        ("lora_fused", {"n": 8}),
        ("rms_norm_matmul_fused", {"d": 8, "n": 8}),
    ],
)
def test_published_graphs_are_right_at_every_size(name: str, free: dict[str, int]) -> None:
    graph = published(name).resized(SMALL[name])
    program = workload(PROGRAM_OF[name]).resized(graph.size_of)
    compiled = compile_symbolic(graph, free, program=program, verified=True)
    assert compiled.verdict is not None
    assert compiled.verdict.error_bound <= 1e-9
    for tiles, more in ((1, -1), (2, 0), (3, 1)):
        sizes = {size: max(1, tiles * tile + more) for size, tile in free.items()}
        there = program.resized(sizes)
        inputs = random_inputs(there, tiles)
        for found, wanted in zip(compiled(**inputs), run(there, inputs), strict=True):
            assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()

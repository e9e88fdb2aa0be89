"""One index stands for all of a batch size: which sizes are accepted as that, and which are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import graphs

from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.mugraph.verify.batch_sizes import batch, core
from mlc_course.mugraph.verify.small_sizes import family

INPUTS = "X[b=16, d=64], Y[b, d], W[d, n=32], G[1, d], Z[c=16, d]"


def graph(body: str, returns: str = "F") -> KernelGraph:
    lines = [line for part in body.split("; ") for line in part.split("\n")]
    text = "\n".join(f"  {line}" for line in lines)
    return parse(f"f({INPUTS}):\n{text}\n  return {returns}")


BATCH = {
    "elementwise": ("F = add(X, Y)", "b"),
    "beside one row": ("F = mul(X, G)", "b"),
    "rows of a product": ("F = matmul(X, W)", "b"),
    "columns of a product": ("F = matmul(X, W)", "n"),
    "a sum along another axis": ("F = sum(X, axis=1)", "b"),
    "a transpose": ("t = transpose(X, axes=[1, 0]); s = sum(t, axis=0); F = exp(s)", "b"),
    "a reshape that keeps it": ("F = reshape(X, shape=[b, 8, d/8])", "b"),
    "not in the output": ("F = matmul(Y, W)", "c"),
    "tiles of a grid": (
        "block grid(x=4) loop(k=8):\n  x = load(X, imap={x: 0}, fmap={k: 1})\n"
        "  a = accumulate(x)\n  F = store(a, omap={x: 0})",
        "b",
    ),
    "tiles of one row": (
        "block grid(x=16):\n  x = load(X, imap={x: 0})\n  g = load(G)\n  m = mul(x, g)\n"
        "  F = store(m, omap={x: 0})",
        "b",
    ),
    "tiles of a loop, side by side": (
        "block grid(x=1) loop(k=4):\n  x = load(X, fmap={k: 0})\n  e = exp(x)\n"
        "  a = accumulate(e, fmap={k: 0})\n  F = store(a)",
        "b",
    ),
}
NOT_BATCH = {
    "a sum": ("F = sum(X, axis=0)", "b"),
    "a softmax": ("F = softmax(X, axis=0)", "b"),
    "a product that sums over it": ("F = matmul(X, W)", "d"),
    "another tensor along it": ("F = add(X, Z)", "b"),
    "named in a constant": ("F = scale(X, by=1/b)", "b"),
    "under a root in a constant": ("F = scale(X, by=1/sqrt(b))", "b"),
    "named by a repetition": ("s = repeat(X, axis=1, times=b); F = sum(s, axis=1)", "b"),
    "named by a fold": ("s = repeat(X, axis=1, times=b); F = fold(s, axis=1, to=b)", "b"),
    "reshaped into another": ("F = reshape(X, shape=[b*d])", "b"),
    "reshaped across": ("F = reshape(X, shape=[d, b])", "b"),
    "cut and joined": (
        "a = split(X, axis=0, parts=2, part=0); c = split(X, axis=0, parts=2, part=1); "
        "F = concat(c, a, axis=0)",
        "b",
    ),
    "half of it": ("F = split(X, axis=0, parts=2, part=1)", "b"),
    "rows and columns at once": ("t = transpose(X, axes=[1, 0]); F = matmul(Y, t)", "b"),
    "blocks in another place of the output": (
        "block grid(x=4):\n  x = load(X, imap={x: 0})\n  t = transpose(x, axes=[1, 0])\n"
        "  F = store(t, omap={x: 0})",
        "b",
    ),
    "a grid axis that cuts another tensor too": (
        "block grid(x=4):\n  x = load(X, imap={x: 0})\n  g = load(G, imap={x: 1})\n"
        "  s = sum(g, axis=1)\n  m = mul(x, s)\n  F = store(m, omap={x: 0})",
        "b",
    ),
    "blocks that load it whole": (
        "block grid(x=4):\n  x = load(X)\n  F = store(x, omap={x: 0})",
        "b",
    ),
    "a loop that adds it up": (
        "block grid(x=1) loop(k=4):\n  x = load(X, fmap={k: 0})\n  a = accumulate(x)\n"
        "  F = store(a)",
        "b",
    ),
    "something added once for each of its tiles": (
        "block grid(x=1) loop(k=4):\n  x = load(X, fmap={k: 0})\n  g = load(G)\n"
        "  a = accumulate(x, fmap={k: 0})\n  c = accumulate(g)\n  m = mul(a, c)\n  F = store(m)",
        "b",
    ),
    "laid side by side as often as a loop runs": (
        "block grid(x=1) loop(k=2):\n  x = load(X)\n  a = accumulate(x, fmap={k: 0})\n"
        "  F = store(a)",
        "b",
    ),
    "a running maximum": (
        "block grid(x=1) loop(k=4):\n  x = load(X, fmap={k: 0})\n  r = running_max(x)\n"
        "  a = accumulate(r, fmap={k: 0})\n  F = store(a)",
        "b",
    ),
    "grid axes in another order": (
        "block grid(x=2, y=4):\n  x = load(X, imap={x: 0, y: 0})\n"
        "  F = store(x, omap={x: 1, y: 0})",
        "b",
    ),
    "its square": ("p = matmul(X, W); t = transpose(Y, axes=[1, 0]); F = matmul(X, t)", "b"),
}


@pytest.mark.parametrize("case", BATCH)
def test_one_index_stands_for_all_of(case: str) -> None:
    body, size = BATCH[case]
    assert batch(graph(body), frozenset({size}))


@pytest.mark.parametrize("case", NOT_BATCH)
def test_one_index_does_not_stand_for_all_of(case: str) -> None:
    body, size = NOT_BATCH[case]
    assert batch(graph(body), frozenset({size})) is None


def test_outputs_that_have_the_size_in_different_places_are_not_compared_on_one_index() -> None:
    left = parse("f(X[b=16, d=16]):\n  F = exp(X)\n  return F")
    right = parse("f(X[b=16, d=16]):\n  E = exp(X)\n  F = transpose(E, axes=[1, 0])\n  return F")
    members = family(left, right)
    assert core(left, right, members.classes).batch == ()
    assert core(left, left, members.classes).batch == ("b", "d")


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_batch_sizes_of_published_graphs_are_one_in_both(name: str) -> None:
    left, right = published(name), workload(PROGRAM_OF[name])
    found = core(left, right, family(left, right).classes)
    assert found.batch
    for each in (found.left, found.right):
        assert all(each.size_of[size] == 1 for size in found.batch)
        kept = {size: n for size, n in left.sizes if size not in found.batch}
        assert {size: each.size_of[size] for size in kept} == kept


def assert_one_index_stands_for_all(whole: KernelGraph, seed: int) -> None:
    """The oracle: run the graph, and the graph of one index of each batch size, or of one part."""
    found = core(whole, whole, family(whole, whole).classes)
    rng = np.random.default_rng(seed)
    inputs = {name: rng.uniform(0.5, 2, size=s) for name, s in whole.input_shapes.items()}
    outputs = run(whole, inputs)
    parts = {**{size: whole.size_of[size] for size in found.batch}, **dict(found.parts)}
    taken = {size: int(rng.integers(many)) for size, many in parts.items()}

    def piece(size: str, extent: int) -> slice:
        each = extent // parts[size]
        return slice(each * taken[size], each * (taken[size] + 1))

    one = {
        each.name: inputs[each.name][
            tuple(piece(d, whole.size_of[d]) if d in parts else slice(None) for d in each.dims)
        ]
        for each in whole.inputs
    }
    labels = {
        size: batch(whole, frozenset({size}), many if size not in found.batch else None)
        for size, many in parts.items()
    }
    for number, (got, of) in enumerate(zip(run(found.left, one), outputs, strict=True)):
        place = [slice(None)] * of.ndim
        for size, found_batch in labels.items():
            label = found_batch.outputs[number] if found_batch else None
            if label:
                place[label.axis] = piece(size, of.shape[label.axis])
        wanted = of[tuple(place)]
        finite = np.isfinite(wanted)
        assert np.allclose(got[finite], wanted[finite], rtol=1e-9)


@pytest.mark.parametrize("case", BATCH)
def test_the_graph_of_one_index_computes_that_index(case: str) -> None:
    for seed in range(5):
        assert_one_index_stands_for_all(graph(BATCH[case][0]), seed)


@pytest.mark.fuzz
@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**16))
def test_the_graph_of_one_index_of_random_graphs_computes_that_index(
    drawn: KernelGraph, seed: int
) -> None:
    assert_one_index_stands_for_all(drawn, seed)


# Drawn: one of two parts of c stands for all, be the tiles returned or not.
IN_PARTS = """drawn(X[a=4, b=4], Y[b, c=4]):
  block grid(x=2, y=1):
    y = load(Y, imap={x: 1})
    t = load(X)
    s = add(y, y)
    S = store(s, omap={x: 0})
    T = store(t, omap={x: 0})
  return X"""
SPLIT = """split(X[b=16, d=64], W[d, n=32]):
  block grid(x=8, y=4):
    x = load(X, imap={y: 1})
    w = load(W, imap={x: 1, y: 0})
    p = matmul(x, w)
    P = store(p, omap={x: 1, y: 1})
    s = sum(x, axis=1)
    S = store(s, omap={x: 1, y: 1})
  block grid(x=8) loop(part=4):
    p = load(P, imap={x: 1}, fmap={part: 1})
    s = load(S, imap={x: 1}, fmap={part: 1})
    a = accumulate(p)
    t = accumulate(s)
    y = mul(a, t)
    Y = store(y, omap={x: 1})
  return Y"""
WHOLE = """whole(X[b=16, d=64], W[d, n=32]):
  p = matmul(X, W)
  s = sum(X, axis=1)
  Y = mul(p, s)
  return Y"""


def test_one_part_of_a_grid_stands_for_all() -> None:
    """Two kernels that lay the parts of a sum between the tiles: no index of n stands for all."""
    split, whole = parse(SPLIT), parse(WHOLE)
    found = core(split, whole, family(split, whole).classes)
    assert found.batch == ("b",) and found.parts == (("n", 8),)
    assert found.left.size_of == {"b": 1, "d": 64, "n": 4}
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(16, 64)), rng.normal(size=(64, 32))
    (outputs,) = run(split, {"X": X, "W": W})
    for part in (0, 3, 7):
        of = slice(4 * part, 4 * part + 4)
        (got,) = run(found.left, {"X": X[5:6], "W": W[:, of]})
        assert np.allclose(got, outputs[5:6, of])


@pytest.mark.parametrize("returned", ["X", "S, X", "T, S"])
def test_the_graph_of_one_part_computes_that_part(returned: str) -> None:
    whole = parse(IN_PARTS.replace("return X", f"return {returned}"))
    assert core(whole, whole, family(whole, whole).classes).parts == (("c", 2),)
    for seed in range(5):
        assert_one_index_stands_for_all(whole, seed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p = load(P, imap={x: 1}, fmap={part: 1})", "p = load(P, fmap={part: 1})"),
        ("x = load(X, imap={y: 1})", "x = load(X, imap={x: 0, y: 1})"),
        ("y = mul(a, t)", "u = scale(t, by=1/n)\n    y = mul(a, u)"),
    ],
)
def test_parts_that_meet_do_not_stand_for_all(old: str, new: str) -> None:
    changed = parse(SPLIT.replace(old, new))
    assert changed != parse(SPLIT)
    found = core(changed, changed, family(changed, changed).classes)
    assert not found.parts and "n" not in found.batch

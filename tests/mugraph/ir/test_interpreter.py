from __future__ import annotations

from collections import Counter
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from small_graphs import graphs, normal_inputs, relative_error

from mlc_course.errors import GraphError, ShapeError
from mlc_course.mugraph.ir.arithmetic import FLOAT16, FLOAT32, FLOAT64
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.interpreter import Access, evaluate, run
from mlc_course.mugraph.ir.json_form import from_json, to_json
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.programs import published


def parsed(text: str) -> KernelGraph:
    """The graph of a text that is set in from the margin."""
    return parse(dedent(text))


PRODUCT = """
product(X[a=8, b=12], W[b, c=8]):
  block grid(x=2, y=4) loop(k=3, j=2):
    x = load(X, imap={x: 0}, fmap={k: 1, j: 1})
    w = load(W, imap={y: 1}, fmap={k: 0, j: 0})
    p = matmul(x, w)
    P = accumulate(p)
    Y = store(P, omap={x: 0, y: 1})
  return Y
"""


def test_two_loops_over_one_axis_add_up_to_a_product() -> None:
    graph = parse(PRODUCT)
    inputs = normal_inputs(graph)
    (got,) = run(graph, inputs)
    assert relative_error(got, inputs["X"] @ inputs["W"]) < 1e-14


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("fmap={k: 0, j: 0}", "fmap={k: 0}"),  # then the tiles no longer fit
        ("imap={y: 1}, fmap={k: 0, j: 0}", "imap={y: 0}, fmap={k: 0}"),
    ],
)
def test_a_map_whose_tiles_do_not_fit_is_refused(old: str, new: str) -> None:
    with pytest.raises(ShapeError, match="matmul") as caught:
        parse(PRODUCT.replace(old, new))
    assert "in line" in "".join(caught.value.__notes__)


SQUARE = """
product(X[a=8, b=8], W[b, c=8]):
  block grid(x=4, y=4) loop(k=2, j=2):
    x = load(X, imap={x: 0}, fmap={k: 1, j: 1})
    w = load(W, imap={y: 1}, fmap={k: 0, j: 0})
    p = matmul(x, w)
    P = accumulate(p)
    Y = store(P, omap={x: 0, y: 1})
  return Y
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load(X, imap={x: 0}, fmap={k: 1, j: 1})", "load(X, imap={x: 1}, fmap={k: 0, j: 0})"),
        ("load(W, imap={y: 1}, fmap={k: 0, j: 0})", "load(W, imap={y: 0}, fmap={k: 1, j: 1})"),
        ("load(W, imap={y: 1}", "load(W, imap={x: 1}"),
        ("store(P, omap={x: 0, y: 1})", "store(P, omap={x: 1, y: 0})"),
    ],
)
def test_a_wrong_map_whose_tiles_fit_gives_wrong_numbers(old: str, new: str) -> None:
    right, wrong = parse(SQUARE), parse(SQUARE.replace(old, new))
    assert wrong != right
    inputs = normal_inputs(right)
    expected = inputs["X"] @ inputs["W"]
    assert relative_error(*run(right, inputs), expected) < 1e-14
    assert relative_error(*run(wrong, inputs), expected) > 0.1


def test_grid_axes_cut_before_loops_and_both_in_order() -> None:
    graph = parse(
        """
        copy(X[a=16, 2]):
          block grid(x=2, y=2) loop(k=2, j=2):
            x = load(X, imap={x: 0, y: 0}, fmap={k: 0, j: 0})
            s = accumulate(x, fmap={k: 0, j: 0})
            Y = store(s, omap={x: 0, y: 0})
          return Y""".replace("\n        ", "\n")
    )
    inputs = normal_inputs(graph)
    assert np.array_equal(*run(graph, inputs), inputs["X"])


def test_an_accumulator_lays_one_loop_side_by_side_and_adds_up_the_other() -> None:
    graph = parse(
        """
        rows(X[a=4, b=6]):
          block grid(x=1) loop(k=2, j=3):
            x = load(X, fmap={k: 0, j: 1})
            t = accumulate(x, fmap={k: 0})
            Y = store(t)
          return Y""".replace("\n        ", "\n")
    )
    inputs = normal_inputs(graph)
    (got,) = run(graph, inputs)
    assert relative_error(got, inputs["X"].reshape(4, 3, 2).sum(axis=1)) < 1e-15


def test_a_replicated_tile_is_added_once_an_iteration() -> None:
    graph = parse(
        """
        often(X[a=4]):
          block grid(x=2) loop(k=3):
            x = load(X, imap={x: 0})
            t = accumulate(x)
            Y = store(t, omap={x: 0})
          return Y""".replace("\n        ", "\n")
    )
    inputs = normal_inputs(graph)
    assert relative_error(*run(graph, inputs), 3 * inputs["X"]) < 1e-15


def test_a_block_graph_has_several_outputs_and_they_come_in_any_order() -> None:
    graph = parse(
        """
        two(X[a=4, b=8]):
          block grid(x=2) loop(k=4):
            x = load(X, imap={x: 0}, fmap={k: 1})
            s = sum(x, axis=1)
            S = accumulate(s)
            m = max(x, axis=1)
            M = accumulate_max(m)
            Sum = store(S, omap={x: 0})
            Max = store(M, omap={x: 0})
          return Max, X, Sum""".replace("\n        ", "\n")
    )
    inputs = normal_inputs(graph)
    largest, same, total = run(graph, inputs)
    assert np.array_equal(largest, inputs["X"].max(axis=1, keepdims=True))
    assert np.array_equal(same, inputs["X"])
    assert relative_error(total, inputs["X"].sum(axis=1, keepdims=True)) < 1e-14


def test_a_thread_graph_means_what_its_operators_mean() -> None:
    lines = str(published("gated_mlp_fused")).splitlines()
    without = "\n".join(
        line.replace("      ", "    ") for line in lines if line.strip() != "thread:"
    )
    fused, flat = published("gated_mlp_fused"), parse(without)
    assert fused != flat
    sizes = {"d": 128, "n": 256}
    inputs = normal_inputs(fused.resized(sizes))
    assert np.array_equal(*run(fused.resized(sizes), inputs), *run(flat.resized(sizes), inputs))


def test_online_softmax_survives_large_scores() -> None:
    graph = parse(
        """
        logits(S[a=4, b=32]):
          block grid(x=2) loop(k=8):
            s = load(S, imap={x: 0}, fmap={k: 1})
            m = max(s, axis=1)
            r = running_max(m)
            e = sub(s, r)
            w = exp(e)
            t = sum(w, axis=1)
            T = accumulate_rescaled(t, r)
            M = accumulate_max(m)
            l = log(T)
            y = add(l, M)
            Y = store(y, omap={x: 0})
          return Y""".replace("\n        ", "\n")
    )
    inputs = {"S": 2000 * normal_inputs(graph)["S"]}
    expected = np.logaddexp.reduce(inputs["S"], axis=1, keepdims=True)
    assert relative_error(*run(graph, inputs), expected) < 1e-15
    plain = parse("p(S[a=4, b=32]):\n  e = exp(S)\n  t = sum(e, axis=1)\n  Y = log(t)\n  return Y")
    assert np.isinf(run(plain, inputs)[0]).any(), "what it is there for"


def test_float16_storage_is_worse_than_float32_and_still_near() -> None:
    graph = published("rms_norm_matmul_fused").resized({"n": 256})
    inputs = normal_inputs(graph)
    (exact,) = run(graph, inputs, FLOAT64)
    single = relative_error(*run(graph, inputs, FLOAT32), exact)
    half = relative_error(*run(graph, inputs, FLOAT16), exact)
    assert 1e-8 < single < 1e-5
    assert 1e-5 < half < 1e-2
    assert run(graph, inputs, FLOAT32)[0].dtype == np.float32


def test_float16_sums_are_made_in_float32() -> None:
    """In float16, 2048 + 1 is 2048: a sum of ones would stop there."""
    graph = parse(
        """
        count(X[a=1, b=4096]):
          block grid(x=1) loop(k=4096):
            x = load(X, fmap={k: 1})
            t = accumulate(x)
            Y = store(t)
          return Y""".replace("\n        ", "\n")
    )
    (total,) = run(graph, {"X": np.ones((1, 4096))}, FLOAT16)
    assert total == 4096


def test_every_load_of_every_block_and_iteration_is_seen() -> None:
    graph = parse(PRODUCT)
    seen: list[Access] = []
    inputs = normal_inputs(graph)
    evaluate(graph, [inputs["X"], inputs["W"]], FLOAT64, seen.append)
    blocks, iterations = 2 * 4, 3 * 2
    counts = Counter((access.kind, access.number) for access in seen)
    assert counts == {
        ("load", 0): blocks * iterations,
        ("load", 1): blocks * iterations,
        ("store", 0): blocks,
    }
    loads = [access for access in seen if access.kind == "load" and access.number == 0]
    assert len({(access.block, access.iteration) for access in loads}) == blocks * iterations
    touched = np.zeros((8, 12), int)
    for access in loads:
        touched[access.slices] += 1
    assert np.all(touched == 4), "each of the four blocks along y reads all of its rows"
    written = np.zeros((8, 8), int)
    for access in seen:
        if access.kind == "store":
            assert access.iteration == ()
            written[access.slices] += 1
    assert np.all(written == 1)


def test_other_inputs_than_its_own_are_refused() -> None:
    graph = parse(PRODUCT)
    inputs = normal_inputs(graph)
    with pytest.raises(GraphError, match="product: inputs"):
        run(graph, {"X": inputs["X"]})
    with pytest.raises(GraphError, match="product: input W"):
        run(graph, inputs | {"W": inputs["W"][1:]})


@settings(max_examples=100, deadline=None)
@given(graphs())
def test_shapes_are_what_the_graph_says(graph: KernelGraph) -> None:
    values = run(graph, normal_inputs(graph))
    assert tuple(value.shape for value in values) == graph.output_shapes
    again = run(from_json(to_json(graph)), normal_inputs(graph))
    assert all(map(lambda a, b: np.array_equal(a, b, equal_nan=True), values, again))

"""Graphs compile for the box as they do for a CPU."""

from __future__ import annotations

import numpy as np
import pytest
from lowered_graphs import cut, few_steps

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.runtime import compile_graph
from mlc_course.mugraph.runtime.arrays import empty, random_inputs

LINEAR = """
linear(X[b=5, d=12], W[d, n=9], B[1, n]):
  p = matmul(X, W)
  Y = add(p, B)
  return Y
"""


def test_operators_on_whole_tensors_are_right_in_the_box() -> None:
    graph = parse(LINEAR)
    inputs = random_inputs(graph)
    call = compile_graph(graph, "box", checked=True, verified=True)
    (y,) = call(**inputs)
    assert np.allclose(y, inputs["X"] @ inputs["W"] + inputs["B"], atol=1e-5)
    assert call.first_check and call.first_check.passed
    assert call.verdict and call.verdict.equal


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_a_block_graph_is_right_in_the_box(storage: str) -> None:
    small = cut("gated_mlp_fused", {"b": 8, "d": 32, "n": 32}, {"x": 16, "k": 16})
    call = compile_graph(small.graph, "box", storage=storage, checked=True)
    inputs = {}
    for name, values in random_inputs(small.graph).items():
        inputs[name] = empty(values.shape, storage)
        inputs[name][...] = values
    call(**inputs)
    assert call.first_check and call.first_check.passed


def test_a_storage_that_the_box_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="storage"):
        compile_graph(few_steps("n_trans_fused", 1).graph, "box", storage="float64")

"""Graphs compile for OpenCL as they do for a CPU, and run on PoCL."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np
import pytest
from lowered_graphs import cut, few_steps
from numpy.typing import NDArray
from small_graphs import small

from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.opencl.launches import has_barrier_in_branch
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.mugraph.runtime import (
    TARGETS,
    Compiled,
    CopiedInput,
    check,
    compile_graph,
    random_inputs,
)
from mlc_course.mugraph.runtime.arrays import empty

LINEAR = """
linear(X[b=5, d=37], W[d, n=19], B[1, n]):
  p = matmul(X, W)
  Y = add(p, B)
  return Y
"""


def inputs_of(graph: KernelGraph, storage: str = "float32") -> dict[str, NDArray[np.float32]]:
    found = {}
    for name, values in random_inputs(graph).items():
        found[name] = empty(values.shape, storage)
        found[name][...] = values
    return found


def agrees(made: Compiled, inputs: Mapping[str, NDArray[np.float32]]) -> bool:
    return check(made.graph, inputs, made(**inputs), made.options.storage).passed


IN_HALF = ("rms_norm_matmul_fused", "lora_looped", "n_trans_fused", "online_softmax_attention")


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_published_graphs_are_right(name: str) -> None:
    graph = few_steps(name, 3).graph
    assert agrees(compile_graph(graph, "opencl"), inputs_of(graph))


@pytest.mark.parametrize("name", IN_HALF)
def test_published_graphs_are_right_on_half_precision(name: str) -> None:
    graph = few_steps(name, 2).graph
    made = compile_graph(graph, "opencl", storage="float16")
    assert agrees(made, inputs_of(graph, "float16"))


def test_a_published_graph_is_right_at_its_own_size() -> None:
    graph = published("lora_fused")
    made = compile_graph(graph, "opencl", checked=True)
    made(**random_inputs(graph))
    assert made.first_check and made.first_check.passed


@pytest.mark.parametrize("name", ["attention", "transformer_layer"])
def test_operators_on_whole_tensors_get_kernels(name: str) -> None:
    graph = small(workload(name))
    made = compile_graph(graph, "opencl")
    assert len(made.program.kernels) == len(graph.equations)
    assert agrees(made, inputs_of(graph))


def test_last_tiles_that_are_short_are_right() -> None:
    short = cut("rms_norm_matmul_fused", {"b": 5, "d": 37, "n": 23}, {"x": 8, "k": 16})
    made = compile_graph(short.graph, "opencl", verified=True)
    assert made.verdict and made.verdict.equal
    assert agrees(made, inputs_of(short.graph))


@pytest.mark.parametrize(("a", "c"), [(5, 20), (33, 20)])
def test_barriers_that_only_some_blocks_come_to_are_right(a: int, c: int) -> None:
    graph = parse(LINEAR).resized({"b": a, "d": 16, "n": c})
    made = compile_graph(graph, "opencl")
    assert any(has_barrier_in_branch(each.body) for each in made.program.kernels)
    assert agrees(made, inputs_of(graph))


@pytest.mark.parametrize("storage", ["float32", "float16"])
def test_sizes_of_one_are_right(storage: str) -> None:
    graph = parse(LINEAR).resized({"b": 1, "d": 1, "n": 1})
    assert agrees(compile_graph(graph, "opencl", storage=storage), inputs_of(graph, storage))


def test_what_is_no_number_stays_none() -> None:
    graph = parse(
        "f(X[a=4, b=12]):\n  M = max(X, axis=1)\n  R = relu(X)\n  E = exp(X)\n"
        "  S = sum(X, axis=1)\n  return M, R, E, S\n"
    )
    x = inputs_of(graph)["X"]
    x[0, 3], x[1, 11], x[2, 0], x[3, 5] = np.nan, np.inf, -np.inf, -0.0
    m, r, e, s = compile_graph(graph, "opencl")(x)
    with np.errstate(all="ignore"):
        assert np.array_equal(m, x.max(axis=1, keepdims=True), equal_nan=True)
        assert np.array_equal(r, np.maximum(x, 0), equal_nan=True)
        assert np.allclose(e, np.exp(x), equal_nan=True)
        assert np.allclose(s, x.sum(axis=1, keepdims=True), equal_nan=True)


def test_names_that_c_has_another_use_for_are_right() -> None:
    graph = parse(
        "rotate(float[local=6, x2=8], int4[x2, double=8]):\n  half = matmul(float, int4)\n"
        "  barrier = exp(half)\n  get_local_id = add(barrier, half)\n  M_PI = exp(half)\n"
        "  return get_local_id, half, M_PI\n"
    )
    assert agrees(compile_graph(graph, "opencl"), inputs_of(graph))


def test_one_array_may_be_two_inputs_and_inputs_may_be_outputs() -> None:
    graph = parse("f(X[a=6, b=6], Y[a, b]):\n  Z = matmul(X, Y)\n  return Z, X, Z\n")
    made = compile_graph(graph, "opencl")
    x = inputs_of(graph)["X"]
    kept = x.copy()
    z, same, again = made(x, x)
    assert np.allclose(z, kept @ kept, atol=1e-5)
    assert np.array_equal(same, kept) and np.array_equal(z, again)
    assert np.array_equal(x, kept)
    with pytest.raises(UsageError, match="overlaps"):
        made.bind({"X": x, "Y": x}, out=[x, same, again])


def test_bound_calls_see_new_inputs_and_each_other_do_not_mix() -> None:
    graph = parse(LINEAR)
    made = compile_graph(graph, "opencl")
    inputs = inputs_of(graph)
    doubled = empty(inputs["X"].shape, "float32")
    doubled[...] = 2 * inputs["X"]
    first, second = made.bind(inputs), made.bind({**inputs, "X": doubled})
    one, two = first()[0].copy(), second()[0].copy()
    bias = np.broadcast_to(inputs["B"], one.shape)
    assert np.allclose(2 * (one - bias), two - bias, atol=1e-5)
    inputs["X"][...] = 0
    assert np.allclose(first()[0], bias, atol=1e-6)


def test_float64_inputs_are_copied_and_said() -> None:
    graph = parse(LINEAR)
    inputs = {name: np.array(values, np.float64) for name, values in inputs_of(graph).items()}
    with pytest.warns(CopiedInput, match="the kernel reads float32"):
        (y,) = compile_graph(graph, "opencl")(**inputs)
    assert np.allclose(y, inputs["X"] @ inputs["W"] + inputs["B"], atol=1e-5)


def test_its_text_is_opencl_c() -> None:
    made = compile_graph(parse(LINEAR), "opencl")
    text = TARGETS["opencl"].texts[".cl"].write(made.program, made.options)
    assert text.count("__kernel") == len(made.program.kernels)


@pytest.mark.parametrize("source", ["rms_norm_matmul_fused", "gqa_split_kv"])
def test_products_add_up_vectors(source: str) -> None:
    made = compile_graph(few_steps(source, 3).graph, "opencl")
    text = TARGETS["opencl"].texts[".cl"].write(made.program, made.options)
    assert re.search(r"_sums\[[^;]* \+= [^;]* \* vload[48]\(", text)


def test_a_storage_that_it_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="no storage"):
        compile_graph(parse(LINEAR), "opencl", storage="bfloat16")

"""Parts of today's models, and any small program: graphs that are equal and cheaper, or why not."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import numpy as np
import pytest
from cases import Tried as Count
from small_graphs import normal_inputs, relative_error
from small_programs import small_program

from mlc_course.errors import CourseError
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import Builder, KernelGraph, Value, ops, parse, run
from mlc_course.mugraph.programs import MODELS, workload
from mlc_course.mugraph.search import Ended, Found, superoptimize

pytestmark = pytest.mark.slow

LESS = {"cross_entropy": {"b": 256}, "gated_mlp_layer": {"n": 1024}}  # float64 has room for these
ENOUGH = 2  # graphs of a model whose second comes soon; the benchmark takes all of all
QUICK = ("router", "soft_capped_attention", "cross_entropy", "layer_norm_linear_gelu")


def equal(graph: KernelGraph, program: KernelGraph, outputs: tuple[int, ...]) -> bool:
    """Tell whether two graphs agree wherever the program has a finite value."""
    inputs = normal_inputs(program)
    results, agree = run(graph, inputs), True
    for place, wanted in zip(outputs, run(program, inputs), strict=True):
        finite = np.isfinite(wanted)
        largest = np.max(np.abs(wanted[finite]), initial=1e-300)
        agree &= bool(np.all(np.abs(results[place] - wanted)[finite] <= 1e-9 * largest))
    return agree


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_cheaper_in_fused_kernels(name: str) -> None:
    program = workload(name).resized(LESS.get(name, {}))
    inputs = normal_inputs(program)
    wanted = run(program, inputs)
    stream = (each for each in superoptimize(program) if isinstance(each, Found))
    found = list(itertools.islice(stream, ENOUGH if name in QUICK else 1))
    assert found
    for each in found:
        assert each.verdict.equal
        assert each.verdict.error_bound <= 1e-9
        assert each.cost.total < cost(program, A100).total
        assert len(each.graph.equations) < len(program.equations)
        for got, expected in zip(run(each.graph, inputs), wanted, strict=True):
            assert relative_error(got, expected) < 1e-12


def test_a_small_program_ends_in_graphs_or_in_a_clear_refusal(
    full: bool, seed: int, tried: Count
) -> None:
    count = 200 if full else 25
    for number in range(count):
        text = small_program(random.Random(seed + number))
        program = parse(text)
        try:
            *events, last = superoptimize(program, seed=number, time_limit=60)
        except CourseError as refused:
            assert refused.expected, text
            continue
        assert isinstance(last, Ended)
        found = [each for each in events if isinstance(each, Found)]
        assert last.found == len(found)
        assert found or last.closest, text
        for each in found:
            assert each.cost.total < cost(program, A100).total, text
            assert equal(each.graph, program, each.verdict.outputs), f"{text}\n{each.graph}"
    tried("small programs searched", count)


def a_largest_of_a_batch(g: Builder) -> Value:
    """A value that is rescaled has other labels than the maximum that it is relative to."""
    x, s = g.input("X", "b=4", "d=24", "d"), g.input("S", "b", "d", "n=24")
    return ops.reduce_max(s, axis=0) @ ops.exp(x)


def an_exponential_of_zero(g: Builder) -> Value:
    return ops.softmax(g.input("X", "a=24", "b=4") * 0, axis=0)


def zero_exponentials(g: Builder) -> Value:
    return ops.exp(g.input("X", "a=24", "b=4")) * 0


def one_and_more(g: Builder) -> Value:
    x = g.input("X", "a=24", "b=4")
    return ops.exp(x * 0) + x


def sums_over_both_axes(g: Builder) -> Value:
    x = g.input("X", "a=24", "b=16")
    return ops.reduce_sum(ops.reduce_sum(ops.square(x), axis=1), axis=0)


def one_sum(g: Builder) -> Value:
    return ops.reduce_sum(g.input("X", "a=24", "b=16"), axis=1)


def letters_that_lower_to_two(g: Builder) -> Value:
    x = g.input("\u0130", "a=24", "b=16")
    return ops.exp(ops.square(x)) * x


@pytest.mark.parametrize(
    "made",
    [
        a_largest_of_a_batch,
        an_exponential_of_zero,
        zero_exponentials,
        one_and_more,
        sums_over_both_axes,
        one_sum,
        letters_that_lower_to_two,
    ],
)
def test_what_once_crashed_ends_in_graphs_or_says_why_not(made: Callable[[Builder], Value]) -> None:
    g = Builder("p")
    program = g.returns(made(g))
    *events, last = superoptimize(program)
    found = [each for each in events if isinstance(each, Found)]
    assert isinstance(last, Ended)
    assert found or last.closest
    for each in found:
        assert equal(each.graph, program, each.verdict.outputs)


def test_outputs_are_as_the_program_returns_them() -> None:
    text = """
p(X[a=16, b=64]):
  e = exp(X)
  dead = square(X)
  s = sum(e, axis=1)
  y = div(e, s)
  return y, X, s, y
"""
    program = parse(text)
    found = [each for each in superoptimize(program) if isinstance(each, Found)]
    assert found
    for each in found:
        assert each.verdict.outputs == (0, 1, 2, 3)
        assert equal(each.graph, program, each.verdict.outputs)


def test_where_only_one_is_defined_is_told_of_a_graph_that_was_found() -> None:
    g = Builder("p")
    x = g.input("X", "b=16", "d=64")
    logs = ops.log(x)
    found = [
        each for each in superoptimize(g.returns((logs * x) / logs)) if isinstance(each, Found)
    ]
    without = [each for each in found if "log" not in str(each.graph)]
    assert all("no value" in str(each.verdict) for each in without)


def test_a_long_program_whose_time_is_up_says_so() -> None:
    lines = [f"v{n + 1} = exp(v{n})" for n in range(400)]
    body = "\n  ".join(["v0 = square(X)", *lines])
    program = parse(f"p(X[a=64, b=64]):\n  {body}\n  return v400\n")
    (last,) = superoptimize(program, time_limit=1e-3)
    assert last == Ended(0, "out of time", ("out of time after 0 tasks",))

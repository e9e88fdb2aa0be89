"""Parts of today's models, and any small program: graphs that are equal and cheaper, or why not."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from cases import Tried as Count
from small_graphs import normal_inputs, relative_error
from small_programs import small_program

from mlc_course.errors import CourseError
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.programs import MODELS, workload
from mlc_course.mugraph.search import Ended, Found, superoptimize

pytestmark = pytest.mark.slow

LESS = {"cross_entropy": {"b": 256}, "gated_mlp_layer": {"n": 1024}}  # float64 has room for these
ENOUGH = 2  # graphs of a model whose second comes soon; the benchmark takes all of all
QUICK = ("router", "soft_capped_attention", "cross_entropy", "layer_norm_linear_gelu")


def equal(graph: KernelGraph, program: KernelGraph, outputs: tuple[int, ...]) -> bool:
    """Whether two graphs agree wherever the program has a finite value."""
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

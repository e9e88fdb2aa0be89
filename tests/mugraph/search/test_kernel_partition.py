"""The cheapest plan is the cheapest of all, and segments are what one kernel could do."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from small_graphs import normal_inputs, relative_error

from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import KernelGraph, parse, resolved, run
from mlc_course.mugraph.programs import MODELS, workload
from mlc_course.mugraph.search import Problem
from mlc_course.mugraph.search.kernel_partition import Partition, Plan, Segment, joined
from mlc_course.mugraph.verify import verify


def partition(program: KernelGraph, longest: int = 16) -> Partition:
    return Partition(program, Problem(program).classes, A100, longest)


def every_plan(made: Partition, longest: int, start: int = 0) -> Iterator[Plan]:
    if start == len(made.program.equations):
        yield ()
    for stop in range(start + 1, start + longest + 1):
        if (start, stop) in made.segments:
            for rest in every_plan(made, longest, stop):
                yield (made.segments[start, stop], *rest)


@pytest.mark.parametrize("longest", [1, 3, 8])
def test_the_plan_is_the_cheapest_of_all(longest: int, seed: int) -> None:
    made = partition(workload("stable_attention"))
    rng = random.Random(seed)
    for _ in range(20):
        prices = {each: rng.random() * (each.stop - each.start) for each in made.segments.values()}
        plan, price = made.cheapest(prices.__getitem__, longest)
        assert sum(prices[each] for each in plan) == pytest.approx(price)
        others = [sum(prices[each] for each in p) for p in every_plan(made, longest)]
        assert price == pytest.approx(min(others))


def test_without_a_price_there_is_no_plan() -> None:
    made = partition(workload("lora"))
    plan, price = made.cheapest(lambda segment: float("inf"), 4)
    assert plan == ()
    assert price == float("inf")


@pytest.mark.parametrize("name", MODELS)
def test_segments_that_are_left_as_they_are_make_up_the_program(name: str) -> None:
    program = workload(name)
    plan, price = partition(program).cheapest(lambda segment: segment.apart, 1)
    parts = [(each.program, each.program, range(len(each.program.outputs))) for each in plan]
    again = joined(program, parts, program.name)
    assert again.inputs == program.inputs
    for ours, theirs in zip(again.equations, program.equations, strict=True):
        assert (ours.op, ours.operands) == (theirs.op, theirs.operands)
        assert resolved(ours, again.size_of) == resolved(theirs, program.size_of)
    assert price == pytest.approx(float(cost(program, A100).total))


def test_no_segment_goes_across_what_a_block_cannot_hold() -> None:
    made = partition(workload("rope_rotated_attention"))
    for segment in made.segments.values():
        names = {equation.op.name for equation in segment.program.equations}
        assert len(names) == 1 or not {"split", "concat", "transpose"} & names


TWO = """
two(X[b=8, d=16], Y[b, d]):
  e = exp(X)
  f = exp(Y)
  g = square(e)
  h = square(f)
  return g, h
"""


def test_what_reads_nothing_in_common_is_no_segment() -> None:
    made = partition(parse(TWO))
    assert (0, 2) not in made.segments
    assert (1, 3) not in made.segments
    assert partition(parse(TWO.replace("(Y)", "(X)"))).segments.keys() > made.segments.keys()


def test_one_kernel_costs_at_least_its_memory_and_a_launch() -> None:
    made = partition(workload("gated_mlp"))
    whole = made.segments[0, 4]
    moved = (8 * 4096 + 2 * 4096 * 4096 + 8 * 4096) * A100.itemsize
    assert whole.least > moved / A100.memory_bytes_per_s + A100.launch_s
    assert whole.least < whole.apart
    assert whole.apart == pytest.approx(float(cost(workload("gated_mlp"), A100).total))


def test_a_segment_is_named_by_what_it_makes() -> None:
    made = partition(workload("gated_mlp"))
    assert [made.segments[0, n].name for n in (1, 4)] == ["gate", "gate to Y"]
    assert isinstance(made.segments[0, 4], Segment)


def test_a_size_that_a_segment_lacks_is_a_number_in_it() -> None:
    made = partition(workload("stable_attention"))
    assert "scale(products, by=1/8)" in str(made.segments[1, 2].program)
    assert "scale(products, by=1/sqrt(d))" in str(made.segments[0, 2].program)
    odd = workload("stable_attention").resized({"d": 48})
    assert (1, 2) not in partition(odd).segments


SWAPPED = """
swapped(X[b=8, d=16]):
  e = exp(X)
  s = square(X)
  y = sub(e, s)
  return y, s
"""


def test_outputs_are_joined_by_what_was_verified_and_not_by_their_names() -> None:
    """A graph that gives the same outputs in another order, under each other's names."""
    program = parse(SWAPPED)
    part = partition(program).segments[0, 2].program
    other = parse(str(part).replace("return e, s", "return s, e"))
    misnamed = parse(
        str(other)
        .replace("e =", "t =")
        .replace("s =", "e =")
        .replace("t =", "s =")
        .replace("return s, e", "return e, s")
    )
    rest = partition(program).segments[2, 3].program
    inputs = normal_inputs(program)
    for graph in (other, misnamed):
        outputs = verify(part, graph, seed=0).outputs
        assert outputs == (1, 0)
        whole = joined(program, [(part, graph, outputs), (rest, rest, (0,))], "whole")
        for got, wanted in zip(run(whole, inputs), run(program, inputs), strict=True):
            assert relative_error(got, wanted) < 1e-14

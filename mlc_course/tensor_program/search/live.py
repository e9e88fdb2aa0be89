"""A small search in this process, without MetaSchedule: draw or mutate, check, time, keep.

MetaSchedule measures in child processes, learns a cost model and takes 15 seconds to import. On
small sizes none of that is needed to see what a search does.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.measure import compare
from mlc_course.tensor_program.problems.workload import Workload
from mlc_course.tensor_program.search.genome import Gene, genes, mutated
from mlc_course.tensor_program.search.spaces import (
    micro_kernel_questions,
    nothing_more,
    polynomial_everywhere,
    sample_micro_kernels,
    sample_tiles,
)
from mlc_course.tensor_program.trace import replayed
from mlc_course.tensor_program.tvm_names import Schedule, compile_program, shared_tensor

BUDGET_S = 0.2  # of timing one candidate beside NumPy
PARENTS = 4  # how many of the best may have children
FIRST = 8  # how many are drawn before the first child


@dataclass(frozen=True)
class Space:
    """``sample`` makes a schedule and draws on the way; ``finish`` does what no trace records."""

    sample: Callable[[Schedule], None]
    finish: Callable[[Schedule], None] = nothing_more


@dataclass(frozen=True)
class Candidate:
    """A candidate that was checked and timed: NumPy's time / its own, with the quartiles."""

    trace: Any
    genes: tuple[Gene, ...]
    ratio: float
    ratio_iqr: tuple[float, float]
    numpy_s: float
    program: str


def space(name: str, workload: Workload) -> Space:
    """``tiles`` or ``packing``, for a workload; raises ``UsageError`` for any other name."""
    spaces = {
        "tiles": Space(sample_tiles),
        "packing": Space(
            lambda sch: sample_micro_kernels(sch, workload, describe()), polynomial_everywhere
        ),
    }
    if name not in spaces:
        raise UsageError(f"no space {name!r} here", expected=" | ".join(spaces), got=name)
    return spaces[name]


def drawn(workload: Workload, space: Space, seed: int) -> Any:
    """The trace of one candidate, drawn at random; the same seed draws the same."""
    sch = Schedule(workload.program(), seed=1 + seed)  # TVM takes 0 for "any"
    space.sample(sch)
    return sch.trace


def try_out(workload: Workload, space: Space, trace: Any) -> Candidate:
    """Replay, compile, check against float64, and time beside NumPy, one thread.

    Times are of the processor, not of the clock on the wall: on a busy machine, with a handful of
    readings, a neighbour that takes the core would decide which candidate looks fast. Raises
    ``WrongResult`` when the candidate computes something else.
    """
    sch = replayed(workload.program(), trace)
    space.finish(sch)
    inputs, ours, out = workload.inputs(), workload.output(), workload.output()
    run = compile_program(sch)
    tensors = [shared_tensor(array) for array in (*inputs, ours)]
    run(*tensors)
    workload.check(ours, workload.reference(inputs))
    beside = compare(
        {"candidate": lambda: run(*tensors)},
        ("NumPy", lambda: workload.numpy(*inputs, out)),
        budget_s=BUDGET_S,
        clock=time.process_time,
    )["candidate"]
    found = _genes(workload, trace)
    return Candidate(
        trace, found, beside.ratio, beside.ratio_iqr, beside.baseline.median_s, sch.mod.script()
    )


def random_search(
    workload: Workload, space: Space, trials: int, *, seed: int = 0
) -> Iterator[Candidate]:
    """Every candidate drawn anew."""
    for number in range(_at_least_one(trials)):
        yield try_out(workload, space, drawn(workload, space, 1000 * seed + number))


def evolve(workload: Workload, space: Space, trials: int, *, seed: int = 0) -> Iterator[Candidate]:
    """The first ``FIRST`` drawn at random, then children of the best, one tile changed in each."""
    rng, population = random.Random(seed), list[Candidate]()
    for each in random_search(workload, space, min(FIRST, _at_least_one(trials)), seed=seed):
        population.append(each)
        yield each
    while len(population) < trials:
        population.append(try_out(workload, space, _child(workload, population, rng)))
        yield population[-1]


def _child(workload: Workload, population: Sequence[Candidate], rng: random.Random) -> Any:
    """A new trace: a mutated parent whose genes the population does not hold yet."""
    parents = sorted(population, key=lambda each: each.ratio)[-PARENTS:]
    known = {each.genes for each in population}
    trace = mutated(rng.choice(parents).trace, rng)
    while _genes(workload, trace) in known:
        trace = mutated(trace, rng)
    return trace


def _genes(workload: Workload, trace: Any) -> tuple[Gene, ...]:
    return genes(workload, trace, micro_kernel_questions(workload))


def _at_least_one(trials: int) -> int:
    if trials < 1:
        raise UsageError("search: too few trials", expected="1 or more", got=trials)
    return trials

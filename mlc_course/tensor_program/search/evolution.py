"""A small evolutionary search in this process: draw or mutate a trace, check it, time it, keep it.

MetaSchedule measures in child processes, learns a cost model and takes 15 seconds to import. On
small sizes none of that is needed to see what a search does. The decisions of a trace are the genes
of a candidate.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError, check_known
from mlc_course.machine import describe
from mlc_course.measure import Comparison, compare
from mlc_course.tensor_program.ladders import checked
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.schedule import replayed
from mlc_course.tensor_program.search.spaces import (
    finish_micro_kernels,
    micro_kernel_questions,
    nothing_more,
    sample_micro_kernels,
    sample_tiles,
)
from mlc_course.tensor_program.tir import Schedule

TILE, CHOICE, PLACE = "SamplePerfectTile", "SampleCategorical", "SampleComputeLocation"


@dataclass(frozen=True)
class Gene:
    """One decision: the block and loop (or the question) that it is about, and its value.

    The value of a tile is its factors from outside to inside; any other value is one number.
    """

    name: str
    value: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} = {' x '.join(map(str, self.value))}"


def genes(workload: Workload, trace: Any, questions: Sequence[str] = ()) -> tuple[Gene, ...]:
    """The decisions of a trace, in order, named after the workload's blocks and loops.

    A choice among numbers does not say what it is about; ``questions`` names those, in order.
    """
    found: list[Gene] = []
    sch, asked = Schedule(workload.program()), iter(questions)

    def note(instruction: Any, inputs: Sequence[Any], attributes: Sequence[Any], made: Any) -> Any:
        kind = instruction.kind.name
        if kind == TILE:
            loop = sch.get(inputs[0])
            found.append(Gene(f"{_block_in(loop)}: {loop.loop_var.name}", tuple(map(int, made))))
        elif kind == CHOICE:
            found.append(Gene(next(asked, "choice"), (int(attributes[0][int(made)]),)))
        elif kind == PLACE:
            found.append(Gene(f"{sch.get(inputs[0]).name_hint}: at loop", (int(made),)))
        return made

    trace.apply_to_schedule(sch, remove_postproc=False, decision_provider=note)
    return tuple(found)


def _block_in(loop: Any) -> str:
    """Name of the first block inside a loop."""
    statement = loop.body
    while not hasattr(statement, "block"):
        statement = statement.seq[0] if hasattr(statement, "seq") else statement.body
    return str(statement.block.name_hint)


def mutated(trace: Any, rng: random.Random) -> Any:
    """The trace with one tile changed: a prime factor moves from one of its loops to another.

    All tiles of the loop still multiply to its length, so the new trace replays. Raises
    ``UsageError`` for a trace in which no tile can change.
    """
    changes = [
        (instruction, other)
        for instruction, made in trace.decisions.items()
        if instruction.kind.name == TILE
        for other in neighbours(tuple(map(int, made)), int(instruction.attrs[1]))
    ]
    if not changes:
        raise UsageError(
            "mutated: this trace holds no tile that could change",
            expected="a decision of sample_perfect_tile with two factors or more",
            got=f"{len(trace.decisions)} decisions",
        )
    instruction, other = rng.choice(changes)
    return trace.with_decision(instruction, list(other), remove_postproc=False)


def neighbours(tile: tuple[int, ...], most_innermost: int) -> list[tuple[int, ...]]:
    """Tiles of the same loop that differ by one prime factor moved from one place to another."""
    found = set()
    for source, factor in enumerate(tile):
        for prime in _primes(factor):
            for target in range(len(tile)):
                if target != source:
                    moved = list(tile)
                    moved[source], moved[target] = factor // prime, moved[target] * prime
                    found.add(tuple(moved))
    return sorted(each for each in found if each[-1] <= most_innermost)


def _primes(number: int) -> set[int]:
    """The prime factors of a number, each once."""
    found, prime = set(), 2
    while prime * prime <= number:
        if number % prime:
            prime += 1
        else:
            found.add(prime)
            number //= prime
    return found | ({number} if number > 1 else set())


# --- the search -----------------------------------------------------------------------------------

BUDGET_S = 0.2  # of timing one candidate beside NumPy
PARENTS = 4  # how many of the best may have children
FIRST = 8  # how many are drawn before the first child


@dataclass(frozen=True)
class Space:
    """A space of schedules: ``sample`` draws one, and ``finish`` does what no trace records."""

    sample: Callable[[Schedule], None]
    finish: Callable[[Schedule], None] = nothing_more


@dataclass(frozen=True)
class Candidate:
    """A candidate that was checked, and timed beside NumPy."""

    trace: Any
    genes: tuple[Gene, ...]
    comparison: Comparison
    program: str

    @property
    def ratio(self) -> float:
        """NumPy's time / its own."""
        return self.comparison.ratio


def space(name: str, workload: Workload) -> Space:
    """The space ``tiles`` or ``packing`` of a workload; raises ``UsageError`` for another name."""
    spaces = {
        "tiles": Space(sample_tiles),
        "packing": Space(
            lambda sch: sample_micro_kernels(sch, workload, describe()), finish_micro_kernels
        ),
    }
    check_known("no space", name, spaces)
    return spaces[name]


def drawn(workload: Workload, space: Space, seed: int) -> Any:
    """The trace of one candidate, drawn at random; the same seed draws the same."""
    sch = Schedule(workload.program(), seed=1 + seed)  # TVM takes 0 for "any"
    space.sample(sch)
    return sch.trace


def try_out(workload: Workload, space: Space, trace: Any) -> Candidate:
    """Replay a trace, compile it, check it, and time it beside NumPy on one thread.

    Raises ``WrongResult`` when the candidate computes something else.
    """
    sch = replayed(workload.program(), trace)
    space.finish(sch)
    inputs, out = workload.inputs(), workload.output()
    beside = compare(
        {"candidate": checked(workload, sch, inputs, workload.reference(inputs)).call},
        ("NumPy", lambda: workload.numpy(*inputs, out)),
        budget_s=BUDGET_S,
        rounds=(3, 30),
    )["candidate"]
    return Candidate(trace, _genes(workload, trace), beside, sch.mod.script())


def random_search(
    workload: Workload, space: Space, trials: int, *, seed: int = 0
) -> Iterator[Candidate]:
    """Draw every candidate anew."""
    for number in range(_at_least_one(trials)):
        yield try_out(workload, space, drawn(workload, space, 1000 * seed + number))


def evolve(workload: Workload, space: Space, trials: int, *, seed: int = 0) -> Iterator[Candidate]:
    """Draw the first ``FIRST`` at random, then change one tile in each child of the best."""
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

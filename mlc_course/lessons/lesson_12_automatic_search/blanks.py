"""The lines that the reader of lesson 12 writes, and how they are judged without running code."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Demand, holds, returns
from mlc_course.grading.process import called, given
from mlc_course.lessons.kit import Blank, asks
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.problems import Workload, make_workload
from mlc_course.tensor_program.search import Candidate, Gene, evolution, genes

SIZES = (64, 32, 64, 96)
TRIALS, FIRST, PARENTS = 24, 8, 4


def try_evolve(
    evolve: Callable[..., Any], problem: Workload, *, trials: int, seed: int
) -> list[Candidate]:
    """Run an ``evolve`` as the lesson's on tiles of this problem: real programs, real times."""
    tiles, seeds = evolution.space("tiles", problem), iter(range(1000 * seed, 1000 * seed + trials))
    return list(
        evolve(
            trials,
            lambda: evolution.drawn(problem, tiles, next(seeds)),
            lambda trace: evolution.try_out(problem, tiles, trace),
            random.Random(seed),
        )
    )


def course_evolve(
    trials: int, draw: Callable[[], Any], measure: Callable[[Any], Candidate], dice: random.Random
) -> list[Candidate]:
    """The lesson's ``evolve`` with its blanks filled in."""
    population = [measure(draw()) for _ in range(FIRST)]
    while len(population) < trials:
        parents = sorted(population, key=lambda each: each.ratio)[-PARENTS:]
        child = evolution.mutated(dice.choice(parents).trace, dice)
        population.append(measure(child))
    return population


# --- judging an evolve ----------------------------------------------------------------------------


@functools.cache
def _problem() -> Workload:
    return make_workload("matmul_exp_matmul", SIZES)


def _imagined(trace: Any) -> Candidate:
    """A candidate whose speed is made up from its tiles, so that judging takes no time."""
    found = genes(_problem(), trace)
    seconds = 1.0 + sum(
        abs(8 - gene.value[-1]) * (1 + 0.01 * place) for place, gene in enumerate(found)
    )
    beside = Comparison(Timing("candidate", (seconds,) * 6), Timing("NumPy", (1.0,) * 6))
    return Candidate(trace, found, beside, "")


def _evolved(evolve: Callable[..., Any]) -> dict[str, Any]:
    """What an ``evolve`` did: for each child, the rank of the parent that it is a mutation of."""
    tiles, seeds = evolution.space("tiles", _problem()), iter(range(10_000))
    measured: list[Candidate] = []

    def measure(trace: Any) -> Candidate:
        measured.append(_imagined(trace))
        if len(measured) > 10 * TRIALS:
            raise UnmetCheck("it does not end", expected=f"{TRIALS} trials")
        return measured[-1]

    try:
        evolve(
            TRIALS,
            lambda: evolution.drawn(_problem(), tiles, next(seeds)),
            measure,
            random.Random(1),
        )
    except Exception as error:
        return {"raised": f"{type(error).__name__}: {error}".partition("\n")[0]}
    ranks = [_rank(measured[:place], measured[place]) for place in range(FIRST, len(measured))]
    return {"measured": len(measured), "ranks": ranks}


def _rank(population: list[Candidate], child: Candidate) -> int:
    """The rank of the fastest candidate of which this one is a mutation; 0 where there is none."""
    ranked = sorted(population, key=lambda each: each.ratio, reverse=True)
    for rank, each in enumerate(ranked, start=1):
        if _changed(each.genes, child.genes) == 1:
            return rank
    return 0


def _changed(first: tuple[Gene, ...], second: tuple[Gene, ...]) -> int:
    return sum(a != b for a, b in zip(first, second, strict=True))


def _evolves(found: Mapping[str, Any]) -> str:
    if "raised" in found:
        raise UnmetCheck("it stops with an error", expected="no error", got=found["raised"])
    for place, rank in enumerate(found["ranks"], start=FIRST + 1):
        if rank == 0:
            raise UnmetCheck(
                f"trial {place} is no child",
                expected="exactly one tile differs from that of a parent",
                got="no trial before it is so near",
                hint="mutated(trace, dice) changes one tile of a parent's trace",
            )
        if rank > PARENTS:
            raise UnmetCheck(
                f"trial {place} has a slow parent",
                expected=f"one of the {PARENTS} fastest so far",
                got=f"the parent is number {rank} by speed",
                hint="a higher ratio is faster; sorted puts the smallest first",
            )
    if len(set(found["ranks"])) == 1:
        raise UnmetCheck(
            "only one parent ever has children",
            expected=f"children of all {PARENTS} parents",
            got=f"number {found['ranks'][0]} by speed, each time",
            hint="dice.choice(parents) draws one of them",
        )
    return f"{len(found['ranks'])} children, each a mutation of one of the {PARENTS} fastest"


evolve = Blank(
    lambda mine: Demand(given(_evolved(mine)), (holds(_evolves),)),
    (
        "The fastest have the highest ratio: sorted(population, key=lambda each: each.ratio).",
        "sorted puts the smallest first, so the four fastest are the last four: [-4:].",
        "dice.choice(parents) draws a parent, its trace is .trace, and mutated(trace, dice) "
        "changes one tile of that.",
    ),
    "parents = sorted(population, key=lambda each: each.ratio)[-4:]\n"
    "child = mutated(dice.choice(parents).trace, dice)",
)

six_to_measure = Blank(
    asks(
        called,
        returns(
            [0.5, 0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4],
            result=[2, 4, 6, 0, 7, 5],
            hint="places, not guesses: 0.9 is at place 2, and comes first",
        ),
        returns(
            [-3.0, -1.0, -2.0, -7.0, -5.0, -4.0, -6.0],
            result=[1, 2, 0, 5, 4, 6],
            hint="guesses are logarithms and may be negative; the highest is the fastest",
        ),
    ),
    (
        "You want places, so sort range(len(guesses)), and not the guesses themselves.",
        "key=guesses.__getitem__ sorts the places by the guess at each.",
        "With reverse=True the highest guess comes first: "
        "sorted(range(len(guesses)), key=guesses.__getitem__, reverse=True). Keep six.",
    ),
    "return sorted(range(len(guesses)), key=guesses.__getitem__, reverse=True)[:6]",
)

"""Spaces of schedules, and the strategies that search them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError, check_known
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.ladders import (
    MOST_ROWS,
    MOST_VECTORS,
    PRODUCTS,
    RegisterTile,
    micro_kernel,
    most_rows,
    read_in_place,
)
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.schedule import lookup, polynomial_exp
from mlc_course.tensor_program.tir import LoopRV, Schedule, meta_schedule

LARGEST_INNER_TILE = 64


@dataclass(frozen=True)
class Strategy:
    """One way to search.

    ``space`` makes TVM's generator of candidates; ``method`` is TVM's search strategy:
    ``replay-func`` and ``replay-trace`` draw each candidate anew, ``evolutionary`` mutates the
    traces of good ones and asks a learnt cost model which to measure. ``finish`` does on a replayed
    schedule what a trace does not record. ``questions`` names a trace's choices among numbers.
    """

    name: str
    why: str
    space: Callable[[Workload], Any]
    method: str
    finish: Callable[[Schedule], None]
    questions: Callable[[Workload], list[str]] = lambda _workload: ["unroll at most"]


def _drawn(schedule: Callable[[Schedule], None]) -> Any:
    """A space in which every candidate is one run of a function that samples."""
    return meta_schedule.space_generator.ScheduleFn(
        schedule, sch_rules=[], postprocs=[], mutator_probs={}
    )


def nothing_more(sch: Schedule) -> None:
    """Do nothing: the trace records the whole schedule."""


# --- random tiles: the article's stochastic schedule ------------------------------------------


def sample_tiles(sch: Schedule) -> None:
    """Tile every sum with tile sizes drawn at random, and put its columns innermost."""
    for block in lookup.blocks(sch):
        reduced = lookup.reduction_loops(sch, block)
        if reduced:
            _sample_tile(sch, block, reduced)


def _sample_tile(sch: Schedule, block: str, reduced: set[str]) -> None:
    outer: list[LoopRV] = []
    inner: list[LoopRV] = []
    inner_sums: list[LoopRV] = []
    for name in lookup.loops(sch, block):
        loop = lookup.loop(sch, block, name)
        factors = sch.sample_perfect_tile(loop, n=2, max_innermost_factor=LARGEST_INNER_TILE)
        outside, inside = sch.split(loop, factors)
        outer.append(outside)
        (inner_sums if name in reduced else inner).append(inside)
    *rows, column = inner
    sch.reorder(*outer, *rows, *inner_sums, column)


# --- packed micro-kernels: the ladder's last rungs, with their constants left open ----------------


# What is drawn for each product, in this order.
MICRO_KERNEL_QUESTIONS = (
    *("vectors", "rows", "pack left", "rows outermost", "panels at once", "unrolled"),
)


def sample_micro_kernels(
    sch: Schedule, workload: Workload, machine: Machine, decided: Sequence[int] | None = None
) -> None:
    """The ladder's micro-kernel, its tile, packing and unrolling drawn at random, or ``decided``.

    The numbers are read out of the schedule (``sch.get``), because Python branches on them: a trace
    of this space replays, but changing a decision in it changes nothing that follows.
    """
    given = iter(decided) if decided is not None else None

    def draw(*candidates: int) -> int:
        even = [1.0 / len(candidates)] * len(candidates)
        made = candidates.index(next(given)) if given is not None else None
        return int(sch.get(sch.sample_categorical(list(candidates), even, made)))

    for product in PRODUCTS[workload.name]:
        vectors = draw(*range(1, MOST_VECTORS + 1))
        rows = draw(*range(1, min(MOST_ROWS, most_rows(machine, vectors)) + 1))
        pack_left, rows_outermost, panels, unrolled = (
            draw(0, 1),
            draw(0, 1),
            draw(0, 1, 4),
            draw(0, 1),
        )
        micro_kernel(
            sch,
            product,
            RegisterTile(rows, vectors * machine.lanes),
            pack_left=bool(pack_left),
            rows_outermost=bool(rows_outermost),
            per_panel=bool(panels),
            together=max(1, panels),
            unrolled=bool(unrolled),
        )
    finish_micro_kernels(sch)


def finish_micro_kernels(sch: Schedule) -> None:
    """Do what traces do not hold: read left operands in place, compute exp as a polynomial."""
    for product in {p.block: p for products in PRODUCTS.values() for p in products}.values():
        if f"{product.block}_update" in lookup.blocks(sch):
            read_in_place(sch, product)
    for block in lookup.blocks(sch):
        if lookup.is_exp(sch, block):
            polynomial_exp(sch, block)


def micro_kernel_questions(workload: Workload) -> list[str]:
    """Names of the choices that ``sample_micro_kernels`` draws, in its order."""
    products = [p.block for p in PRODUCTS.get(workload.name, ())]
    return [f"{block}: {question}" for block in products for question in MICRO_KERNEL_QUESTIONS]


def _packing_space(workload: Workload) -> Any:
    if workload.name not in PRODUCTS:
        raise UsageError(
            f"packing: {workload.name} has no matrix product to pack",
            expected=" | ".join(PRODUCTS),
            got=workload.name,
            hint="search it with random or evolutionary",
        )
    return _drawn(lambda sch: sample_micro_kernels(sch, workload, describe()))


STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        Strategy(
            "random",
            "Tile sizes drawn at random, as the article's stochastic schedule does.",
            lambda _workload: _drawn(sample_tiles),
            "replay-func",
            nothing_more,
        ),
        Strategy(
            "blind",
            "MetaSchedule's own rules for a CPU, every candidate drawn anew: the space of the "
            "evolutionary search without its memory.",
            lambda _workload: "post-order-apply",
            "replay-trace",
            nothing_more,
        ),
        Strategy(
            "evolutionary",
            "MetaSchedule's own rules for a CPU, with a learnt cost model and mutated traces.",
            lambda _workload: "post-order-apply",
            "evolutionary",
            nothing_more,
        ),
        Strategy(
            "packing",
            "Our micro-kernel with its tile, packing, order and unrolling drawn at random: a space "
            "that contains what NumPy's BLAS does, and the ladder's last rungs.",
            _packing_space,
            "replay-func",
            finish_micro_kernels,
            micro_kernel_questions,
        ),
    )
}


def strategy(name: str) -> Strategy:
    """The strategy of this name; raises ``UsageError`` when there is none."""
    check_known("no strategy", name, STRATEGIES)
    return STRATEGIES[name]

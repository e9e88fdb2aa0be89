"""Threads take turns: each runs to its next barrier alone, in an order that can be chosen.

On a GPU, threads run side by side, and between two barriers nothing says which is first. Here one
runs after the other. Any order is one that a GPU may take; a kernel without races gives the same
result in all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from mlc_course.errors import check_known
from mlc_course.mugraph.box.access_log import Place
from mlc_course.mugraph.box.faults import Fault, diverged
from mlc_course.mugraph.kernels import WARP

NAMED_ORDERS = ("ascending", "descending")
UNITS = ("thread", "warp")
OrderLike = Literal["ascending", "descending"] | int
Unit = Literal["thread", "warp"]
Turns = Generator[Place, None, None]  # what a thread does: it yields the barrier that it waits at


@dataclass(frozen=True)
class Order:
    """An order of blocks, and of threads between barriers: ``ascending``, ``descending`` or a seed.

    With the unit ``warp``, warps change places, and the threads of each stay in ascending order.
    """

    kind: OrderLike = "ascending"
    unit: Unit = "thread"

    def __post_init__(self) -> None:
        if not isinstance(self.kind, int):
            check_known("no order", self.kind, (*NAMED_ORDERS, "a number, as a seed"))
        check_known("no unit of order", self.unit, UNITS)

    def blocks(self, count: int) -> list[int]:
        """Return all blocks in this order."""
        return self._ordered(count, ())

    def threads(self, count: int, block: int, epoch: int) -> list[int]:
        """Return all threads of a block in this order; a seed gives another one in each epoch."""
        if self.unit == "thread":
            return self._ordered(count, (block, epoch))
        warps = self._ordered(-(-count // WARP), (block, epoch))
        return [t for w in warps for t in range(WARP * w, min(count, WARP * (w + 1)))]

    def _ordered(self, count: int, place: tuple[int, ...]) -> list[int]:
        if self.kind == "ascending":
            return list(range(count))
        if self.kind == "descending":
            return list(range(count))[::-1]
        rng = np.random.default_rng([int(self.kind) & 0xFFFFFFFF, len(place), *place])
        return [int(each) for each in rng.permutation(count)]


@dataclass
class Clock:
    """Whose turn it is, and how many barriers its block has passed."""

    block: int = 0
    thread: int = 0
    epoch: int = 0

    @property
    def who(self) -> tuple[int, int]:
        return self.block, self.thread


def run_block(
    block: int, threads: int, start: Callable[[int], Turns], order: Order, clock: Clock
) -> Fault | None:
    """Run a block to its end, or to a barrier that some of its threads do not reach."""
    clock.block, clock.epoch = block, 0
    turns = {thread: start(thread) for thread in range(threads)}
    while True:
        waiting: dict[int, Place] = {}
        for thread in order.threads(threads, block, clock.epoch):
            clock.thread = thread
            place = next(turns[thread], None)
            if place is not None:
                waiting[thread] = place
        ended = [thread for thread in range(threads) if thread not in waiting]
        if not waiting:
            return None
        if ended or len(set(waiting.values())) > 1:
            for each in turns.values():
                each.close()
            return diverged(block, dict(sorted(waiting.items())), ended)
        clock.epoch += 1


# A missing barrier is a race, and may be a read of what nobody has written as well.
CAUSES = ("alignment", "bounds", "barrier", "copy", "race", "unwritten")


def first_of_each(faults: Sequence[Fault]) -> list[Fault]:
    """Return faults of the same kind, array and places as one, what causes others first."""
    found: dict[object, list[Fault]] = {}
    for each in faults:
        found.setdefault((each.kind, each.array, each.places), []).append(each)
    merged = [replace(same[0], times=sum(each.times for each in same)) for same in found.values()]
    return sorted(merged, key=lambda each: CAUSES.index(each.kind))

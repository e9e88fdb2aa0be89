"""How are the elements of a tile spread over the threads of a block? In one way for each shape.

The threads are a grid of groups and lanes: lanes lie along the last axis, a few neighbouring
elements each, groups along all the other axes. So a thread has some rows and some columns of a
tile, which makes it a register tile for a product::

    a 4 x 16 tile on 8 threads, 2 groups of 4 lanes, 2 elements wide, each element's thread:
        0 0 1 1 2 2 3 3 0 0 1 1 2 2 3 3
        4 4 5 5 6 6 7 7 4 4 5 5 6 6 7 7
        0 0 1 1 2 2 3 3 0 0 1 1 2 2 3 3
        4 4 5 5 6 6 7 7 4 4 5 5 6 6 7 7

All tiles of one shape are spread alike, so that a thread which goes on with the elements that it
has made waits for nobody, and may keep them in registers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from mlc_course.mugraph.ir import Shape

WIDEST = 4  # neighbours at once: 16 bytes of sums
LOAD_TIME = 2  # the time of a load from shared memory, in multiply-adds
IDLE_TIME = 1  # per turn of rows that not all groups take part in


@dataclass(frozen=True)
class Spread:
    """``groups`` x ``lanes`` threads on the elements of a tile, ``width`` neighbours at once.

    Each element is had by as many neighbouring threads as there are ``copies``: all of a row have
    the row's sum.
    """

    shape: Shape
    groups: int
    lanes: int
    width: int
    copies: int = 1

    @property
    def rows(self) -> int:
        return math.prod(self.shape[:-1])

    @property
    def columns(self) -> int:
        return self.shape[-1]

    @property
    def row_turns(self) -> int:
        """How many rows a group has."""
        return -(-self.rows // self.groups)

    @property
    def column_turns(self) -> int:
        """How many times ``width`` columns a lane has."""
        return -(-(self.columns // self.width) // self.lanes)

    @property
    def elements(self) -> int:
        """How many elements a thread has, at most."""
        return self.row_turns * self.column_turns * self.width

    @property
    def lanes_at_work(self) -> int:
        return min(self.lanes, self.columns // self.width)

    @property
    def groups_at_work(self) -> int:
        return min(self.groups, self.rows)

    @property
    def is_even(self) -> bool:
        """True where all turns of all groups are full, or there is one turn only."""
        return self.row_turns == 1 or self.rows % self.groups == 0


@lru_cache(maxsize=1 << 12)
def spread_of(shape: Shape, threads: int) -> Spread:
    """Return the spread of a tile that is best for a product: little work a thread, few loads.

    A step of a product loads an element for each row and a few neighbours for each turn of
    columns. Of spreads that are equally good the one with more lanes, whose accesses lie closer.
    """
    shape = shape or (1,)

    def time(spread: Spread) -> tuple[float, int]:
        loads = spread.row_turns + spread.column_turns
        idle = 0 if spread.is_even else IDLE_TIME * spread.row_turns
        return spread.elements + LOAD_TIME * loads + idle, -spread.lanes

    return min(_spreads(shape, threads), key=time)


def _spreads(shape: Shape, threads: int) -> Iterator[Spread]:
    """All ways that leave no lane idle in only some of its turns."""
    for width in (4, 2, 1):
        if width > WIDEST or shape[-1] % width:
            continue
        parts = shape[-1] // width
        for lanes in range(1, threads + 1):
            is_power = lanes & (lanes - 1) == 0
            full = parts % lanes == 0 or parts <= lanes < 2 * parts
            if threads % lanes == 0 and (is_power or lanes == threads) and full:
                yield Spread(shape, threads // lanes, lanes, width)


def of_rows(spread: Spread) -> Spread:
    """Return the spread of one value for each row, which all threads of the row have."""
    copies = spread.lanes * spread.copies
    return Spread((*spread.shape[:-1], 1), spread.groups, 1, 1, copies)


def narrowed(spread: Spread, shape: Shape) -> Spread:
    """Return the spread of a shorter tile with the same groups and lanes, so with the same rows."""
    return replace(spread, shape=shape, width=math.gcd(spread.width, shape[-1]))


def copying(shape: Shape, width: int, threads: int) -> Spread:
    """Return the spread of a tile that is copied: neighbouring threads copy neighbouring parts."""
    parts = shape[-1] // width
    lanes = 1
    while lanes < parts and threads % (2 * lanes) == 0:
        lanes *= 2
    return Spread(shape, threads // lanes, lanes, width)

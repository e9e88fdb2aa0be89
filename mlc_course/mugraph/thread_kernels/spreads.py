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

A product on a matrix unit is spread as the hardware has it: a warp is 8 x 4 threads, and a thread
has two columns of a row at a time. They are neighbours, or 8 apart where the product is transposed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from mlc_course.mugraph.ir import Shape
from mlc_course.mugraph.kernels import EIGHT, ROW, SIXTEEN, WARP, ZERO, Expr, Side

WIDEST = 4  # neighbours at once on a GPU: 16 bytes of sums
WIDTHS = (16, 8, 4, 2, 1)
LOAD_TIME = 2  # the time of a load from shared memory, in multiply-adds
IDLE_TIME = 1  # per turn of rows that not all groups take part in


@dataclass(frozen=True)
class Spread:
    """``groups`` x ``lanes`` threads on the elements of a tile, ``width`` neighbours at once.

    Each element is had by as many threads as there are ``copies``: all of a row have the row's sum.
    ``matrix`` is the side of a product of which a matrix unit takes 16, if the spread is its own.
    """

    shape: Shape
    groups: int
    lanes: int
    width: int
    copies: int = 1
    matrix: Side | Literal[""] = ""

    def group(self, thread: Expr) -> Expr:
        """Return the group of a thread."""
        if self.groups == 1:
            return ZERO
        if not self.matrix:
            return thread // self.copies // self.lanes
        warps = self.groups // self._warp_groups
        group = thread % WARP // 4 if self.matrix == "rows" else thread % 4
        return group + thread // WARP % warps * self._warp_groups

    def lane(self, thread: Expr) -> Expr:
        """Return the lane of a thread."""
        if self.matrix:
            return ZERO if self.lanes == 1 else self.copy(thread)
        lane = thread // self.copies
        return lane % self.lanes if self.groups > 1 else lane

    def copy(self, thread: Expr) -> Expr:
        """Return the number of a thread among those that have the same elements."""
        if not self.matrix:
            return thread % self.copies
        lane = thread % 4 if self.matrix == "rows" else thread % WARP // 4
        return lane + self._warp(thread) * self._warp_lanes

    @property
    def _warp_groups(self) -> int:
        return 8 if self.matrix == "rows" else 4

    @property
    def _warp_lanes(self) -> int:
        return WARP // self._warp_groups

    def _warp(self, thread: Expr) -> Expr:
        """The number of a thread's warp among those that lie along the columns."""
        return thread // WARP // (self.groups // self._warp_groups)

    def column(self, thread: Expr, turn: Expr, neighbour: Expr) -> Expr:
        """Return one of the ``width`` columns that a thread has in a turn."""
        if self.lies_apart:
            tile = self._warp(thread) + turn * (self.lanes // self._warp_lanes)
            return thread % WARP // 4 + tile * SIXTEEN + neighbour * ROW
        return (self.lane(thread) + turn * self.lanes) * self.width + neighbour

    def is_within(self, thread: Expr, turn: Expr) -> Expr:
        """Return the condition that the tile has the columns of a thread's turn."""
        parts = self.columns // self.width
        if self.matrix and self.lanes > 1 and parts % self._warp_lanes == 0:
            first = self._warp(thread) + turn * (self.lanes // self._warp_lanes)
            return first < parts // self._warp_lanes  # a warp has all of them, or none
        return self.lane(thread) + turn * self.lanes < parts

    @property
    def lies_apart(self) -> bool:
        """True where a thread's two columns of a turn are 8 apart."""
        return self.matrix == "columns" and self.width == 2

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
def spread_of(shape: Shape, threads: int, widest: int = WIDEST) -> Spread:
    """Return the spread of a tile that is best for a product: little work a thread, few loads.

    A step of a product loads an element for each row and up to ``widest`` neighbours for each turn
    of columns. Of spreads that are equally good the one with more lanes, whose accesses lie closer.
    """
    shape = shape or (1,)

    def time(spread: Spread) -> tuple[float, int]:
        loads = spread.row_turns + spread.column_turns
        idle = 0 if spread.is_even else IDLE_TIME * spread.row_turns
        return spread.elements + LOAD_TIME * loads + idle, -spread.lanes

    return min(_spreads(shape, threads, widest), key=time)


def _spreads(shape: Shape, threads: int, widest: int) -> Iterator[Spread]:
    """All ways that leave no lane idle in only some of its turns."""
    for width in WIDTHS:
        if width > widest or shape[-1] % width:
            continue
        parts = shape[-1] // width
        for lanes in range(1, threads + 1):
            is_power = lanes & (lanes - 1) == 0
            full = parts % lanes == 0 or parts <= lanes < 2 * parts
            if threads % lanes == 0 and (is_power or lanes == threads) and full:
                yield Spread(shape, threads // lanes, lanes, width)


def matrix_spread(shape: Shape, threads: int) -> Spread | None:
    """Return the spread of a product on a matrix unit; None for a tile that it cannot compute.

    Warps lie along both sides, so that each has few instructions, and loads few operands. Some may
    have nothing to do, but none only in some turns. The rows of an instruction are of one matrix,
    where there are several.
    """
    if len(shape) < 2 or threads % WARP:
        return None
    warps, rows, columns = threads // WARP, math.prod(shape[:-1]), shape[-1]
    found: list[tuple[tuple[int, int, int], Spread]] = []
    sides: tuple[tuple[Side, int, int], ...] = (
        ("rows", SIXTEEN, EIGHT),
        ("columns", EIGHT, SIXTEEN),
    )
    for side, along_rows, along_columns in sides:
        for high in range(1, warps + 1):  # warps along the rows; the others along the columns
            wide, tiles = warps // high, columns // along_columns
            if warps % high or shape[-2] % (along_rows * high) or columns % along_columns:
                continue
            if tiles % wide and tiles > wide:
                continue
            down, across = rows // (along_rows * high), -(-tiles // wide)
            loads = down * along_rows + across * along_columns
            groups = high * (8 if side == "rows" else 4)
            made = Spread(shape, groups, threads // groups, 2, matrix=side)
            found.append(((down * across, loads, side == "columns"), made))
    return min(found, key=lambda each: each[0])[1] if found else None


def of_rows(spread: Spread) -> Spread:
    """Return the spread of one value for each row, which all threads of the row have."""
    copies = spread.lanes * spread.copies
    shape = (*spread.shape[:-1], 1)
    return Spread(shape, spread.groups, 1, 1, copies, spread.matrix)


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

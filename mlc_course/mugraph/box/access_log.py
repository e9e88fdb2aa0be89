"""A log of every access to memory: which thread, which bytes, where in the source, and when.

*When* is the place, the occurrence and the epoch. A place is one spot of the source that accesses
memory; its occurrence is how often the thread had been there before; the epoch is how many barriers
the block had passed. Accesses of a warp with equal place, occurrence and epoch are taken for one
instruction. That is so where its threads take the turns of a loop together; where some skip turns,
their next accesses are put together with turns that they did not share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from mlc_course.deadline import check_time
from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Array, Shape

COLUMNS = (
    "block",
    "thread",
    "memory",
    "address",
    "size",
    "writes",
    "place",
    "occurrence",
    "epoch",
    "lands",
)
MOST_ACCESSES = 8_000_000  # in a log; it takes 80 bytes each
CHECKED_EVERY = 1024  # accesses between two looks at the clock


@dataclass(frozen=True)
class Place:
    """A spot of the source that accesses memory: a line of a kernel, or a statement."""

    line: int  # 0 where there are no lines
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


@dataclass(frozen=True)
class Memory:
    """Memory that has a name: an array of all blocks, or a shared one, which each block has.

    Shared arrays lie behind each other in one memory, from byte ``start`` on. ``index_of`` says
    which element is at an offset in bytes; rows without gaps if none is given.
    """

    name: str
    shape: Shape
    itemsize: int
    scope: Literal["global", "shared"]
    start: int = 0
    index_of: Callable[[int], tuple[int, ...]] | None = field(default=None, compare=False)

    def index(self, address: int) -> tuple[int, ...]:
        """Return the index of the element at an address."""
        if self.index_of:
            return self.index_of(address - self.start)
        number = (address - self.start) // self.itemsize
        return tuple(int(each) for each in np.unravel_index(number, self.shape))

    def element(self, address: int) -> str:
        """Return the element at an address as it is written in the source."""
        return element_text(self.name, self.index(address))


def element_text(name: str, index: Sequence[object]) -> str:
    """Return an element as it is written in the source."""
    return f"{name}[{', '.join(map(str, index))}]"


class AccessLog:
    """Accesses in the order in which they happened, and what their numbers mean."""

    def __init__(self) -> None:
        self.memories: list[Memory] = []
        self.places: list[Place] = []
        self._rows: list[tuple[int, ...]] = []
        self._parts: list[Array] = []
        self._logged = 0

    def memory(self, memory: Memory) -> int:
        """Return the number of a memory, new if it has none."""
        if memory not in self.memories:
            self.memories.append(memory)
        return self.memories.index(memory)

    def place(self, place: Place) -> int:
        """Return a new number for a place."""
        self.places.append(place)
        return len(self.places) - 1

    def add(self, *row: int) -> None:
        """Add one access, a number for each of ``COLUMNS``."""
        self._rows.append(row)
        if len(self._rows) >= CHECKED_EVERY:
            self._close_rows()

    def extend(self, rows: Array) -> None:
        """Add accesses, one a line, a number for each of ``COLUMNS``."""
        self._close_rows()
        self._append(rows)

    def _close_rows(self) -> None:
        if self._rows:
            self._append(np.array(self._rows, np.int64))
            self._rows = []

    def _append(self, rows: Array) -> None:
        check_time()
        self._parts.append(rows)
        self._logged += len(rows)
        if self._logged > MOST_ACCESSES:
            raise UsageError(
                "the log of accesses is full",
                expected=f"at most {MOST_ACCESSES:,}",
                hint="take fewer blocks or smaller arrays; or is there a loop without an end?",
            )

    def forget(self) -> None:
        """Drop all accesses so far; places and memories stay."""
        self._rows, self._parts, self._logged = [], [], 0

    def table(self) -> Table:
        """Return all accesses so far."""
        self._close_rows()
        rows = np.concatenate([np.zeros((0, len(COLUMNS)), np.int64), *self._parts])
        self._parts = [rows]
        return Table(rows, tuple(self.memories), tuple(self.places))


@dataclass(frozen=True)
class Table:
    """All accesses of a run, a line of ``rows`` for each, with ``COLUMNS``."""

    rows: Array
    memories: tuple[Memory, ...]
    places: tuple[Place, ...]

    def __getitem__(self, column: str) -> Array:
        return np.asarray(self.rows[:, COLUMNS.index(column)])

    def where(self, mask: Array) -> Table:
        """Return some of the accesses."""
        return Table(self.rows[mask], self.memories, self.places)

    def of(self, name: str) -> Table:
        """Return the accesses to one array."""
        numbers = [n for n, memory in enumerate(self.memories) if memory.name == name]
        return self.where(np.isin(self["memory"], numbers))

    @cached_property
    def is_shared(self) -> Array:
        """Which accesses are to shared memory."""
        kinds = np.array([memory.scope == "shared" for memory in self.memories], bool)
        return np.asarray(kinds[self["memory"]]) if len(kinds) else np.zeros(0, bool)

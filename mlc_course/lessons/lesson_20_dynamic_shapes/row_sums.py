"""Sums of rows in three variants, on a memory that watches each load.

Row r of ``columns`` floats begins at place ``first + r * pitch``. A load of four floats has to
begin at a multiple of four, as on a GPU, or as aligned loads do on a CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mlc_course.errors import UsageError, check_known

WIDTH = 4
MOST_FLOATS = 10_000  # in memory


@dataclass(frozen=True)
class Rows:
    """How rows of floats lie in memory; all four numbers are in floats, or are counts."""

    rows: int
    columns: int
    pitch: int
    first: int

    def begin(self, row: int) -> int:
        """Return where a row begins."""
        return self.first + row * self.pitch

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


@dataclass(frozen=True)
class Outcome:
    """How a variant ended: ``fault`` says why it is wrong, and is empty where it is right."""

    fault: str
    instructions: int


class _Memory:
    """Floats up to the end of the last row: those of rows, and others between them."""

    def __init__(self, rows: Rows) -> None:
        end = rows.begin(rows.rows - 1) + rows.columns
        if end > MOST_FLOATS:
            raise UsageError("memory", expected=f"up to {MOST_FLOATS:,} floats", got=f"{end:,}")
        self.floats = np.arange(1.0, end + 1)
        self.instructions = 0
        self.fault = ""

    def load(self, at: int, count: int = 1) -> float:
        """Return the sum of so many floats from a place on, one instruction later."""
        self.instructions += 1
        if at % count:
            self.fault = self.fault or f"it loads {count} floats from place {at}"
        elif at + count > len(self.floats):
            self.fault = self.fault or f"it loads {count} floats from place {at}, past the end"
        return float(self.floats[at : at + count].sum())


def _fours(memory: _Memory, at: int, columns: int) -> float:
    """Sum a row, four floats at a time."""
    return sum(memory.load(at + step, WIDTH) for step in range(0, columns, WIDTH))


def _fours_and_rest(memory: _Memory, at: int, columns: int) -> float:
    """Sum a row, four floats at a time, and one at a time what is left."""
    memory.instructions += 1  # what is left?
    whole = columns - columns % WIDTH
    return _fours(memory, at, whole) + _ones(memory, at + whole, columns - whole)


def _ones(memory: _Memory, at: int, columns: int) -> float:
    """Sum a row, one float at a time."""
    return sum(memory.load(at + step) for step in range(columns))


VARIANTS: Mapping[str, Callable[[_Memory, int, int], float]] = {
    "fours": _fours,
    "fours and rest": _fours_and_rest,
    "ones": _ones,
}


def run_variant(name: str, rows: Rows) -> Outcome:
    """Run a variant, and hold what it finds against NumPy.

    Raises ``UsageError`` for a variant that is not one of ``VARIANTS``, and for rows that the
    memory does not hold.
    """
    check_known("no variant", name, VARIANTS)
    memory = _Memory(rows)
    for row in range(rows.rows):
        begin = rows.begin(row)
        found = VARIANTS[name](memory, begin, rows.columns)
        expected = memory.floats[begin : begin + rows.columns].sum()
        if not memory.fault and found != expected:
            memory.fault = f"the sum of row {row} is {found:g}, and should be {expected:g}"
    return Outcome(memory.fault, memory.instructions)

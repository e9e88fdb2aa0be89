"""A cell: what one output of an inner loop is, as a formula over the lanes that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, var


@dataclass(frozen=True)
class CellOperand:
    """Lanes that one output reads: neighbours in memory, of one type, within a promised range.

    A shared operand is the same for all outputs of a tile, like a row of A in a matmul.

    Raises:
        UsageError: there is no lane, or no value in the range, or the type does not hold them all.
    """

    name: str
    type: IntType
    lanes: int = 1
    lo: int | None = None
    hi: int | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        lo, hi = self.range
        if lo > hi or not self.type.holds(lo, hi) or self.lanes < 1:
            raise UsageError(
                f"the operand {self.name} has no such values",
                expected=f"one lane or more, with a range within {self.type.lo} to {self.type.hi}",
                got=f"{self.lanes} lanes from {lo} to {hi}",
            )

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest value that a lane may have."""
        lo = self.type.lo if self.lo is None else self.lo
        return lo, self.type.hi if self.hi is None else self.hi

    @property
    def bytes(self) -> int:
        return self.type.bytes * self.lanes

    def variables(self, first: int = 0) -> tuple[Formula, ...]:
        """Return variables for its lanes, numbered from ``first`` on: A[0], A[1], ..."""
        return tuple(var(f"{self.name}[{first + i}]", *self.range) for i in range(self.lanes))


@dataclass(frozen=True)
class Cell:
    """One output of a loop: ``goal`` is its formula over the variables of the operands.

    ``accumulator`` names the operand that the output is added to and replaces, if there is one.
    """

    name: str
    operands: tuple[CellOperand, ...]
    result: IntType
    goal: Formula
    accumulator: str | None = None

    @cached_property
    def inputs(self) -> Mapping[str, tuple[Formula, ...]]:
        """The variables of the lanes of each operand."""
        return MappingProxyType({each.name: each.variables() for each in self.operands})

    @property
    def reduces(self) -> bool:
        """True where an output reads several lanes of an operand."""
        return any(each.lanes > 1 for each in self.operands)

"""Values of a search: how each was made, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlc_course.mugraph import ops
from mlc_course.mugraph.field import Residues
from mlc_course.mugraph.ops import Op
from mlc_course.mugraph.search.prune import Role
from mlc_course.mugraph.search.rules import Facts


@dataclass(frozen=True)
class Made:
    """How a value was made: an operator, its attributes, and the numbers of its operands."""

    op: Op | str  # the name of an input
    operands: tuple[int, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        if isinstance(self.op, str):
            return self.op
        given = (*(f"%{n}" for n in self.operands), *(f"{k}={v}" for k, v in self.attributes))
        return f"{self.op.name}({', '.join(given)})"


@dataclass(frozen=True)
class Use:
    """An operator with its attributes: as a graph keeps them, and with the sizes put in."""

    op: Op
    attributes: tuple[tuple[str, Any], ...] = ()
    resolved: Mapping[str, Any] = field(default_factory=dict)

    def along(self, axis: int) -> Use:
        """The same with an axis."""
        order = list(self.op.attributes)
        given = sorted((*self.attributes, ("axis", axis)), key=lambda each: order.index(each[0]))
        return Use(self.op, tuple(given), {**self.resolved, "axis": axis})


@dataclass(eq=False)
class Kept:
    """A value in the bank; ``operators`` are those of its first way, by the values they make."""

    number: int
    facts: Facts
    residues: Residues
    ways: list[Made]
    depth: int
    operators: frozenset[int]
    role: Role | None = None  # None where nothing is asked of its expression

    @property
    def reference(self) -> int | None:
        """The number of the maximum that it is relative to."""
        known = self.facts.reference
        return self.number if known == "own" else known

    @property
    def running_of(self) -> int | None:
        """The number of the maximum whose running value it is."""
        first = self.ways[0]
        return first.operands[0] if first.op is ops.running_max else None

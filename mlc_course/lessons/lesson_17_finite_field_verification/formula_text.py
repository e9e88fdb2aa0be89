"""A meaning, as operators have them, written down as the text of a graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import Builder, Value, ops


@dataclass(frozen=True)
class Formula:
    """``+ - * /``, also with whole numbers, on either side."""

    value: Value

    def __add__(self, other: Formula | int) -> Formula:
        return Formula(self.value + _plain(other))

    def __sub__(self, other: Formula | int) -> Formula:
        return Formula(self.value - _plain(other))

    def __mul__(self, other: Formula | int) -> Formula:
        return Formula(self.value * _plain(other))

    def __truediv__(self, other: Formula | int) -> Formula:
        return Formula(self.value / _plain(other))

    def __neg__(self) -> Formula:
        return Formula(-self.value)

    def __rsub__(self, other: int) -> Formula:
        return -self + other

    def __rtruediv__(self, other: int) -> Formula:
        nothing = self.value - self.value  # a graph has no numbers but in shift and scale
        return Formula((nothing + other) / self.value)

    __radd__, __rmul__ = __add__, __mul__


def _plain(other: Formula | int) -> Any:
    return other.value if isinstance(other, Formula) else other


class Writing:
    """The arithmetic that writes down what it is asked."""

    def exp(self, x: Formula) -> Formula:
        return Formula(ops.exp(x.value))

    def __getattr__(self, name: str) -> Any:
        raise GraphError(f"m.{name}", expected="m.exp and + - * /", got=f"m.{name}")


def written_as(meaning: Callable[[Any, Any], Any], name: str) -> str | None:
    """The text of a graph ``name(X[n=8])`` that computes ``meaning(m, x)``.

    None for a meaning that is not written yet. Raises ``GraphError`` for one that uses more of
    ``m`` than exp, or returns no formula.
    """
    builder = Builder(name)
    try:
        made = meaning(Writing(), Formula(builder.input("X", "n=8")))
    except NotImplementedError:
        return None
    if not isinstance(made, Formula):
        raise GraphError(f"{name}: what it returns", expected="a formula of x", got=repr(made))
    return str(builder.returns(made.value))

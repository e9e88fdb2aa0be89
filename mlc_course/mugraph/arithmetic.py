"""What an operator may do with its operands, whatever a number is: a float, a residue, a bound.

An operator's ``meaning`` is written once, in these words and in ``+ - * /``, and so means the same
in floating point, in a finite field, and to whoever counts how large its formula grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from mlc_course.mugraph.constants import Number

Shape = tuple[int, ...]
Tensor = Any  # has ``shape``, ``+ - * /`` and ``@`` as NumPy's, also with whole numbers


class Arithmetic(Protocol):
    """One kind of number. Reductions keep the axis, with extent 1."""

    def constant(self, number: Number) -> Tensor: ...

    def symbol(self, name: str, value: float) -> Tensor:
        """An irrational constant: exact arithmetic knows no more of it than its name."""

    def exp(self, x: Tensor) -> Tensor: ...

    def function(self, name: str, x: Tensor) -> Tensor:
        """``sqrt`` or ``log``: to exact arithmetic equal arguments have equal values, no more."""

    def maximum(self, x: Tensor, y: Tensor) -> Tensor: ...

    def minimum(self, x: Tensor, y: Tensor) -> Tensor: ...

    def sum(self, x: Tensor, axis: int) -> Tensor: ...

    def max(self, x: Tensor, axis: int) -> Tensor: ...

    def count(self, x: Tensor, axis: int) -> int:
        """How many there are along an axis, for an operator whose value depends on it."""

    def reshape(self, x: Tensor, shape: Shape) -> Tensor: ...

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor: ...

    def concatenate(self, xs: Sequence[Tensor], axis: int) -> Tensor: ...

    def take(self, x: Tensor, place: tuple[slice, ...]) -> Tensor:
        """One tile."""

    def stored(self, x: Tensor) -> Tensor:
        """What is left of it in memory."""

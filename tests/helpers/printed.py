"""Printed figures and what their rounding hides: untrue is only what no value of them allows."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

FIGURE = r"\d[\d,]*\.?\d*"
SLOP = 1e-9  # of a value, for what binary fractions do to an edge


@dataclass(frozen=True, order=True)
class Printed:
    """The values from ``least`` to ``most``, all of which are printed as one figure."""

    least: float
    most: float

    @classmethod
    def of(cls, figure: str, significant: int | None = None) -> Printed:
        """The values of 12.3; of 22,400 or 7.9 MB where three digits are ``significant``."""
        plain = figure.replace(",", "")
        value, place = float(plain), -len(plain.partition(".")[2])
        if significant is not None and value:
            place = math.floor(math.log10(abs(value))) + 1 - significant
        half = 10.0**place / 2 + SLOP * max(1.0, abs(value))
        return cls(value - half, value + half)

    @classmethod
    def each_of(cls, text: str, significant: int | None = None) -> Iterator[Printed]:
        """Yield the values of each figure in a text."""
        for figure in re.findall(FIGURE, text):
            yield cls.of(figure, significant)

    def __mul__(self, other: Printed | float) -> Printed:
        """The products of values that are not negative."""
        second = _printed(other)
        return Printed(max(0.0, self.least) * max(0.0, second.least), self.most * second.most)

    __rmul__ = __mul__

    def __truediv__(self, other: Printed) -> Printed:
        """The ratios of values that are not negative."""
        most = self.most / other.least if other.least > 0 else math.inf
        return Printed(max(0.0, self.least) / other.most, most)

    def may_be(self, other: Printed | float) -> bool:
        """Return whether a value of both figures is the same."""
        second = _printed(other)
        return self.least <= second.most and second.least <= self.most

    def may_exceed(self, other: Printed | float) -> bool:
        """Return whether a value of this figure is as large as one of the other, or larger."""
        return self.most >= _printed(other).least


def _printed(value: Printed | float) -> Printed:
    return value if isinstance(value, Printed) else Printed(value, value)

"""A logarithmic scale downwards from 1, for probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from mlc_course.drawing.svg import PAGE_INK, SMALL, text


@dataclass(frozen=True)
class Decades:
    """A scale from 1 at ``top`` to 10**-``decades`` and below at ``bottom``."""

    top: float
    bottom: float
    decades: float

    def y(self, probability: float) -> float:
        if probability <= 0:
            return self.bottom
        fallen = min(max(-math.log10(probability), 0.0), self.decades)
        return self.top + (self.bottom - self.top) * fallen / self.decades

    def ticks(self, most: int = 6) -> list[int]:
        """Exponents to label: 0, 2, 4, ..., at most about ``most`` of them."""
        step = max(1, math.ceil(self.decades / most))
        return list(range(0, math.floor(self.decades) + 1, step))

    def drawn(self, left: float, right: float, *, size: float = SMALL) -> Iterator[str]:
        """Faint lines from left to right, labelled on the left."""
        for exponent in self.ticks():
            y = self.y(10.0**-exponent)
            yield line(
                (left, y), (right, y), colour=PAGE_INK, wide=0.5, more='stroke-opacity="0.35"'
            )
            yield text(left - 7, y + 4.5, power(exponent), size=size, anchor="end")


def power(exponent: int) -> str:
    """A power of ten as text: ``1``, ``0.1``, ``0.01``, then ``1e-3``."""
    return f"{10.0**-exponent:g}" if exponent < 3 else f"1e-{exponent}"


def line(
    start: tuple[float, float],
    end: tuple[float, float],
    *,
    colour: str,
    wide: float = 1.5,
    more: str = "",
) -> str:
    """A straight line."""
    return (
        f'<path d="M{start[0]:.1f} {start[1]:.1f}L{end[0]:.1f} {end[1]:.1f}" stroke="{colour}" '
        f'stroke-width="{wide:g}" fill="none"{" " + more if more else ""}/>'
    )


def path(points: list[tuple[float, float]], *, colour: str, wide: float = 2, more: str = "") -> str:
    """A line through all points."""
    stops = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return (
        f'<path d="M{stops}" stroke="{colour}" stroke-width="{wide:g}" fill="none"'
        f"{' ' + more if more else ''}/>"
    )


DASHED = 'stroke-dasharray="7 4"'

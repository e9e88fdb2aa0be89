"""Functions of one integer that are linear between a few knots, such as clamps and distances.

Each is c + a * x + the sum of b[t] * max(x - t, 0) over knots t inside the range of x, in exactly
one way: between neighbouring knots the values give the slopes, and slopes give a and b. So two such
functions are equal on their range exactly if they are written with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Piecewise:
    """A piecewise linear function on the integers from ``lo`` to ``hi``."""

    lo: int
    hi: int
    start: int
    slope: int
    bends: Mapping[int, int]

    def __call__(self, x: int) -> int:
        bent = sum(b * (x - t) for t, b in self.bends.items() if x > t)
        return self.start + self.slope * x + bent

    @property
    def knots(self) -> list[int]:
        """The ends, and where the slope changes."""
        return sorted({self.lo, self.hi, *(t for t in self.bends if self.lo < t < self.hi)})

    @property
    def range(self) -> tuple[int, int]:
        values = [self(x) for x in self.knots]
        return min(values), max(values)

    @property
    def segments(self) -> list[tuple[int, int, int]]:
        """Neighbouring knots with the slope between them."""
        knots = self.knots
        return [(u, v, (self(v) - self(u)) // (v - u)) for u, v in zip(knots, knots[1:])]  # noqa: B905


def through(knots: Iterable[int], value: Callable[[int], int]) -> Piecewise:
    """Return the function with these values at the knots that is linear in between.

    Slopes between neighbouring knots must be integers.
    """
    at = sorted(set(knots))
    if len(at) == 1:
        return Piecewise(at[0], at[0], value(at[0]), 0, {})
    values = [value(x) for x in at]
    slopes = [(values[i + 1] - values[i]) // (at[i + 1] - at[i]) for i in range(len(at) - 1)]
    bends = {at[i]: slopes[i] - slopes[i - 1] for i in range(1, len(slopes))}
    start = values[0] - slopes[0] * at[0]
    return Piecewise(at[0], at[-1], start, slopes[0], {t: b for t, b in bends.items() if b})


def positive_part(f: Piecewise) -> Piecewise:
    """Return max(f, 0).

    Where f changes its sign between two integers j and j + 1, both are knots of the result, so that
    it is linear from one knot to the next on the integers.
    """
    knots = set(f.knots)
    for u, v, slope in f.segments:
        if f(u) * f(v) < 0:
            crossing = u + abs(f(u)) // abs(slope)
            knots |= {crossing, crossing + 1}
    return through(knots, lambda x: max(f(x), 0))


def clamp_of(f: Piecewise) -> tuple[int, int, int] | None:
    """Return s, l and h where f is min(max(x + s, l), h), otherwise ``None``."""
    rising = [(u, v) for u, v, slope in f.segments if slope]
    if any(slope not in (0, 1) for _, _, slope in f.segments) or not rising:
        return None
    u, v = rising[0][0], rising[-1][1]
    return (f(u) - u, f(u), f(v)) if f(v) - f(u) == v - u else None

"""Columns in vectors: wide ones, then at most one of each narrower width for what is left.

A width is half of the one before, down to a single element. Where it is proved that nothing is
left, nothing follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlc_course.dynamic_shape.codegen.places import Dims, Places, product
from mlc_course.dynamic_shape.codegen.templates import loop
from mlc_course.mugraph.kernels import ONE, ZERO, Expr, Guard, Statement, var


@dataclass(frozen=True)
class Vectors:
    """Neighbouring vectors of a width: ``count`` of them, the first one from column ``first`` on.

    Of a rest there is one or none.
    """

    width: int
    first: Expr
    count: Expr
    is_rest: bool

    def start(self, step: str) -> Expr:
        """Return the first column of a vector, by its number in the loop over ``step``."""
        is_alone = self.is_rest or self.count == ONE
        return self.first if is_alone else self.first + var(step) * self.width

    def visited(self, step: str, body: Sequence[Statement]) -> list[Statement]:
        """Return statements that run the body for each vector.

        A rest has a condition, since a compiler takes any loop for a long one and unrolls it.
        """
        if self.count == ONE:
            return list(body)
        if self.is_rest:
            return [Guard(self.count > ZERO, tuple(body))]
        return [loop(step, self.count, body)]


def ladder(places: Places, sizes: Dims, widest: int, extent: Expr | None = None) -> list[Vectors]:
    """Return the vectors that columns are visited in, the widest first.

    ``extent`` is the number of columns if it is a part of the product of ``sizes``, which any
    proved divisor divides too.
    """
    found: list[Vectors] = []
    whole = product(sizes) if extent is None else extent
    before, left, width = ZERO, whole, widest
    while width:
        count = left // width
        if count != ZERO:
            found.append(Vectors(width, before, count, is_rest=width < widest))
        if left % width == ZERO or places.divides(sizes, width):
            break
        before, left, width = whole // width * width, whole % width, width // 2
    return found


def wished(places: Places, sizes: Dims, width: int) -> dict[str, int]:
    """Return a size of which it is not known that it makes a product a multiple of a width."""
    names = [dim for dim in sizes if isinstance(dim, str)]
    if width == 1 or not names or places.divides(sizes, width):
        return {}
    return {names[-1]: width}

"""Columns in vectors: wide ones, narrower ones for what is left, and single elements.

Where it is proved that nothing is left, nothing follows.
"""

from __future__ import annotations

from mlc_course.dynamic_shape.codegen.places import Dims, Places, product
from mlc_course.mugraph.kernels import ZERO, Expr

NARROW = 4  # lanes of the vectors for what wide ones leave over


def ladder(
    places: Places, sizes: Dims, widest: int, extent: Expr | None = None
) -> list[tuple[int, Expr, Expr]]:
    """Return widths of vectors, the column that each begins at, and how many there are.

    ``extent`` is the number of columns if it is a part of the product of ``sizes``, which any
    proved divisor divides too.
    """
    found: list[tuple[int, Expr, Expr]] = []
    whole = product(sizes) if extent is None else extent
    before, left = ZERO, whole
    for width in sorted({widest, min(NARROW, widest), 1}, reverse=True):
        steps = left // width
        if steps != ZERO:
            found.append((width, before, steps))
        if left % width == ZERO or places.divides(sizes, width):
            break
        before, left = whole // width * width, whole % width
    return found


def wished(places: Places, sizes: Dims, width: int) -> dict[str, int]:
    """Return a size of which it is not known that it makes a product a multiple of a width."""
    names = [dim for dim in sizes if isinstance(dim, str)]
    if width == 1 or not names or places.divides(sizes, width):
        return {}
    return {names[-1]: width}

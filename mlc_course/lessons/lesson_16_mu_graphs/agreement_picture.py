"""A picture of how much of a result is right, tile by tile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mlc_course.drawing import AMBER, PAGE_OURS, PAGE_PAPER, PAGE_TINT, document, rect, text
from mlc_course.errors import UsageError
from mlc_course.mugraph.ir import Array
from mlc_course.words import tr

WIDE, HIGH, MARGIN, TOP = 120.0, 44.0, 14.0, 40.0
HATCH = (
    '<defs><pattern id="mlc-wrong" width="9" height="9" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="9" height="9" fill="{PAGE_PAPER}"/>'
    f'<rect width="4" height="9" fill="{AMBER}" fill-opacity="0.45"/></pattern></defs>'
)


def agreement_svg(
    got: Array, expected: Array, tiles: tuple[int, int], *, tolerance: float = 1e-6
) -> str:
    """Draw a matrix as ``tiles`` (down, across), each with the share of its elements that is right.

    Right is within ``tolerance`` of the largest expected element. Raises ``UsageError`` for shapes
    that differ, or that the tiles do not divide.
    """
    if got.shape != expected.shape or len(got.shape) != 2 or min(tiles) < 1:
        raise UsageError("two matrices, and tiles", expected=expected.shape, got=got.shape)
    if any(extent % count for extent, count in zip(got.shape, tiles, strict=True)):
        raise UsageError("equal tiles", expected=f"{tiles} divides {got.shape}", got=tiles)
    near = np.abs(got - expected) <= tolerance * np.abs(expected).max()
    down, across = tiles
    rows, columns = got.shape[0] // down, got.shape[1] // across
    shares = near.reshape(down, rows, across, columns).mean(axis=(1, 3))
    title = tr("{share:.0%} of {count:,} elements are right", share=near.mean(), count=near.size)
    wide, high = across * WIDE + 2 * MARGIN, down * HIGH + TOP + MARGIN
    head = text(MARGIN, TOP - 16, title, bold=True, anchor="start")
    return document(wide, high, title, [HATCH, head, *_tiles(shares)])


def _tiles(shares: Array) -> Iterator[str]:
    for (row, column), share in np.ndenumerate(shares):
        x, y = MARGIN + column * WIDE, TOP + row * HIGH
        fill = PAGE_TINT if share == 1 else "url(#mlc-wrong)"
        word = (
            tr("right")
            if share == 1
            else tr("wrong")
            if share == 0
            else tr("{share:.0%} right", share=share)
        )
        yield rect(x, y, WIDE - 4, HIGH - 4, fill=fill, stroke=PAGE_OURS if share == 1 else AMBER)
        yield text(x + WIDE / 2 - 2, y + HIGH / 2 + 3, word)

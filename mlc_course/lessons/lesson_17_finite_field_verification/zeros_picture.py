"""All points of a small field, and at which of them the difference of two graphs is 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.drawing import PAGE_OURS, PAGE_PAPER, PAGE_TINT, SMALL, document, rect, text
from mlc_course.errors import UsageError

WIDE, GAP, LEFT, TOP, FOOT = 290.0, 40.0, 34.0, 58.0, 30.0


def zeros_svg(grids: Sequence[tuple[str, NDArray[Any]]]) -> str:
    """Draw squares side by side, x to the right and y upwards, with a dot where ``zeros[x, y]``.

    Raises ``UsageError`` for what is not a square of truth values.
    """
    parts: list[str] = []
    for number, (title, zeros) in enumerate(grids):
        if zeros.ndim != 2 or zeros.shape[0] != zeros.shape[1] or zeros.dtype != bool:
            raise UsageError("zeros", expected="p x p truth values", got=zeros.shape)
        parts += _grid(LEFT + number * (WIDE + GAP), title, zeros)
    said = "; ".join(f"{title}: 0 at {int(z.sum())} of {z.size} points" for title, z in grids)
    wide = LEFT + len(grids) * (WIDE + GAP) - GAP + 10
    return document(wide, TOP + WIDE + FOOT, said, parts)


def _grid(left: float, title: str, zeros: NDArray[Any]) -> Iterator[str]:
    p = len(zeros)
    cell = WIDE / p
    yield text(left, 20, title, bold=True, anchor="start")
    counted = f"0 at {int(zeros.sum())} of {p} x {p} points: {zeros.mean():.3f}"
    yield text(left, 42, counted, size=SMALL, anchor="start")
    yield rect(left, TOP, WIDE, WIDE, fill=PAGE_TINT, stroke="none", round_by=0)
    cuts = [n * cell for n in range(1, p)]
    across = "".join(f"M{left:g} {TOP + cut:.1f}h{WIDE:g}" for cut in cuts)
    down = "".join(f"M{left + cut:.1f} {TOP:g}v{WIDE:g}" for cut in cuts)
    yield f'<path d="{across}{down}" stroke="{PAGE_PAPER}" fill="none"/>'
    for x, y in np.argwhere(zeros):
        yield (
            f'<circle cx="{left + (x + 0.5) * cell:.1f}" cy="{TOP + (p - 0.5 - y) * cell:.1f}" '
            f'r="{0.38 * cell:.1f}" fill="{PAGE_OURS}"/>'
        )
    yield text(left + 0.75 * WIDE, TOP + WIDE + 18, "x", size=SMALL)
    yield text(left - 6, TOP + 0.25 * WIDE + 5, "y", size=SMALL, anchor="end")
    for n in sorted({0, p // 2, p - 1}):
        yield text(left + (n + 0.5) * cell, TOP + WIDE + 18, str(n), size=13)
        yield text(left - 6, TOP + WIDE - (n + 0.5) * cell + 5, str(n), size=13, anchor="end")

"""Groups of candidates as dots, one row a group, over a logarithmic axis of speed beside NumPy."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from IPython.display import HTML

from mlc_course.drawing import (
    NUMPY,
    PAGE_INK,
    PAGE_OURS,
    document,
    line,
    round_numbers,
    text,
)
from mlc_course.errors import UsageError

WIDE, LEFT, RIGHT, TOP, ROW, BELOW = 880.0, 190.0, 850.0, 40.0, 46.0, 56.0


@dataclass(frozen=True)
class Scale:
    """The place of a speed between the lowest and the highest one, on a logarithmic axis."""

    low: float
    high: float

    def __call__(self, ratio: float) -> float:
        share = math.log(ratio / self.low) / math.log(self.high / self.low)
        return LEFT + share * (RIGHT - LEFT)


def strips(groups: Mapping[str, Sequence[float]]) -> HTML:
    """Show the speeds of each group as dots, with a tick at its median and a line at NumPy's."""
    return HTML(strips_svg(groups))  # type: ignore[no-untyped-call]


def strips_svg(groups: Mapping[str, Sequence[float]]) -> str:
    """Draw ``strips`` as SVG text; speeds of 0 (did not run) are left out.

    Raises ``UsageError`` where nothing ran.
    """
    ran = {name: [each for each in speeds if each > 0] for name, speeds in groups.items()}
    every = [each for speeds in ran.values() for each in speeds]
    if not every:
        raise UsageError("strips: nothing ran", expected="a speed above 0", got=list(groups))
    low, high = min(*every, 0.9) / 1.3, max(*every, 1.0) * 1.3
    axis = Scale(low, high)
    bottom = TOP + ROW * len(ran)
    said = "; ".join(
        f"{name}: {len(each)} from {min(each):.2g} to {max(each):.2g}, median {median(each):.2g}"
        for name, each in ran.items()
        if each
    )
    parts = [
        *_axis(axis, bottom),
        line((axis(1.0), TOP - 8), (axis(1.0), bottom), colour=NUMPY, wide=3),
        text(axis(1.0), TOP - 14, "NumPy", bold=True, colour=NUMPY),
        *(part for place, name in enumerate(ran) for part in _row(axis, place, name, ran[name])),
    ]
    return document(WIDE, bottom + BELOW, f"Speed beside NumPy. {said}", parts)


def _axis(axis: Scale, bottom: float) -> Iterator[str]:
    yield line((LEFT, bottom), (RIGHT, bottom), colour=PAGE_INK)
    for ratio in round_numbers(axis.low, axis.high):
        yield line((axis(ratio), bottom), (axis(ratio), bottom + 5), colour=PAGE_INK)
        yield text(axis(ratio), bottom + 21, f"{ratio:g}")
    words = "speed, in units of NumPy's (logarithmic); the tick is the median"
    yield text((LEFT + RIGHT) / 2, bottom + 43, words)


def _row(axis: Scale, place: int, name: str, speeds: Sequence[float]) -> Iterator[str]:
    y = TOP + ROW * (place + 0.5)
    yield text(LEFT - 14, y + 5, name, anchor="end")
    for each in speeds:
        yield (
            f'<circle cx="{axis(each):.1f}" cy="{y:.1f}" r="5.5" fill="{PAGE_OURS}" '
            f'fill-opacity="0.55" stroke="{PAGE_OURS}"/>'
        )
    if speeds:
        x = axis(median(speeds))
        yield line((x, y - 15), (x, y + 15), colour=PAGE_INK, wide=3)

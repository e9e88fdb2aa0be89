"""The picture of reuse: how far apart the uses of a line are, and which of them a cache catches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, PAGE_PAPER, document, line, rect, text
from mlc_course.tensor_program.memory import Reuse

WIDE, LEFT, RIGHT = 920, 84, 16
USES = (70, 216)  # top and bottom of the histogram
MISSES = (300, 396)  # and of the curve below it
HIGH = 446
MOST_LABELS = 13
HATCH = (
    '<pattern id="mlc-reuse" width="7" height="7" patternUnits="userSpaceOnUse" '
    f'patternTransform="rotate(45)"><rect width="7" height="7" fill="{AMBER}" fill-opacity="0.3"/>'
    f'<rect width="3" height="7" fill="{AMBER}"/></pattern>'
)
DOTTED = 'stroke-dasharray="2 3"'
MISSED = "url(#mlc-reuse)"


def reuse_svg(
    found: Reuse,
    caches: Mapping[str, int] | None = None,
    heading: str = "",
    *,
    chosen: int | None = None,
) -> str:
    """Uses by distance (columns 0, 1, 2 to 3, 4 to 7, ...), and misses by size of the cache below.

    ``caches`` are sizes in bytes by name, drawn as vertical lines. With a ``chosen`` size, also in
    bytes, a cache of that size which may hold any line anywhere misses what is hatched.
    """
    columns = max(found.lines - 1, 1).bit_length() + 1
    scale = _Scale(columns)
    marks = {name: size // found.line for name, size in (caches or {}).items()}
    lines = None if chosen is None else max(chosen // found.line, 1)
    parts = [f"<defs>{HATCH}</defs>", text(12, 24, heading, size=17, bold=True, anchor="start")]
    parts += _histogram(found, columns, scale, lines)
    parts += _misses(found, columns, scale)
    parts += _marks(marks, found, scale)
    if lines is not None:
        parts += _chosen(lines, found, scale)
    parts += _numbers(found, scale)
    return document(WIDE, HIGH, f"{heading}. {said(found, marks, lines)}", parts)


def said(found: Reuse, marks: Mapping[str, int], lines: int | None = None) -> str:
    """Say in words what the picture shows: marks and ``lines`` are numbers of lines."""
    parts = [f"{found.uses:,} uses of {found.lines:,} lines"]
    bins = _bins(found)
    for place in sorted(range(len(bins)), key=lambda p: -bins[p])[:3]:
        if bins[place]:
            parts.append(f"{bins[place]:,} at distance {_range(place)}")
    parts += [f"{found.misses(max(n, 1)):,} misses with {name}" for name, n in marks.items()]
    if lines is not None:
        parts.append(f"{found.misses(lines):,} misses with a cache of {lines:,} lines")
    return "; ".join(parts)


class _Scale:
    """Where columns are: one for each power of two, and the last for first uses."""

    def __init__(self, columns: int) -> None:
        self.step = (WIDE - LEFT - RIGHT) / (columns + 1)
        self.columns = columns

    def x(self, place: float) -> float:
        """The middle of a column."""
        return LEFT + (place + 0.5) * self.step

    def at(self, lines: float) -> float:
        """The place of a cache of so many lines: right of the distances that it catches."""
        return self.x(math.log2(lines) + 0.5)

    def holds(self, lines: float) -> bool:
        return math.log2(lines) + 0.5 <= self.columns - 0.4


def _bins(found: Reuse, lines: int | None = None) -> list[int]:
    """Later uses by column; with ``lines``, only those that a cache of so many lines misses."""
    columns = max(found.lines - 1, 1).bit_length() + 1
    bins = np.zeros(columns, np.int64)
    for again in found.again.values():
        far = np.flatnonzero(again)
        far = far[far >= (lines or 0)]
        np.add.at(bins, np.ceil(np.log2(far + 1)).astype(int), again[far])
    return [int(each) for each in bins]


def _histogram(found: Reuse, columns: int, scale: _Scale, lines: int | None) -> Iterator[str]:
    every, missed = _bins(found), _bins(found, lines) if lines else [0] * columns
    every, missed = [*every, found.lines], [*missed, found.lines if lines else 0]
    heights = _Heights(every, *USES)
    bottom, wide = USES[1], 0.8 * scale.step
    for place, (number, lost) in enumerate(zip(every, missed, strict=True)):
        if not number:
            continue
        x, y = scale.x(place) - wide / 2, heights.y(number)
        caught = wide * (number - lost) / number  # on a logarithmic axis, a share is a width
        if caught:
            yield rect(x, y, caught, bottom - y, fill=PAGE_OURS, line=0, round_by=0)
        if lost:
            yield rect(x + caught, y, wide - caught, bottom - y, fill=MISSED, line=1, round_by=0)
    yield from _axis(bottom, "uses", USES[0])
    skip = 1 if columns <= MOST_LABELS else 2
    for place in range(0, columns + 1 - skip, skip):  # room for the name of the last column
        yield text(scale.x(place), bottom + 17, _column(place), size=14)
    yield text(scale.x(columns), bottom + 17, "first use", size=14, bold=True)
    middle = (LEFT + WIDE - RIGHT) / 2
    yield text(middle, bottom + 37, "reuse distance: other lines used since the last use")


def _numbers(found: Reuse, scale: _Scale) -> Iterator[str]:
    """Write the number of uses above each column, clear of the line that marks the cache."""
    every = [*_bins(found), found.lines]
    heights = _Heights(every, *USES)
    yield f'<g stroke="{PAGE_PAPER}" stroke-width="4" paint-order="stroke">'
    for place, number in enumerate(every):
        if number:
            yield text(scale.x(place), heights.y(number) - 5, _amount(number), size=14)
    yield "</g>"


def _misses(found: Reuse, columns: int, scale: _Scale) -> Iterator[str]:
    bottom = MISSES[1]
    sizes = [1 << power for power in range(columns)]
    values = [found.misses(size) for size in sizes]
    heights = _Heights(values, *MISSES)
    path = f"M{scale.at(1):.1f} {heights.y(values[0]):.1f}"
    for size, value in zip(sizes[1:], values[1:], strict=True):
        path += f"H{scale.at(size):.1f}V{heights.y(value):.1f}"
    yield f'<path d="{path}" fill="none" stroke="{PAGE_OURS}" stroke-width="2.5"/>'
    before = 0
    for size, value in zip(sizes, values, strict=True):
        x, y = scale.at(size), heights.y(value)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{PAGE_OURS}"/>'
        if value != before:
            yield text(x + 2, y - 8, _amount(value), size=14, anchor="start")
        before = value
    yield from _axis(bottom, "misses", MISSES[0])
    skip = 1 if columns <= MOST_LABELS else 2
    for size in sizes[::skip]:
        yield text(scale.at(size), bottom + 17, _size(size * found.line), size=14)
    middle = (LEFT + WIDE - RIGHT) / 2
    words = "bytes in a cache that may hold any line anywhere (all axes are logarithmic)"
    yield text(middle, bottom + 38, words)


class _Heights:
    """A logarithmic axis upwards, with room below the smallest number."""

    def __init__(self, numbers: Sequence[int], top: float, bottom: float) -> None:
        known = [number for number in numbers if number]
        self.low, self.high = min(known) / 3, max(known)
        self.top, self.bottom = top, bottom

    def y(self, number: int) -> float:
        share = math.log(number / self.low) / math.log(self.high / self.low)
        return self.bottom - (self.bottom - self.top) * share


def _axis(bottom: float, name: str, top: float) -> Iterator[str]:
    yield line((LEFT, top - 8), (LEFT, bottom), colour=PAGE_INK, wide=1)
    yield line((LEFT, bottom), (WIDE - RIGHT, bottom), colour=PAGE_INK, wide=1)
    yield text(LEFT - 8, (top + bottom) / 2 + 5, name, bold=True, anchor="end")


def _marks(marks: Mapping[str, int], found: Reuse, scale: _Scale) -> Iterator[str]:
    beyond = []
    for name, size in marks.items():
        if not scale.holds(max(size, 1)):
            beyond.append(name)
            continue
        x = scale.at(max(size, 1))
        for top, bottom in ((USES[0] - 10, USES[1]), (MISSES[0] - 14, MISSES[1])):
            yield line(
                (x, top), (x, bottom), colour=PAGE_INK, wide=1.6, more='stroke-dasharray="2 3"'
            )
        words = f"{name} {_size(size * found.line)}"
        yield text(x, USES[0] - 14, words, size=14, bold=True)
    if beyond:
        words = f"{' and '.join(beyond)}: larger than every distance"
        yield text(WIDE - RIGHT, 24, words, size=14, anchor="end")


def _chosen(lines: int, found: Reuse, scale: _Scale) -> Iterator[str]:
    if not scale.holds(lines):
        return
    x = scale.at(lines)
    for top, bottom in (USES, (MISSES[0] - 14, MISSES[1])):
        yield line((x, top), (x, bottom), colour=AMBER, wide=4, more='stroke-opacity="0.75"')
    misses = _amount(found.misses(lines))
    yield text(x + 8, MISSES[0] - 20, f"{misses} misses", size=14, bold=True, anchor="start")


def _column(place: int) -> str:
    """The smallest distance of a column."""
    return str(place) if place < 2 else _short(1 << (place - 1)) + "+"


def _range(place: int) -> str:
    return str(place) if place < 2 else f"{1 << (place - 1):,} to {(1 << place) - 1:,}"


def _short(number: int) -> str:
    return f"{number >> 10} Ki" if number >= 1 << 10 else str(number)


def _size(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size}"


def _amount(number: float) -> str:
    """``4.2 M``, ``76.8 k``, ``312``."""
    if number >= 999_500:
        return f"{number / 1e6:,.3g} M"
    return f"{number / 1e3:.3g} k" if number >= 10_000 else f"{number:,.0f}"

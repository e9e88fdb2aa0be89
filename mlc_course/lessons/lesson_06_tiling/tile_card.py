"""One tile as bars: its working set beside the caches, what is fetched, and its speed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from mlc_course.drawing import NUMPY, PAGE_INK, PAGE_OURS, document, line, text
from mlc_course.measure import mark
from mlc_course.tensor_program.ladders import Record, ratio_interval

_text = partial(text, size=14, anchor="start")
WIDTH, HEIGHT = 360, 470
LEFT, RIGHT = 14, 346
SMALLEST, LARGEST = 512, 1 << 23  # bytes, the ends of the axis of the working set


def tile_card_svg(cell: Record | None, record: Record) -> str:
    """The card of a cell of a map's record; of one that is not measured yet, None."""
    parts: list[str] = []
    if cell is None:
        parts.append(_text(LEFT, 30, "This tile is not measured yet."))
    else:
        caches = [level["bytes"] for level in record["levels"][:2]]
        parts += [_text(LEFT, 24, f"{cell['k']} x {cell['n']} of B", size=18, bold=True)]
        parts += _working_set(cell["working_set"], caches)
        parts += _fetches(cell, record)
        parts += _speed(cell)
    return document(WIDTH, HEIGHT, "A tile: its working set, what is fetched, its speed", parts)


def kib(size: float) -> str:
    """``26 KiB``, ``1.1 KiB``, ``1 MiB``."""
    unit, value = ("MiB", size / (1 << 20)) if size >= 1 << 20 else ("KiB", size / 1024)
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def _line(x: float, top: float, bottom: float, colour: str) -> str:
    return line((x, top), (x, bottom), colour=colour, wide=2.5)


def _bar(y: float, end: float) -> str:
    width = max(end - LEFT, 2)
    return f'<rect x="{LEFT}" y="{y}" width="{width:g}" height="22" fill="{PAGE_OURS}"/>'


def _working_set(size: int, caches: Sequence[int]) -> list[str]:
    def at(number: float) -> float:
        share = math.log(min(max(number, SMALLEST), LARGEST) / SMALLEST)
        return LEFT + (RIGHT - LEFT) * share / math.log(LARGEST / SMALLEST)

    fits = next((f"fits in L{i + 1}" for i, c in enumerate(caches) if size <= c), "")
    said = f"working set {kib(size)}: {fits or 'fits in neither'}"
    parts = [_text(LEFT, 58, said, bold=True), _bar(92, at(size))]
    for place, cache in enumerate(caches):
        parts.append(_line(at(cache), 88, 118, PAGE_INK))
        parts.append(_text(at(cache), 83, f"L{place + 1} {kib(cache)}", anchor="middle", size=14))
    return [*parts, _text(LEFT, 134, "0.5 KiB to 8 MiB, logarithmic", size=14)]


def _fetches(cell: Record, record: Record) -> list[str]:
    rows = record["sizes"][0]
    parts = [
        _text(LEFT, 172, "how often an element of B is fetched", bold=True),
        _text(LEFT, 190, f"it is used {rows} times; logarithmic", size=14),
    ]
    counted = zip(cell["b_times"][:2], cell["lines"][:2], strict=True)
    for place, (times, lines) in enumerate(counted):
        y = 202 + 46 * place
        share = math.log(max(times, 1)) / math.log(max(rows, 2))
        parts.append(_bar(y + 18, LEFT + 6 + (RIGHT - LEFT - 6) * share))
        said = f"into L{place + 1}: {times:.3g} x, {lines:,} lines of A, B and C"
        parts.append(_text(LEFT, y + 13, said, size=14))
    return parts


def _speed(cell: Record) -> list[str]:
    low, high = ratio_interval(cell)
    whisker = "the 95 % interval" if "ratio_interval" in cell else "the middle half of the readings"
    scale = (RIGHT - LEFT) / max(1.5, high)

    def at(ratio: float) -> float:
        return float(LEFT + scale * ratio)

    said = f"measured: {cell['ratio']:.2f} x NumPy's speed{mark(cell.get('warning'))}"
    y, lanes = 368, cell["lanes"]
    each = (cell["loads"] + cell["stores"]) / max(cell["multiply_adds"], 1)
    return [
        _text(LEFT, 332, said, bold=True),
        _bar(y, at(cell["ratio"])),
        f'<path d="M{at(low):g} {y + 11}H{at(high):g}M{at(low):g} {y + 5}v12M{at(high):g} '
        f'{y + 5}v12" stroke="{PAGE_INK}" stroke-width="2" fill="none"/>',
        _line(at(1), 358, 400, NUMPY),
        _text(at(1), 354, "NumPy", anchor="middle", colour=NUMPY, bold=True),
        _text(LEFT, 408, f"whisker: {whisker}", size=14),
        _text(LEFT, 438, f"hot loop: {each:.2f} loads and stores for each", size=14),
        _text(LEFT, 455, f"multiply-add of {lanes} float32", size=14),
    ]

"""What one test lets pass at tiny primes, counted, below the bound that is stated for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlc_course.mugraph.draw.axes import DASHED, Decades, line, path
from mlc_course.mugraph.draw.svg import GREEN, OURS, PAPER, SMALL, document, text
from mlc_course.mugraph.evidence import Evidence

WIDE, HIGH, LEFT, TOP, FOOT, COLUMNS = 336.0, 236.0, 48.0, 56.0, 34.0, 3
DECADES = 4.6
HEAD, UNDER = 34.0, 20.0  # the legend; the name of the axis


def evidence_svg(record: Mapping[str, Any]) -> str:
    """A panel for each pair: primes to the right, the rate of wrongly accepting tests upwards.

    ``record`` is what ``benchmarks/evidence.py`` writes: ``tests`` of each point, and ``pairs``,
    each with ``name``, ``said`` and ``points`` of ``prime``, ``accepted`` and ``bound``.
    """
    pairs, tests = record["pairs"], record["tests"]
    rows = -(-len(pairs) // COLUMNS)
    wide, high = COLUMNS * WIDE + 8, HEAD + rows * HIGH + UNDER
    parts = list(_legend(tests))
    for number, pair in enumerate(pairs):
        x, y = number % COLUMNS * WIDE, HEAD + number // COLUMNS * HIGH
        parts += _panel(x, y, pair, tests)
        if number >= len(pairs) - COLUMNS:
            middle = x + (LEFT + WIDE - 10) / 2
            parts.append(text(middle, y + HIGH - FOOT + 40, "lowest prime", size=13))
    said = f"How often one test accepts graphs that differ, for {len(pairs)} pairs"
    return document(wide, high, said, parts)


def _legend(tests: int) -> Iterator[str]:
    words = f"counted: share of {tests:,} tests that wrongly accept (bar: 99 %)"
    yield _dot(16, 15)
    yield line((16, 4), (16, 26), colour=OURS)
    yield text(28, 20, words, size=SMALL, anchor="start")
    yield line((570, 15), (610, 15), colour=GREEN, wide=2.2, more=DASHED)
    yield text(618, 20, "stated: one test accepts at most so often", size=SMALL, anchor="start")


def _panel(x: float, y: float, pair: Mapping[str, Any], tests: int) -> Iterator[str]:
    left, right = x + LEFT, x + WIDE - 10
    scale = Decades(y + TOP, y + HIGH - FOOT, DECADES)
    yield text(x + 10, y + 18, pair["name"], bold=True, anchor="start")
    yield text(x + 10, y + 37, _short(pair["said"]), size=13, anchor="start")
    yield from scale.drawn(left, right, size=13)
    points = pair["points"]
    step = (right - left) / len(points)
    places = [left + (n + 0.5) * step for n in range(len(points))]
    roof = [(at, scale.y(point["bound"])) for at, point in zip(places, points, strict=True)]
    yield path(roof, colour=GREEN, wide=2.2, more=DASHED)
    for at, point in zip(places, points, strict=True):
        yield text(at, scale.bottom + 18, str(point["prime"]), size=13)
        yield from _counted(at, Evidence(tests, point["accepted"], point["bound"]), scale)


def _counted(at: float, found: Evidence, scale: Decades) -> Sequence[str]:
    low, high = (scale.y(each) for each in found.interval)
    bar = line((at, low), (at, high), colour=OURS, wide=2)
    if found.accepted:
        return bar, _dot(at, scale.y(found.rate))
    return bar, text(at, high - 4, "0", size=13)


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{OURS}" stroke="{PAPER}"/>'


def _short(said: str) -> str:
    return said if len(said) < 44 else said.split(",")[0]

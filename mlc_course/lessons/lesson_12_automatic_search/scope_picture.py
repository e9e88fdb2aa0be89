"""The picture of a search: its trials in order, the best so far, NumPy, and the roof.

Written as SVG text by hand, because a slider asks for it many times a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlc_course.drawing import (
    NUMPY,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    ROOF,
    document,
    round_numbers,
    text,
)
from mlc_course.errors import UsageError
from mlc_course.lessons.kit import side_by_side
from mlc_course.measure import mark
from mlc_course.tensor_program.search import Gene, Population, Trial, best_so_far, place_of_best
from mlc_course.units import plural, times

WIDTH, HEIGHT = 1000, 440
LEFT, RIGHT, TOP, BOTTOM = 78, 850, 46, 340
LEAST = 0.001  # the lowest ratio that has a place of its own on the axis; 0 did not finish
GREY = "#808080"
_text = partial(text, anchor="start")


@dataclass(frozen=True)
class Scales:
    """The axes of the picture: trials 1 to ``longest``, ratios from ``low`` to ``high``."""

    longest: int
    low: float
    high: float

    def x(self, place: float) -> float:
        return LEFT + (place + 0.7) / (self.longest + 0.4) * (RIGHT - LEFT)

    def y(self, ratio: float) -> float:
        share = math.log(max(ratio, self.low) / self.low) / math.log(self.high / self.low)
        return BOTTOM - 14 - share * (BOTTOM - 14 - TOP)


def scope_svg(
    shown: Population, selected: int | None = None, *, others: Mapping[str, Sequence[float]] = {}
) -> str:
    """Each trial as NumPy's time / ours over its number; the best so far as a line.

    What comes after ``selected`` is hollow. ``others`` are the ratios of other searches, of which
    only the best so far is drawn, thin. The column of trial 3 (from 0) has the id ``trial-3``.
    Raises ``UsageError`` for a trial that is not there.
    """
    count = len(shown.trials)
    if selected is not None and not 0 <= selected < count:
        raise UsageError("no such trial", expected=f"0 to {count - 1}", got=selected)
    seen = count if selected is None else selected + 1
    scales = _scales(shown, others)
    parts = [
        *_frame(scales),
        *([] if selected is None else _column(scales, selected)),
        *(part for ratios in others.values() for part in _other(scales, ratios)),
        _level(scales, 1.0, NUMPY),
        _level(scales, shown.roof, ROOF),
        *_names(scales, shown.roof, others),
        *_best(scales, shown.ratios, seen),
        *_trials(scales, shown, seen),
        *([] if selected is None else _ring(scales, shown.ratios[selected], selected)),
        *_words(shown, seen),
    ]
    best = max(range(seen), key=lambda place: shown.ratios[place], default=None)
    said = f"{shown.title}: {plural(seen, 'trial')}"
    if best is not None:
        said += f", the best is trial {best + 1} with {times(shown.ratios[best])} NumPy's speed"
    return document(WIDTH, HEIGHT, f"{said}; the roof is at {times(shown.roof)}", parts)


def genes_side_by_side(
    best: Sequence[Gene], chosen: Sequence[Gene], *, titles: tuple[str, str]
) -> str:
    """HTML of two genomes, a decision a line, with what differs coloured and marked."""
    first, second = ("\n".join(map(str, each)) for each in (best, chosen))
    return side_by_side(first, second, titles=titles, context=None)


def _scales(shown: Population, others: Mapping[str, Sequence[float]]) -> Scales:
    every = [r for ratios in (shown.ratios, *others.values()) for r in ratios if r >= LEAST]
    longest = max([len(shown.trials), *map(len, others.values())])
    return Scales(longest, min([*every, 0.5]) / 1.2, max([*every, shown.roof, 1.0]) * 1.25)


def _frame(scales: Scales) -> Iterator[str]:
    yield (
        f'<path d="M{LEFT} {TOP}V{BOTTOM}H{RIGHT}" fill="none" stroke="{PAGE_INK}" '
        'stroke-width="1.2"/>'
    )
    for ratio in round_numbers(scales.low, scales.high):
        y = scales.y(ratio)
        yield f'<path d="M{LEFT - 5} {y:.1f}h5" stroke="{PAGE_INK}"/>'
        yield _text(LEFT - 9, y + 5, f"{ratio:g}", anchor="end")
    step = max(1, 4 * round(scales.longest / 32)) if scales.longest > 8 else 1
    for number in range(step, scales.longest + 1, step):
        x = scales.x(number - 1)
        yield f'<path d="M{x:.1f} {BOTTOM}v5" stroke="{PAGE_INK}"/>'
        yield _text(x, BOTTOM + 21, str(number), anchor="middle")
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 43, "trial", anchor="middle")
    middle = (TOP + BOTTOM) / 2
    words = _text(0, 0, "speed, in units of NumPy's", anchor="middle")
    yield f'<g transform="translate(18 {middle}) rotate(-90)">{words}</g>'


def _column(scales: Scales, selected: int) -> Iterator[str]:
    left, right = scales.x(selected - 0.5), scales.x(selected + 0.5)
    yield (
        f'<rect x="{left:.1f}" y="{TOP}" width="{right - left:.1f}" height="{BOTTOM - TOP}" '
        f'fill="{PAGE_TINT}"/>'
    )


def _steps(scales: Scales, ratios: Sequence[float]) -> str:
    """The best so far as a path, from the first trial that ran; empty when none did."""
    path = ""
    for place, ratio in enumerate(best_so_far(ratios)):
        if ratio >= LEAST:
            x, y = scales.x(place), scales.y(ratio)
            path += f"H{x:.1f}V{y:.1f}" if path else f"M{x:.1f} {y:.1f}"
    return path and f"{path}H{scales.x(len(ratios) - 0.5):.1f}"


def _other(scales: Scales, ratios: Sequence[float]) -> Iterator[str]:
    path = _steps(scales, ratios)
    if path:
        yield f'<path d="{path}" fill="none" stroke="{GREY}" stroke-width="1.6"/>'


def _level(scales: Scales, ratio: float, colour: str) -> str:
    dashes = 'stroke-dasharray="9 5"' if colour == ROOF else ""
    y = scales.y(ratio)
    return f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{colour}" stroke-width="3" {dashes}/>'


def _names(scales: Scales, roof: float, others: Mapping[str, Sequence[float]]) -> Iterator[str]:
    """Name each line in the right margin, from the top down, without overlaps."""
    names: list[tuple[float, str, dict[str, Any]]] = [
        (scales.y(roof), "measured roof", {"colour": ROOF, "bold": True}),
        (scales.y(1.0), "NumPy", {"colour": NUMPY, "bold": True}),
        *((scales.y(max(each)), name, {"size": 14}) for name, each in others.items()),
    ]
    free = 0.0
    for y, name, style in sorted(names, key=lambda each: each[:2]):
        free = max(free, y - 4)
        yield _text(RIGHT + 8, free + 5, name, **style)
        free += 17


def _best(scales: Scales, ratios: Sequence[float], seen: int) -> Iterator[str]:
    for path, style in (
        (_steps(scales, ratios), 'stroke-width="1.5" stroke-dasharray="2 3"'),
        (_steps(scales, ratios[:seen]), 'stroke-width="3.5"'),
    ):
        if path:
            yield f'<path d="{path}" fill="none" stroke="{PAGE_OURS}" {style}/>'


def _trials(scales: Scales, shown: Population, seen: int) -> Iterator[str]:
    width = scales.x(1) - scales.x(0)
    for place, trial in enumerate(shown.trials):
        x, y = scales.x(place), scales.y(trial.ratio)
        low, high = scales.y(trial.low), scales.y(trial.high)
        fill = PAGE_OURS if place < seen else PAGE_PAPER
        mark = (
            f'<path d="M{x:.1f} {low:.1f}V{high:.1f}" stroke="{PAGE_OURS}" stroke-width="1.5"/>'
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{PAGE_OURS}" '
            'stroke-width="1.5"/>'
            if trial.ratio >= LEAST
            else f'<path d="M{x - 4:.1f} {BOTTOM - 10}l8 8m0 -8l-8 8" '
            f'stroke="{PAGE_OURS if place < seen else GREY}" stroke-width="2.2"/>'
        )
        yield (
            f'<g id="trial-{place}">{mark}<rect x="{x - width / 2:.1f}" y="{TOP}" '
            f'width="{width:.1f}" height="{BOTTOM - TOP}" fill="none"/></g>'
        )


def _ring(scales: Scales, ratio: float, selected: int) -> Iterator[str]:
    x, y = scales.x(selected), scales.y(ratio) if ratio >= LEAST else BOTTOM - 6
    yield (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9.5" fill="none" stroke="{PAGE_INK}" '
        'stroke-width="2.5"/>'
    )


def _words(shown: Population, seen: int) -> Iterator[str]:
    """Title, the best so far, and what the marks mean."""
    yield _text(LEFT, 24, shown.title, bold=True, size=17)
    best = _best_in_words(shown.trials[:seen])
    yield _text(WIDTH - 12, HEIGHT - 28, best, bold=True, anchor="end")
    yield _text(12, HEIGHT - 28, f"{shown.where}; one thread for NumPy and for ours.", size=14)
    marks = "Dots: a trial's median, whiskers its slowest and fastest reading, crosses: unfinished."
    yield _text(12, HEIGHT - 9, marks, size=14)


def _best_in_words(trials: Sequence[Trial]) -> str:
    place = place_of_best([each.ratio for each in trials])
    best = trials[place]
    if best.ratio < LEAST:
        return "none ran yet"
    speed = f"{times(best.ratio)} NumPy{mark(best.warning)}"
    return f"best of {len(trials)}: {speed}, trial {place + 1}"

"""A picture of what one test lets pass at tiny primes, counted, below the bound stated for it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mlc_course.drawing import OURS, ROOF, STYLE, WIDTH_IN, svg_text
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import Evidence

COLUMNS, LOWEST_RATE = 3, 10**-4.6
STATED = "stated: one test accepts at most this often"


def evidence_svg(record: Mapping[str, Any]) -> str:
    """Draw a panel for each pair: the rate of wrongly accepting tests over the prime.

    ``record`` is what ``benchmarks/evidence.py`` writes: ``tests`` of each point, and ``pairs``,
    each with ``name``, ``said`` and ``points`` of ``prime``, ``accepted`` and ``bound``.
    """
    pairs, tests = record["pairs"], record["tests"]
    rows = -(-len(pairs) // COLUMNS)
    counted = f"counted: share of {tests:,} tests that wrongly accept (bar: 99 %)"
    with mpl.rc_context({**STYLE, "font.size": 10}):
        figure = Figure(figsize=(WIDTH_IN, 0.6 + 2.5 * rows), layout="constrained")
        panels = figure.subplots(rows, COLUMNS, sharey=True, squeeze=False).flat
        for axes, pair in zip(panels, pairs, strict=False):
            _panel(axes, pair, tests, counted)
        for axes in panels[len(pairs) :]:
            axes.set_visible(False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
        figure.supxlabel("lowest prime", fontsize=11)
    return svg_text(figure, "; ".join(_in_words(pair, tests) for pair in pairs))


def _in_words(pair: Mapping[str, Any], tests: int) -> str:
    first, last = pair["points"][0], pair["points"][-1]
    ends = (
        f"{each['accepted'] / tests:.2g} of the tests at the prime {each['prime']} "
        f"(stated: {each['bound']:.2g})"
        for each in (first, last)
    )
    return f"{pair['name']}: wrongly accepted by {' and '.join(ends)}"


def _panel(axes: Axes, pair: Mapping[str, Any], tests: int, counted: str) -> None:
    points = pair["points"]
    bounds = [point["bound"] for point in points]
    found = [Evidence(tests, point["accepted"], point["bound"]) for point in points]
    said = textwrap.shorten(pair["said"], 38, placeholder=" …")
    axes.set_title(f"{pair['name']}\n{said}", loc="left", fontsize=10)
    axes.set(yscale="log", ylim=(LOWEST_RATE, 1.5))
    axes.set_xticks(range(len(points)), [str(point["prime"]) for point in points])
    axes.grid(axis="y", linewidth=0.5, alpha=0.5)
    axes.plot(bounds, color=ROOF, linestyle="--", linewidth=2, label=STATED)
    ends = [[max(end, LOWEST_RATE) for end in each.interval] for each in found]
    axes.vlines(range(len(found)), *zip(*ends, strict=True), color=OURS, linewidth=2)
    seen = [(place, each.rate) for place, each in enumerate(found) if each.accepted]
    axes.plot(*(zip(*seen, strict=True) if seen else ([], [])), "o", color=OURS, label=counted)
    for place, (each, (_, high)) in enumerate(zip(found, ends, strict=True)):
        if not each.accepted:
            axes.annotate("0", (place, high), ha="center", va="bottom")

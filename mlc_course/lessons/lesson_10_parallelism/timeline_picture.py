"""A timeline with the tasks of each worker as boxes, and a curve of what more workers bring.

Ours is blue, idle time is hatched, the bound is green and dashed. Written as SVG text by hand, so
that a slider is answered at once.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mlc_course.drawing import (
    AMBER,
    DASHED,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    ROOF,
    document,
    line,
    path,
    text,
)
from mlc_course.errors import UsageError
from mlc_course.tensor_program.processor import NOBODY, SEVERAL, Timeline

WIDTH = 1000
LEFT, RIGHT = 92, 24
FAINT = 'stroke-opacity="0.2"'
_text = partial(text, size=14, anchor="start")
HATCH = (
    '<defs><pattern id="{0}" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path d="M0 0V7" stroke="{1}" stroke-width="{2}"/>'
    "</pattern></defs>"
)


def gantt_svg(timeline: Timeline, heading: str, *, unit: str, scale: float = 1.0) -> str:
    """The tasks of each worker from left to right; ``scale`` turns its times into ``unit``.

    The dashed line is where everybody would be done if the work after the serial part were shared
    evenly. Raises ``UsageError`` for a timeline of no length.
    """
    if not timeline.end > 0:
        raise UsageError("nothing to draw", expected="a timeline above 0", got=timeline.end)
    row = 30 if timeline.workers <= 8 else 21
    top, bottom = 58, 46
    height = top + row * timeline.workers + bottom
    across = (WIDTH - LEFT - RIGHT) / timeline.end
    parts = [HATCH.format("idle", PAGE_INK, 0.6)]
    parts.append(HATCH.format("serial", PAGE_PAPER, 2.2))
    parts.append(_text(8, 22, heading, size=16, bold=True))
    key = "boxes: tasks; hatched: waiting; stripes: one worker alone"
    parts.append(_text(WIDTH - RIGHT, 22, key, anchor="end"))
    for worker in range(timeline.workers):
        y = top + row * worker
        parts.append(_text(LEFT - 8, y + row / 2 + 4, f"worker {worker}", anchor="end"))
        parts.append(_rect(LEFT, y + 2, WIDTH - LEFT - RIGHT, row - 4, "url(#idle)"))
    for start, end in _gaps(timeline):
        box = (LEFT + start * across, top + 2, (end - start) * across, row - 4)
        parts += [_rect(*box, PAGE_INK), _rect(*box, "url(#serial)")]
        if box[2] > 56:
            parts.append(_plate(box[0] + box[2] / 2, top + row / 2 + 4, "serial"))
    for each in timeline.intervals:
        x, width = LEFT + each.start * across, each.length * across
        y = top + row * each.worker + 2
        title = f"{each.loop} = {each.task}: {each.length * scale:.3g} {unit}"
        odd = each.task % 2 == 1
        parts.append(_rect(x, y, width, row - 4, PAGE_PAPER))
        parts.append(_rect(x, y, width, row - 4, PAGE_OURS, title=title, light=odd))
        if width > 9 * len(str(each.task)) + 6:
            ink = PAGE_INK if odd else PAGE_PAPER
            middle = x + width / 2, y + row / 2 + 2
            parts.append(_text(*middle, str(each.task), anchor="middle", colour=ink))
    even = timeline.serial + timeline.work / timeline.workers
    floor = top + row * timeline.workers
    x = LEFT + min(even, timeline.end) * across
    parts.append(line((x, top - 8), (x, floor), colour=ROOF, wide=2.5, more=DASHED))
    words = "all done here, if nobody ever waits"
    side = "end" if x > WIDTH / 2 else "start"
    parts.append(_text(x, top - 14, words, anchor=side, colour=ROOF, bold=True))
    parts += _axis(timeline.end * scale, floor, unit)
    ends = (
        f"worker {worker} is done at {scale * end:.3g} {unit}"
        for worker in range(timeline.workers)
        if (end := max((e.end for e in timeline.intervals if e.worker == worker), default=0.0))
    )
    said = f"{heading}: {'; '.join(ends)}; with nobody waiting, all at {scale * even:.3g} {unit}"
    return document(WIDTH, height, said, parts)


def speedup_svg(
    ours: Sequence[float],
    bound: Sequence[float],
    *,
    chosen: int,
    measured: Mapping[int, float] | None = None,
) -> str:
    """Speed-ups with 1, 2, ... workers as bars, under Amdahl's dashed line.

    ``chosen`` is the number of workers whose bar is marked; ``measured`` are diamonds. Raises
    ``UsageError`` for lists of different lengths or a choice outside them.
    """
    if len(ours) != len(bound) or not 1 <= chosen <= len(ours):
        raise UsageError(
            "no such number of workers",
            expected=f"1 to {len(ours)}, and as many bounds",
            got=chosen,
        )
    count, height, top, bottom = len(ours), 300, 34, 46
    step = (WIDTH - LEFT - RIGHT) / count
    most = max(count, 2)
    rise = (height - top - bottom) / most
    floor = height - bottom
    parts: list[str] = []
    for tick in range(0, most + 1, max(most // 4, 1)):
        y = floor - tick * rise
        parts.append(line((LEFT, y), (WIDTH - RIGHT, y), colour=PAGE_INK, wide=1, more=FAINT))
        parts.append(_text(LEFT - 8, y + 4, f"{tick} x", anchor="end"))
    centres = [LEFT + step * (place + 0.5) for place in range(count)]
    for place, (x, value) in enumerate(zip(centres, ours, strict=True)):
        now = place + 1 == chosen
        y = floor - value * rise
        bar = _rect(x - step * 0.32, y, step * 0.64, floor - y, PAGE_OURS, edge=now, light=not now)
        parts.append(bar)
        parts.append(_text(x, floor + 17, str(place + 1), anchor="middle", bold=now))
    equal = [(x, floor - (place + 1) * rise) for place, x in enumerate(centres)]
    parts.append(path(equal, colour=PAGE_INK, wide=1.5, more='stroke-dasharray="2 5"'))
    amdahl = [(x, floor - b * rise) for x, b in zip(centres, bound, strict=True)]
    parts.append(path(amdahl, colour=ROOF, wide=2.5, more=DASHED))
    for place, value in (measured or {}).items():
        parts.append(_diamond(centres[place - 1], floor - value * rise))
    highest = max(ours[chosen - 1], (measured or {}).get(chosen, 0))
    plate = centres[chosen - 1], floor - highest * rise - 14
    parts.append(_plate(*plate, f"{ours[chosen - 1]:.2f} x"))  # last: no line crosses the number
    parts.append(_text(8, 20, "speed-up", bold=True))
    legend = "blue: this loop; green, dashed: Amdahl; dotted: as many times as workers"
    legend += "; orange diamond: measured here" if measured else ""
    parts.append(_text(WIDTH - RIGHT, 20, legend, anchor="end"))
    parts.append(_text((WIDTH + LEFT) / 2, height - 8, "workers", anchor="middle"))
    said = "Speed-up against the number of workers. " + "; ".join(
        f"{workers}: {value:.2f} x, by Amdahl at most {most:.2f}"
        for workers, (value, most) in enumerate(zip(ours, bound, strict=True), start=1)
    )
    return document(WIDTH, height, said, parts)


def owners_svg(
    owners: NDArray[np.int64],
    elements_per_line: int,
    heading: str,
    *,
    first: int = 0,
    lines: int = 4,
) -> str:
    """Draw the writer of each element in some cache lines of a buffer; a box is a line.

    Line ``first`` is the first one shown. Even workers are blue, odd ones amber, and each element
    says its worker's number.
    """
    owners = owners[first * elements_per_line :]
    shown = min(lines, -(-len(owners) // elements_per_line))
    per_row = 2 if elements_per_line <= 16 else 1
    cell = (WIDTH - 40) / (elements_per_line * per_row)
    row, top = 46, 40
    height = top + row * -(-shown // per_row) + 6
    parts, said = [_text(8, 22, heading, size=15, bold=True)], []
    for number in range(shown):
        x0 = 12 + (number % per_row) * (cell * elements_per_line + 16)
        y = top + row * (number // per_row)
        for place, owner in enumerate(owners[number * elements_per_line :][:elements_per_line]):
            x = x0 + place * cell
            fill = PAGE_TINT if owner < 0 else AMBER if owner % 2 else PAGE_OURS
            parts.append(_rect(x, y, cell, 26, fill))
            word = {NOBODY: "", SEVERAL: "!"}.get(int(owner), str(owner))
            ink = PAGE_INK if owner < 0 else "#222221" if owner % 2 else PAGE_PAPER
            parts.append(_text(x + cell / 2, y + 18, word, anchor="middle", colour=ink))
        width = cell * elements_per_line
        parts.append(
            f'<rect x="{x0:.1f}" y="{y}" width="{width:.1f}" height="26" fill="none" '
            f'stroke="{PAGE_INK}" stroke-width="2.5"/>'
        )
        parts.append(_text(x0, y + 40, f"line {first + number}"))
        here = sorted(
            {int(each) for each in owners[number * elements_per_line :][:elements_per_line]}
        )
        who = ", ".join(
            {NOBODY: "nobody", SEVERAL: "several"}.get(each, str(each)) for each in here
        )
        said.append(f"line {first + number}: {who}")
    return document(WIDTH, height, f"{heading}. Writers of {'; '.join(said)}", parts)


def _gaps(timeline: Timeline) -> list[tuple[float, float]]:
    """The times outside all parallel regions."""
    edges = [0.0, *(edge for region in timeline.regions for edge in region), timeline.end]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [(start, end) for start, end in pairs if end - start > 1e-3 * timeline.end]


def _axis(end: float, floor: float, unit: str) -> list[str]:
    across = (WIDTH - LEFT - RIGHT) / end
    parts = [line((LEFT, floor), (WIDTH - RIGHT, floor), colour=PAGE_INK, wide=1)]
    for tick in MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(0, end):
        if 0 <= tick <= end * 1.0001:
            x = LEFT + tick * across
            parts.append(line((x, floor), (x, floor + 5), colour=PAGE_INK, wide=1))
            parts.append(_text(x, floor + 19, f"{tick:,.6g}", anchor="middle"))
    parts.append(_text((WIDTH + LEFT) / 2, floor + 38, f"time, {unit}", anchor="middle"))
    return parts


def _rect(
    x: float,
    y: float,
    width: float,
    height: float,
    fill: str,
    *,
    title: str = "",
    light: bool = False,
    edge: bool = False,
) -> str:
    told = f"<title>{html.escape(title)}</title>" if title else ""
    stroke = (PAGE_INK, 2.5) if edge else (PAGE_PAPER, 0.8 if width > 3 else 0)
    shade = ' fill-opacity="0.35"' if light else ""
    return (
        f'<rect x="{x:.2f}" y="{y:.2f}" width="{max(width, 0.5):.2f}" height="{height:.2f}" '
        f'fill="{fill}"{shade} stroke="{stroke[0]}" stroke-width="{stroke[1]}">{told}</rect>'
    )


def _plate(x: float, y: float, words: str) -> str:
    """A word on a plate of paper, readable over anything."""
    width = 8 * len(words) + 8
    plate = _rect(x - width / 2, y - 14, width, 18, PAGE_PAPER)
    return plate + _text(x, y, words, anchor="middle", bold=True)


def _diamond(x: float, y: float) -> str:
    return (
        f'<path d="M{x:.1f} {y - 9:.1f}l8 9l-8 9l-8 -9Z" fill="#e69f00" stroke="{PAGE_INK}" '
        'stroke-width="1.5"/>'
    )

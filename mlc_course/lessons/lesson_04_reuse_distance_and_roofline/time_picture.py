"""Times of programs that compute the same, beside NumPy's and what bytes and arithmetic allow."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping

from mlc_course.drawing import (
    DASHED,
    NUMPY,
    PAGE_INK,
    PAGE_OURS,
    ROOF,
    document,
    line,
    rect,
    round_numbers,
    text,
)
from mlc_course.measure import Comparison
from mlc_course.units import milliseconds, times

WIDE, LEFT, RIGHT, ROW, HEAD = 920, 214, 236, 30, 52


def times_svg(
    found: Mapping[str, Comparison],
    least_s: Mapping[str, float],
    *,
    heading: str,
    selected: str | None = None,
) -> str:
    """A bar for each program, its middle half as a whisker; NumPy is a line, the roof dashed.

    ``least_s`` is the least time of each program that its bytes and its operations allow.
    """
    numpy = next(iter(found.values())).baseline.median_s
    ends = [numpy, *least_s.values(), *(e.timing.median_s for e in found.values())]
    low, high = min(ends) / 1.6, max(ends) * 1.25
    room = WIDE - LEFT - RIGHT

    def x(seconds: float) -> float:
        return LEFT + room * math.log(max(seconds / low, 1.0)) / math.log(high / low)

    bottom = HEAD + ROW * len(found)
    parts = [text(12, 20, heading, size=16, bold=True, anchor="start")]
    for row, (name, each) in enumerate(found.items()):
        y = HEAD + row * ROW
        parts.append(text(LEFT - 10, y + 16, name, bold=name == selected, anchor="end", size=14))
        end = x(each.timing.median_s)
        parts.append(rect(LEFT, y + 3, end - LEFT, ROW - 10, fill=PAGE_OURS, line=0, round_by=0))
        first, last = each.timing.iqr_s
        middle = (0, y + ROW / 2 - 2)
        parts.append(line((x(first), middle[1]), (x(last), middle[1]), colour=PAGE_INK, wide=1.6))
        least = x(least_s[name])
        parts.append(line((least, y - 1), (least, y + ROW - 4), colour=ROOF, wide=3, more=DASHED))
        words = f"{milliseconds(each.timing.median_s)}, {times(each.ratio)} NumPy{each.mark}"
        parts.append(text(max(x(last), end, x(numpy)) + 8, y + 17, words, size=14, anchor="start"))
    parts.append(line((x(numpy), HEAD - 6), (x(numpy), bottom), colour=NUMPY, wide=2.5))
    label = f"NumPy {milliseconds(numpy)}"
    parts.append(text(x(numpy), HEAD - 11, label, size=14, bold=True, colour=NUMPY))
    parts.append(line((LEFT, bottom), (LEFT + room, bottom), colour=PAGE_INK, wide=1))
    for tick in round_numbers(1e3 * low, 1e3 * high):
        parts.append(text(x(tick / 1e3), bottom + 17, f"{tick:,.6g}", size=13))
    foot = "ms for a call (logarithmic); green: the least that bytes and operations allow"
    parts.append(text(LEFT + room / 2, bottom + 36, foot, size=13))
    told = "; ".join(f"{name} {milliseconds(e.timing.median_s)}" for name, e in found.items())
    return document(WIDE, bottom + 46, html.unescape(f"{heading}. {told}; {label}"), parts)

"""Fetches of each line of a vector, for vectors around the size of a cache."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, document, line, rect, text

WIDE, LEFT, ROW, HEAD, ROOM = 920, 250, 28, 48, 430


def fetches_svg(fetched: Mapping[str, tuple[int, int]], heading: str) -> str:
    """A bar for each vector, of its lines and its misses: how often it fetches each line.

    What is fetched more than once is orange.
    """
    often = {name: misses / lines for name, (lines, misses) in fetched.items()}
    most = max(often.values())
    high = HEAD + ROW * len(often) + 16
    parts = [text(12, 22, heading, size=16, bold=True, anchor="start")]
    for row, (name, times) in enumerate(often.items()):
        y = HEAD + row * ROW
        fill = PAGE_OURS if times < 1.5 else AMBER
        parts.append(text(LEFT - 10, y + 15, name, anchor="end", size=14))
        parts.append(rect(LEFT, y, ROOM * times / most, ROW - 8, fill=fill, line=0, round_by=0))
        words = f"{fetched[name][1]:,} misses, {times:.3g} for each line"
        parts.append(text(LEFT + ROOM * times / most + 8, y + 15, words, anchor="start", size=14))
    parts.append(line((LEFT, HEAD - 6), (LEFT, high - 12), colour=PAGE_INK, wide=1))
    told = "; ".join(f"{name}: {misses:,} misses" for name, (_, misses) in fetched.items())
    return document(WIDE, high, f"{heading}. {told}", parts)

"""A picture of how many lines of a tile want each set of a cache."""

from __future__ import annotations

from collections.abc import Sequence

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, document, line, text
from mlc_course.lessons.lesson_07_two_levels.two_tiles import set_counts
from mlc_course.tensor_program.memory import Cache

WIDE, HIGH, LEFT, TOP = 380, 150, 46, 46


def sets_svg(depth: int, columns: int, row: int, cache: Cache) -> str:
    """Draw the lines of a tile of B, depth x columns, that want each set of a cache.

    A row of B has ``row`` floats. A dashed line is at the number of ways; sets that are asked for
    more are amber.
    """
    counts = set_counts(depth, columns, row, cache)
    most = max(*counts.values(), cache.ways)
    step = WIDE / cache.sets

    def up(lines: float) -> float:
        return TOP + HIGH * (1 - lines / (1.1 * most))

    said = f"{depth} x {columns} of B, rows of {row:,} columns"
    verdict = _verdict(list(counts.values()), cache)
    parts = [
        text(8, 18, said, size=14, bold=True, anchor="start"),
        text(8, 36, verdict, size=13, anchor="start"),
        line((LEFT, TOP), (LEFT, TOP + HIGH), colour=PAGE_INK),
        line((LEFT, TOP + HIGH), (LEFT + WIDE, TOP + HIGH), colour=PAGE_INK),
        text(LEFT - 6, up(cache.ways) + 4, f"{cache.ways}", size=13, anchor="end"),
        text(LEFT - 6, TOP + HIGH, "0", size=13, anchor="end"),
        text(LEFT + WIDE / 2, TOP + HIGH + 20, f"sets 0 to {cache.sets - 1} of L1", size=13),
        text(LEFT + WIDE, TOP + HIGH + 20, f"dashed: {cache.ways} ways", size=13, anchor="end"),
    ]
    if most > cache.ways:
        parts.append(text(LEFT - 6, up(most) + 4, f"{most}", size=13, anchor="end"))
    for place, lines in sorted(counts.items()):
        fill = AMBER if lines > cache.ways else PAGE_OURS
        y = up(lines)
        parts.append(
            f'<rect x="{LEFT + place * step:.1f}" y="{y:.1f}" width="{max(step - 0.6, 0.6):.1f}" '
            f'height="{TOP + HIGH - y:.1f}" fill="{fill}"/>'
        )
    dash = 'stroke-dasharray="7 4"'
    ways = up(cache.ways)
    parts.append(line((LEFT, ways), (LEFT + WIDE, ways), colour=PAGE_INK, more=dash))
    return document(LEFT + WIDE + 14, TOP + HIGH + 32, f"{said}: {verdict}", parts)


def _verdict(counts: Sequence[int], cache: Cache) -> str:
    used = sum(1 for lines in counts if lines)
    return f"the fullest of {used} sets in use: {max(counts)} lines for {cache.ways} places"

"""The line that each of the first loads of a program asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, document, line, rect, text

WIDE, HIGH, LEFT, TOP = 920, 210, 64, 40
GAP = 40
SHOWN = 40  # loads


def lines_svg(loads: Mapping[str, Sequence[int]], *, line_bytes: int = 64) -> str:
    """A panel for each program: loads from left to right, the numbers of their lines upwards.

    ``loads`` are byte addresses in order. A load is a blue dot if the load before it wanted the
    same line, and an orange square if not.
    """
    shown = {name: [a // line_bytes for a in each[:SHOWN]] for name, each in loads.items()}
    top = max((number for each in shown.values() for number in each), default=0)
    panel = (WIDE - LEFT - GAP * (len(shown) - 1)) / max(len(shown), 1)
    parts = []
    said = []
    for place, (name, numbers) in enumerate(shown.items()):
        left = LEFT + place * (panel + GAP)
        changed = sum(a != b for a, b in zip([None, *numbers], numbers, strict=False))
        parts += _panel(left, panel - 10, name, numbers, top)
        said.append(f"{name}: {changed} of {len(numbers)} loads want another line than the last")
    return document(WIDE, HIGH, "; ".join(said), parts)


def _panel(left: float, wide: float, name: str, numbers: Sequence[int], top: int) -> list[str]:
    bottom, room = HIGH - 44, HIGH - 44 - TOP
    parts = [
        text(left, TOP - 18, name, bold=True, anchor="start"),
        line((left, TOP - 4), (left, bottom + 6), colour=PAGE_INK, wide=1),
        line((left, bottom + 6), (left + wide, bottom + 6), colour=PAGE_INK, wide=1),
        text(left + wide, bottom + 28, f"first {len(numbers)} loads", anchor="end"),
        text(left - 6, bottom + 5, "line 0", size=14, anchor="end"),
        text(left - 6, TOP + 5, f"{top}", size=14, anchor="end"),
    ]
    before = None
    for place, number in enumerate(numbers):
        x = left + 8 + (wide - 16) * place / max(len(numbers) - 1, 1)
        y = bottom - room * number / max(top, 1)
        if number == before:
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{PAGE_OURS}"/>')
        else:
            parts.append(rect(x - 4.5, y - 4.5, 9, 9, fill=AMBER, line=1, round_by=0))
        before = number
    return parts

"""The levels of a value, and how exp takes each of them one up."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from mlc_course.drawing import (
    AMBER,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    SMALL,
    document,
    line,
    rect,
    text,
)
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import draw_tiny
from mlc_course.mugraph.verify import Field, Residues, Tower

LEFT, COLUMN, ROW, WIDE, HIGH, TOP = 230.0, 210.0, 88.0, 148.0, 52.0, 46.0
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def exp_tower_svg(lowest: int, height: int, *, seed: int = 3082) -> str:
    """Draw a random x, exp(x), exp(exp(x)) and so on in a random tower above a tiny prime."""
    rng = random.Random(seed)
    tower = draw_tiny(lowest, height, rng)
    field = Field([tower], rng, independence=1)
    values = [("x", field.random(()))]
    for _ in range(height):
        name, value = values[-1]
        values.append((f"exp({name})", field.exp(value)))
    return tower_svg(tower, values)


def tower_svg(tower: Tower, values: Sequence[tuple[str, Residues]]) -> str:
    """Draw a column for each value, with its exp in the next one, and a row for each level.

    Values are scalars of a field with this one tower. Level 0 is the lowest row.
    """
    height = len(tower.primes)
    parts: list[str] = []
    for level, (prime, root) in enumerate(zip(tower.primes, tower.roots, strict=True)):
        y = _y(level, height)
        parts.append(text(12, y - 3, f"level {level}: modulo {prime}", bold=True, anchor="start"))
        if level:
            said = f"{root} has order {tower.primes[level - 1]}"
            parts.append(text(12, y + 17, said, size=SMALL, anchor="start"))
    for column, (name, value) in enumerate(values):
        x = LEFT + (column + 0.5) * COLUMN
        parts.append(text(x, 26, name, bold=True))
        for level, residue in enumerate(value.levels):
            y, made_of = _y(level, height), ""
            below = values[column - 1][1].levels[level - 1] if column and level else None
            if below is not None:
                made_of = f"{tower.roots[level]}{str(int(below.item())).translate(RAISED)}"
                parts += _up(x - COLUMN, y + ROW)
            parts += _box(x, y, None if residue is None else int(residue.item()), made_of)
    wide, high = LEFT + len(values) * COLUMN, TOP + height * ROW
    return document(wide, high, "Levels of a value; exp takes each one up", parts)


def _y(level: int, height: int) -> float:
    return TOP + (height - 1 - level + 0.5) * ROW


def _box(x: float, y: float, residue: int | None, made_of: str) -> Iterator[str]:
    hole = residue is None
    yield rect(
        x - WIDE / 2, y - HIGH / 2, WIDE, HIGH,
        fill=PAGE_PAPER if hole else PAGE_TINT, stroke=AMBER if hole else PAGE_OURS,
        more='stroke-dasharray="6 4"' if hole else "",
    )  # fmt: skip
    yield text(
        x, y + (5 if hole or not made_of else -3), "a hole" if hole else str(residue), bold=not hole
    )
    if made_of:
        yield text(x, y + 17, f"= {made_of}", size=13)


def _up(x: float, y: float) -> Iterator[str]:
    start, end = (x + WIDE / 2 + 4, y - 12), (x + COLUMN - WIDE / 2 - 9, y - ROW + 16)
    yield line(start, end, colour=PAGE_INK, wide=1.6)
    yield f'<path d="M{end[0] + 5:.1f} {end[1] - 6:.1f}l-11 4l8 7z" fill="{PAGE_INK}"/>'

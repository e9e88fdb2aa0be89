"""Why few primes are unlucky: the complex roots of unity beside the residues of the same order."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterator, Sequence

from mlc_course.drawing import (
    AMBER,
    INK,
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
from mlc_course.errors import UsageError

HIGH, TOP = 360.0, 66.0
SCALE, CENTRE = 100.0, (150.0, 208.0)  # pixels of a unit; the place of 0
RIGHT, LABEL, CELL, ROW = 500.0, 90.0, 62.0, 38.0
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGEST = 3  # a number beyond this lies outside the picture
PRIMES = (11, 31, 41, 61, 71, 101)


def norm(number: int, q: int) -> int:
    """Return the product of ``number`` - z over all complex q-th roots of unity z but 1."""
    return sum(number**power for power in range(q))


def of_order(q: int, p: int) -> list[int]:
    """Return the residues modulo p that have the order q, where q and p are prime."""
    return [w for w in range(2, p) if pow(w, q, p) == 1]


def conjugates_svg(number: int, q: int = 5, primes: Sequence[int] = PRIMES) -> str:
    """Draw why exp(x + 1) passes for ``number`` exp(x) at few primes.

    On the left are the complex roots of unity and their distances from the number; on the right,
    for each prime, the residues of order ``q``, with the number marked where it is one of them.
    Raises ``UsageError`` for a number that does not fit, or a prime that is not 1 modulo ``q``.
    """
    if not 2 <= number <= LARGEST:
        raise UsageError("a number to draw", expected=f"2 to {LARGEST}", got=number)
    if any(p % q != 1 for p in primes):
        raise UsageError("primes to draw", expected=f"p % {q} == 1", got=tuple(primes))
    unlucky = [p for p in primes if number in of_order(q, p)]
    product = norm(number, q)
    said = (
        f"The distances of {number} from the {q - 1} roots multiply to {product}; "
        f"{number} has order {q} modulo {', '.join(map(str, unlucky)) or 'none of the primes'}"
    )
    parts = [*_plane(number, q, product), *_table(number, q, primes)]
    wide = RIGHT + LABEL + (q - 1) * CELL + 20
    return document(wide, max(HIGH, TOP + len(primes) * ROW + 20), said, parts)


def _plane(number: int, q: int, product: int) -> Iterator[str]:
    roots = [cmath.exp(2j * math.pi * power / q) for power in range(1, q)]
    far = " · ".join(f"{abs(number - z):.2f}" for z in roots)
    yield text(
        12, 22, f"complex numbers with z{str(q).translate(RAISED)} = 1", bold=True, anchor="start"
    )
    yield text(12, 44, f"distances from {number}: {far} = {product}", size=SMALL, anchor="start")
    (x, y), here = CENTRE, _at(number)
    yield line((20, y), (here[0] + 40, y), colour=PAGE_INK, wide=0.8)
    yield (
        f'<circle cx="{x:g}" cy="{y:g}" r="{SCALE:g}" fill="none" stroke="{PAGE_INK}" '
        'stroke-width="0.8" stroke-dasharray="3 4"/>'
    )
    for z in roots:
        yield line(_at(z), here, colour=PAGE_OURS, wide=2)
    for z in roots:
        yield _dot(*_at(z), PAGE_OURS)
        away = _at(1.2 * z)
        yield text(away[0], away[1] + 5, "z", size=SMALL)
    yield _dot(*_at(1), PAGE_PAPER)
    yield text(_at(1)[0] + 12, y + 20, "1", size=SMALL)
    yield _dot(*here, AMBER)
    yield text(here[0], y + 26, str(number), bold=True)


def _table(number: int, q: int, primes: Sequence[int]) -> Iterator[str]:
    yield text(RIGHT, 22, f"residues of order {q}", bold=True, anchor="start")
    yield text(RIGHT, 44, f"one of them is drawn as w; is it {number}?", size=SMALL, anchor="start")
    for row, p in enumerate(primes):
        y = TOP + row * ROW
        yield text(RIGHT, y + 22, f"p = {p}", anchor="start")
        for column, w in enumerate(of_order(q, p)):
            x, same = RIGHT + LABEL + column * CELL, w == number
            fill, edge, ink = (AMBER, PAGE_INK, INK) if same else (PAGE_TINT, PAGE_OURS, "")
            yield rect(x, y, CELL - 8, ROW - 6, fill=fill, stroke=edge, line=3 if same else 1.2)
            yield text(x + CELL / 2 - 4, y + 22, str(w), bold=same, colour=ink)


def _at(z: complex) -> tuple[float, float]:
    z = complex(z)
    return CENTRE[0] + SCALE * z.real, CENTRE[1] - SCALE * z.imag


def _dot(x: float, y: float, fill: str) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{fill}" stroke="{PAGE_INK}"/>'

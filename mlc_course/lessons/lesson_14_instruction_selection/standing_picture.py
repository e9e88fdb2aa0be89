"""Two pictures over one axis of tests: how many candidates stand, and how long each listed one did.

The axis has a step for each power of two, so that a slider over the same stops lies right below it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from mlc_course.drawing import (
    AMBER,
    GREEN,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    PAGE_TINT,
    SMALL,
    document,
    line,
    rect,
    text,
    width,
)
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import (
    PROOF,
    STOPS,
    Candidate,
    Race,
)
from mlc_course.lessons.lesson_14_instruction_selection.code_text import code, code_lines

WIDE, LEFT, RIGHT = 580.0, 46.0, 542.0
STEP = (RIGHT - LEFT) / PROOF
FAINT = 'stroke-opacity="0.3"'

# --- how many stand -------------------------------------------------------------------------------

HEAD, TOP, FOOT, HIGH = 30.0, 62.0, 172.0, 216.0


def curve_svg(race: Race, place: int) -> str:
    """Draw the number of candidates that stand, over tests; what lies ahead is drawn faintly."""
    return document(WIDE, HIGH, curve_said(race, place), list(_curve(race, place)))


def curve_said(race: Race, place: int) -> str:
    """Return in a sentence or two how many candidates stand at a place."""
    count, of = race.standing(place), len(race.fell)
    if place < PROOF:
        stand = "1 of them stands" if count == 1 else f"{count:,} of them stand"
        return (
            f"Of {race.tried:,} programs that were computed, {of:,} different ones agree with the "
            f"first {STOPS[0]} random tests. After {STOPS[place]:,} tests, {stand}."
        )
    refuted = race.standing(PROOF - 1) - count
    right = "1 is right" if count == 1 else f"{count} are right"
    wrong = f"{refuted} of them {'is' if refuted == 1 else 'are'} wrong and " if refuted else ""
    left = "1 was" if count + refuted == 1 else f"{count + refuted} were"
    return (
        f"After {STOPS[-1]:,} random tests {left} left of {of:,}. "
        f"By the proof, {wrong}{right} for all {amount(race.inputs)} inputs."
    )


def _curve(race: Race, place: int) -> Iterator[str]:
    counts = [race.standing(each) for each in range(PROOF + 1)]
    most = max(10, *counts)

    def y(count: int) -> float:
        return FOOT - (FOOT - TOP) * math.log(count) / math.log(most) if count else FOOT + 8

    yield _headline(race, place)
    for count in (1, 10, 100, 1000):
        if count <= most:
            yield line((LEFT, y(count)), (RIGHT, y(count)), colour=PAGE_INK, wide=0.6, more=FAINT)
            yield text(LEFT - 8, y(count) + 5, f"{count:,}", size=SMALL, anchor="end")
    yield from _axis(FOOT)
    yield _steps([(x_of(each), y(count)) for each, count in enumerate(counts)], faint=True)
    done = [(x_of(each), y(count)) for each, count in enumerate(counts[: place + 1])]
    yield line((x_of(place), TOP - 18), (x_of(place), FOOT), colour=PAGE_INK, wide=1.2)
    yield _steps(done, faint=False)
    x, at = done[-1]
    colour = GREEN if place == PROOF else PAGE_OURS
    yield f'<circle cx="{x:.1f}" cy="{at:.1f}" r="7" fill="{colour}"/>'


def _headline(race: Race, place: int) -> str:
    """The count in large digits, and what it counts."""
    count = race.standing(place)
    stand = "stands" if count == 1 else "stand"
    after = "the proof" if place == PROOF else f"{STOPS[place]:,} random tests"
    return (
        f'<text x="{LEFT}" y="{HEAD}" font-size="17"><tspan font-size="28" font-weight="bold">'
        f"{count:,}</tspan> of {len(race.fell):,} candidates {stand} after {after}</text>"
    )


def _axis(foot: float) -> Iterator[str]:
    yield line((LEFT, foot), (RIGHT, foot), colour=PAGE_INK, wide=1.4)
    for each, stop in enumerate(STOPS):
        x = x_of(each)
        yield line((x, foot), (x, foot + 4), colour=PAGE_INK, wide=1)
        if each % 4 == 0:
            yield text(x, foot + 20, f"{stop:,}", size=SMALL)
    yield line((RIGHT, foot), (RIGHT, foot + 4), colour=PAGE_INK, wide=1)
    yield text(RIGHT, foot + 20, "proof", size=SMALL, bold=True)
    yield text((LEFT + RIGHT) / 2, foot + 40, "random tests, twice as many a step", size=SMALL)


def _steps(points: list[tuple[float, float]], *, faint: bool) -> str:
    """A line that keeps each height until the next point."""
    parts = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    parts += [f"H{x:.1f}V{y:.1f}" for x, y in points[1:]]
    more = f'stroke-width="1.5" {FAINT}' if faint else 'stroke-width="4"'
    colour = PAGE_INK if faint else PAGE_OURS
    return f'<path d="{"".join(parts)}" fill="none" stroke="{colour}" {more}/>'


def x_of(place: float) -> float:
    """Return where a stop lies on the axis; the proof is one step after the last."""
    return LEFT + STEP * place


def amount(number: int) -> str:
    """Return a large number of inputs, as a power of two where it is one: 2^24 (16,777,216)."""
    power = number.bit_length() - 1
    if number != 1 << power:
        return f"{number:,}" if number < 10**12 else f"about 2^{round(math.log2(number))}"
    return f"2^{power} ({number:,})" if power <= 32 else f"2^{power}"


# --- how long each one did ------------------------------------------------------------------------

LINE, BAR, GAP = 19.0, 9.0, 13.0  # heights of a line of the program, of a bar, below a bar
EDGE = 574.0  # where outcomes end


def candidates_svg(race: Race, place: int, chosen: int = 0) -> str:
    """Draw the listed candidates, each with a bar from the first test to what refutes it."""
    parts: list[str] = []
    y = 2.0
    for number, each in enumerate(race.listed):
        ends = outcome(each, PROOF)
        lines = code_lines(each.program, EDGE - LEFT - 12 - 0.92 * width(ends, SMALL, bold=True))
        parts += _row(each, place, y, lines, f"candidate-{number}", is_chosen=number == chosen)
        y += _high(lines)
    others = len(race.fell) - len(race.listed)
    if others:
        words = f"and {others:,} other{'s' if others > 1 else ''} that tests refute"
        parts.append(text(LEFT, y + 14, words, size=SMALL, anchor="start"))
        y += 20
    said = " ".join(f"{each.program}: {outcome(each, place)}." for each in race.listed)
    return document(WIDE, y + 4, said, parts)


def _high(lines: list[str]) -> float:
    return LINE * len(lines) + BAR + GAP


def _row(
    each: Candidate, place: int, top: float, lines: list[str], name: str, *, is_chosen: bool
) -> Iterator[str]:
    stands, right = each.stands(place), each.is_right and place == PROOF
    high = _high(lines) - 3
    fill = PAGE_TINT if is_chosen else PAGE_PAPER
    yield f'<g id="{name}">{rect(2, top, WIDE - 4, high, fill=fill, stroke="none", round_by=5)}'
    if is_chosen:
        yield rect(2, top, 6, high, fill=PAGE_OURS, stroke="none", round_by=2)
    for at, words in enumerate(lines):
        yield code(LEFT, top + 16 + LINE * at, words, bold=stands, struck=not stands)
    words = outcome(each, place)
    yield text(EDGE, top + 16, words, size=SMALL, anchor="end", bold=right or not stands)
    y = top + LINE * len(lines) + 4 + BAR / 2
    yield line((LEFT, y), (RIGHT, y), colour=PAGE_INK, wide=1, more=FAINT)
    end = _end(each, place)
    colour = GREEN if right else PAGE_OURS
    yield line((LEFT, y), (max(end, LEFT + 3), y), colour=colour, wide=BAR)
    if right:
        yield _tick(end, y)
    elif not stands:
        yield _cross(end, y)
    yield "</g>"


def _end(each: Candidate, place: int) -> float:
    """Return where a bar ends: at the slider, or at the test that refutes the candidate before."""
    if each.stands(place):
        return x_of(place)
    if each.fell is None:
        return x_of(PROOF)
    return x_of(math.log2(each.fell) - math.log2(STOPS[0]))


def outcome(each: Candidate, place: int) -> str:
    """Return what has become of a candidate at a place, in a few words."""
    if each.stands(place):
        return "proved" if place == PROOF else "stands"
    if each.fell is None:
        return "refuted by the proof"
    return f"refuted by test {each.fell:,}"


def _cross(x: float, y: float) -> str:
    stroke = f'd="M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12" fill="none"'
    return (
        f'<path {stroke} stroke="{PAGE_PAPER}" stroke-width="7"/>'
        f'<path {stroke} stroke="{AMBER}" stroke-width="4"/>'
    )


def _tick(x: float, y: float) -> str:
    mark = f'<path d="M{x - 5:.1f} {y:.1f}l4 4l7 -9" fill="none" stroke="#fff" stroke-width="3"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="11" fill="{GREEN}"/>{mark}'

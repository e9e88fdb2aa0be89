"""One input of a candidate, bit by bit: the operands, the output that is wanted, what it gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap

from mlc_course.drawing import (
    AMBER,
    PAGE_INK,
    PAGE_OURS,
    PAGE_PAPER,
    document,
    line,
    rect,
    text,
)
from mlc_course.instruction_selection.integers import IntType
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import (
    PROOF,
    STOPS,
    Candidate,
    Race,
    Sample,
)
from mlc_course.lessons.lesson_14_instruction_selection.code_text import code, code_lines

WIDE, MARGIN = 430.0, 10.0
CELL, HIGH, GROUP, PER_LINE = 23.0, 28.0, 8.0, 16  # bits: size, gap after four, bits in a line
NAME = 20.0  # the height of the line above bits
LETTERS = 50  # in a line of text
ON_AMBER = "#222221"


def shown(race: Race, candidate: Candidate, place: int) -> tuple[str, Sample, int]:
    """Return what is shown of a candidate at a place: a sentence, an input, and its output there.

    While it stands this is the last random test, and then what refutes it; where it is proved, the
    input that refutes another one last.
    """
    if candidate.stands(place):
        if place == PROOF:
            sample = race.last_refuting
            return "It is right for all inputs, for this one too.", sample, sample.wanted
        sample = race.samples[place]
        return f"Random test {STOPS[place]:,} does not refute it.", sample, sample.wanted
    assert candidate.at is not None and candidate.found is not None
    if candidate.fell is None:
        return "No random test met this input; the proof finds it.", candidate.at, candidate.found
    return f"Random test {candidate.fell:,} refutes it.", candidate.at, candidate.found


def bits_svg(race: Race, candidate: Candidate, place: int) -> str:
    """Draw an input of a candidate, and its output beside the wanted one, as bits."""
    words, sample, found = shown(race, candidate, place)
    stands = candidate.stands(place)
    parts: list[str] = []
    y = 18.0
    for each in code_lines(candidate.program, WIDE - 2 * MARGIN):
        parts.append(code(MARGIN, y, each, bold=stands, struck=not stands))
        y += 19
    parts.append(text(MARGIN, y + 5, words, bold=True, anchor="start", size=16))
    y += 22
    given = list(_operands(race, sample.inputs))
    while given:
        together = given[: 2 if given[0][1].bits == 8 else 1]
        if together[-1][1].bits != 8:
            together = together[:1]
        for at, (name, of, value) in enumerate(together):
            parts += _number(f"{name} = {value:,}", of, value, MARGIN + at * (WIDE / 2 + 3), y)
        y += _height(together[0][1])
        given = given[len(together) :]
    parts.append(line((MARGIN, y), (WIDE - MARGIN, y), colour=PAGE_INK, wide=1.2))
    result = race.cell.result
    differing = (sample.wanted ^ found) & ((1 << result.bits) - 1)
    parts += _number(f"wanted: {sample.wanted:,}", result, sample.wanted, MARGIN, y + 4, bold=True)
    y += 4 + _height(result)
    parts += _number(f"found: {found:,}", result, found, MARGIN, y, differing=differing, bold=True)
    y += _height(result)
    proved = stands and place == PROOF
    for each in wrap(candidate.proof if proved else _verdict(differing, result), LETTERS):
        parts.append(text(MARGIN, y + 12, each, anchor="start"))
        y += 20
    return document(WIDE, y + 4, bits_said(race, candidate, place), parts)


def bits_said(race: Race, candidate: Candidate, place: int) -> str:
    """Return the picture in sentences, and the proof where the candidate is proved."""
    words, sample, found = shown(race, candidate, place)
    given = ", ".join(f"{name} = {value:,}" for name, _, value in _operands(race, sample.inputs))
    differing = (sample.wanted ^ found) & ((1 << race.cell.result.bits) - 1)
    if candidate.is_right and place == PROOF:
        return f"{candidate.program}: {candidate.proof}"
    outputs = (
        f"{sample.wanted:,} is wanted and {found:,} found" if differing else f"{found:,} is right"
    )
    verdict = _verdict(differing, race.cell.result)
    return f"{candidate.program}: {words} At {given}, {outputs}. {verdict}"


def _verdict(differing: int, of: IntType) -> str:
    if not differing:
        return f"All {of.bits} bits agree."
    count = differing.bit_count()
    return f"{count} of {of.bits} bits {'differs' if count == 1 else 'differ'}."


def _operands(race: Race, inputs: Mapping[str, int]) -> Iterator[tuple[str, IntType, int]]:
    """Yield each lane: its name, type and value. Lane 0 of both operands comes before lane 1."""
    operands = sorted(race.cell.operands, key=lambda each: each.lanes)
    for lane in range(max(each.lanes for each in operands)):
        for each in operands:
            if lane < each.lanes:
                name = each.name if each.lanes == 1 else f"{each.name}[{lane}]"
                yield name, each.type, inputs[f"{each.name}[{lane}]"]


def _height(of: IntType) -> float:
    return NAME + max(1, of.bits // PER_LINE) * (HIGH + 3) + 8


def _number(
    words: str,
    of: IntType,
    value: int,
    left: float,
    top: float,
    *,
    differing: int = 0,
    bold: bool = False,
) -> Iterator[str]:
    """A number: its name and value, below them its bits from the highest on."""
    yield text(left, top + 15, words, anchor="start", bold=bold)
    for at in range(of.bits):
        bit = of.bits - 1 - at
        row, place = divmod(at, PER_LINE)
        x = left + place * CELL + place // 4 * GROUP
        y = top + NAME + row * (HIGH + 3)
        yield _bit(x, y, value >> bit & 1, bool(differing >> bit & 1))


def _bit(x: float, y: float, value: int, differs: bool) -> str:
    """A cell: ones are filled; where bits differ it is amber, with a bold digit and a frame."""
    if differs:
        box = rect(x, y, CELL, HIGH, fill=AMBER, line=2.6, round_by=2)
        return box + text(x + CELL / 2, y + 20, str(value), size=17, bold=True, colour=ON_AMBER)
    filled = 'fill-opacity="0.28"' if value else ""
    fill = PAGE_OURS if value else PAGE_PAPER
    box = rect(x, y, CELL, HIGH, fill=fill, line=0.7, round_by=2, more=filled)
    return box + text(x + CELL / 2, y + 20, str(value), size=16)

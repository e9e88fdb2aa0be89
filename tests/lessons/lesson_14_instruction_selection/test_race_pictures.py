"""Pictures of a race: one of each as it was found good, and what others have to show."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from golden import Golden

from mlc_course.lessons.lesson_14_instruction_selection import (
    PROOF,
    RACED,
    STOPS,
    bits_said,
    bits_svg,
    candidates_svg,
    curve_said,
    curve_svg,
    race_for,
)
from mlc_course.lessons.lesson_14_instruction_selection.code_text import code_lines

GOLDEN = Path(__file__).parent / "pictures"
AMBER_CELL = 'fill="#e69f00" stroke="var(--mlc-ink, #222221)"'


def test_the_pictures_are_those_that_were_looked_at(golden: Golden) -> None:
    race = race_for("mul_q15_sat")
    golden(GOLDEN / "curve.svg", curve_svg(race, 8))
    golden(GOLDEN / "candidates.svg", candidates_svg(race, PROOF, 0))
    golden(GOLDEN / "bits.svg", bits_svg(race, race.listed[0], PROOF))


@pytest.mark.parametrize("name", RACED)
@pytest.mark.parametrize("place", [0, 6, PROOF - 1, PROOF])
def test_every_picture_is_whole_and_marks_the_bits_that_differ(name: str, place: int) -> None:
    race = race_for(name)
    ElementTree.fromstring(curve_svg(race, place))
    for number, each in enumerate(race.listed):
        rows = candidates_svg(race, place, number)
        ElementTree.fromstring(rows)
        refuted = sum(not x.stands(place) for x in race.listed)
        assert rows.count('stroke="#e69f00"') == refuted
        svg = bits_svg(race, each, place)
        ElementTree.fromstring(svg)
        marked = svg.count(AMBER_CELL)
        if each.stands(place):
            assert not marked
        else:
            assert each.at is not None and each.found is not None
            mask = (1 << race.cell.result.bits) - 1
            assert marked == ((each.at.wanted ^ each.found) & mask).bit_count() > 0


def digits(svg: str) -> str:
    """The bits of the last number of a picture, the one that is found."""
    return "".join(re.findall(r">([01])</text>", svg))[-16:]


def test_found_bits_are_those_of_the_value() -> None:
    race = race_for("mul_q15_sat")
    assert digits(bits_svg(race, race.listed[0], PROOF)) == "1000000000000000"
    sample = race.samples[3]
    assert digits(bits_svg(race, race.listed[0], 3)) == f"{sample.wanted & 0xFFFF:016b}"


def test_the_text_alternatives_read_as_sentences() -> None:
    race = race_for("mul_q15_sat")
    assert curve_said(race, 8) == (
        "Of 4,615,051 programs that were computed, 530 different ones agree with the first 4 "
        "random tests. After 1,024 tests, 68 of them stand."
    )
    assert curve_said(race, PROOF) == (
        "After 1,048,576 random tests 5 were left of 530. By the proof, 4 of them are wrong and "
        "1 is right for all 2^32 (4,294,967,296) inputs."
    )
    first = race.listed[0]
    assert bits_said(race, first, PROOF) == (
        "pmulhrsw(A, B): No random test met this input; the proof finds it. At A = -32,768, "
        "B = -32,768, 32,767 is wanted and -32,768 found. 16 of 16 bits differ."
    )
    assert "Random test 1,024 does not refute it." in bits_said(race, first, 8)
    assert "pmulhrsw(A, B): refuted by the proof." in candidates_svg(race, PROOF)
    right = next(each for each in race.listed if each.is_right)
    assert bits_said(race, right, PROOF) == f"{right.program}: {right.proof}"


def test_the_proved_one_is_shown_on_the_input_that_refutes_another_last() -> None:
    race = race_for("mul_q15_sat")
    right = next(each for each in race.listed if each.is_right)
    assert "A = -32,768" in bits_svg(race, right, PROOF)
    assert "found: 32,767" in bits_svg(race, right, PROOF)


@pytest.mark.parametrize("name", RACED)
def test_rows_do_not_jump_when_the_slider_moves(name: str) -> None:
    race = race_for(name)
    sizes = {
        re.findall(r'viewBox="[^"]*"', candidates_svg(race, place))[0]
        for place in range(len(STOPS) + 1)
    }
    assert len(sizes) == 1


def test_long_programs_break_between_operands() -> None:
    text = "paddd(C, pmaddwd({1}, pmaddubsw(pabsb(A), psignb(B, A))))"
    lines = code_lines(text, 300)
    assert len(lines) > 1
    assert " ".join(line.strip() for line in lines) == text
    assert code_lines("pmulhrsw(A, B)", 300) == ["pmulhrsw(A, B)"]
    assert code_lines("x" * 99, 300) == ["x" * 99]

"""The candidate race without a browser: choose, slide, prove, read pictures and sentences."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_14_instruction_selection import (
    PROOF,
    RACED,
    CandidateRace,
    race_for,
)


@pytest.fixture
def widget() -> CandidateRace:
    return CandidateRace()


def test_all_candidates_stand_at_first(widget: CandidateRace) -> None:
    assert widget.specification == "mul_q15_sat"
    assert "refuted" not in widget.candidates
    assert "530</tspan> of 530 candidates stand after 4 random tests" in widget.curve
    assert widget.status.endswith("After 4 tests, 530 of them stand.")
    assert widget.line.startswith("s16 A, s16 B -> s16 O")


def test_a_candidate_that_has_just_been_refuted_is_chosen(widget: CandidateRace) -> None:
    widget.place = 3
    chosen = widget.race.listed[widget.chosen]
    assert chosen.fell is not None and 4 < chosen.fell <= 32
    assert f"Random test {chosen.fell} refutes it." in widget.bits
    before = widget.chosen
    widget.place = 4  # refutes none of those that are listed
    assert widget.chosen == before
    widget.place = 0
    assert widget.chosen == before


def test_the_proof_refutes_what_a_million_tests_did_not(widget: CandidateRace) -> None:
    widget.place = PROOF - 1
    widget.chosen = 0
    assert "Random test 1,048,576 does not refute it." in widget.bits
    widget.place = PROOF
    assert widget.chosen == 0
    assert "the proof finds it" in widget.said
    assert "1 is right for all 2^32" in widget.status


@pytest.mark.parametrize("name", RACED)
def test_every_specification_can_be_chosen(widget: CandidateRace, name: str) -> None:
    widget.place, widget.chosen = PROOF, 3
    widget.specification = name
    assert widget.race == race_for(name)
    if name != "mul_q15_sat":
        assert (widget.place, widget.chosen) == (0, 0)
    assert widget.count == len(widget.race.listed)
    assert CandidateRace(name, place=5, chosen=1).chosen == 1


def test_a_picture_is_drawn_once_for_a_change(
    widget: CandidateRace, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[int] = []
    monkeypatch.setattr(widget, "_draw", lambda: drawn.append(widget.place))
    widget.place = PROOF
    assert drawn == [PROOF]
    widget.specification = "avg_floor_u8"
    assert drawn == [PROOF, 0]


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("specification", "sat_add_u8"),
        ("place", -1),
        ("place", PROOF + 1),
        ("chosen", -1),
        ("chosen", 10),
    ],
)
def test_what_cannot_be_shown_is_refused(widget: CandidateRace, trait: str, value: object) -> None:
    before = widget.bits, widget.curve
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert (widget.bits, widget.curve) == before
    widget.place = 1
    assert widget.curve != before[1]


def test_a_widget_of_no_race_is_refused() -> None:
    with pytest.raises(UsageError):
        CandidateRace("median")
    with pytest.raises(UsageError):
        CandidateRace(place=99)


@pytest.mark.parametrize("name", RACED)
def test_a_printed_page_has_the_whole_race(name: str) -> None:
    page = CandidateRace(name).static_html()
    race = race_for(name)
    assert page.count("<svg") == 3
    assert "after the proof" in page
    for each in race.listed:
        assert (">proved<" if each.is_right else ">refuted by") in page
    assert "is wanted and" in page


def test_the_printed_page_shows_what_only_the_proof_refutes(widget: CandidateRace) -> None:
    assert "32,767 is wanted and -32,768 found. 16 of 16 bits differ." in widget.static_html()

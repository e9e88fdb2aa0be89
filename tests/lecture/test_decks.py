"""The slides of every lesson: time, words, and recordings of today's code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlc_course.lecture import Deck, Recording, build, load, outdated, read_deck

NOTEBOOKS = Path(__file__).parent.parent.parent / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"))
LONGEST_HEADING, MOST_LINES, LONGEST_LINE = 46, 12, 92
MOST_BYTES = 3_000_000


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem[:2])
def deck(request: pytest.FixtureRequest) -> Deck:
    return read_deck(request.param)


@pytest.fixture
def recording(deck: Deck) -> Recording:
    return load(deck.name)


def test_a_lesson_gives_15_to_25_slides_for_45_minutes(deck: Deck) -> None:
    assert 15 <= len(deck.slides) <= 25
    assert 38 <= sum(slide.minutes for slide in deck.slides) <= 47
    assert all(0.5 <= slide.minutes <= 6 for slide in deck.slides)


def test_every_slide_has_a_heading_and_notes(deck: Deck) -> None:
    walls = {cell.name: cell.wall for cell in deck.cells}
    for slide in deck.slides:
        heading = re.match(r"#{1,2} (.*)", walls[slide.places[0].cell])
        assert heading, slide
        assert len(heading[1]) <= LONGEST_HEADING, heading[1]
        assert slide.notes, heading[1]


def test_the_hall_predicts_twice_and_sees_the_outcome(deck: Deck) -> None:
    shown = {place.cell for slide in deck.slides for place in slide.places}
    asked = [cell for cell in deck.code if "predict(" in cell.source and cell.name in shown]
    told = {cell.poll for cell in deck.code if cell.poll}
    assert len(asked) >= 2
    assert {cell.name for cell in asked} == told
    order = [cell.name for cell in deck.cells]
    for cell in deck.code:
        assert not cell.poll or order.index(cell.poll) < order.index(cell.name)
        if cell.name in shown and ".reveal(" in cell.source:
            assert cell.poll, f"{cell.name} reveals an outcome without the votes"


def test_code_on_the_wall_is_short_and_can_be_edited(deck: Deck) -> None:
    shown = [cell for cell in deck.code if cell.shows_code]
    assert shown
    for cell in shown:
        lines = cell.source.splitlines()
        assert len(lines) <= MOST_LINES, cell.name
        assert max(map(len, lines)) <= LONGEST_LINE, cell.name


def test_the_recording_is_of_the_code_of_today(deck: Deck, recording: Recording) -> None:
    assert outdated(deck, recording) == [], f"mlc-course lecture {deck.name[:2]} --record"
    for outputs in recording.outputs.values():
        assert all(each["output_type"] != "error" for each in outputs)


def test_every_result_on_a_slide_is_recorded(deck: Deck, recording: Recording) -> None:
    for cell in deck.code:
        if cell.shows_result and not cell.shows_code:
            assert recording.outputs[cell.name], f"{cell.name} shows nothing"


def test_the_page_is_small_and_asks_nobody(deck: Deck, recording: Recording) -> None:
    page = build(deck, recording)
    assert len(page.encode()) < MOST_BYTES
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=[\"']https?:", page)

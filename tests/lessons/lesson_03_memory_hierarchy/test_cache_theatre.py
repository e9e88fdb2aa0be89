"""The cache theatre without a browser: set a trait, read the picture."""

from __future__ import annotations

import json

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_03_memory_hierarchy.cache_theatre import Theatre
from mlc_course.lessons.lesson_03_memory_hierarchy.plays import PLAYS
from mlc_course.tensor_program.memory import count


@pytest.fixture
def theatre() -> Theatre:
    return Theatre()


def test_a_performance_begins_with_an_empty_cache(theatre: Theatre) -> None:
    assert theatre.status == "An empty cache; 257 accesses to come."
    assert 'class="held"' not in theatre.stage
    assert theatre.stage == theatre.svg


def test_a_step_changes_picture_and_status(theatre: Theatre) -> None:
    theatre.step = 5
    assert "X[0, 0..3] is dropped" in theatre.status
    assert 'class="full miss"' in theatre.svg
    assert theatre.svg != theatre.stage


@pytest.mark.parametrize("name", PLAYS)
def test_the_totals_are_those_of_the_simulator(theatre: Theatre, name: str) -> None:
    theatre.program = name
    for sets, ways, line in ((8, 2, 16), (1, 16, 16), (16, 4, 8), (2, 1, 32)):
        theatre.sets, theatre.ways, theatre.line = sets, ways, line
        (counts,) = count(PLAYS[name].program(), theatre.cache)
        assert theatre.frames["hit"].count(False) == counts.misses
        assert len(theatre.frames["hit"]) == counts.accesses
        assert f"<td>{counts.misses}</td></tr></tbody>" in theatre.table


def test_another_cache_starts_again_and_is_added_to_the_table(theatre: Theatre) -> None:
    theatre.step = 40
    before = theatre.stage
    theatre.ways = 4
    assert theatre.step == 0
    assert theatre.stage != before
    assert theatre.table.count("<tr><td>") == 2
    theatre.ways = 2  # seen before: no second line, but the last one
    assert theatre.table.count("<tr><td>") == 2
    assert theatre.table.index("x 4 ways") < theatre.table.index("x 2 ways")


def test_the_page_gets_a_frame_for_each_step(theatre: Theatre) -> None:
    frames = json.loads(json.dumps(theatre.frames))
    steps = len(theatre.performance.visits)
    assert {name: len(frames[name]) for name in ("place", "hit", "box")} == dict.fromkeys(
        ("place", "hit", "box"), steps
    )
    assert len(frames["held"]) == len(frames["said"]) == len(frames["across"]) == steps + 1
    assert frames["held"][0] == [-1] * 16
    for step, place in enumerate(frames["place"]):
        line = frames["held"][step + 1][place]
        assert frames["labels"][str(line)]
        assert f'id="line-{line}"' in theatre.stage


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("program", "diagonal"),
        ("sets", 3),
        ("ways", 0),
        ("line", 64),
        ("step", -1),
        ("step", 258),
    ],
)
def test_what_cannot_be_shown_is_refused(theatre: Theatre, trait: str, value: object) -> None:
    before, stage = getattr(theatre, trait), theatre.stage
    with pytest.raises(UsageError):
        setattr(theatre, trait, value)
    assert getattr(theatre, trait) == before
    assert theatre.stage == stage


def test_a_program_can_be_named_at_the_start() -> None:
    assert Theatre("rows").performance.misses == 65
    with pytest.raises(UsageError, match="program"):
        Theatre("diagonal")


def test_where_no_widgets_run_there_is_a_picture_and_every_count(theatre: Theatre) -> None:
    data, _ = theatre._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "<svg" in data["text/html"]
    assert 'class="held"' in data["text/html"]
    assert "<b>columns, padded</b>: 65 misses in 257 accesses." in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything(theatre: Theatre) -> None:
    for text in (Theatre._esm, Theatre._css):
        assert "http" not in text
        assert "import " not in text

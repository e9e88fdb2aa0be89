"""The map of tiles without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.kit.tiles import Tile, grid
from mlc_course.lessons.lesson_06_tiling import tile_heat_map as module
from mlc_course.lessons.lesson_06_tiling.tile_heat_map import VIEWS, TileMap
from mlc_course.lessons.lesson_06_tiling.tile_map import Facts, Measured, cells, recorded_map
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Cache

FACTS = {
    "lines": [100, 10],
    "b_times": [1.0, 1.0],
    "multiply_adds": 16,
    "loads": 8,
    "stores": 0,
    "lanes": 16,
}


def measure(
    levels: Sequence[Cache], *, tiles: Sequence[Tile], known: Callable[[Tile], Facts | None]
) -> Iterator[Measured]:
    """Measuring that takes no time: the larger the tile, the faster."""
    for tile in tiles:
        ours = Timing(str(tile), (1.0 / tile.working_set,) * 6)
        yield Measured(tile, FACTS, Comparison(ours, Timing("NumPy", (1.0,) * 6)))


@pytest.fixture
def widget() -> TileMap:
    return TileMap(measure=measure)


def test_it_starts_with_the_recording_and_the_tile_of_the_rule(widget: TileMap) -> None:
    assert widget.status.startswith("Recorded on")
    assert widget.tile.working_set > 0
    assert str(widget.tile) in widget.label
    assert f"{widget.tile} of B" in widget.card


def test_choosing_a_tile_changes_map_and_card(widget: TileMap) -> None:
    svg, card = widget.svg, widget.card
    widget.row, widget.column = 1, 0
    assert widget.tile == Tile(16, 16)
    assert widget.svg != svg
    assert widget.card != card
    assert "16 x 16 of B" in widget.card


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_has_a_number_in_every_cell(widget: TileMap, view: str) -> None:
    widget.view = view
    assert "?</text>" not in widget.svg
    assert ">L1<" in widget.svg
    assert escape(module.TITLES[view]) in widget.svg


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("row", -1),
        ("row", 8),
        ("column", 8),
        ("view", "beauty"),
        ("source", "elsewhere"),
        ("source", "here"),  # nothing is measured yet
    ],
)
def test_what_cannot_be_shown_is_refused(widget: TileMap, trait: str, value: object) -> None:
    before = getattr(widget, trait)
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_an_unknown_picture_is_refused(widget: TileMap) -> None:
    with pytest.raises(UsageError, match="view"):
        widget.picture("beauty")


def test_the_map_fills_cell_by_cell(widget: TileMap) -> None:
    empty: list[int] = []
    widget.observe(lambda change: empty.append(widget.svg.count(">?<")), "measured")
    widget.measure()
    assert widget.measured == len(grid())
    assert empty[1] == len(grid()) - 2
    assert empty[-1] == 0
    assert widget.status == "64 of 64 tiles measured here."
    assert "warning" not in widget.picture("measured")
    assert (widget.source, widget.busy) == ("here", False)


def test_an_interrupt_keeps_what_is_done_and_measuring_goes_on_from_there(widget: TileMap) -> None:
    def interrupt(change: Any) -> None:
        if change.new == 5:
            raise KeyboardInterrupt

    asked: list[int] = []

    def counting(levels: Sequence[Cache], **given: Any) -> Iterator[Measured]:
        asked.append(len(given["tiles"]))
        return measure(levels, **given)

    widget._measure = counting
    widget.observe(interrupt, "measured")
    widget.measure()
    assert widget.status == "Stopped: 5 of 64 tiles are measured."
    assert (widget.measured, widget.busy) == (5, False)
    widget.unobserve(interrupt, "measured")
    widget.measure()
    assert asked == [64, 59]
    assert widget.measured == 64
    widget.measure()  # all are done: anew
    assert asked == [64, 59, 64]


def test_recorded_and_measured_figures_can_be_compared(widget: TileMap) -> None:
    recorded = widget.svg
    widget.measure()
    assert widget.svg != recorded
    widget.source = "recorded"
    assert widget.svg == recorded


def test_a_message_of_the_page_measures(widget: TileMap) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.source == "here"


def test_a_message_that_fails_is_told_and_not_raised() -> None:
    def wrong(*args: object, **kwargs: object) -> Iterator[Measured]:
        raise WrongResult("tile 8 x 16 computes something else")
        yield

    widget = TileMap(measure=wrong)
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.status == "WrongResult: tile 8 x 16 computes something else"
    assert not widget.busy


def test_counts_are_reused_for_the_same_caches_and_processor_only(
    widget: TileMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = recorded_map()
    processor = record["versions"]["llvm_cpu"]
    monkeypatch.setattr(module, "host_cpu", lambda: processor)
    widget._levels = tuple(Cache(**each) for each in record["levels"])
    known = widget._known()(Tile(96, 64))
    assert known is not None
    assert known["lines"] == cells(record)[Tile(96, 64)]["lines"]
    widget._levels = (replace(widget._levels[0], ways=4), *widget._levels[1:])
    assert widget._known()(Tile(96, 64)) is None


def test_a_machine_with_one_cache_has_one_badge() -> None:
    record = recorded_map()
    kept = [
        {**cell, "lines": cell["lines"][:1], "b_times": cell["b_times"][:1]}
        for cell in record["cells"]
    ]
    widget = TileMap(recording={**record, "levels": record["levels"][:1], "cells": kept})
    assert ">L1<" in widget.svg
    assert ">L2<" not in widget.svg
    widget.view = "L2 misses"
    assert widget.svg.count(">?<") == 64


def test_where_no_widgets_run_prediction_and_measurement_stand_together(widget: TileMap) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    for view in ("L1 misses", "measured"):
        assert escape(module.TITLES[view]) in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    assert "http" not in module.TileMap._esm
    assert "import " not in module.TileMap._esm


def test_a_tile_with_a_warning_says_so_on_its_card_and_the_map_counts_it() -> None:
    def few_rounds(*args: object, tiles: Sequence[Tile], **options: object) -> Iterator[Measured]:
        for tile in tiles:
            timing = Timing(str(tile), (1.0, 1.0))
            yield Measured(tile, FACTS, Comparison(timing, Timing("NumPy", (1.0, 1.0))))

    widget = TileMap(measure=few_rounds)
    widget.measure()
    assert "(few rounds)" in widget.card and "(few rounds)" in widget.label
    assert f"Of {len(grid())} tiles the speed has a warning" in widget.picture("measured")
    assert "warning" not in widget.picture("L1 misses")

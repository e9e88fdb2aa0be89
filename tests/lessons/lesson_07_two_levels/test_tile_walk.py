"""The tile walk without a browser: set a trait, read the picture."""

from __future__ import annotations

import time
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_07_two_levels.tile_walk import TileWalk
from mlc_course.lessons.lesson_07_two_levels.two_tiles import HotLoop, RegisterTile
from mlc_course.lessons.lesson_07_two_levels.walk_picture import frames, moments, walk_svg
from mlc_course.measure import Comparison, Timing

HOT = HotLoop(8, 6, 0, 0, 8)
FOUND = {"m-k-n": Comparison(Timing("m-k-n", (2.0,) * 6), Timing("NumPy", (1.0,) * 6))}


def race(workload: str, programs: Mapping[str, Any], *rest: Any, **more: Any) -> Any:
    return {
        name: Comparison(Timing(name, (1.0,) * 6), Timing("NumPy", (1.0,) * 6)) for name in programs
    }


@pytest.fixture
def widget() -> TileWalk:
    return TileWalk(FOUND, count=lambda tile: HOT, race=race, start=RegisterTile(4, 2))


def test_it_starts_before_anything_is_loaded(widget: TileWalk) -> None:
    assert "Nothing is loaded yet" in widget.status
    assert "0.50 x NumPy" in widget.speed
    ET.fromstring(widget.stage)


def test_every_step_is_said_and_every_multiply_add_is_counted(widget: TileWalk) -> None:
    steps = list(moments(RegisterTile(4, 2)))
    assert len(widget.frames["said"]) == len(steps)
    assert steps[-1].multiply_adds == 8 * 4 * 8  # tiles, steps of k in each, sums
    assert steps[-1].loads == 8 * (8 + 4 * 6)
    widget.step = 3
    assert "load an element of A" in widget.status
    assert "in L1" in widget.status and "in L2" in widget.status


def test_what_l1_wants_grows_until_the_tile_is_there(widget: TileWalk) -> None:
    wide = [bars[0] for bars in widget.frames["bars"]]
    assert wide[0] == 0 and wide == sorted(wide)[: len(wide)] or max(wide) > wide[1]
    band = list(moments(widget.tile))
    second = next(n for n, step in enumerate(band) if step.m_0 == 1)
    assert wide[second] >= max(wide[:second])


def test_another_tile_starts_anew(widget: TileWalk) -> None:
    widget.step = 5
    before = widget.stage
    widget.rows = 6
    assert widget.step == 0 and widget.stage != before
    assert "6 x 2 vectors" in widget.stage


def test_more_sums_than_registers_are_drawn_outside(widget: TileWalk) -> None:
    widget.rows, widget.vectors = 6, 4
    inside = widget.scene
    few = type(inside)(inside.tile, inside.depth, 16, inside.caches, HOT)
    many = type(inside)(inside.tile, inside.depth, 32, inside.caches, HOT)
    assert "spilled to memory" in walk_svg(few, 1)
    assert "spilled to memory" not in walk_svg(many, 1)


@pytest.mark.parametrize(
    ("trait", "value"), [("rows", 5), ("vectors", 0), ("step", -1), ("step", 999)]
)
def test_what_cannot_be_shown_is_refused(widget: TileWalk, trait: str, value: int) -> None:
    before = getattr(widget, trait)
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_a_step_that_is_not_there_is_not_drawn(widget: TileWalk) -> None:
    with pytest.raises(UsageError, match="step"):
        walk_svg(widget.scene, 10_000)


def test_measuring_adds_a_bar(widget: TileWalk) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert "measured here" in widget.status
    assert widget.speed.count("x NumPy") >= 2


def test_a_measurement_that_fails_is_told() -> None:
    def wrong(*args: Any, **more: Any) -> Any:
        raise WrongResult("it computes something else")

    widget = TileWalk(count=lambda tile: HOT, race=wrong, start=RegisterTile(4, 2))
    widget._handle_custom_msg({"task": "measure"}, [])
    assert "something else" in widget.status and not widget.busy


def test_a_choice_is_answered_at_once(widget: TileWalk) -> None:
    start = time.thread_time()
    widget.rows, widget.vectors = 6, 3
    assert time.thread_time() - start < 0.3  # two choices, 150 ms each


def test_where_no_widgets_run_the_walk_is_shown_in_its_middle(widget: TileWalk) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "registers: 11 wanted" in data["text/html"]
    assert "NumPy" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    assert "http" not in TileWalk._esm and "import " not in TileWalk._esm


def test_frames_have_a_box_for_every_step(widget: TileWalk) -> None:
    known = frames(widget.scene)
    steps = len(known["said"])
    assert all(len(boxes) == steps for boxes in known["boxes"].values())
    assert len(known["lit"]) == len(known["bars"]) == len(known["kib"]) == steps

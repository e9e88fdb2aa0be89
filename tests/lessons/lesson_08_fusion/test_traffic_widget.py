"""The traffic widget without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_08_fusion.traffic_widget import TrafficWidget
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.problems import Workload

pytestmark = pytest.mark.slow


def race(
    workload: Workload, programs: Mapping[str, Any], *, budget_s: float
) -> dict[str, Comparison]:
    """A race that takes no time; every program is twice as fast as NumPy."""
    ours, numpy = Timing("ours", (0.5,) * 3), Timing("NumPy", (1.0,) * 3)
    return {name: Comparison(ours, numpy) for name in programs}


@pytest.fixture
def widget() -> TrafficWidget:
    return TrafficWidget(race=race)


def drawn(widget: TrafficWidget) -> str:
    """The picture without its words for who cannot see it."""
    return widget.svg.partition(">")[2]


def test_it_begins_with_all_three_stages_in_one(widget: TrafficWidget) -> None:
    assert (widget.problem, widget.fusion) == ("scale_shift_clip", "all inlined")
    assert "1,024 → 384" in widget.svg
    assert "2.67 times fewer" in widget.said
    assert "max(X[m, n] * 2.0 + 1.0, 0.0)" in widget.program


def test_a_problem_and_a_fusion_can_be_named_at_the_start() -> None:
    widget = TrafficWidget("softmax", "row by row")
    assert (widget.problem, widget.fusion) == ("softmax", "row by row")
    assert widget.fusions == [each.name for each in widget.staged.fusions]
    with pytest.raises(UsageError, match="no staged problem"):
        TrafficWidget("attention")
    with pytest.raises(UsageError, match="fusion"):
        TrafficWidget("softmax", "merged")


def test_choosing_a_fusion_changes_picture_reason_and_program(widget: TrafficWidget) -> None:
    before = widget.svg, widget.reason, widget.program, widget.said
    widget.fusion = "Y inlined"
    after = widget.svg, widget.reason, widget.program, widget.said
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert "1,024 → 768" in widget.svg


def test_another_problem_has_other_ways(widget: TrafficWidget) -> None:
    widget.problem = "matmul_exp_matmul"
    assert widget.fusion == "exp in the tile"
    widget.fusion = "first in second"
    assert "C is computed 2 times" in widget.said
    widget.fusion = "apart"
    widget.problem = "softmax"
    assert widget.fusion == "apart"
    assert "softmax" in widget.svg


@pytest.mark.parametrize(
    ("trait", "value"),
    [("problem", "attention"), ("problem", ""), ("fusion", "merged"), ("fusion", "")],
)
def test_what_cannot_be_shown_is_refused(widget: TrafficWidget, trait: str, value: str) -> None:
    before = widget.problem, widget.fusion, widget.svg
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert (widget.problem, widget.fusion, widget.svg) == before


def test_measuring_times_every_way(widget: TrafficWidget) -> None:
    statuses: list[str] = []
    widget.observe(lambda change: statuses.append(change.new), "status")
    assert "press Measure here" in widget.svg
    widget.measure()
    assert statuses[0].startswith("Measuring apart, 1 of 4.")
    assert widget.status == "Measured here, one thread each: 4 ways and NumPy."
    assert drawn(widget).count("2.00 x") == 4
    assert len(widget.found) == 4
    assert not widget.busy


def test_an_interrupt_keeps_what_is_done() -> None:
    done: list[str] = []

    def interrupted(
        workload: Workload, programs: Mapping[str, Any], *, budget_s: float
    ) -> dict[str, Comparison]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.extend(programs)
        return race(workload, programs, budget_s=budget_s)

    widget = TrafficWidget(race=interrupted)
    widget.measure()
    assert widget.status == "Stopped: 2 of 4 are measured."
    assert [way for _, way in widget.found] == ["apart", "Y inlined"]
    assert drawn(widget).count("2.00 x") == 2
    assert not widget.busy


def test_a_message_of_the_page_measures_and_an_error_is_told(widget: TrafficWidget) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert len(widget.found) == 4

    def wrong(*args: object, **kwargs: object) -> dict[str, Comparison]:
        raise WrongResult("it computes something else")

    widget = TrafficWidget(race=wrong)
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.status == "WrongResult: it computes something else"
    assert not widget.busy


def test_where_no_widgets_run_there_is_a_picture_with_its_figures(widget: TrafficWidget) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert widget.svg in data["text/html"]
    assert "2.67 times fewer" in data["text/html"]
    assert "<b>row by row</b>" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (TrafficWidget._esm, TrafficWidget._css):
        assert "http" not in text
        assert "import " not in text

"""The ladder widget without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from machines import shaped

from mlc_course import machine
from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import ladder_widget as module
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.ladder_widget import (
    COURSES,
    LadderWidget,
)
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import Climbed, Rung, ladder, made_on, recorded
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import Workload

pytestmark = pytest.mark.slow

NAMES = [rung.name for rung in ladder("matmul_exp_matmul")]
RUNGS, PACK_B = len(NAMES), NAMES.index("pack-B") + 1


def roofs(threads: int, *, remeasure: bool) -> Roofs:
    assert remeasure, "a climb measures the roofs in the same run"
    return Roofs(threads, gflops=100.0, gbytes_per_s=20.0)


def climb(
    workload: Workload, rungs: Sequence[Rung], *, threads: int, budget_s: float
) -> Iterator[Climbed]:
    """A climb that takes no time: each rung is 0.1 s faster than the one before."""
    for place, rung in enumerate(rungs):
        ours = Timing(rung.name, (2.0 - 0.1 * place,) * 3)
        comparison = Comparison(ours, Timing("NumPy", (1.0,) * 3))
        yield Climbed(rung, comparison, 1e-7, f"def program_{place}(): pass")


@pytest.fixture
def widget() -> LadderWidget:
    return LadderWidget(climb=climb, roofs=roofs)


def test_the_last_rung_is_selected_at_first(widget: LadderWidget) -> None:
    assert widget.name == "polynomial-exp"
    assert widget.status.startswith("Recorded on")


def test_a_rung_can_be_named_at_the_start() -> None:
    assert LadderWidget(rung="pack-B").name == "pack-B"
    with pytest.raises(UsageError, match="rung"):
        LadderWidget(rung="teleport")


def test_selecting_a_rung_changes_picture_reason_and_program(widget: LadderWidget) -> None:
    svg, reason, program = widget.svg, widget.reason, widget.program
    widget.selected = 2
    assert widget.name == "tile"
    assert "tile" in widget.svg
    assert "Tiles of" in widget.reason
    assert "<th>reorder</th><th>tile</th>" in widget.program
    assert widget.svg != svg
    assert widget.reason != reason
    assert widget.program != program


def test_all_cores_is_another_record(widget: LadderWidget) -> None:
    before = widget.svg
    widget.threads = "all"
    assert widget.record is not None
    assert widget.record["threads"] > 1
    assert widget.svg != before


def test_each_machine_that_was_recorded_can_be_chosen(widget: LadderWidget) -> None:
    assert {"AVX-512", "AVX2"} <= widget.machines.keys()
    seen = set()
    for isa, label in widget.machines.items():
        widget.machine = isa
        assert widget.record is not None
        assert widget.record["machine"]["isa"] == isa
        assert label == made_on(widget.record)
        assert widget.status == f"Recorded on {label}."
        assert label in widget.svg
        widget.selected = widget.count - 1
        seen.add((widget.svg, widget.program))
    assert len(seen) == len(widget.machines)
    assert len({program for _, program in seen}) == len(seen)


@pytest.mark.parametrize("isa", ["AVX-512", "AVX2"])
def test_the_recording_of_a_machine_like_this_one_is_shown_at_first(
    isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "describe", lambda: shaped(isa))
    assert LadderWidget().machine == isa


def test_all_cores_of_the_other_machine_are_recorded_too(widget: LadderWidget) -> None:
    widget.machine = list(widget.machines)[-1]
    before = widget.svg
    widget.threads = "all"
    assert widget.record is not None
    assert (widget.record["machine"]["isa"], widget.record["threads"] > 1) == (widget.machine, True)
    assert widget.svg != before


def test_the_choice_of_a_machine_leaves_what_was_measured_here(widget: LadderWidget) -> None:
    widget.measure()
    before, other = widget.svg, list(widget.machines)[-1]
    widget.machine = other
    assert (widget.svg, widget.status[:13]) == (before, "Measured here")
    widget.source = "recorded"
    assert widget.status == f"Recorded on {widget.machines[other]}."


def test_a_machine_without_that_cache_shows_its_times(widget: LadderWidget) -> None:
    first, other = (recorded("matmul_exp_matmul_1_thread", isa) for isa in ("AVX-512", "AVX2"))
    small = {**other, "roofs": {**other["roofs"], "caches": other["roofs"]["caches"][:1]}}
    widget = LadderWidget(recorded={"one": [first, small]})
    widget.view = widget.views[-2]
    widget.machine = "AVX2"
    assert widget.view == "times"


def test_whole_programs_show_every_line(widget: LadderWidget) -> None:
    widget.selected = 10
    assert "equal lines" in widget.program
    widget.whole = True
    assert "equal lines" not in widget.program


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("selected", 16),
        ("selected", -2),
        ("threads", "seven"),
        ("machine", "AVX"),
        ("machine", ""),
        ("source", "elsewhere"),
        ("source", "here"),  # nothing is measured yet
        ("course", "enormous"),
        ("view", "L9"),
    ],
)
def test_what_cannot_be_shown_is_refused(widget: LadderWidget, trait: str, value: object) -> None:
    before = getattr(widget, trait)
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert getattr(widget, trait) == before


def test_rungs_appear_while_they_are_measured(widget: LadderWidget) -> None:
    counts: list[int] = []
    statuses: list[str] = []
    widget.observe(lambda change: counts.append(change.new), "count")
    widget.observe(lambda change: statuses.append(change.new), "status")
    widget.measure()
    assert counts == list(range(1, RUNGS + 1))
    assert any(status.startswith(f"Measuring pack-B, {PACK_B} of {RUNGS}") for status in statuses)
    assert widget.status.startswith("Measured here")
    assert (widget.source, widget.name, widget.busy) == ("here", "polynomial-exp", False)


def test_a_course_can_climb_on_the_full_sizes(widget: LadderWidget) -> None:
    widget.course = list(COURSES)[1]
    widget.measure()
    assert widget.record is not None
    assert widget.record["workload"]["sizes"]["N"] == 3072


def test_an_interrupt_keeps_the_rungs_that_are_done(widget: LadderWidget) -> None:
    def interrupt(change: Any) -> None:
        if change.new == 4:
            raise KeyboardInterrupt

    widget.observe(interrupt, "count")
    widget.measure()
    assert widget.status == f"Stopped: 4 of {RUNGS} rungs are measured."
    assert (widget.count, widget.busy, widget.source) == (4, False, "here")
    widget.unobserve(interrupt, "count")
    widget.measure()
    assert widget.count == RUNGS


def test_recorded_and_measured_figures_can_be_compared(widget: LadderWidget) -> None:
    widget.selected = RUNGS - 1  # a recording may have more
    recorded = widget.svg
    widget.measure()
    measured = widget.svg
    widget.source = "recorded"
    assert widget.svg == recorded
    widget.source = "here"
    assert widget.svg == measured


def test_threads_that_were_not_measured_show_the_recording(widget: LadderWidget) -> None:
    widget.measure()
    widget.threads = "all"
    assert widget.source == "recorded"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> LadderWidget:
    """A widget that has climbed the ladder of a small product."""
    monkeypatch.setitem(module.SMALL_SIZES, "matmul", (16, 64, 64))
    widget = LadderWidget("matmul", recorded={}, climb=climb, roofs=roofs)
    widget.measure()
    return widget


def test_bytes_are_counted_when_the_roofline_is_asked_for(small: LadderWidget) -> None:
    assert small.views == ["times", "memory"]
    statuses: list[str] = []
    small.observe(lambda change: statuses.append(change.new), "status")
    small.view = "memory"
    assert "byte from memory" in small.svg
    assert sum("Counting bytes" in status for status in statuses) == small.count
    assert small.status.startswith("Measured here")
    before = small.svg
    small.selected = 0
    assert small.svg != before
    small.view = "times"
    assert "byte from memory" not in small.svg


def test_an_interrupt_of_the_count_goes_back_to_the_times(small: LadderWidget) -> None:
    def interrupt(change: Any) -> None:
        if "2 of" in change.new:
            raise KeyboardInterrupt

    small.observe(interrupt, "status")
    small.view = "memory"
    assert (small.view, small.busy) == ("times", False)
    assert small.status.startswith("Stopped")


def test_a_message_of_the_page_measures(widget: LadderWidget) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.source == "here"


def test_a_message_that_fails_is_told_and_not_raised() -> None:
    def wrong(*args: object, **kwargs: object) -> Iterator[Climbed]:
        raise WrongResult("rung 7 computes something else")
        yield

    widget = LadderWidget(climb=wrong, roofs=roofs)
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.status == "WrongResult: rung 7 computes something else"
    assert not widget.busy


def test_a_ladder_without_recordings_waits_for_a_measurement() -> None:
    widget = LadderWidget("matmul", recorded={}, climb=climb, roofs=roofs)
    assert (widget.svg, widget.status) == ("", "Nothing is recorded; press Measure here.")
    widget.measure()
    assert widget.name == "larger-stays"


def test_where_no_widgets_run_there_is_a_picture_with_reasons(widget: LadderWidget) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert widget.svg in data["text/html"]
    assert "<b>pack-B</b> B is copied" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (LadderWidget._esm, LadderWidget._css, module.LadderWidget._esm):
        assert "http" not in text
        assert "import " not in text

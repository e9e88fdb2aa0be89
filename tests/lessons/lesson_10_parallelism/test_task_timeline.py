"""The task timeline without a browser: choose, read the pictures; measure with a made-up clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import scores
from mlc_course.lessons.lesson_10_parallelism.task_timeline import (
    GRAINS,
    MOST_WORKERS,
    TaskTimeline,
    schedule,
)
from mlc_course.tensor_program.processor import Timeline, simulate, with_clock
from mlc_course.tensor_program.tir import Schedule


def clock(program: Schedule, arrays: Sequence[Any], *, threads: int) -> Timeline:
    """As many equal tasks as the program has, each a microsecond."""
    (loop,) = with_clock(program)[1]
    return simulate([1e-6] * loop.tasks, threads)


@pytest.fixture
def widget() -> TaskTimeline:
    return TaskTimeline(cores=4, timeline=clock)


def test_it_starts_with_a_triangle_on_four_workers(widget: TaskTimeline) -> None:
    assert "32 tasks of 4 words, triangular, static, 4 workers" in widget.svg
    assert widget.status.startswith("Simulated: 2.27 times as fast")


@pytest.mark.parametrize(
    ("trait", "value", "words"),
    [
        ("load", "one heavy", "one heavy"),
        ("how", "interleaved", "interleaved"),
        ("grain", 1, "128 tasks of 1 word,"),
        ("workers", 1, "1 worker<"),
        ("workers", 16, "worker 15"),
    ],
)
def test_a_choice_changes_both_pictures(
    widget: TaskTimeline, trait: str, value: object, words: str
) -> None:
    svg, curve = widget.svg, widget.curve
    setattr(widget, trait, value)
    assert words in widget.svg
    assert svg != widget.svg
    assert curve != widget.curve


def test_serial_work_bends_amdahls_line(widget: TaskTimeline) -> None:
    curve = widget.curve
    widget.serial = 25
    assert "serial" in widget.svg
    assert widget.curve != curve
    assert widget.simulated.serial / widget.simulated.alone == pytest.approx(0.25, abs=0.01)


def test_dealing_in_turns_mends_the_triangle_and_a_coarse_grain_spoils_it(
    widget: TaskTimeline,
) -> None:
    static = widget.simulated.end
    widget.how = "interleaved"
    assert widget.simulated.end < 0.65 * static
    widget.grain = 64
    assert widget.simulated.end > static


def test_a_heavy_task_bounds_every_number_of_workers(widget: TaskTimeline) -> None:
    widget.load, widget.how, widget.grain = "one heavy", "dynamic", 1
    ends = []
    for workers in (8, 12, 16):
        widget.workers = workers
        ends.append(widget.simulated.end)
    assert min(ends) > 128


@pytest.mark.parametrize(
    ("trait", "value"),
    [
        ("load", "round"),
        ("how", "guided"),
        ("grain", 3),
        ("grain", 256),
        ("workers", 0),
        ("workers", MOST_WORKERS + 1),
        ("serial", 7),
        ("source", "here"),  # nothing is measured yet
        ("source", "elsewhere"),
    ],
)
def test_what_cannot_be_shown_is_refused(widget: TaskTimeline, trait: str, value: object) -> None:
    before, svg = getattr(widget, trait), widget.svg
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert (getattr(widget, trait), widget.svg) == (before, svg)


def test_measuring_runs_every_number_of_workers_up_to_the_chosen_one(widget: TaskTimeline) -> None:
    widget.measure()
    assert sorted(widget.found[widget.choice]) == [1, 2, 3, 4]
    assert (widget.source, widget.measured, widget.busy) == ("here", True, False)
    assert widget.status.startswith("Measured here: 4.00 times as fast")
    assert "µs" in widget.svg
    assert "orange diamond" in widget.curve


def test_tasks_that_no_split_can_deal_are_measured_in_chunks_and_the_board_says_so(
    widget: TaskTimeline,
) -> None:
    widget.how, widget.workers = "interleaved", 3
    assert "interleaved, 3 workers" in widget.svg
    assert "chunks" not in widget.status
    widget.measure()
    assert "in chunks, 3 workers" in widget.svg
    assert "Measured on 3 workers, the tasks ran in chunks, as static does" in widget.status
    widget.workers = 2
    widget.source = "here"
    assert "interleaved, 2 workers" in widget.svg
    assert "Measured on 3 workers" in widget.status, "its diamond is still there"


def test_more_workers_than_cores_stay_simulated(widget: TaskTimeline) -> None:
    widget.workers = 16
    widget.measure()
    assert widget.workers == 4
    assert widget.status.endswith("There are 4 cores here; 16 stay simulated.")


def test_one_core_is_enough_to_measure() -> None:
    widget = TaskTimeline(cores=1, timeline=clock)
    widget.measure()
    assert (widget.workers, widget.source) == (1, "here")
    assert "There are 1 core here" not in widget.status
    assert widget.status.endswith("There is 1 core here; 4 stay simulated.")


def test_another_choice_shows_the_simulation_until_it_is_measured_too(widget: TaskTimeline) -> None:
    widget.measure()
    measured = widget.svg
    widget.grain = 8
    assert (widget.source, widget.measured) == ("simulated", False)
    widget.grain = 4
    assert widget.measured
    widget.source = "here"
    assert widget.svg == measured


def test_dynamic_sharing_can_only_be_simulated(widget: TaskTimeline) -> None:
    widget.how = "dynamic"
    with pytest.raises(UsageError, match="share their tasks before they start"):
        widget.measure()
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.status.startswith("UsageError: TVM's parallel loops")
    assert not widget.busy


def test_an_interrupt_keeps_what_is_measured(widget: TaskTimeline) -> None:
    def interrupt(change: Any) -> None:
        if change.new.startswith("Measured on 2"):
            raise KeyboardInterrupt

    widget.observe(interrupt, "status")
    widget.measure()
    assert sorted(widget.found[widget.choice]) == [1, 2]
    assert (widget.workers, widget.source, widget.busy) == (2, "here", False)
    assert "Stopped" in widget.status


def test_an_interrupt_before_anything_is_measured_changes_nothing() -> None:
    def interrupted(*args: object, **options: object) -> Timeline:
        raise KeyboardInterrupt

    widget = TaskTimeline(cores=2, timeline=interrupted)
    svg = widget.svg
    widget.measure()
    assert (widget.svg, widget.source, widget.busy) == (svg, "simulated", False)
    assert widget.status == "Stopped before anything was measured."


def test_threads_that_took_turns_are_told() -> None:
    def turns(program: Schedule, arrays: Sequence[Any], *, threads: int) -> Timeline:
        found = simulate([1e-6] * 2, 1)
        first, second = found.intervals
        moved = tuple((first, type(second)(1, threads - 1, second.start, second.end)))
        return Timeline(threads, moved, found.end)

    widget = TaskTimeline(workers=2, cores=2, timeline=turns)
    widget.measure()
    assert "took turns on one core" in widget.status


def test_a_message_of_the_page_measures(widget: TaskTimeline) -> None:
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.source == "here"


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("workers", [0, 1, 3, 4])
def test_what_is_measured_is_what_was_chosen(grain: int, workers: int) -> None:
    sch = Schedule(scores("triangular").program())
    schedule(sch, grain, interleaved=workers)
    (loop,) = with_clock(sch)[1]
    tasks = 128 // grain
    assert loop.tasks == (workers if workers and tasks % workers == 0 else tasks)


def test_where_no_widgets_run_there_are_both_pictures(widget: TaskTimeline) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert widget.svg in data["text/html"]
    assert widget.curve in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything(widget: TaskTimeline) -> None:
    for text in (TaskTimeline._esm, TaskTimeline._css):
        assert "http" not in text
        assert "import " not in text

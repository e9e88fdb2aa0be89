"""The loop-order dial without a browser: set a trait, read the picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.lessons.lesson_05_loop_reorder.loop_order_dial import SIZES, LoopOrderDial
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import ORDERS
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Roofs

asked: list[tuple[int, ...]] = []


def race(
    workload: str, orders: Mapping[str, object], sizes: tuple[int, ...], *, budget_s: float
) -> dict[str, Comparison]:
    """A race that takes no time: each order is a second slower than the one before."""
    asked.append(sizes)
    numpy = Timing("NumPy", (0.5,) * 3)
    return {
        order: Comparison(Timing(order, (float(place),) * 3), numpy)
        for place, order in enumerate(orders, start=1)
    }


ROOF = Roofs(1, 100.0, 10.0)


@pytest.fixture
def dial() -> LoopOrderDial:
    return LoopOrderDial(race=race, roof=ROOF)


def test_the_naive_order_is_chosen_at_first_and_nothing_is_measured(dial: LoopOrderDial) -> None:
    assert (dial.order, dial.svg, dial.busy) == ("m-n-k", "", False)
    assert "Nothing is measured yet" in dial.status
    assert "<svg" in dial.stage
    assert {len(each["said"]) for each in dial.frames.values()} == {8**3 + 1}


def test_the_page_has_the_frames_of_all_orders_and_needs_nothing_new(dial: LoopOrderDial) -> None:
    dial.measure()
    before = dial.stage, dial.svg, dial.totals, dial.frames
    dial.order = "k-n-m"
    assert (dial.stage, dial.svg, dial.totals, dial.frames) == before
    assert list(dial.frames) == list(ORDERS)
    assert dial.frames["k-n-m"]["misses"][-1] == [512, 16, 512]
    assert dial.frames["k-n-m"]["nest"][0] == "for k in range(8):"


def test_a_race_that_was_run_before_is_shown_at_once() -> None:
    dial = LoopOrderDial(race("", dict.fromkeys(ORDERS), (), budget_s=1), roof=ROOF)
    assert "256 x 256" in dial.svg and "roof" in dial.svg
    assert "6 times as long as m-n-k" in dial.status


def test_the_animation_stays_at_its_step_when_the_order_changes(dial: LoopOrderDial) -> None:
    dial.step = 17
    dial.order = "m-k-n"
    assert dial.step == 17
    assert "iteration 17 of 512" in dial.static_html()


@pytest.mark.parametrize(
    ("trait", "value"),
    [("order", "i-j-k"), ("order", ""), ("step", -1), ("step", 513), ("size", 250), ("size", 0)],
)
def test_what_cannot_be_shown_is_refused(dial: LoopOrderDial, trait: str, value: Any) -> None:
    before = getattr(dial, trait)
    with pytest.raises(UsageError, match=trait):
        setattr(dial, trait, value)
    assert getattr(dial, trait) == before


def test_an_order_that_is_none_is_refused_at_the_start() -> None:
    with pytest.raises(UsageError, match="order"):
        LoopOrderDial(order="k-k-k")


def test_all_six_are_measured_at_the_chosen_size(dial: LoopOrderDial) -> None:
    asked.clear()
    dial.size = SIZES[0]
    assert list(dial.measure()) == list(ORDERS)
    assert asked == [(SIZES[0],) * 3]
    assert f"{SIZES[0]} x {SIZES[0]}, one" in dial.svg
    assert dial.status.startswith("k-n-m takes 6,000 ms, 6 times as long as m-n-k")


def test_a_message_of_the_page_measures(dial: LoopOrderDial) -> None:
    dial._handle_custom_msg({"task": "measure"}, [])
    assert dial.found


def test_an_interrupt_keeps_what_was_measured_before(dial: LoopOrderDial) -> None:
    dial.measure()
    before = dial.svg

    def interrupted(*args: object, **kwargs: object) -> dict[str, Comparison]:
        raise KeyboardInterrupt

    dial._race = interrupted
    with pytest.raises(KeyboardInterrupt):
        dial.measure()
    assert (dial.svg, dial.busy) == (before, False)
    assert dial.status == "Stopped before the first round was measured."


def test_a_failure_is_told_and_not_raised_into_the_page() -> None:
    def wrong(*args: object, **kwargs: object) -> dict[str, Comparison]:
        raise WrongResult("m-n-k computes something else")

    dial = LoopOrderDial(race=wrong, roof=ROOF)
    dial._handle_custom_msg({"task": "measure"}, [])
    assert dial.status == "WrongResult: m-n-k computes something else"
    assert not dial.busy


def test_where_no_widgets_run_there_are_picture_misses_and_times(dial: LoopOrderDial) -> None:
    assert "mlc-visits" in dial.static_html()
    dial.measure()
    data, _ = dial._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    for part in ("NumPy 500 ms", "Misses of each order", "mlc-visits", "roof"):
        assert part in data["text/html"]


def test_where_no_widgets_run_the_times_are_of_the_size_that_was_measured(
    dial: LoopOrderDial,
) -> None:
    dial.measure()
    dial.size = SIZES[0]
    assert "256 x 256, one" in dial.static_html()


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (LoopOrderDial._esm, LoopOrderDial._css):
        assert "http" not in text
        assert "import " not in text

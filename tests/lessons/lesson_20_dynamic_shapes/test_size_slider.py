"""The size slider without a browser: choose, measure, read guards and picture."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_20_dynamic_shapes.size_slider import (
    PROGRAMS,
    ROWS,
    Reading,
    SizeSlider,
    tails,
)


@pytest.fixture
def widget() -> SizeSlider:
    return SizeSlider(row=768)


def test_it_shows_the_guards_of_a_size(widget: SizeSlider) -> None:
    assert widget.status == "A row of 768: the kernel for H == 768 runs. Not measured yet."
    assert "at a row of 768" in widget.guards
    assert widget.svg == ""
    widget.place = ROWS.index(769)
    assert "the kernel for any sizes runs" in widget.status
    assert widget.guards.count("does not hold") == 3


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_kernel_that_is_named_is_right_there(widget: SizeSlider, program: str) -> None:
    """Each choice shows a guard that holds, and no guard before it does."""
    widget.program = program
    for place in range(0, len(ROWS), 7):
        widget.place = place
        _, sizes = widget.inputs_of(ROWS[place])
        chosen = widget.kernel.chosen(sizes)
        assert f"the kernel for {chosen} runs" in widget.status
        for variant in widget.kernel.variants:
            if variant is chosen:
                break
            assert not variant.admits(sizes)


def test_all_sizes_are_measured_and_drawn(widget: SizeSlider) -> None:
    readings = widget.measure()
    assert [each.size for each in readings] == list(ROWS)
    assert all(each.ours_us > 0 and each.numpy_us > 0 for each in readings)
    assert "NumPy" in widget.svg
    assert "NumPy's speed, on " in widget.status
    assert not widget.busy
    widget.program = "masked_softmax"
    assert widget.svg == ""
    widget.program = "residual_layer_norm"
    assert "NumPy's speed" in widget.status


def test_rows_that_are_one_float_short_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    readings = {size: Reading(size, 0, float(us), 9.0) for size, us in ((15, 6), (16, 4))}
    tails(readings, [16])
    assert capsys.readouterr().out == "a row of  15 takes 1.50 times as long as a row of 16\n"


def test_an_interrupt_ends_a_measurement(
    widget: SizeSlider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(row: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(widget, "_reading", stopped)
    with pytest.raises(KeyboardInterrupt):
        widget.measure()
    assert not widget.busy
    assert widget.readings["residual_layer_norm"] == []


@pytest.mark.parametrize(
    ("trait", "value"), [("program", "bias_gelu"), ("place", -1), ("place", len(ROWS))]
)
def test_what_cannot_be_shown_is_refused(widget: SizeSlider, trait: str, value: object) -> None:
    before = widget.guards
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert widget.guards == before


def test_messages_of_the_page_measure(widget: SizeSlider) -> None:
    for nonsense in ({"task": "sing"}, {}, None):
        widget._handle_custom_msg(nonsense, [])
    assert widget.svg == ""
    widget._handle_custom_msg({"task": "measure"}, [])
    assert widget.svg


def test_a_printed_page_has_the_guards(widget: SizeSlider) -> None:
    assert "H == 768" in widget.static_html()

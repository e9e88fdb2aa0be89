"""The evidence meter without a browser: choose, test, read the picture."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_meter import EvidenceMeter
from mlc_course.lessons.lesson_17_finite_field_verification.meter import Meter


@pytest.fixture
def widget() -> EvidenceMeter:
    return EvidenceMeter(seed=1)


def test_it_starts_with_a_pair_and_no_test(widget: EvidenceMeter) -> None:
    assert "x·x·x" in widget.svg
    assert "no test yet" in widget.svg
    assert widget.status.startswith("One test misses a difference with probability 0.0968")
    assert (widget.can_run, widget.can_hunt, widget.busy) == (True, True, False)


def test_one_more_test_is_one_more_mark(widget: EvidenceMeter) -> None:
    widget.pair = "two squares"
    for count in (1, 2):
        before = widget.svg
        widget.one()
        assert widget.svg != before
        assert len(widget.meter.run) == count
    assert widget.status.startswith("So far 2 tests accept. Different graphs get here")


def test_a_run_ends_in_a_refusal_or_a_verdict(widget: EvidenceMeter) -> None:
    widget.finish()
    assert "This proves that the graphs differ" in widget.status
    widget.pair = "stable softmax"
    widget.finish()
    assert widget.status.endswith("The verdict is right.")


def test_a_wrong_verdict_is_found_and_labelled(widget: EvidenceMeter) -> None:
    widget.prime, widget.error = 5, -1
    widget.hunt()
    assert widget.status.startswith("Verdict: equal, and it is wrong.")
    assert "WRONG" in widget.svg
    assert widget.meter.passed == 1


def test_a_hunt_in_vain_is_told(widget: EvidenceMeter) -> None:
    widget.pair, widget.error = "exponent off by y", -9
    widget.hunt()
    assert widget.status == (
        "400 runs and no wrong verdict; at most a share of 1e-9 of all runs is wrong."
    )
    assert widget.meter.passed == 0


@pytest.mark.parametrize(("trait", "value"), [("pair", "exp of exp"), ("prime", 5), ("error", -9)])
def test_a_choice_begins_anew(widget: EvidenceMeter, trait: str, value: Any) -> None:
    widget.one()
    before = widget.svg
    setattr(widget, trait, value)
    assert widget.meter.tests == 0
    assert widget.svg != before


def test_a_prime_that_states_nothing_cannot_run(widget: EvidenceMeter) -> None:
    widget.pair, widget.prime = "mean forgotten", 5
    assert (widget.can_run, widget.can_hunt) == (False, False)
    assert "nothing is stated, however many tests you make" in widget.status


def test_there_is_nothing_to_hunt_for_in_equal_graphs(widget: EvidenceMeter) -> None:
    widget.pair = "two squares"
    assert (widget.can_run, widget.can_hunt) == (True, False)
    widget._handle_custom_msg({"task": "hunt"}, [])
    assert "these two are equal" in widget.status


@pytest.mark.parametrize(
    ("trait", "value"),
    [("pair", "squares"), ("pair", ""), ("prime", 37), ("prime", 0), ("error", 0), ("error", -2)],
)
def test_what_cannot_be_shown_is_refused(widget: EvidenceMeter, trait: str, value: object) -> None:
    widget.one()
    before, svg = getattr(widget, trait), widget.svg
    with pytest.raises(UsageError):
        setattr(widget, trait, value)
    assert (getattr(widget, trait), widget.svg) == (before, svg)


def test_it_cannot_be_made_of_what_it_cannot_show() -> None:
    with pytest.raises(UsageError):
        EvidenceMeter("squares")
    with pytest.raises(UsageError):
        EvidenceMeter("cube", 4)


def test_messages_of_the_page_test(widget: EvidenceMeter) -> None:
    widget._handle_custom_msg({"task": "one"}, [])
    assert widget.meter.tests == 1
    widget._handle_custom_msg({"task": "finish"}, [])
    widget._handle_custom_msg({"task": "restart"}, [])
    assert widget.meter.tests == 0
    for nonsense in ({"task": "sing"}, {}, "one", None):
        widget._handle_custom_msg(nonsense, [])
    assert widget.meter.tests == 0


def test_an_interrupt_keeps_the_tests_that_are_made(
    widget: EvidenceMeter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hunt(self: Meter) -> None:
        self.finish()
        raise KeyboardInterrupt

    monkeypatch.setattr(Meter, "hunt", hunt)
    widget.hunt()
    assert widget.meter.tests > 0
    assert not widget.busy
    assert "Testing" not in widget.status


def test_where_no_widgets_run_a_wrong_verdict_is_shown(widget: EvidenceMeter) -> None:
    data, _ = widget._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in data
    assert widget.svg in data["text/html"]
    assert "WRONG" in data["text/html"]


def test_the_page_asks_no_other_machine_for_anything() -> None:
    for text in (EvidenceMeter._esm, EvidenceMeter._css):
        assert "http" not in text
        assert "import " not in text

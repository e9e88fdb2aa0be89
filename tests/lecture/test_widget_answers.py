"""A widget without Python answers as it did with it, or not at all."""

from __future__ import annotations

import itertools
import time
from typing import Any

import ipywidgets
import pytest
import traitlets

from mlc_course.lecture import answers
from mlc_course.lessons.kit import Choice, Widget, predict
from mlc_course.lessons.kit.prediction import Prediction


def all_widgets(kind: type) -> list[type]:
    found = [kind, *itertools.chain.from_iterable(map(all_widgets, kind.__subclasses__()))]
    return [each for each in found if not each.__module__.startswith("tests")]


class Sum(Prediction):
    """Any widget of the course would do; this one has a script already."""

    left = Choice(1, (1, 2, 3))
    right = Choice(10, (10, 20))
    shown = traitlets.Int(11).tag(sync=True)
    idle = traitlets.Int(0).tag(sync=True)
    pause = 0.0

    def __init__(self) -> None:
        super().__init__("How many?", ["one", "two"])

    @traitlets.observe("left", "right")
    def _add(self, change: Any) -> None:
        time.sleep(self.pause)
        self.shown = self.left + self.right


def test_every_combination_is_asked_once_and_the_widget_is_as_before() -> None:
    widget = Sum()
    found = answers(widget, {})
    assert found["asks"] == found["chosen"] == ["left", "right"]
    for left, right in itertools.product((1, 2, 3), (10, 20)):
        view = found["views"][f"[{left},{right}]"]
        assert view.get("shown", 11) == left + right
    assert (widget.left, widget.right, widget.shown) == (1, 10, 11)


class Remembering(Sum):
    """Keeps all sums that were ever asked for."""

    table = traitlets.Unicode("").tag(sync=True)

    @traitlets.observe("shown")
    def _remember(self, change: Any) -> None:
        self.table += f" {self.shown}"


def test_what_a_widget_remembers_of_earlier_choices_is_no_answer_to_a_choice() -> None:
    widget = Remembering()
    found = answers(widget, {})
    assert found["views"]["[1,10]"] == {} and found["views"]["[2,20]"]["shown"] == 22
    assert not any("table" in view for view in found["views"].values())
    assert widget.table == "" and widget.shown == 11


def test_a_trait_that_python_does_not_hear_needs_no_answer() -> None:
    assert "idle" not in answers(Sum(), {})["asks"]
    assert answers(predict("How many?", ["one", "two"]), {}) == {
        "asks": [],
        "chosen": [],
        "views": {},
    }


@pytest.mark.parametrize("limit", ["MOST_VIEWS", "MOST_BYTES", "MOST_S"])
def test_too_many_too_large_or_too_slow_is_not_kept_at_all(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    from mlc_course.lecture import answers as face  # the function hides the module of its name

    monkeypatch.setitem(face.__globals__, limit, 0.01 if limit == "MOST_S" else 3)
    widget = Sum()
    widget.pause = 0.02
    found = answers(widget, {})
    assert found["views"] == {} and found["asks"] == ["left", "right"]
    assert widget.shown == 11


def test_every_widget_is_one_that_a_page_of_our_own_can_host() -> None:
    for kind in all_widgets(Widget):
        for name, trait in kind.class_traits(sync=True).items():  # type: ignore[attr-defined]
            assert not isinstance(trait, traitlets.Bytes), f"{kind.__name__}.{name} is binary"
            if isinstance(trait, traitlets.Instance) and name != "layout":
                held = trait.klass
                assert not (isinstance(held, type) and issubclass(held, ipywidgets.Widget))

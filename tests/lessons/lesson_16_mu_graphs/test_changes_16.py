"""Each change of the lesson is noticed by whom the lesson says: the checker, a run, or nobody."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs import changes
from mlc_course.lessons.lesson_16_mu_graphs.changes import CHANGES, changed, complaint, verdict
from mlc_course.lessons.lesson_16_mu_graphs.examples import example

EXPECTED = {
    "W by y": ("wrong", "18432 of 24576 elements differ"),
    "the loop along W's columns": ("refused", "inner dimensions"),
    "G whole in each iteration": ("refused", "extents"),
    "no sum over the loop": ("refused", "one operand is in the loop"),
    "no place along y": ("refused", "all 4 blocks along y write the same place"),
    "32 iterations": ("right", ""),
    "the mean of n numbers": ("wrong", "0.866 times the right value"),
    "the squares of z, X without the loop": ("wrong", "0.25 times the right value"),
    "8 blocks along x": ("right", ""),
}


def test_every_change_has_its_verdict() -> None:
    assert CHANGES.keys() == EXPECTED.keys()
    for name, (who, words) in EXPECTED.items():
        found, seen = verdict(changed(name))
        assert (found, words in seen) == (who, True), (name, found, seen)


def test_a_complaint_names_its_place_and_a_sound_text_has_none() -> None:
    assert "in line" in complaint(changed("no sum over the loop"))
    assert complaint(example("one_kernel")) == ""


def test_a_change_of_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(changes.CHANGES, "nothing", (("no such words", ""),))
    with pytest.raises(UsageError, match="nothing: what is changed"):
        changed("nothing")

"""Changes of one line: six are refused, each by the check that is meant for it; one is right."""

from __future__ import annotations

import pytest

from mlc_course.errors import CourseError, UsageError
from mlc_course.lessons.lesson_19_from_graph_to_code import (
    CHANGES,
    caught_by,
    changed,
    float_error,
    form,
    judged,
)
from mlc_course.mugraph.programs import published

RMS = form(published("rms_norm_matmul_fused"))
CAUGHT = {
    "no barrier before the product": "threads race",
    "one group of copies later": "a copy is under way",
    "xg read without its swizzle": "another element than was written",
    "Y stored a column further": "an index out of bounds",
    "shares added by max": "the comparison over finite fields",
    "shares begin at the neighbour's": "nothing: it is right",
    "x copied into the slot in use": "a copy is under way",
}
SEEN = {"Y stored a column further", "shares added by max", "x copied into the slot in use"}


@pytest.mark.parametrize("name", CHANGES)
def test_each_is_caught_by_the_check_that_is_meant_for_it(name: str) -> None:
    verdict = judged(RMS, name)
    assert CAUGHT[name] in caught_by(verdict)
    assert verdict.equal == caught_by(verdict).startswith("nothing")


@pytest.mark.parametrize("name", CHANGES)
def test_numbers_show_three_of_them(name: str) -> None:
    error = float_error(RMS, name)
    assert (error > 0.1) == (name in SEEN)
    assert (error < 1e-12) == (name not in SEEN)


def test_a_change_is_one_line() -> None:
    for name in CHANGES:
        before, arrow, after = changed(RMS.kernel, name).where.partition("  ->  ")
        assert arrow and before and after


def test_what_is_not_there_is_refused() -> None:
    with pytest.raises(CourseError, match="no such change"):
        changed(RMS.kernel, "no such change")
    other = form(published("lora_fused")).kernel
    with pytest.raises(UsageError, match="no line for this change"):
        changed(other, "shares added by max")

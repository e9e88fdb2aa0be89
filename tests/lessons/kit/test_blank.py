"""Lines that a reader writes in a lesson: empty, wrong or right, and never an exception."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.grading.checks import computes, equals, returns
from mlc_course.grading.process import called, given, scheduled
from mlc_course.lessons.kit import Blank, asks
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import reorder

double = Blank(
    asks(called, returns(2, result=4), returns(-3, result=-6, hint="a < b?")),
    ("Twice means: how often?", "Add x to itself: x + ..."),
    "return x + x",
)
order = Blank(asks(given, equals(("m", "k", "n"))), ("Rows.",), "order = 'm', 'k', 'n'")
program = Blank(asks(lambda f: scheduled(f, matmul(4, 5, 6)), computes()), (), "reorder(..)")


def dots(x: float) -> Any:
    """A docstring, and three dots."""
    return ...


def nothing(x: float) -> None:
    pass


def dots_alone(x: float) -> Any: ...


def half_done(x: float) -> Any:
    return x + ...  # type: ignore[operator]


@pytest.mark.parametrize("written", [..., dots, nothing, dots_alone, half_done])
def test_what_is_not_written_yet_is_called_neither_right_nor_wrong(written: Any) -> None:
    found = double(written)
    assert found.empty and not found.right
    assert str(found).startswith("○ Nothing here yet")
    assert "<summary>Hint 2</summary>" in found._repr_html_()


@pytest.mark.parametrize("written", [..., ("m", ..., "n"), ["m", "k", ...], {"a": (...,)}])
def test_dots_in_a_value_are_found(written: Any) -> None:
    assert order(written).empty


def test_a_schedule_with_nothing_in_it_is_right_where_nothing_is_asked_of_it() -> None:
    assert program(lambda sch: None).right


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (lambda x: x * x, "✘ a wrong result for (-3)"),
        (lambda x: x.y, "AttributeError"),
        (lambda: 3, "takes other arguments"),
        (lambda x: 1 / 0, "ZeroDivisionError"),
        (3, "a function"),
        (None, "there is no answer yet"),
    ],
)
def test_the_first_case_that_is_wrong_is_shown(written: Any, words: str) -> None:
    found = double(written)
    assert not found.right and not found.empty
    assert words in str(found)
    assert str(found).count("✘") == 1
    assert 'data-state="wrong"' in found._repr_html_()


def test_right_lines_get_a_tick_and_no_hints() -> None:
    found = double(lambda x: 2 * x)
    assert found.right
    assert "✔" in str(found)
    assert "Hint" not in found._repr_html_()


def test_an_ellipsis_in_right_lines_is_no_empty_place() -> None:
    assert double(lambda x: 2 * x if x is not ... else x).right


def test_a_wrong_schedule_is_wrong() -> None:
    found = program(lambda sch: reorder(sch, "C", "m", "q"))
    assert "no loop 'q'" in str(found)

from __future__ import annotations

import inspect

import pytest

from mlc_course import errors
from mlc_course.errors import AxisError, CourseError, SizeError, UsageError, check_known

CLASSES = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if found.__module__ == errors.__name__
]


def test_a_message_says_what_expected_got_and_a_way_out() -> None:
    error = SizeError(
        "matmul(A, B): inner dimensions",
        expected="A.shape[-1] == B.shape[-2] == 3",
        got="A (2, 3), B (4, 5)",
        hint="swap the last two axes of B",
    )
    assert str(error).splitlines() == [
        "matmul(A, B): inner dimensions",
        "  expected  A.shape[-1] == B.shape[-2] == 3",
        "  got       A (2, 3), B (4, 5)",
        "  hint      swap the last two axes of B",
    ]


def test_what_is_not_known_is_left_out() -> None:
    assert str(SizeError("a size")) == "a size"
    assert str(SizeError("a size", got="")) == "a size\n  got       "


def test_a_value_that_is_false_is_still_told() -> None:
    assert str(SizeError("a size", expected=(), got=0)).splitlines()[1:] == [
        "  expected  ()",
        "  got       0",
    ]


def test_the_parts_can_be_read_without_parsing_the_message() -> None:
    error = SizeError("a size", expected=3, got=4, hint="take 3")
    assert (error.what, error.expected, error.got, error.hint) == ("a size", 3, 4, "take 3")


@pytest.mark.parametrize("kind", CLASSES)
def test_every_error_has_one_base_and_says_when_it_is_raised(kind: type[Exception]) -> None:
    assert issubclass(kind, CourseError)
    assert inspect.getdoc(kind)


def test_the_border_adds_the_place() -> None:
    with pytest.raises(CourseError) as caught:
        try:
            raise SizeError("split(C, k, 7)")
        except CourseError as error:
            error.add_note("in rung 'tile'")
            raise
    assert caught.value.__notes__ == ["in rung 'tile'"]
    assert str(caught.value) == "split(C, k, 7)"


def test_a_known_name_is_accepted() -> None:
    check_known("no loop", "k", ("i", "k"))


def test_an_unknown_name_is_refused_with_what_there_is_and_the_most_similar() -> None:
    with pytest.raises(UsageError) as caught:
        check_known("no workload", "sofmax", {"matmul": 1, "softmax": 2})
    assert str(caught.value).splitlines() == [
        "no workload 'sofmax'",
        "  expected  matmul | softmax",
        "  got       sofmax",
        "  hint      did you mean softmax?",
    ]


def test_nothing_is_suggested_where_nothing_is_similar_and_the_class_can_be_chosen() -> None:
    with pytest.raises(AxisError) as caught:
        check_known("no loop", "k", [], AxisError)
    assert (caught.value.expected, caught.value.hint) == ("none", None)

"""Answers as text: exact types only, NaN equals nothing, and nothing is unpickled."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.grading.process.values import DEEPEST, KINDS, difference, from_text, shown, to_text

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text().filter(lambda k: k != "array"), inner)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_come_back_as_they_were(value: Any) -> None:
    assert from_text(to_text(value)) == value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (0,), (3, 2)])
def test_arrays_come_back_with_dtype_and_shape(kind: str, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape))).reshape(shape).astype(kind)
    back = from_text(to_text({"a": [array]}))["a"][0]
    assert type(back) is np.ndarray
    assert back.dtype == kind
    np.testing.assert_array_equal(back, array)


def test_numpy_scalars_and_tuples_become_plain() -> None:
    assert from_text(to_text((np.float64(1.5), np.int32(2)))) == [1.5, 2]


class Lying(np.ndarray[Any, Any]):
    def __eq__(self, other: object) -> Any:
        return True


class Always:
    def __eq__(self, other: object) -> bool:
        return True


@pytest.mark.parametrize(
    "value",
    [
        np.zeros(3).view(Lying),
        Always(),
        object(),
        {1: 2},
        np.array(["a"]),
        np.array([1 + 2j]),
        np.array([Always()], object),
        type("Number", (float,), {})(1.0),
        lambda: 1,
        {"a": {1, 2}},
    ],
    ids=lambda v: type(v).__name__,
)
def test_other_types_do_not_count(value: object) -> None:
    with pytest.raises(UsageError, match="does not count"):
        to_text(value)


def test_a_value_may_not_be_nested_without_end() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(UsageError, match=f"at most {DEEPEST} levels"):
        to_text(endless)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[" * 100_000,
        '{"array": "AAAA", "dtype": "object", "shape": [1]}',
        '{"array": "AAAA", "dtype": "float32", "shape": [1000000]}',
        '{"array": "!", "dtype": "float32", "shape": [1]}',
        '{"array": "AAAA"}',
        '{"array": 3, "dtype": "uint8", "shape": [3]}',
        json.dumps("9" * 5000).strip('"'),
        pickle.dumps(1),
    ],
)
def test_forged_text_is_refused(text: str | bytes) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        from_text(text)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (float("nan"), float("nan")),
        (float("nan"), 1.0),
        (float("inf"), 1.0),
        (1.0, float("inf")),
        (10**400, 1.0),
        (1.1, 1.0),
        (True, 1.0),
        (True, 1),
        (1, True),
        (1.0, 1),
        ("1", 1),
        (None, 0),
        ([1, 2], [1, 2, 3]),
        ([1, 3], [1, 2]),
        ({"a": 1}, {"b": 1}),
        ({"a": 1}, {"a": 2}),
        ("ab", ["a", "b"]),
        (np.full(2, np.nan), np.full(2, np.nan)),
        (np.zeros(2, np.float16), np.zeros(2, np.float32)),
        (np.zeros((1, 2)), np.zeros(2)),
        ([0.0, 0.0], np.zeros(2)),
        (np.array([0.0, 1.0]), np.zeros(2)),
    ],
)
def test_a_difference_is_told(got: Any, expected: Any) -> None:
    assert difference(got, expected, tolerance=1e-6)


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (1, 1.0),
        (1.0 + 1e-9, 1.0),
        (float("inf"), float("inf")),
        (3, 3),
        ("a", "a"),
        (True, True),
        ([1, [2.0]], (1, [2.0])),
        ({"a": None}, {"a": None}),
        (np.ones(2) + 1e-9, np.ones(2)),
    ],
)
def test_what_is_the_same_has_no_difference(got: Any, expected: Any) -> None:
    assert difference(got, expected, tolerance=1e-6) is None


def test_a_difference_is_relative() -> None:
    assert difference(2e-9, 1e-9, tolerance=1e-6)
    assert difference(np.full(2, 2e-9), np.full(2, 1e-9), tolerance=1e-6)
    assert difference(np.array([1e3, 1e-4]), np.array([1e3, 0.0]), tolerance=1e-6) is None
    assert difference(1e-17, 0.0, tolerance=1e-6) is None


def test_a_difference_names_the_place() -> None:
    found = difference({"a": [1, 2]}, {"a": [1, 3]}, tolerance=0)
    assert found is not None and found.got == "{'a': [1, 2]}"
    found = difference({"a": [*range(99)]}, {"a": [*range(98), 0]}, tolerance=0)
    assert found is not None and found.got == "at ['a'][98]: 98"
    wrong = np.zeros((2, 2))
    wrong[1, 0] = 7
    found = difference(wrong, np.zeros((2, 2)), tolerance=0)
    assert found is not None
    assert found.got == "1 of 4 elements differ, the first at (1, 0): 7.0"


ONES = np.ones(2, np.float32)


@pytest.mark.parametrize(
    ("got", "expected", "form", "hint"),
    [
        (np.ones(2), ONES, "in float64", "array.astype(np.float32)"),
        (np.ones(2, np.int64), ONES, "in int64", "array.astype(np.float32)"),
        (np.ones(2, bool), ONES, "in bool", "array.astype(np.float32)"),
        (np.ones((2, 1), np.float32), ONES, "in shape (2, 1)", "array.reshape"),
        ([ONES], ONES, "the right array, in a list", "take it out"),
        ([1, 1.0], ONES, "in a list", "np.array(..., np.float32)"),
        (np.array([3, 4]), [3, 4], "in an array", "array.tolist()"),
        ([[2], [1]], ([1], [2]), "in another order: [[2], [1]]", "sorted"),
        (3.0, 3, "as a float: 3.0", "// divides whole numbers"),
        (True, 1, "as True", "// divides whole numbers"),
        (1, True, "as a whole number (int): 1", "True or False"),
        (" 2.50 ", 2.5, "as a string: ' 2.50 '", "without str(...)"),
        ([2.5], 2.5, "in a list", "take it out"),
        (np.array(2.5), 2.5, "in an array of shape ()", "array.item()"),
        ({"a": [3.0]}, {"a": [3]}, "at ['a'][0]: the right value, as a float: 3.0", "//"),
    ],
)
def test_right_values_in_another_form_are_told_just_that(
    got: Any, expected: Any, form: str, hint: str
) -> None:
    found = difference(got, expected, tolerance=1e-6)
    assert found is not None
    assert found.expected and "the right" in found.got and form in found.got
    assert hint in found.hint


@pytest.mark.parametrize(
    ("got", "expected", "told"),
    [
        (np.array([1.0, 2.0]), ONES, "1 of 2 elements differ, the first at (1,): 2.0, in float64"),
        (np.ones((1, 3), np.float32), ONES, "an array with shape (1, 3)"),
        ([1, 2], ONES, "[1, 2], which is no array"),
        ([[1], [1, 2]], ONES, "which is no array"),
        ([2, 1], [1, 2], "[2, 1]"),
        ([[2], [1]], [[1], [3]], "[[2], [1]]"),
        (4.0, 3, "4.0"),
        ("4", 3, "'4'"),
        ("four", 4, "'four'"),
        ([4], 3, "[4]"),
        ("[1, 2]", [1, 2], "'[1, 2]', which is no list or tuple"),
        ([1], [1, 2], "[1], of length 1 and not 2"),
    ],
)
def test_wrong_values_are_not_called_right(got: Any, expected: Any, told: str) -> None:
    found = difference(got, expected, tolerance=1e-6)
    assert found is not None
    assert not found.expected
    assert told in found.got


@pytest.mark.parametrize(
    ("got", "expected", "hint"),
    [
        ("0.02 s", 0.02, "the text of a value"),
        ("[1]", [1], "the text of a value"),
        ("[1]", ONES, "the text of a value"),
        ([1.0, 2.0], 1.5, "a single value"),
        (np.ones(2), 1.5, "a single value"),
        (1.5, [1.5, "peak"], "several values"),
        (1.5, "peak", ""),
        ("different", 3, ""),
        (1.5, 2.5, ""),
    ],
)
def test_another_kind_of_value_has_a_hint_of_its_own(got: Any, expected: Any, hint: str) -> None:
    found = difference(got, expected, tolerance=1e-6)
    assert found is not None
    assert hint in found.hint and bool(hint) == bool(found.hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ({1, 2}, "sorted(...)"),
        ((n for n in "ab"), "yield"),
        (range(3), "list(...)"),
        (np.array(["a"]), "array.tolist()"),
        (np.array([None]), "array.tolist()"),
        ({1: 2}, "in quotes"),
        (len, "call it"),
        (2j, "float(...)"),
    ],
)
def test_a_type_that_does_not_count_has_a_way_out(value: Any, hint: str) -> None:
    with pytest.raises(UsageError, match="a type that does not count") as error:
        to_text(value)
    assert hint in str(error.value.hint)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        ([1 / 3, "a"], "[0.3333333333, 'a']"),
        ("", "''"),
        (None, "None"),
        (np.eye(2), "[[1.0, 0.0], [0.0, 1.0]]"),
        (np.zeros(10), "an array of float64 with shape (10,)"),
        ("x" * 100, "'" + "x" * 76 + "..."),
    ],
)
def test_a_value_is_shown_on_one_line(value: Any, text: str) -> None:
    assert shown(value) == text

"""The blanks of lesson 16: the answers are right, and wrong lines are told what is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_16_mu_graphs import blanks

HEADS = {"tile_of_b": "def f(B, x, k):", "loaded": "def f(x, y, X, G, W):"}
MAPS = {
    "x": {"imap": {"y": 0}, "fmap": {"k": 1}},
    "g": {"imap": {}, "fmap": {"k": 1}},
    "w": {"imap": {"x": 1}, "fmap": {"k": 0}},
}


def written(name: str, *lines: str) -> Any:
    """The reader's function with these lines in it."""
    names: dict[str, Any] = {}
    exec("\n    ".join([HEADS[name], *lines]), names)
    return names["f"]


def blank(name: str) -> Blank:
    found = getattr(blanks, name)
    assert isinstance(found, Blank)
    return found


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_three_dots_are_neither(name: str) -> None:
    assert blank(name)(written(name, *blank(name).answer.splitlines())).right
    found = blank(name)(written(name, "return ..."))
    assert found.empty and not found.right


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("tile_of_b", "return B[32 * x : 32 * (x + 1), 12 * k : 12 * (k + 1)]", "12 rows and 32"),
        ("tile_of_b", "return B[12 * k : 12 * (k + 1), :]", "12 rows and 32"),
        ("tile_of_b", "return B[12 * x : 12 * (x + 1), 32 * k : 32 * (k + 1)]", "x cuts the col"),
        ("tile_of_b", "return B[0:12, 32 * x : 32 * (x + 1)]", "begins at row 24"),
        ("loaded", "return X + G + W", "which tensors do all four of them load?"),
        ("loaded", "return X * y + W * x + G * x * y", "side by side"),
        ("loaded", "return (X + W + G) * x * y", "side by side"),
        ("loaded", "return X * x + W * y + G", "side by side"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(name: str, line: str, words: str) -> None:
    found = blank(name)(written(name, line))
    assert not found.right and not found.empty
    assert words in str(found), str(found)


def test_the_maps_of_the_answer_are_right_and_dots_are_neither() -> None:
    names: dict[str, Any] = {}
    exec(blanks.maps.answer, names)
    assert names["fused_maps"] == MAPS
    assert blanks.maps(MAPS).right
    assert blanks.maps(MAPS | {"w": {"imap": ..., "fmap": ...}}).empty


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"x": {"imap": {"x": 0}, "fmap": {"k": 1}}}, "elements differ"),
        ({"w": {"imap": {"y": 1}, "fmap": {"k": 0}}}, "elements differ"),
        ({"g": {"imap": {}, "fmap": {}}}, "extents"),
        ({"w": {"imap": {"x": 1}, "fmap": {"k": 1}}}, "inner dimensions"),
        ({"g": {"imap": {"x": 1}, "fmap": {"k": 1}}}, "extents"),
    ],
)
def test_wrong_maps_are_told_what_is_wrong(changed: dict[str, Any], words: str) -> None:
    found = blanks.maps(MAPS | changed)
    assert not found.right and not found.empty
    assert words in str(found), str(found)

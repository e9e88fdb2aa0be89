"""The reader's lines in lesson 11: the answers are right, and typical wrong lines are told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel import blanks

ARGUMENTS = {
    "loads_per_multiply_add": "rows, vectors",
    "set_of": "address, line, sets",
    "place_in_panels": "k, n, width",
}


def written(name: str, line: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(f"def {name}({ARGUMENTS[name]}):\n    {line}", names)
    function: Callable[..., Any] = names[name]
    return function


def blank(name: str) -> Blank:
    found: Blank = getattr(blanks, name)
    return found


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_answer_is_right_and_three_dots_are_empty(name: str) -> None:
    assert blank(name)(written(name, blank(name).answer)).right
    assert blank(name)(written(name, "return ...")).empty


@pytest.mark.parametrize(
    ("name", "line", "expected", "got"),
    [
        ("loads_per_multiply_add", "return rows + vectors", "for (4, 2)", "0.75"),
        ("loads_per_multiply_add", "return 1 / rows + 1", "for (4, 2)", "1.25"),
        ("loads_per_multiply_add", "return (rows + 1) / rows", "for (4, 2)", "0.75"),
        ("set_of", "return address // line", "for (2048,", "64"),
        ("set_of", "return address % sets", "for (64,", "0"),
        ("set_of", "return address // sets % line", "for (64,", "2"),
        ("place_in_panels", "return n // width, n % width, k", "for (0, 5, 4)", "(1, 0, 1)"),
        ("place_in_panels", "return k // width, n, k % width", "for (0, 5, 4)", "(1, 0, 1)"),
        ("place_in_panels", "return n % width, k, n // width", "for (7, 2, 4)", "(0, 7, 2)"),
    ],
)
def test_a_wrong_line_is_told_where(name: str, line: str, expected: str, got: str) -> None:
    found = blank(name)(written(name, line))
    assert not found.right and not found.empty
    assert expected in str(found) and got in str(found), str(found)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_the_last_hint_names_what_the_answer_needs(name: str) -> None:
    needed = {
        "loads_per_multiply_add": "Divide",
        "set_of": "by sets",
        "place_in_panels": "n % width",
    }
    assert needed[name] in blank(name).hints[-1]

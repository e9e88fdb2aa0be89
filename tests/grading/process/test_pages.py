"""The page of a function has all that it needs, and only that."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.errors import UnmetCheck
from mlc_course.grading.admission import admitted_page
from mlc_course.grading.process import page

CELL = '''
import itertools
from itertools import product as pairs

import numpy

LIMIT, NAMES, unused, _ = 3, {"a": (1, 2)}, 5, "history"


def helper(n):
    """Numbers."""
    return [a * b for a, b in pairs(range(n), repeat=2)]


def f(text):
    NAMES
    return max(helper(LIMIT)) if text else [_ for _ in text]


def with_module(text):
    return itertools.count


def with_file(text):
    return opened


twice = lambda text: text
lines = opened_later = open
LEAST = (float("inf"), -1e999, 1)


def with_attribute(text):
    lines = text.lines if hash(text) == text.opened_later else text
    return lines


def with_infinity(text):
    return text if 5 < LEAST[0] else ""


def with_lambda(text):
    return twice(text)


def with_numpy(text):
    return numpy.prod


def with_class(text):
    return Kind


class Kind:
    pass


another_name = with_attribute
opened = open


def around(text):
    return f(text) or again(text)


def again(text):
    return around(text[1:]) if text else f("x")
'''


@pytest.fixture(scope="module")
def cell() -> dict[str, Any]:
    linecache.cache["<cell>"] = len(CELL), None, CELL.splitlines(keepends=True), "<cell>"
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(CELL, "<cell>", "exec"), names)
    return names


def test_a_page_has_what_a_function_reads_and_runs_by_itself(cell: dict[str, Any]) -> None:
    text = page(cell["f"])
    assert text.startswith("from itertools import product as pairs\nNAMES = {'a': (1, 2)}\nLIMIT")
    assert "unused" not in text and "history" not in text and "with_module" not in text
    assert admitted_page(text)("x") == cell["f"]("x") == 4


def test_an_attribute_is_no_value_of_the_notebook(cell: dict[str, Any]) -> None:
    text = page(cell["with_attribute"])
    assert text.startswith("def with_attribute") and page(cell["another_name"]) == text
    admitted_page(text)


def test_what_is_infinite_stays_so(cell: dict[str, Any]) -> None:
    text = page(cell["with_infinity"])
    assert text.startswith("from math import inf\nLEAST = (inf, -inf, 1)")
    assert admitted_page(text)("x") == "x"


def test_functions_may_call_each_other(cell: dict[str, Any]) -> None:
    assert admitted_page(page(cell["around"]))("ab") == 4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("with_module", "from itertools import"),
        ("with_file", "opened"),
        ("twice", "of its own"),
        ("with_lambda", "defined with def"),
        ("with_numpy", "imports from collections, functools"),
        ("with_class", "no classes"),
    ],
)
def test_what_a_page_cannot_have_is_named(cell: dict[str, Any], name: str, words: str) -> None:
    function: Callable[..., Any] = cell[name]
    with pytest.raises(UnmetCheck) as error:
        page(function)
    assert words in str(error.value)

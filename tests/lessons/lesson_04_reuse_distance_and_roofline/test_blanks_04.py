"""The lines that the reader writes in lesson 4."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import blanks

HEADS = {
    "distance": "lambda lines, before, at: ",
    "misses": "lambda first, again, lines: ",
    "roof": "lambda intensity, peak, bandwidth: ",
}


def written(name: str, expression: str) -> Any:
    return eval(HEADS[name] + expression)


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_empty_places_are_empty(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert blank(written(name, blank.answer.removeprefix("return "))).right
    assert blank(written(name, "...")).empty


@pytest.mark.parametrize(
    ("name", "expression", "words"),
    [
        ("distance", "at - before - 1", "a line counts once"),
        ("distance", "len(lines[before + 1 : at])", "a line counts once"),
        ("distance", "len(set(lines[before:at]))", "nothing was used between"),
        ("distance", "len(set(lines)) - 1", "only what came after the last use"),
        ("misses", "sum(again[lines:])", "first uses only"),
        ("misses", "first + sum(again[lines + 1 :])", "distances 2 and 3 miss"),
        ("misses", "first + sum(again[:lines])", "first uses only"),
        ("misses", "first + sum(again)", "first uses only"),
        ("roof", "intensity * bandwidth", "no program is faster than the peak"),
        ("roof", "peak", "20 bytes in a ns"),
        ("roof", "min(peak, bandwidth / intensity)", "20 bytes in a ns"),
        ("roof", "max(peak, intensity * bandwidth)", "20 bytes in a ns"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(name: str, expression: str, words: str) -> None:
    found = getattr(blanks, name)(written(name, expression))
    assert not found.right and not found.empty
    assert words in str(found), str(found)


def test_the_hints_lead_to_the_answer() -> None:
    last = {"distance": "set", "misses": "again[lines:]", "roof": "min("}
    for name, part in last.items():
        blank: Blank = getattr(blanks, name)
        assert len(blank.hints) == 3
        assert part in blank.hints[-1] and part in blank.answer

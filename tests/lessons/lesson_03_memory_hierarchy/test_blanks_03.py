"""The lines that the reader writes in lesson 3."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_03_memory_hierarchy import blanks

HEADS = {
    "lines_touched": "lambda addresses: ",
    "under_way": "lambda latency_ns, gb_per_s: ",
    "sets_reached": "lambda addresses, sets: ",
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
        ("lines_touched", "len(addresses)", "bytes 0 to 63 are one line"),
        ("lines_touched", "len(set(addresses))", "bytes 0 to 63 are one line"),
        (
            "lines_touched",
            "(max(addresses) - min(addresses)) // 64 + 1",
            "byte 64 begins the second line",
        ),
        ("lines_touched", "len([a // 64 for a in addresses])", "one line"),
        ("under_way", "latency_ns * gb_per_s", "one line at a time"),
        ("under_way", "gb_per_s / latency_ns", "one line at a time"),
        ("under_way", "64 / latency_ns", "1600 bytes"),
        ("sets_reached", "len({a % sets for a in addresses})", "lines 0, 1 and 2"),
        ("sets_reached", "len({a // 64 for a in addresses})", "all go to set 0"),
        ("sets_reached", "min(len(addresses), sets)", "all go to set 0"),
        ("sets_reached", "len({a // 64 % 64 for a in addresses})", "only 16 sets"),
    ],
)
def test_a_wrong_line_is_told_what_is_wrong(name: str, expression: str, words: str) -> None:
    found = getattr(blanks, name)(written(name, expression))
    assert not found.right and not found.empty
    assert words in str(found), str(found)


@pytest.mark.parametrize("name", HEADS)
def test_the_last_hint_names_what_the_answer_uses(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert len(blank.hints) == 3
    assert "64" in " ".join(blank.hints) and "64" in blank.answer

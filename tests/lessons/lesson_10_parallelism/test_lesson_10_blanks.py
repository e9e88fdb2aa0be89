"""The reader's lines in lesson 10: the answers are right, and typical wrong lines are told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_10_parallelism import blanks, programs
from mlc_course.tensor_program.schedule import steps

HEADS = {
    "lines_in_turns": "def lines_in_turns(sch):\n    {}\n    programs.deal_lines(sch)",
    "loop_ends": "def loop_ends(shares):\n    {}",
    "at_most": "def at_most(share, workers):\n    {}",
}
EMPTY = {
    "lines_in_turns": 'steps.split(sch, "S", "j", ...)',
    "loop_ends": "return ...",
    "at_most": "return ...",
}


def written(name: str, line: str) -> Callable[..., Any]:
    names: dict[str, Any] = {"steps": steps, "programs": programs}
    exec(HEADS[name].format(line), names)
    function: Callable[..., Any] = names[name]
    return function


def blank(name: str) -> Blank:
    found: Blank = getattr(blanks, name)
    return found


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_three_dots_are_empty(name: str) -> None:
    assert blank(name)(written(name, blank(name).answer)).right
    assert blank(name)(written(name, EMPTY[name])).empty


def test_several_whole_lines_are_right_too() -> None:
    assert blanks.lines_in_turns(written("lines_in_turns", 'steps.split(sch, "S", "j", 32)')).right


@pytest.mark.parametrize(
    ("name", "line", "place", "got"),
    [
        ("lines_in_turns", 'steps.split(sch, "S", "j", 8)', "16 of 16 lines", "line 0"),
        (
            "lines_in_turns",
            'steps.split(sch, "S", "j", 64 // 16)',
            "16 of 16 lines",
            "0, 0, 0, 0, 1",
        ),
        ("lines_in_turns", 'steps.split(sch, "S", "j", 48)', "divide", "48"),
        ("loop_ends", "return sum(shares[-1])", "for ([[5, 5], [1]])", "10"),
        ("loop_ends", "return max(max(own) for own in shares)", "for ([[1, 2], [3, 4]])", "7"),
        ("loop_ends", "return sum(map(sum, shares)) / len(shares)", "[[1, 2], [3, 4]]", "7"),
        ("at_most", "return workers * (1 - share)", "for (1, 4)", "0"),
        ("at_most", "return share + (1 - share) / workers", "for (0, 4)", "0.25"),
        ("at_most", "return 1 / (share + 1 / workers)", "for (1, 4)", "0.8"),
    ],
)
def test_a_wrong_line_is_told_where(name: str, line: str, place: str, got: str) -> None:
    found = blank(name)(written(name, line))
    assert not found.right and not found.empty
    assert place in str(found) and got in str(found), str(found)


@pytest.mark.parametrize(
    ("name", "words"),
    [("lines_in_turns", "64 bytes"), ("loop_ends", "max("), ("at_most", "1 / (")],
)
def test_the_last_hint_leads_to_the_answer(name: str, words: str) -> None:
    assert words in blank(name).hints[-1]

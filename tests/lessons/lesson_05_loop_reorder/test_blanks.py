"""The lines that the reader of lesson 5 writes: what right and wrong ones are told."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.lessons.lesson_05_loop_reorder import blanks
from mlc_course.tensor_program.tir import Schedule


def swapped(sch: Schedule) -> None:
    j, k = sch.get_loops(sch.get_sblock("S"))
    sch.reorder(k, j)


def as_it_was(sch: Schedule) -> None:
    j, k = sch.get_loops(sch.get_sblock("S"))
    sch.reorder(j, k)


def other_block(sch: Schedule) -> None:
    sch.get_loops(sch.get_sblock("C"))


def three_loops(sch: Schedule) -> None:
    _, _, _ = sch.get_loops(sch.get_sblock("S"))


RIGHT: list[tuple[Any, Any]] = [
    (blanks.jumps, lambda strides, line: sum(each >= line for each in strides)),
    (blanks.jumps, lambda strides, line: len([each for each in strides if each >= line])),
    (blanks.along_rows, swapped),
    (blanks.changes_sides, lambda first, second: second[1] < first[1]),
    (blanks.changes_sides, lambda first, second: second[::-1] < first[::-1]),
]
WRONG: list[tuple[Any, Any, str]] = [
    (blanks.jumps, lambda strides, line: sum(each > 0 for each in strides), "expected  1"),
    (blanks.jumps, lambda strides, line: sum(each > 1 for each in strides), "every other time"),
    (blanks.jumps, lambda strides, line: sum(strides), "got       257"),
    (blanks.along_rows, as_it_was, "strides by 40 elements in X"),
    (blanks.along_rows, other_block, "C"),
    (blanks.along_rows, three_loops, "values to unpack"),
    (blanks.changes_sides, lambda first, second: first[1] < second[1], "expected  True"),
    (blanks.changes_sides, lambda first, second: first[0] < second[0], "expected  False"),
    (blanks.changes_sides, lambda first, second: second[1] <= first[1], "i decides again"),
]


@pytest.mark.parametrize(("blank", "mine"), RIGHT)
def test_right_lines_are_right(blank: Any, mine: Any) -> None:
    assert blank(mine).right


@pytest.mark.parametrize(("blank", "mine", "words"), WRONG)
def test_wrong_lines_are_told_what_is_wrong(blank: Any, mine: Any, words: str) -> None:
    found = blank(mine)
    assert not found.right and not found.empty
    assert words in str(found)


@pytest.mark.parametrize("blank", [blanks.jumps, blanks.along_rows, blanks.changes_sides])
def test_dots_are_empty_and_hints_end_before_the_answer(blank: Any) -> None:
    def dots(*arguments: Any) -> Any:
        """Write here."""
        ...

    assert blank(dots).empty
    assert len(blank.hints) == 3
    assert all(blank.answer not in hint for hint in blank.hints)

"""The lines that the reader of lesson 2 writes: what right and wrong ones are told."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from mlc_course.lessons.lesson_02_tensor_program_abstraction import (
    SMALL,
    blanks,
    by_iterations,
    pairs_svg,
)
from mlc_course.tensor_program.tir import Schedule


def tiled(sch: Schedule) -> None:
    m, n, k = sch.get_loops(sch.get_sblock("C"))
    n_0, n_1 = sch.split(n, [2, 2])
    sch.reorder(n_0, m, n_1, k)


def only_split(sch: Schedule) -> None:
    _, n, _ = sch.get_loops(sch.get_sblock("C"))
    sch.split(n, [2, 2])


def cut_m(sch: Schedule) -> None:
    m, n, _ = sch.get_loops(sch.get_sblock("C"))
    sch.reorder(n, m)


def other_block(sch: Schedule) -> None:
    sch.get_loops(sch.get_sblock("P"))


RIGHT: list[tuple[Any, Any]] = [
    (blanks.kind, lambda axis, written: "S" if axis in written else "R"),
    (blanks.kind, lambda axis, written: "RS"[axis in written]),
    (blanks.in_tiles, tiled),
    (blanks.kept, lambda elements, terms: elements * terms),
]
WRONG: list[tuple[Any, Any, str]] = [
    (blanks.kind, lambda axis, written: "R" if axis in written else "S", "another v_k write"),
    (blanks.kind, lambda axis, written: "S", "expected  'R'"),
    (blanks.kind, lambda axis, written: "R" if axis in "v_k v_r" else "S", "not at the name"),
    (blanks.in_tiles, only_split, "got       3 (m), 2 (n_0), 2 (n_1), 5 (k)"),
    (blanks.in_tiles, cut_m, "other lengths"),
    (blanks.in_tiles, other_block, "P"),
    (blanks.kept, lambda elements, terms: elements * (terms + 1), "got       72"),
    (blanks.kept, lambda elements, terms: elements * terms * (terms - 1) // 2, "got       120"),
    (blanks.kept, lambda elements, terms: terms, "12 elements, each with one init"),
]


@pytest.mark.parametrize(("blank", "mine"), RIGHT)
def test_right_lines_are_right(blank: Any, mine: Any) -> None:
    assert blank(mine).right


@pytest.mark.parametrize(("blank", "mine", "words"), WRONG)
def test_wrong_lines_are_told_what_is_wrong(blank: Any, mine: Any, words: str) -> None:
    found = blank(mine)
    assert not found.right and not found.empty
    assert words in str(found)


@pytest.mark.parametrize("blank", [blanks.kind, blanks.in_tiles, blanks.kept])
def test_dots_are_empty_and_hints_end_before_the_answer(blank: Any) -> None:
    def dots(*arguments: Any) -> Any:
        """Write here."""
        ...

    assert blank(dots).empty
    assert len(blank.hints) == 3
    assert all(blank.answer not in hint for hint in blank.hints)


def test_the_picture_of_pairs_has_the_squares_that_are_counted() -> None:
    program = SMALL["row sums"].program
    counted = by_iterations(program)
    root = ET.fromstring(pairs_svg(program))
    squares = [e for e in root.iter() if e.tag.endswith("rect")]
    legend, frame, page = 4, 1, 1
    assert len(squares) == counted.kept + counted.sums + legend + frame + page
    assert f"{counted.kept} pairs keep their order" in root.get("aria-label", "")

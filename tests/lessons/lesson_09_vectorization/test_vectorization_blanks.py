"""The lines that a reader of lesson 9 writes: the answer is right, and wrong ones are told why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.lessons.lesson_09_vectorization import blanks
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


def written(source: str, head: str) -> Any:
    """The function that a reader has when the answer is in its place."""
    body = "\n".join(f"    {line}" for line in source.splitlines())
    names: dict[str, Any] = {"steps": steps}
    exec(f"{head}\n{body}", names)
    return names["f"]


def test_the_answers_are_right() -> None:
    assert blanks.lanes_inside(written(blanks.lanes_inside.answer, "def f(sch):")).right
    assert blanks.waiting(written(blanks.waiting.answer, "def f(terms, sums):")).right
    assert blanks.registers_of(written(blanks.registers_of.answer, "def f(rows, vectors):")).right


def test_cells_as_they_are_given_out_are_empty() -> None:
    def lanes_inside(sch: Schedule) -> None:
        """Order the loops j_0, j_1 and k of S, and make one of them lanes."""
        ...

    def returned(first: int, second: int) -> Any:
        return ...

    assert blanks.lanes_inside(lanes_inside).empty
    assert blanks.waiting(returned).empty
    assert blanks.registers_of(returned).empty


@pytest.mark.parametrize(
    ("order", "lanes", "words"),
    [
        (("j_0", "k", "j_1"), "k", "a sum runs along this loop"),
        (("k", "j_0", "j_1"), "j_1", "the sums leave their registers"),
        (("j_0", "k", "j_1"), "j", "no loop 'j'"),
    ],
)
def test_wrong_steps_are_told_why(order: tuple[str, ...], lanes: str, words: str) -> None:
    def middle(sch: Schedule) -> None:
        steps.reorder(sch, "S", *order)
        steps.vectorize(sch, "S", lanes)

    found = blanks.lanes_inside(middle)
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda terms, sums: terms // sums, "expected  4097"),
        (lambda terms, sums: terms // sums + sums - 1, "one sum is one chain"),
        (lambda terms, sums: terms, "expected  4097"),
    ],
)
def test_wrong_counts_of_what_waits_are_told_why(line: Callable[..., Any], words: str) -> None:
    found = blanks.waiting(line)
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda rows, vectors: rows * vectors, "one register of sums, one vector of B"),
        (lambda rows, vectors: rows * vectors + 2, "how many vectors of B"),
        (lambda rows, vectors: rows * vectors + vectors + rows, "expected  11"),
    ],
)
def test_wrong_counts_of_registers_are_told_why(line: Callable[..., Any], words: str) -> None:
    found = blanks.registers_of(line)
    assert not found.right and words in str(found)


@pytest.mark.parametrize("blank", [blanks.lanes_inside, blanks.waiting, blanks.registers_of])
def test_hints_come_one_by_one_and_the_last_is_not_the_answer(blank: Any) -> None:
    assert len(blank.hints) == 3
    assert all(blank.answer not in hint for hint in blank.hints)

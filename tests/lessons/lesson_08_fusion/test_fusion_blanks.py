"""The lines that a reader of lesson 8 writes: the answer is right, and wrong ones are told why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from mlc_course.lessons.lesson_08_fusion import blanks
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule


def moves(line: Callable[[str], Any]) -> Callable[[Sequence[str]], Any]:
    return lambda passes: sum(line(writes) for writes in passes)


def written(source: str, head: str) -> Any:
    """The function that a reader has when the answer is in its place."""
    body = "\n".join(f"    {line}" for line in source.splitlines())
    names: dict[str, Any] = {"steps": steps}
    exec(f"{head}\n{body}", names)
    return names["f"]


def test_the_answers_are_right() -> None:
    head = "def f(passes):\n    total = 0\n    for writes in passes:"
    body = "    " + blanks.arrays_moved.answer + "\nreturn total"
    assert blanks.arrays_moved(written(body, head)).right
    assert blanks.exp_and_max(written(blanks.exp_and_max.answer, "def f(sch):")).right
    head = "def f(saved_bytes, apart_s, gbytes_per_s):"
    assert blanks.share_of_time(written(blanks.share_of_time.answer, head)).right


def test_cells_as_they_are_given_out_are_empty() -> None:
    def arrays_moved(passes: Any) -> Any:
        total = 0
        for writes in passes:
            total += {"new": ..., "in place": ...}[writes]  # type: ignore[operator]
        return total

    def exp_and_max(sch: Schedule) -> None:
        """Bring Exp and Max to the loop over the rows; Sum is there already."""
        ...

    def share_of_time(saved_bytes: float, apart_s: float, gbytes_per_s: float) -> Any:
        return ...

    assert blanks.arrays_moved(arrays_moved).empty
    assert blanks.exp_and_max(exp_and_max).empty
    assert blanks.share_of_time(share_of_time).empty


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda writes: 2, "fetched and returned"),  # a new array moves once
        (lambda writes: 3, "in the cache already"),
        (lambda writes: 2 if writes == "new" else 1, "fetched and returned"),  # no read
    ],
)
def test_wrong_moves_are_told_why(line: Callable[[str], Any], words: str) -> None:
    found = blanks.arrays_moved(moves(line))
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    ("stages", "at", "words"),
    [
        (("Max", "Exp"), "m", "Exp still reads it outside loop m"),
        (("Exp",), "m", "too many cache misses"),
        (("Exp", "Max"), "n", "Sum still reads it outside loop n"),
        (("Exp", "Max"), "k", "no loop 'k'"),
    ],
)
def test_wrong_steps_are_told_why(stages: Sequence[str], at: str, words: str) -> None:
    def rest(sch: Schedule) -> None:
        for stage in stages:
            steps.compute_per_iteration(sch, stage, of="P", at=at)

    found = blanks.exp_and_max(rest)
    assert not found.right and words in str(found)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (lambda saved, apart, rate: saved / rate / apart, "32e9 bytes at 32 GB/s"),
        (lambda saved, apart, rate: saved / (1e9 * rate), "expected  0.5"),
        (lambda saved, apart, rate: apart / (saved / (1e9 * rate)), "expected  0.5"),
    ],
)
def test_wrong_shares_are_told_why(line: Callable[..., Any], words: str) -> None:
    found = blanks.share_of_time(line)
    assert not found.right and words in str(found)


@pytest.mark.parametrize("blank", [blanks.arrays_moved, blanks.exp_and_max, blanks.share_of_time])
def test_hints_come_one_by_one_and_the_last_is_not_the_answer(blank: Any) -> None:
    assert len(blank.hints) == 3
    assert all(blank.answer not in hint for hint in blank.hints)

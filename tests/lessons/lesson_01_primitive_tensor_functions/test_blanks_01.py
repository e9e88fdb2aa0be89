"""The lines that a reader writes: the answer is right, wrong ones are told what is wrong."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from mlc_course.lessons.kit import Blank
from mlc_course.lessons.lesson_01_primitive_tensor_functions import blanks
from mlc_course.tensor_program.schedule import steps

HEADS = {"add": "def written(P, b, S):\n", "build_steps": "def written(sch):\n"}


def written(name: str, lines: str) -> Any:
    """What the reader's cell defines with these lines in place of the dots."""
    space: dict[str, Any] = {"steps": steps}
    exec(HEADS[name] + lines, space)
    return space["written"]


def loops(line: str, rows: str = "S.shape[0]") -> str:
    return f"    for m in range({rows}):\n        for n in range(S.shape[1]):\n            {line}"


@pytest.mark.parametrize("name", HEADS)
def test_the_answer_is_right_and_dots_are_empty(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert blank(written(name, blank.answer)).right
    assert blank(written(name, '    """What to do."""\n    ...')).empty


def test_the_answer_of_the_plan_is_right_and_dots_are_empty() -> None:
    answer = ast.literal_eval(blanks.second_call.answer.removeprefix("second = "))
    assert blanks.second_call(answer).right
    assert blanks.second_call(...).empty
    assert blanks.second_call(("linear", ("H", ..., ..., ...))).empty


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (loops("S[m, n] = P[m, n] + b[m]"), "S[0, 1] is wrong"),
        (loops("S[m, n] = P[m, n]"), "S[0, 0] is wrong"),
        (loops("S[m, n] = P[m, n] + b[n]", "1"), "nothing is written there"),
        (loops("S[m, n] += P[m, n] + b[n]"), "NaN"),
        ("    S = P + b", "nothing is written there"),
        (loops("S[n, m] = P[n, m] + b[n]"), "IndexError"),
    ],
)
def test_wrong_additions(lines: str, told: str) -> None:
    found = blanks.add(written("add", lines))
    assert not found.right
    assert told in str(found)


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('    steps.reorder(sch, "P", "k", "n")', "the block S is still there"),
        ('    steps.inline(sch, "S")', "strides by 200 elements in W"),
        ('    steps.inline(sch, "S")\n    steps.reorder(sch, "P", "n", "k")', "strides by 200"),
        ('    steps.inline(sch, "P")', "TVM refuses"),
        ('    steps.inline(sch, "S")\n    steps.reorder(sch, "Y", "k", "n")', "no loop 'k'"),
    ],
)
def test_wrong_steps(lines: str, told: str) -> None:
    found = blanks.build_steps(written("build_steps", lines))
    assert not found.right
    assert told in str(found)


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (("linear", ("W2", "H", "b2", "Y")), "the shapes do not fit"),
        (("linear_relu", ("H", "W2", "b2", "Y")), "is wrong after both calls"),
        (("linear", ("X", "W1", "b1", "H")), "nobody writes Y"),
        (("linear", ("H", "W2", "Y")), "other operands"),
        (("matmul", ("H", "W2", "Y")), "no such function"),
        (("linear", ("H", "W3", "b2", "Y")), "no such tensor"),
        (("linear", "H", "W2", "b2", "Y"), "not a call"),
        ("linear(H, W2, b2, Y)", "not a call"),
    ],
)
def test_wrong_calls(second: object, told: str) -> None:
    found = blanks.second_call(second)
    assert not found.right
    assert told in str(found)


@pytest.mark.parametrize("name", [*HEADS, "second_call"])
def test_hints_lead_on_and_none_is_the_answer(name: str) -> None:
    blank: Blank = getattr(blanks, name)
    assert len(blank.hints) == 3
    lines = [line.strip() for line in blank.answer.splitlines()]
    assert not any(lines[-1] in hint for hint in blank.hints)

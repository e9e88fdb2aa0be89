"""A pruner that an exercise asks for: what it is given, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.checks.pruning import Plain, plain, prunes
from mlc_course.mugraph.enumeration import PRUNINGS, Tree
from mlc_course.mugraph.ir import parse

SUM = """
    sum_of_product(X[b=16, d=64], Y[b, d], W[d, n=48]):
      both = add(X, Y)
      F = matmul(both, W)
      return F
"""
TREE = Tree(parse(SUM.replace("\n    ", "\n")), most=3)
WITHOUT = sum(level.alive for level in TREE.pruned(["order", "equal"]).count())
WITH = sum(level.alive for level in TREE.pruned(PRUNINGS).count())
SHARE = WITHOUT // WITH - 1


def judged(function: Callable[..., Any], share: int = SHARE) -> str:
    check = prunes(SUM, operators=3, without=WITHOUT, share=share)
    return check.judge(Examined(call=function))


def part(value: Plain, goal: Plain) -> bool:
    """As the library has it, where all factors of a term are different."""
    first, *_ = value
    for whole, number in goal.items():
        rest = set(whole.split()) - set(first.split())
        ratio = number / value[first]
        made = {" ".join(sorted({*f.split(), *rest})): ratio * n for f, n in value.items()}
        if ratio == int(ratio) and made.items() <= goal.items():
            return True
    return False


def test_an_expression_as_plain_data() -> None:
    assert plain({("A", "B", "X"): 21, ("W", "X", "X"): Fraction(3)}) == {"A B X": 21, "W X X": 3}


def test_a_pruner_like_the_library_s_is_accepted() -> None:
    said = judged(part)
    assert f"nodes in place of {WITHOUT:,}" in said
    assert "solutions kept" in said


def test_it_is_asked_once_about_an_expression() -> None:
    asked: list[str] = []

    def function(value: Plain, goal: Plain) -> bool:
        asked.append(repr(value))
        return part(value, goal)

    judged(function)
    assert len(asked) == len(set(asked)) > 3


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda value, goal: True, "too much is kept"),
        (lambda value, goal: False, "is lost: p = add(X, Y); q = matmul(p, W)"),
        (lambda value, goal: value == goal, "multiplied by W and summed 3 times"),
        (lambda value, goal: None, "expected  True or False"),
        (lambda value, goal: 1, "expected  True or False"),
    ],
)
def test_a_wrong_pruner_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(UnmetCheck) as caught:
        judged(function)
    assert words in str(caught.value)


def test_an_error_deep_in_the_tree_is_the_student_s(monkeypatch: pytest.MonkeyPatch) -> None:
    def function(value: Plain, goal: Plain) -> bool:
        if value == {"Y": 2}:
            raise UnmetCheck("your code raises an error", got="ZeroDivisionError")
        return part(value, goal)

    with pytest.raises(UnmetCheck, match="your code raises an error"):
        judged(function)

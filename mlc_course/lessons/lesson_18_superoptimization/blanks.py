"""The lines that the reader of lesson 18 writes, and their judges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Examined, returns
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks

CLOSE = 1e-9
BEFORE = (2.0, 1.5)  # the largest score so far, and the sum relative to it
PORTIONS = (  # what it shows, and the scores
    ("the largest score stays 2", (1.0, 0.5, -1.0)),
    ("the largest score grows from 2 to 5", (5.0, 1.0)),
    ("all scores are far smaller", (-30.0, -31.0)),
)
TERMS = (  # a term, one of the goal, may it become that, and why
    ((3, "AX"), (21, "ABX"), True, "multiply by B, and sum over 7"),
    ((2, "X"), (21, "ABX"), False, "2 is only ever multiplied by whole numbers, and 21 is odd"),
    ((3, "W"), (21, "ABX"), False, "no product removes the W"),
    ((21, "ABX"), (21, "ABX"), True, "nothing is missing"),
    ((7, "B"), (3, "WX"), False, "7 does not divide 3, and B is no factor"),
    ((1, "AB"), (1, "A"), False, "products add factors, and remove none"),
)


@dataclass(frozen=True)
class Rescales:
    """A step of online softmax: the sum is relative to the largest score so far."""

    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        self._check(answer, "the first portion", (-np.inf, 0.0), (1.0, 3.0))
        for shows, portion in PORTIONS:
            self._check(answer, shows, BEFORE, portion)
        return "the sum is right whether the largest score grows or not"

    def _check(
        self, answer: Examined, shows: str, before: tuple[float, float], scores: tuple[float, ...]
    ) -> None:
        assert answer.call is not None
        portion, (top, total) = np.array(scores), before
        with np.errstate(all="ignore"):
            got = answer.call(top, total, portion)
        larger = max(top, float(portion.max()))
        wanted = total * float(np.exp(top - larger)) + float(np.exp(portion - larger).sum())
        given = f"largest {top:g}, sum {total:g}, portion {[*scores]}"
        if not isinstance(got, tuple | list) or [np.shape(x) for x in got] != [(), ()]:
            raise UnmetCheck(
                f"{given}: not two numbers", expected="the largest score and one sum", got=got
            )
        if not abs(float(got[1]) - wanted) <= CLOSE * wanted:
            raise UnmetCheck(
                f"{given}: the wrong sum",
                expected=f"{wanted:.6g}",
                got=f"{float(got[1]):.6g}",
                hint=f"here {shows}",
            )


@dataclass(frozen=True)
class Becomes:
    """A test of one term: its number divides that of the goal, and its factors are all there."""

    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        for (number, factors), (goal, within), right, because in TERMS:
            got = answer.call(number, [*factors], goal, [*within])
            if got is not right:
                question = f"{number} {' '.join(factors)} become {goal} {' '.join(within)}"
                raise UnmetCheck(f"may {question}?", expected=right, got=got, hint=because)
        return f"right for {len(TERMS)} pairs of terms"


def _on_sets(mine: Any) -> Callable[..., Any]:
    """The reader's function, which the judge calls with lists of factors."""
    return lambda number, factors, goal, within: mine(number, {*factors}, goal, {*within})


rescaled = Blank(
    asks(called, Rescales()),
    (
        "The sum so far has terms exp(score - top). They should be exp(score - larger).",
        "exp(score - larger) = exp(score - top) * exp(top - larger), with the same factor for all "
        "terms of the sum.",
        "total = total * np.exp(... - ...)",
    ),
    "total = total * np.exp(top - larger)",
)
may_become = Blank(
    asks(lambda mine: called(_on_sets(mine)), Becomes()),
    (
        "Two things have to hold: one of the numbers, one of the factors.",
        "Sums multiply the number by a whole number: does it divide the goal's? `a % b` is the "
        "rest of a division. Products add factors: `one <= other` says that a set is within "
        "another.",
        "return goal_number % number == 0 and factors ... goal_factors",
    ),
    "return goal_number % number == 0 and factors <= goal_factors",
)
graphs_of = Blank(
    asks(
        called,
        returns(1, result=2, hint="with this value, or without it"),
        returns(2, result=4, hint="neither, either one, or both"),
        returns(3, result=8),
        returns(0, result=1, hint="the inputs alone"),
        returns(20, result=1_048_576),
    ),
    (
        "A graph contains the first value or not, and the second or not, and so on.",
        "Each further value doubles the number of graphs.",
        "return 2 ... n",
    ),
    "return 2**n",
)

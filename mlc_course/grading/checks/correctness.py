"""Checks that a result is right, on inputs that the answer has not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlc_course.errors import UnmetCheck
from mlc_course.grading.admission import dtypes
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.process import values

SINGLE = {"float32"}
Cases = Callable[[np.random.Generator], Sequence[Any]]


@dataclass(frozen=True)
class Computes:
    """The program computes its problem in float32, on several random inputs.

    ``tolerance`` bounds the relative error.
    """

    trials: int = 2
    tolerance: float = 1e-4
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.problem is not None
        answer.bench.inspect(self)
        rng, worst = answer.rng(), 0.0
        for _ in range(self.trials):
            inputs = answer.problem.inputs(int(rng.integers(2**62)))
            out = answer.bench.run(inputs)
            reference = answer.problem.reference(inputs)
            worst = max(worst, answer.problem.check(out, reference, tolerance=self.tolerance))
        return f"computes {answer.problem.title}; relative error {worst:.1g}"

    def inspect(self, subject: Any) -> str:
        found = dtypes(subject.module) - SINGLE
        if found:
            raise UnmetCheck(
                "the program computes in another precision",
                expected="float32 throughout",
                got=", ".join(sorted(found)),
                hint="fewer bits are another problem, not a faster program",
            )
        return "float32 throughout"


@dataclass(frozen=True)
class Returns:
    """The function returns ``result`` for these arguments."""

    arguments: tuple[Any, ...]
    result: Any
    tolerance: float = 1e-6
    hint: str = ""
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        got = _call(answer, self.arguments)
        wrong = values.difference(got, self.result, tolerance=self.tolerance)
        shown = ", ".join(_short(each) for each in self.arguments)
        if wrong:
            raise UnmetCheck(
                f"a wrong result for ({shown})",
                expected=_short(self.result),
                got=wrong,
                hint=self.hint or None,
            )
        return f"right for ({shown})"


@dataclass(frozen=True)
class Agrees:
    """The function agrees with ``reference`` on random arguments that ``cases(rng)`` makes.

    The random numbers are secret in the grader.
    """

    reference: Callable[..., Any]
    cases: Cases
    count: int = 20
    tolerance: float = 1e-5
    hint: str = ""
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        rng = answer.rng()
        for number in range(self.count):
            arguments = self.cases(rng)
            expected = self.reference(*arguments)
            wrong = values.difference(_call(answer, arguments), expected, tolerance=self.tolerance)
            if wrong:
                raise UnmetCheck(
                    f"a wrong result, in case {number + 1} of {self.count}, "
                    f"for ({', '.join(_short(each) for each in arguments)})",
                    expected=_short(expected),
                    got=wrong,
                    hint=self.hint or None,
                )
        return f"right in {self.count} cases"


@dataclass(frozen=True)
class Equals:
    """The value is this one; the diagnosis does not say which."""

    result: Any
    tolerance: float = 1e-6
    hint: str = ""
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        wrong = values.difference(answer.value, self.result, tolerance=self.tolerance)
        if wrong:
            raise UnmetCheck("not the right value", got=wrong, hint=self.hint or None)
        return "the right value"


def returns(*arguments: object, result: object, tolerance: float = 1e-6, hint: str = "") -> Returns:
    """One example: the function returns ``result`` for these arguments."""
    return Returns(arguments, result, tolerance, hint)


def _call(answer: Examined, arguments: Sequence[Any]) -> Any:
    assert answer.call is not None
    return answer.call(*arguments)


def _short(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}"
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of {value.dtype} with shape {value.shape}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."


# Checks as exercises spell them: ``check(given(x), equals(3))``.
computes = Computes
agrees = Agrees
equals = Equals

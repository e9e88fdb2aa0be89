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
WRONG = {"result": "a wrong result", "value": "not the right value"}
NOTHING_RETURNED = "a function that reaches no return gives None; print only shows a value"
LONGEST = 130  # characters of all arguments together
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
        wrong = _difference(got, self.result, self.tolerance)
        shown = _arguments(self.arguments)
        if wrong:
            raise _unmet("result", f" for {shown}", wrong, _short(self.result), self.hint)
        return f"right for {shown}"


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
            wrong = _difference(_call(answer, arguments), expected, self.tolerance)
            if wrong:
                place = f", in case {number + 1} of {self.count}, for {_arguments(arguments)}"
                raise _unmet("result", place, wrong, _short(expected), self.hint)
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
            raise _unmet("value", "", wrong, "", self.hint)
        return "the right value"


def returns(*arguments: object, result: object, tolerance: float = 1e-6, hint: str = "") -> Returns:
    """One example: the function returns ``result`` for these arguments."""
    return Returns(arguments, result, tolerance, hint)


def _call(answer: Examined, arguments: Sequence[Any]) -> Any:
    assert answer.call is not None
    return answer.call(*arguments)


def _difference(got: Any, expected: Any, tolerance: float) -> values.Difference | None:
    """Compare what a function returned: None is most often a ``return`` that was forgotten."""
    if got is None and expected is not None:
        return values.Difference("None", hint=NOTHING_RETURNED)
    return values.difference(got, expected, tolerance=tolerance)


def _unmet(what: str, where: str, wrong: values.Difference, expected: str, hint: str) -> UnmetCheck:
    """The diagnosis of a difference, with its own hint where the exercise's would mislead."""
    form_alone = bool(wrong.expected)
    return UnmetCheck(
        f"the right {what} in another form{where}" if form_alone else f"{WRONG[what]}{where}",
        expected=wrong.expected or expected or None,
        got=wrong.got,
        hint=wrong.hint or hint or None,
    )


def _arguments(arguments: Sequence[Any]) -> str:
    """Arguments in brackets, as a call has them; the last ones are left out where all are long."""
    shown, room = [], LONGEST
    for each in arguments:
        text = _short(each, min(room, 80))
        shown.append(text)
        room -= len(text)
        if room < 20 and len(shown) < len(arguments):
            shown.append("...")
            break
    return f"({', '.join(shown)})"


def _short(value: object, most: int = 80) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:g}"
    return values.shown(value, most=most, digits=4)


# Checks as exercises spell them: ``check(given(x), equals(3))``.
computes = Computes
agrees = Agrees
equals = Equals

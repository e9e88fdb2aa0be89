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
from mlc_course.words import marked, tr

SINGLE = {"float32"}
NOTHING_RETURNED = marked("a function that reaches no return gives None; print only shows a value")
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
        title = answer.problem.title
        return tr("computes {title}; relative error {error:.1g}", title=title, error=worst)

    def inspect(self, subject: Any) -> str:
        found = dtypes(subject.module) - SINGLE
        if found:
            raise UnmetCheck(
                tr("the program computes in another precision"),
                expected=tr("float32 throughout"),
                got=", ".join(sorted(found)),
                hint=tr("fewer bits are another problem, not a faster program"),
            )
        return tr("float32 throughout")


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
            if wrong.expected:
                what = tr("the right result in another form for {arguments}", arguments=shown)
            else:
                what = tr("a wrong result for {arguments}", arguments=shown)
            raise _unmet(what, wrong, _short(self.result), self.hint)
        return tr("right for {arguments}", arguments=shown)


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
                case = {
                    "number": number + 1,
                    "count": self.count,
                    "arguments": _arguments(arguments),
                }
                if wrong.expected:
                    what = tr(
                        "the right result in another form, in case {number} of {count}, for "
                        "{arguments}",
                        **case,
                    )
                else:
                    what = tr(
                        "a wrong result, in case {number} of {count}, for {arguments}", **case
                    )
                raise _unmet(what, wrong, _short(expected), self.hint)
        return tr("right in {count} cases", count=self.count)


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
            form_alone = bool(wrong.expected)
            what = (
                tr("the right value in another form") if form_alone else tr("not the right value")
            )
            raise _unmet(what, wrong, "", self.hint)
        return tr("the right value")


def returns(*arguments: object, result: object, tolerance: float = 1e-6, hint: str = "") -> Returns:
    """One example: the function returns ``result`` for these arguments."""
    return Returns(arguments, result, tolerance, hint)


def _call(answer: Examined, arguments: Sequence[Any]) -> Any:
    assert answer.call is not None
    return answer.call(*arguments)


def check_returned(got: object) -> None:
    """Raise ``UnmetCheck`` for None, which a function gives whose ``return`` was forgotten."""
    if got is None:
        raise UnmetCheck("no result", got="None", hint=tr(NOTHING_RETURNED))


def _difference(got: Any, expected: Any, tolerance: float) -> values.Difference | None:
    """Compare what a function returned: None is most often a ``return`` that was forgotten."""
    if got is None and expected is not None:
        return values.Difference("None", hint=NOTHING_RETURNED)
    return values.difference(got, expected, tolerance=tolerance)


def _unmet(what: str, wrong: values.Difference, expected: str, hint: str) -> UnmetCheck:
    """The diagnosis of a difference, with its own hint where the exercise's would mislead."""
    return UnmetCheck(
        what,
        expected=wrong.expected or expected or None,
        got=wrong.got,
        hint=tr(wrong.hint or hint) or None,
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

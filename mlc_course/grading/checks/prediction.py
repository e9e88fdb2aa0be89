"""Checks of values: predictions, choices, and counter-examples to a claim."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.grading.checks.checking import Examined


@dataclass(frozen=True)
class Predicts:
    """A number within a factor of the truth, which is measured when it is first asked for."""

    truth: Callable[[], float]
    within: float = 1.5
    unit: str = ""
    kind: ClassVar[str] = "prediction"

    def judge(self, answer: Examined) -> str:
        guess = answer.value
        if type(guess) not in (int, float) or not guess > 0:
            raise UnmetCheck(
                "not a prediction", expected=f"a number of {self.unit}, above 0", got=guess
            )
        truth = self.truth()
        apart = max(guess / truth, truth / guess)
        if not apart <= self.within:
            raise UnmetCheck(
                f"the prediction is {'above' if guess > truth else 'below'} the truth",
                expected=f"within a factor of {self.within:g}",
                got=f"off by a factor of {apart:.3g}",
            )
        return f"predicted within a factor of {apart:.2f} (asked: {self.within:g})"


@dataclass(frozen=True)
class OneOf:
    """A value of the right form: one of these, or for a dict, one of these under every key."""

    choices: tuple[Any, ...]
    keys: tuple[str, ...] = ()
    kind: ClassVar[str] = "form"

    def judge(self, answer: Examined) -> str:
        value, keys = answer.value, list(self.keys)
        if keys and (type(value) is not dict or sorted(value) != sorted(keys)):
            raise UnmetCheck("not an answer to every part", expected=", ".join(keys), got=value)
        chosen = value.values() if keys else [value]
        for each in chosen:
            if each not in self.choices:
                raise UnmetCheck(
                    "not one of the choices",
                    expected=" | ".join(map(str, self.choices)),
                    got=repr(each),
                )
        return "an answer to every part" if keys else "one of the choices"


@dataclass(frozen=True)
class Holds:
    """A check that only this exercise has: a predicate that looks at the answer on the bench.

    ``predicate(subject)`` gets the value, or a ``Program`` with ``module`` and ``problem``; it
    returns what it saw as a sentence, or raises ``UnmetCheck``.
    """

    predicate: Callable[[Any], str]
    kind: str = "structure"

    def judge(self, answer: Examined) -> str:
        if answer.call is not None:
            raise UsageError("holds: a function is not on the bench", expected="agrees(...)")
        return answer.bench.inspect(self)

    def inspect(self, subject: Any) -> str:
        return self.predicate(subject)


def one_of(choices: Collection[object], *, keys: Collection[str] = ()) -> OneOf:
    """Check the form only: the value is one of the choices, for a dict under every key."""
    return OneOf(tuple(choices), tuple(keys))


def breaks(claim: str, stands: Callable[[Any], str | None]) -> Holds:
    """A counter-example: the value must break ``claim``.

    ``stands(value)`` returns why the claim still stands for it, or None when it is broken.
    """

    def refute(value: Any) -> str:
        reason = stands(value)
        if reason:
            raise UnmetCheck(
                f"the claim stands: {claim}", expected="a case in which it does not", got=reason
            )
        return f"breaks the claim: {claim}"

    return Holds(refute, "counter-example")


# Checks as exercises spell them: ``check(given(x), equals(3))``.
predicts = Predicts
holds = Holds

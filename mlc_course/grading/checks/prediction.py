"""Checks of values: predictions, choices, and counter-examples to a claim."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.process import shown
from mlc_course.words import tr


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
                tr("not a prediction"),
                expected=tr("a number of {unit}, above 0", unit=self.unit),
                got=shown(guess),
            )
        truth = self.truth()
        apart = max(guess / truth, truth / guess)
        if not apart <= self.within:
            raise UnmetCheck(
                tr("the prediction is above the truth")
                if guess > truth
                else tr("the prediction is below the truth"),
                expected=tr("within a factor of {most:g}", most=self.within),
                got=tr("off by a factor of {factor:.3g}", factor=apart),
            )
        return tr(
            "predicted within a factor of {factor:.2f} (asked: {most:g})",
            factor=apart,
            most=self.within,
        )


@dataclass(frozen=True)
class Sealed:
    """One choice, or one under each key; says how many are right, and not which.

    ``seals`` has the ``seal`` of the right choice, or of the one under each key, so that nobody
    reads the answers by accident.
    """

    choices: tuple[str, ...]
    seals: str | Mapping[str, str]
    hint: str = ""
    kind: ClassVar[str] = "answers"

    def judge(self, answer: Examined) -> str:
        if isinstance(self.seals, str):
            if not self._is_right("", answer.value, self.seals):
                raise UnmetCheck(tr("another answer is right"), hint=tr(self.hint))
            return tr("the right answer")
        chosen, keys = answer.value, list(self.seals)
        check_parts(chosen, keys)
        right = sum(self._is_right(key, chosen[key], self.seals[key]) for key in keys)
        if right < len(keys):
            what = tr("{right} of {count} are right", right=right, count=len(keys))
            raise UnmetCheck(what, hint=tr(self.hint))
        return tr("all {count} are right", count=len(keys))

    def _is_right(self, key: str, choice: object, right: str) -> bool:
        if type(choice) is not str or choice not in self.choices:
            raise UnmetCheck(
                tr("{key}: not one of the choices", key=key)
                if key
                else tr("not one of the choices"),
                expected=" | ".join(self.choices),
                got=shown(choice),
            )
        return seal(str(choice), key) == right


def check_parts(value: Any, keys: Collection[str]) -> None:
    """Raises ``UnmetCheck`` unless the value is a dict with exactly these keys."""
    if type(value) is not dict or sorted(value) != sorted(keys):
        form = ", ".join(f'"{key}": ...' for key in keys)
        raise UnmetCheck(
            tr("not an answer to every part"), expected=f"{{{form}}}", got=shown(value, most=150)
        )


def seal(choice: str, key: str = "") -> str:
    """Return twelve hexadecimal digits that tell this choice from others, and do not show it."""
    return hashlib.sha256(f"{key}: {choice}".encode()).hexdigest()[:12]


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


def sealed(choices: Collection[str], seals: str | Mapping[str, str], *, hint: str = "") -> Sealed:
    """A choice, or one under each key, held against the ``seal`` of the right one."""
    return Sealed(tuple(choices), seals, hint)


def breaks(claim: str, stands: Callable[[Any], str | None]) -> Holds:
    """A counter-example: the value must break ``claim``.

    ``stands(value)`` returns why the claim still stands for it, or None when it is broken.
    """

    def refute(value: Any) -> str:
        reason = stands(value)
        if reason:
            raise UnmetCheck(
                tr("the claim stands: {claim}", claim=tr(claim)),
                expected=tr("a case in which it does not"),
                got=reason,
            )
        return tr("breaks the claim: {claim}", claim=tr(claim))

    return Holds(refute, "counter-example")


# Checks as exercises spell them: ``check(given(x), equals(3))``.
predicts = Predicts
holds = Holds

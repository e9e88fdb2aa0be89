"""``check``: a student's diagnosis, within two seconds, in the cell below the answer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.grading import values
from mlc_course.grading.answers import (
    Called,
    Given,
    Scheduled,
    Subject,
    Written,
    own_error,
    produce,
)
from mlc_course.grading.bench import Bench
from mlc_course.grading.examined import Check, Examined, examine
from mlc_course.grading.finding import Finding, Verdict, unmet

RATIO = "ratio"


@dataclass(frozen=True)
class Demand:
    """What one ``check`` call asks: these checks, of this answer."""

    subject: Subject
    checks: tuple[Check, ...]


_recorded: ContextVar[list[Demand] | None] = ContextVar("recorded", default=None)


@contextlib.contextmanager
def recording() -> Iterator[list[Demand]]:
    """Inside, ``check`` writes down what it is asked and looks at nothing."""
    demands: list[Demand] = []
    token = _recorded.set(demands)
    try:
        yield demands
    finally:
        _recorded.reset(token)


class NotYet(UnmetCheck):
    """Raised by ``check``; Jupyter shows its text without a traceback."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        self.text = "\n".join(map(str, findings))
        bad = next(each for each in findings if each.verdict is Verdict.UNMET)
        super().__init__(bad.what, expected=bad.expected, got=bad.got, hint=bad.hint)

    def __str__(self) -> str:
        return self.text

    def _render_traceback_(self) -> list[str]:
        return self.text.splitlines()


def check(subject: Subject, *checks: Check) -> None:
    """Examine an answer and print what each check saw; raises ``NotYet`` unless all are met."""
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(Demand(subject, checks))
        return
    findings = findings_here(Demand(subject, checks))
    if any(each.verdict is Verdict.UNMET for each in findings):
        raise NotYet(findings)
    print("\n".join(map(str, findings)))


def findings_here(demand: Demand) -> list[Finding]:
    """The findings of a demand, with everything in this process."""
    try:
        answer = _examined(demand.subject)
    except Exception as error:
        return [unmet("answer", error)]
    return judged(demand.checks, answer)


def judged(checks: Sequence[Check], answer: Examined) -> list[Finding]:
    """Structure and counts first; a race only for an answer that meets all of them."""
    findings: list[Finding] = []
    for each in sorted(checks, key=lambda c: c.kind == RATIO):
        if each.kind == RATIO and any(f.verdict is Verdict.UNMET for f in findings):
            break
        findings.append(examine(each, answer))
    return findings


def _examined(subject: Subject) -> Examined:
    """The answer by the way that it takes in the grader too: through text."""
    text = produce(answer=subject.answer, **subject.ask())
    bench = Bench()
    match subject:
        case Scheduled() | Written():
            bench.load_program(text, subject.problem)
            return Examined(bench, problem=subject.problem)
        case Called():
            return Examined(bench, call=_copying(subject.answer))
        case Given():
            bench.load_value(text)
            return Examined(bench, value=bench.subject)


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    """Calls with plain values and returns them, as with another process between."""

    def call(*arguments: Any) -> Any:
        given = values.from_text(values.to_text(arguments))
        try:
            result = function(*given)
        except Exception as error:
            raise own_error(error) from error
        return values.from_text(values.to_text(result))

    return call

"""``check``, which shows a student below an answer what each check found, and the form of a check.

The same check runs in a notebook, where the bench is an object and the seed is public, and in the
grader, where bench and function are in other processes and the seed is secret.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mlc_course import progress
from mlc_course.errors import TooNoisy, UnmetCheck
from mlc_course.grading.process import (
    Bench,
    Boxed,
    Called,
    Finding,
    Given,
    Inspection,
    Optimized,
    Scheduled,
    Subject,
    Verdict,
    Written,
    met,
    own_error,
    produce,
    told,
    unmet,
    values,
)
from mlc_course.mugraph.cpu_kernels import Rates
from mlc_course.tensor_program.problems import Array, Workload

RATIO = "ratio"
PUBLIC_SEED = 20260


class BenchLike(Protocol):
    """The methods of a bench that a check may call, in this process or in another."""

    def inspect(self, check: Inspection) -> str: ...
    def run(self, inputs: list[Array]) -> Array: ...
    def race(self, rung: str, inputs: list[Array]) -> None: ...
    def race_graph(self, seed: int, rates: Rates) -> None: ...
    def repeat(self, contestant: str, times: int) -> None: ...


@dataclass
class Examined:
    """An answer under examination: a program or a value on a bench, or a function to call.

    ``reference_ratio`` is what the reference solution reaches in a race on this machine; None
    where there is no reference, as in a student's notebook. ``patient`` is the grader, which has
    more than two seconds: it runs a noisy race again, and holds a time against the machine's roof.
    """

    bench: BenchLike = field(default_factory=Bench)
    problem: Workload | None = None
    value: Any = None
    call: Callable[..., Any] | None = None
    seed: int = PUBLIC_SEED
    reference_ratio: float | None = None
    patient: bool = False

    def rng(self) -> np.random.Generator:
        """Random numbers that the answer cannot foresee."""
        return np.random.default_rng(self.seed)


class Check(Protocol):
    """One demand on an answer. Its ``kind`` is one word for tables; ``judge`` returns what it saw.

    ``judge`` raises ``UnmetCheck`` when the demand is not met, or another ``CourseError`` that says
    why.
    """

    @property
    def kind(self) -> str: ...

    def judge(self, answer: Examined) -> str: ...


def examine(check: Check, answer: Examined) -> Finding:
    """Judge an answer; the finding puts the result into words."""
    try:
        return met(check.kind, check.judge(answer))
    except TooNoisy as error:
        return Finding(check.kind, Verdict.UNJUDGED, error.what, got=str(error.got))
    except Exception as error:
        return unmet(check.kind, error)


@dataclass(frozen=True)
class Demand:
    """One call of ``check``: an answer and the checks that it should meet.

    ``worth`` are the points for meeting them all; None where the cell's points are not divided.
    """

    subject: Subject
    checks: tuple[Check, ...]
    worth: float | None = None


_recorded: ContextVar[list[Demand] | None] = ContextVar("recorded", default=None)


@contextlib.contextmanager
def recording() -> Iterator[list[Demand]]:
    """Make ``check`` write down its arguments inside the ``with`` and examine nothing."""
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
        self.text = "\n".join(map(told, findings))
        bad = next(each for each in findings if each.verdict is Verdict.UNMET)
        super().__init__(bad.what, expected=bad.expected, got=bad.got, hint=bad.hint)

    def __str__(self) -> str:
        return self.text

    def _render_traceback_(self) -> list[str]:
        return self.text.splitlines()


def check(subject: Subject, *checks: Check, worth: float | None = None) -> None:
    """Examine an answer and print what each check saw; raises ``NotYet`` unless all are met.

    A cell's points are for all its checks together, unless each call in it says what it is
    ``worth``.
    """
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append(Demand(subject, checks, worth))
        return
    findings = findings_here(Demand(subject, checks))
    if any(each.verdict is Verdict.UNMET for each in findings):
        progress.missed(progress.under_way())
        raise NotYet(findings)
    print("\n".join(map(told, findings)))
    progress.met(progress.under_way())


def findings_here(demand: Demand) -> list[Finding]:
    """Examine a demand with everything in this process."""
    try:
        answer = _examined(demand.subject)
    except Exception as error:
        return [unmet("answer", error)]
    return judged(demand.checks, answer)


def judged(checks: Sequence[Check], answer: Examined) -> list[Finding]:
    """Judge structure and counts first, and race only an answer that meets all of them."""
    findings: list[Finding] = []
    for each in sorted(checks, key=lambda c: c.kind == RATIO):
        if each.kind == RATIO and any(f.verdict is Verdict.UNMET for f in findings):
            break
        found = examine(each, answer)
        if found.verdict is not Verdict.UNMET or not _told(found, findings):
            findings.append(found)
    return findings


def _told(found: Finding, findings: Sequence[Finding]) -> bool:
    """Tell whether an earlier example has the same hint, as for a dtype or an error."""
    told = [(each.kind, each.hint) for each in findings if each.verdict is Verdict.UNMET]
    return found in findings or bool(found.hint) and ("correctness", found.hint) in told


def _examined(subject: Subject) -> Examined:
    """Pass the answer through text, as the grader does, and put it on a bench."""
    text = produce(answer=subject.answer, **subject.ask())
    bench = Bench()
    match subject:
        case Scheduled() | Written():
            bench.load_program(text, subject.problem)
            return Examined(bench, problem=subject.problem)
        case Called():
            return Examined(bench, call=_copying(subject.answer))
        case Optimized():
            program = subject.draw(PUBLIC_SEED)
            bench.load_graph(bench.optimize(text, program), program)
            return Examined(bench)
        case Boxed() | Given():
            bench.load_value(text)
            return Examined(bench, value=bench.subject)


def _copying(function: Callable[..., Any]) -> Callable[..., Any]:
    """Copy arguments and results of every call, as if the function ran in another process."""

    def call(*arguments: Any) -> Any:
        given = values.from_text(values.to_text(arguments))
        try:
            result = function(*given)
        except Exception as error:
            raise own_error(error) from error
        return values.from_text(values.to_text(result))

    return call

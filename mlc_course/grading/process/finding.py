"""The finding of one check: met, not met, or not to be told on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlc_course.errors import CourseError

MOST_CHARACTERS = 2000  # of one line of a finding; a student's error text may be a flood


class Verdict(StrEnum):
    """``UNJUDGED`` takes no mark away: the machine was too noisy to tell."""

    MET = "met"
    UNMET = "unmet"
    UNJUDGED = "unjudged"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check, in the layout of the course's errors."""

    kind: str
    verdict: Verdict
    what: str
    expected: str = ""
    got: str = ""
    hint: str = ""

    def __str__(self) -> str:
        mark = {Verdict.MET: "✔", Verdict.UNMET: "✘", Verdict.UNJUDGED: "○"}[self.verdict]
        parts = (("expected", self.expected), ("got", self.got), ("hint", self.hint))
        return "\n".join((f"{mark} {self.what}", *(f"    {k:<9} {v}" for k, v in parts if v)))


def met(kind: str, what: str) -> Finding:
    """A check that holds, and what it saw."""
    return Finding(kind, Verdict.MET, what)


def unmet(kind: str, error: Exception) -> Finding:
    """A check that does not hold, because of this error."""
    if not isinstance(error, CourseError):
        return Finding(kind, Verdict.UNMET, _line(f"{type(error).__name__}: {error}"))
    parts = (error.what, error.expected, error.got, error.hint)
    what, expected, got, hint = ("" if part is None else _line(str(part)) for part in parts)
    return Finding(kind, Verdict.UNMET, what, expected, got, hint)


def _line(text: str) -> str:
    return printable(text[:MOST_CHARACTERS], keep="\n")


def printable(text: str, *, keep: str = "") -> str:
    """A student's text without what a terminal obeys or UTF-8 cannot write."""
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def earned(findings: Sequence[Finding]) -> bool:
    """Tell whether these findings earn the points. One that says no is enough to lose them."""
    return bool(findings) and all(each.verdict is not Verdict.UNMET for each in findings)

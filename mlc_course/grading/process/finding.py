"""The finding of one check: met, not met, or not to be told on this machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlc_course.errors import CourseError
from mlc_course.grading.process.values import shown

ADDRESS = re.compile(r" at 0x[0-9a-f]+")  # of an object that the answer has printed
MOST_LINES, MOST_CHARACTERS = 10, 180  # of each part; a student's error text may be a flood


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
        told = _lines(f"{type(error).__name__}: {error}".splitlines()[0])
        return Finding(kind, Verdict.UNMET, "an answer that this check cannot judge", got=told)
    parts = (error.what, error.expected, error.got, error.hint)
    what, expected, got, hint = ("" if part is None else _lines(part) for part in parts)
    return Finding(kind, Verdict.UNMET, what, expected, got, hint)


def _lines(part: object) -> str:
    """A part of a finding: a text, or a value that the answer has, on lines that fit a screen."""
    text = part if isinstance(part, str) else str(part) if isinstance(part, int) else shown(part)
    lines = ADDRESS.sub("", text).splitlines()
    kept = [
        each if len(each) <= MOST_CHARACTERS else each[: MOST_CHARACTERS - 3] + "..."
        for each in lines[:MOST_LINES]
    ]
    return "\n".join(map(printable, [*kept, *["..."] * (len(lines) > MOST_LINES)]))


def printable(text: str, *, keep: str = "") -> str:
    """A student's text without what a terminal obeys or UTF-8 cannot write."""
    return "".join(c if c.isprintable() or c in keep else "\ufffd" for c in text)


def earned(findings: Sequence[Finding]) -> bool:
    """Tell whether these findings earn the points. One that says no is enough to lose them."""
    return bool(findings) and all(each.verdict is not Verdict.UNMET for each in findings)

"""The finding of one check: met, not met, or not to be told on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mlc_course.errors import CourseError
from mlc_course.grading.process.values import shown
from mlc_course.words import padded, tr

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
        return self.layout({})

    def layout(self, labels: Mapping[str, str]) -> str:
        """The finding on lines, with other words for ``expected``, ``got`` and ``hint``."""
        mark = {Verdict.MET: "✔", Verdict.UNMET: "✘", Verdict.UNJUDGED: "○"}[self.verdict]
        parts = (("expected", self.expected), ("got", self.got), ("hint", self.hint))
        lines = (f"    {padded(labels.get(k, k), 9)} {v}" for k, v in parts if v)
        return "\n".join((f"{mark} {self.what}", *lines))


def told(finding: Finding) -> str:
    """A finding in the language that is spoken; ``str(finding)``, for records, is in English."""
    labels = {"expected": tr("expected"), "got": tr("got"), "hint": tr("hint")}
    return finding.layout(labels)


def met(kind: str, what: str) -> Finding:
    """A check that holds, and what it saw."""
    return Finding(kind, Verdict.MET, what)


def unmet(kind: str, error: Exception) -> Finding:
    """A check that does not hold, because of this error."""
    if not isinstance(error, CourseError):
        said = _lines(f"{type(error).__name__}: {error}".splitlines()[0])
        return Finding(kind, Verdict.UNMET, tr("an answer that this check cannot judge"), got=said)
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

"""One to three lines that the reader of a lesson writes, judged at once.

In a notebook, a cell has three dots where the reader's lines go, and the cell below it is one line:
``judged(working_set)``, with a ``Blank`` of the lesson's folder.
"""

from __future__ import annotations

import dis
import html
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from mlc_course import progress
from mlc_course.drawing import GREEN
from mlc_course.grading.checks import Demand, findings_here
from mlc_course.grading.process import Finding, Subject, Verdict, told
from mlc_course.words import tr

COLOURS = {"empty": "#8888", "right": GREEN, "wrong": "#d55e00"}


@dataclass(frozen=True)
class Judged:
    """The verdict on the lines that a reader wrote.

    ``empty`` where nothing has been written yet. As HTML it has the hints, one at a time, and
    last the lines of the answer, folded.
    """

    findings: tuple[Finding, ...]
    empty: bool
    hints: tuple[str, ...]
    answer: str

    @property
    def right(self) -> bool:
        return not self.empty and all(each.verdict is Verdict.MET for each in self.findings)

    def __str__(self) -> str:
        if self.empty:
            return tr(
                "○ Nothing here yet: put your line in place of the three dots and run both cells."
            )
        bad = [each for each in self.findings if each.verdict is not Verdict.MET]
        return "\n".join(map(told, bad[:1] or self.findings))

    def _repr_html_(self) -> str:
        state = "empty" if self.empty else "right" if self.right else "wrong"
        said = (
            f'<pre data-testid="judged" data-state="{state}" style="border-left: 5px solid '
            f'{COLOURS[state]}; padding: 4px 12px; white-space: pre-wrap">'
            f"{html.escape(str(self))}</pre>"
        )
        if self.right:
            return said
        folded = [
            (tr("Hint {number}", number=number), html.escape(tr(hint)))
            for number, hint in enumerate(self.hints, start=1)
        ]
        folded.append((tr("The lines"), f"<pre>{html.escape(self.answer)}</pre>"))
        return said + "".join(
            f"<details><summary>{title}</summary><p>{text}</p></details>" for title, text in folded
        )


@dataclass(frozen=True)
class Blank:
    """The judge of some lines that are missing in a lesson.

    ``demand`` makes of what the reader wrote a subject and its checks, as in an exercise:
    ``lambda mine: Demand(called(mine), (returns(2, result=4),))``. ``hints`` lead to the answer one
    step at a time, and ``answer`` is the missing lines.
    """

    demand: Callable[[Any], Demand]
    hints: tuple[str, ...]
    answer: str

    def __call__(self, written: object) -> Judged:
        """Judge what was written; never raises for what a reader may write."""
        findings = tuple(findings_here(self.demand(written)))
        right = all(each.verdict is Verdict.MET for each in findings)
        if right:
            progress.met(progress.named(self))
        return Judged(findings, not right and is_empty(written), self.hints, self.answer)


def asks(subject: Callable[[Any], Subject], *checks: Any) -> Callable[[Any], Demand]:
    """Return the demand of a blank: ``asks(called, returns(2, result=4))``."""
    return lambda written: Demand(subject(written), checks)


def is_empty(written: object) -> bool:
    """Return True where three dots are left, or a function does nothing at all."""
    if isinstance(written, dict):
        return any(map(is_empty, written.values()))
    if isinstance(written, list | tuple):
        return any(map(is_empty, written))
    code = getattr(written, "__code__", None)
    if code is None:
        return written is ...
    return ... in code.co_consts or _does_nothing(code)


def _does_nothing(code: CodeType) -> bool:
    """Return True for the code of a function that returns None and has no other instruction."""
    steps = [each for each in dis.get_instructions(code) if each.opname not in ("RESUME", "NOP")]
    idle = ("LOAD_CONST", "RETURN_VALUE", "RETURN_CONST")
    return all(each.opname in idle and each.argval is None for each in steps)

"""Diagnoses: what a student reads who hands in this answer."""

from __future__ import annotations

import atexit
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from mlc_course.grading.checks import findings_here
from mlc_course.grading.course import Exam, read_exam, source_of
from mlc_course.grading.process import Finding, Verdict

SOLUTIONS = Path(__file__).parents[2] / "solutions"

Diagnose = Callable[..., list[Finding]]


@cache
def exam(assignment: str) -> Exam:
    """The exam of an assignment, by the name of its folder."""
    return read_exam(SOLUTIONS / assignment / f"{assignment}.ipynb")


class Notebook:
    """An assignment's notebook whose locked cells have run, once for all answers to it."""

    def __init__(self, assignment: str) -> None:
        self.exam = exam(assignment)
        config = Config()
        config.HistoryManager.enabled = False
        self.shell = InteractiveShell(config=config)
        atexit.unregister(self.shell.atexit_operations)  # slow, and of no use here
        self.run(text for _, text in self.exam.setup)
        self.names = dict(self.shell.user_ns)

    def run(self, sources: Iterable[str]) -> None:
        for source in sources:
            self.shell.run_cell(source, store_history=False).raise_error()

    @contextmanager
    def answered(self, sources: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Its names after these answer cells; they are forgotten afterwards."""
        try:
            self.run(sources)
            yield self.shell.user_ns
        finally:
            self.shell.user_ns.clear()
            self.shell.user_ns.update(self.names)


@pytest.fixture(scope="module")
def notebook() -> Callable[[str], Notebook]:
    """``notebook(assignment)``: the same one for all tests of a file."""
    return cache(Notebook)


@pytest.fixture
def diagnose(notebook: Callable[[str], Notebook]) -> Diagnose:
    """``diagnose(assignment, grade_id, source)``: the findings of one test for these answer cells.

    The sources run after the assignment's locked cells, as in a notebook; then the test's demands
    are judged in this process. ``hidden=False`` leaves the hidden part out.
    """

    def run(assignment: str, grade_id: str, *sources: str, hidden: bool = True) -> list[Finding]:
        asked = notebook(assignment)
        (test,) = (each for each in asked.exam.tests if each.grade_id == grade_id)
        demands = test.demands if hidden else test.visible
        with asked.answered(sources) as names:
            findings = [each for d in demands for each in findings_here(_bound(d, names))]
        for each in findings:
            assert not unreadable(str(each)), each
        return findings

    return run


@pytest.fixture
def complain(diagnose: Diagnose) -> Callable[..., str]:
    """As ``diagnose``, but only the complaint: empty when the answer earns the points."""
    return lambda *asked, **options: complaint(diagnose(*asked, **options))


@pytest.fixture
def solution() -> Callable[[str, str], str]:
    """``solution(assignment, cell_id)``: the source of an answer cell of the solution notebook."""

    def source(assignment: str, cell_id: str) -> str:
        path = SOLUTIONS / assignment / f"{assignment}.ipynb"
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return next(source_of(cell) for cell in cells if cell["id"] == cell_id)

    return source


INTERNALS = re.compile(
    r"Traceback|File \"|\.py\b|\btvm\.|\btirx?\.|site-packages|at 0x|mlc_course\.|<bound|<function| object>|ipython|dtype=", re.I
)


def unreadable(text: str) -> str:
    """Return what a student should not have to read in a finding: internals, or too much of it."""
    lines = text.splitlines()
    found = INTERNALS.search(text)
    if found:
        return found[0]
    if len(lines) > 14:
        return f"{len(lines)} lines"
    return next((line for line in lines if len(line) > 200), "")


def _bound(demand: Any, namespace: dict[str, Any]) -> Any:
    answer = namespace.get(demand.subject.answer.name)
    return replace(demand, subject=replace(demand.subject, answer=answer))


def complaint(findings: Sequence[Finding]) -> str:
    """The text of the first finding that is not met; empty when all are."""
    return next((str(each) for each in findings if each.verdict is Verdict.UNMET), "")

"""Diagnoses: what a student reads who hands in this answer."""

from __future__ import annotations

import atexit
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from mlc_course.grading.check import findings_here
from mlc_course.grading.exam import Exam, read_exam, source_of
from mlc_course.grading.finding import Finding, Verdict

SOLUTIONS = Path(__file__).parents[2] / "solutions"

Diagnose = Callable[..., list[Finding]]


def exam(assignment: str) -> Exam:
    """The exam of an assignment, by the name of its folder."""
    return read_exam(SOLUTIONS / assignment / f"{assignment}.ipynb")


@pytest.fixture
def diagnose() -> Diagnose:
    """``diagnose(assignment, grade_id, source)``: the findings of one test for these answer cells.

    The sources run after the assignment's locked cells, as in a notebook; then the test's demands
    are judged in this process. ``hidden=False`` leaves the hidden part out.
    """

    def run(assignment: str, grade_id: str, *sources: str, hidden: bool = True) -> list[Finding]:
        asked = exam(assignment)
        config = Config()
        config.HistoryManager.enabled = False
        shell = InteractiveShell(config=config)
        atexit.unregister(shell.atexit_operations)  # slow, and there are many
        for source in (*(text for _, text in asked.setup), *sources):
            shell.run_cell(source, store_history=False).raise_error()
        (test,) = (each for each in asked.tests if each.grade_id == grade_id)
        demands = test.demands if hidden else test.visible
        return [each for d in demands for each in findings_here(_bound(d, shell.user_ns))]

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


def _bound(demand: Any, namespace: dict[str, Any]) -> Any:
    answer = namespace.get(demand.subject.answer.name)
    return replace(demand, subject=replace(demand.subject, answer=answer))


def complaint(findings: Sequence[Finding]) -> str:
    """The text of the first finding that is not met; empty when all are."""
    return next((str(each) for each in findings if each.verdict is Verdict.UNMET), "")

"""One student's notebook, and what of it is run: read and planned with suspicion."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.grading.course.exam import Exam, grading_of, source_of
from mlc_course.grading.process import printable

MOST_CELLS = 500


@dataclass(frozen=True)
class Submission:
    """One student's notebook for one assignment; ``fault`` says why there is nothing to grade.

    ``path`` is where it lies in what the class handed in.
    """

    student: str
    assignment: str
    notebook: bytes = b""
    fault: str = ""
    path: str = ""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.notebook + self.fault.encode()).hexdigest()


def grade_ids(notebook: bytes) -> frozenset[str]:
    """The names of a notebook's code cells, as nbgrader has them; raises ``UsageError`` for what
    is not a Python notebook.
    """
    return frozenset(str(grading_of(each).get("grade_id", "")) for each in _code_cells(notebook))


@dataclass(frozen=True)
class Run:
    """A cell to run."""

    cell: str
    source: str


@dataclass(frozen=True)
class Examine:
    """The place at which a test's answers are asked for."""

    grade_id: str


def plan(exam: Exam, notebook: bytes) -> list[Run | Examine]:
    """Return the jobs of a submission, in the order of the student's notebook.

    Locked cells are run as the solution has them, wherever the student moved or changed them;
    a test is never run, its place only tells when to ask. Missing ones are made up for.

    Raises ``UsageError`` for what is not a Python notebook.
    """
    setup, tests = dict(exam.setup), [test.grade_id for test in exam.tests]
    steps: list[Run | Examine] = []
    for number, cell in enumerate(_code_cells(notebook), start=1):
        about = grading_of(cell)
        grade_id = str(about.get("grade_id", ""))
        if grade_id in tests:
            tests.remove(grade_id)
            steps.append(Examine(grade_id))
        elif grade_id in setup:
            steps.append(Run(grade_id, setup.pop(grade_id)))
        elif not about.get("grade") and not about.get("locked"):
            steps.append(Run(grade_id or f"number {number}", source_of(cell)))
    missing = [Run(grade_id, source) for grade_id, source in setup.items()]
    return [*missing, *steps, *(Examine(grade_id) for grade_id in tests)]


def _code_cells(notebook: bytes) -> list[dict[str, Any]]:
    try:
        tree = json.loads(notebook)
        cells, metadata = tree["cells"], tree.get("metadata", {})
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        language = _language(metadata)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError("not a notebook", got=f"{type(error).__name__}: {error}"[:200]) from None
    if language != "python":
        raise UsageError("a notebook in another language", expected="python", got=language)
    if len(code) > MOST_CELLS:
        raise UsageError("too many cells", expected=f"at most {MOST_CELLS}", got=len(code))
    return code


def _language(metadata: dict[str, Any]) -> str:
    kernel = metadata.get("kernelspec", {}).get("language")
    name = str(kernel or metadata.get("language_info", {}).get("name") or "python")
    return printable(name[:40]).lower()

"""A course of one assignment, ``07_twice``, for the whole way from a class to its marks.

Its cells: ``twice-test`` (2 points, all or none), ``square-test`` (3 points: 1 visible, 2 hidden),
and ``why`` (4 points), a text that a person grades.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sample_course import ROOT

from mlc_course.grading.course import GRADED, Exam, Marks, Submission, grader
from mlc_course.grading.process import Finding, Verdict

NAME = "07_twice"
TWICE = "def twice(x):\n    return x + x"
SQUARE = "def square(x):\n    return x * x"
HALF_SQUARE = "def square(x):\n    return 4"
WHY = "Because the loop runs once for each row."
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"

TWICE_TEST = """check(called(twice), returns(1, result=2))
### BEGIN HIDDEN TESTS
check(called(twice), agrees(lambda x: x + x, lambda rng: (int(rng.integers(99)),)))
### END HIDDEN TESTS"""
SQUARE_TEST = """check(called(square), returns(2, result=4), worth=1)
### BEGIN HIDDEN TESTS
check(called(square), agrees(lambda x: x * x, lambda rng: (int(rng.integers(9, 99)),)), worth=2)
### END HIDDEN TESTS"""


def cell(name: str, source: str, kind: str = "code", **about: object) -> dict[str, Any]:
    """A cell as nbgrader writes it; without ``about`` it is one that nbgrader does not know."""
    blank = {"grade": False, "locked": False, "solution": False, "task": False}
    known = blank | {"schema_version": 3, "grade_id": name} | about
    outputs = {"outputs": [], "execution_count": None} if kind == "code" else {}
    metadata = {"nbgrader": known} if about else {}
    return {"cell_type": kind, "id": name, "source": source, "metadata": metadata} | outputs


def notebook(
    twice: str = TWICE, square: str = SQUARE, why: str = WHY, square_test: str = SQUARE_TEST
) -> str:
    """The assignment's notebook with these answers."""
    cells = [
        cell("setup", "from mlc_course.exercise import *", locked=True),
        cell("ask-twice", "**1.** Write `twice`.", "markdown", locked=True),
        cell("twice", twice, solution=True),
        cell("twice-test", TWICE_TEST, grade=True, locked=True, points=2),
        cell("square", square, solution=True),
        cell("square-test", square_test, grade=True, locked=True, points=3),
        cell("ask-why", "**3.** Why is it fast?", "markdown", locked=True),
        cell("why", why, "markdown", grade=True, solution=True, points=4),
    ]  # fmt: skip
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    tree = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(tree)


def solved(source: str) -> str:
    return f"### BEGIN SOLUTION\n{source}\n### END SOLUTION"


def make_class_course(folder: Path, **answers: str) -> Path:
    """The solution and the settings, in a new folder."""
    path = folder / "solutions" / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    own = {"twice": TWICE, "square": SQUARE, "why": WHY}
    path.write_text(notebook(**{name: solved(text) for name, text in own.items()} | answers))
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    return folder


def hand_in_to(folder: Path, student: str, **answers: str) -> Path:
    """A student's folder as nbgrader's collect lays it out, without a time."""
    path = folder / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook(**answers))
    return path


def full_marks(submission: Submission, exam: Exam) -> Marks:
    """Every point that is given automatically, without having run anything."""
    met = (Finding("correctness", Verdict.MET, "it is right"),)
    tests = tuple(grader.TestMarks(test.grade_id, test.points, met) for test in exam.tests)
    return Marks(submission.student, exam.assignment, submission.digest, GRADED, tests)

"""An exam is read from its solution notebook; a submission's notebook is only a source of cells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.grading.course.exam import Exam, parts, read_exam
from mlc_course.grading.course.submission import Examine, Run, plan
from mlc_course.grading.process import Called, Given, Name, Scheduled


def cell(source: str, **about: object) -> dict[str, Any]:
    """A code cell, with nbgrader's metadata if there is any."""
    metadata = {"nbgrader": about} if about else {}
    return {"cell_type": "code", "source": source, "metadata": metadata}


SETUP = cell(
    "from mlc_course.exercise import *\n"
    "from mlc_course.tensor_program.problems import matmul\n"
    "raise SystemExit('only imports are run')",
    grade_id="setup",
    locked=True,
)
ANSWER = cell("twice = lambda x: 2 * x", grade_id="twice", solution=True)
TEST = cell(
    """check(called(twice), returns(1, result=2))
check(scheduled(order, matmul(4, 5, 6)), computes())
### BEGIN HIDDEN TESTS
def reference(x):
    return add(x, x)
def add(x, y):
    return x + y
check(called(twice), agrees(reference, lambda rng: (int(rng.integers(9)),)))
### END HIDDEN TESTS
check(given(number), equals(1))""",
    grade_id="twice-test",
    grade=True,
    locked=True,
    points=3,
)


ALONE = cell(
    "check(scheduled(order, matmul(4, 5, 6)), computes(), faster(2))",
    grade_id="t",
    grade=True,
    points=1,
)


ANY_PROGRAM = cell(
    "check(scheduled(order, matmul(4, 5, 6)), inner_stride('C'))",
    grade_id="t",
    grade=True,
    points=1,
)


def notebook(*cells: dict[str, Any], **metadata: Any) -> bytes:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}).encode()


@pytest.fixture
def exam(tmp_path: Path) -> Exam:
    path = tmp_path / "07_twice" / "07_twice.ipynb"
    path.parent.mkdir()
    path.write_bytes(notebook(SETUP, ANSWER, TEST))
    return read_exam(path)


def test_a_test_cell_is_read_as_what_it_asks(exam: Exam) -> None:
    (test,) = exam.tests
    assert (exam.assignment, exam.notebook, exam.points) == ("07_twice", "07_twice.ipynb", 3)
    subjects = [demand.subject for demand in test.visible]
    assert [type(each) for each in subjects] == [Called, Scheduled, Given]
    assert [each.answer for each in subjects] == [Name("twice"), Name("order"), Name("number")]
    assert subjects[1].problem.sizes == {"M": 4, "K": 5, "N": 6}
    (hidden,) = test.hidden
    assert hidden.checks[0].kind == "correctness"


def test_an_exam_travels_to_another_process(exam: Exam) -> None:
    copy = cloudpickle.loads(cloudpickle.dumps(exam))
    (agreement,) = copy.tests[0].hidden[0].checks
    assert agreement.reference(3) == 6
    assert agreement.cases(np.random.default_rng(0))[0] in range(9)


def test_the_answers_are_not_in_the_exam(exam: Exam) -> None:
    assert b"2 * x" not in cloudpickle.dumps(exam)


def test_hidden_parts_are_those_between_the_marks() -> None:
    source = "a\n### BEGIN HIDDEN TESTS\nb\n### END HIDDEN TESTS\nc"
    assert list(parts(source)) == [(False, "a"), (True, "b"), (False, "c")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is not a solution notebook"),
        (b"[]", "is not a solution notebook"),
        (notebook(SETUP, ANSWER), "has no graded cell"),
        (notebook(cell("1 + 1", grade_id="t", grade=True, points=1)), "asks nothing"),
        (notebook(SETUP, ALONE), "a race stands alone"),
        (notebook(SETUP, ANY_PROGRAM), "a program is not asked to be right"),
    ],
)
def test_what_is_not_an_exam_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "a.ipynb"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=complaint):
        read_exam(path)


# --- plans --------------------------------------------------------------------------------------


def test_cells_are_run_in_the_students_order_with_the_exams_own_setup(exam: Exam) -> None:
    forged = cell("check = print", grade_id="setup", locked=True)
    extra = cell(["a = 1\n", "b = 2"])
    steps = plan(exam, notebook(forged, extra, ANSWER, TEST))
    assert steps == [
        Run("setup", exam.setup[0][1]),
        Run("number 2", "a = 1\nb = 2"),
        Run("twice", ANSWER["source"]),
        Examine("twice-test"),
    ]


def test_what_is_missing_is_made_up_for(exam: Exam) -> None:
    assert plan(exam, notebook(ANSWER)) == [
        Run("setup", exam.setup[0][1]),
        Run("twice", ANSWER["source"]),
        Examine("twice-test"),
    ]


def test_a_test_is_examined_once_and_its_source_is_never_run(exam: Exam) -> None:
    edited = cell("print('100 points')", grade_id="twice-test", grade=True, locked=True, points=99)
    assert [
        step
        for step in plan(exam, notebook(SETUP, edited, edited))
        if step != Run("setup", exam.setup[0][1])
    ] == [Examine("twice-test")]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not a notebook"),
        (b"\xff\xfe", "not a notebook"),
        (b'{"cells": 3}', "not a notebook"),
        (b'{"cells": [3], "metadata": {}}', "not a notebook"),
        (b"[" * 100_000, "not a notebook"),
        (notebook(kernelspec={"language": "R"}), "another language"),
        (notebook(kernelspec={"name": "bash"}, language_info={"name": "bash"}), "another language"),
        (notebook(*[cell("1")] * 501), "too many cells"),
    ],
)
def test_what_is_not_a_python_notebook_is_refused(
    exam: Exam, content: bytes, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        plan(exam, content)


@pytest.mark.parametrize(
    "metadata", [{}, {"kernelspec": {"name": "conda-x", "language": "python"}}]
)
def test_another_name_of_a_python_kernel_is_fine(exam: Exam, metadata: dict[str, Any]) -> None:
    assert plan(exam, notebook(ANSWER, **metadata))

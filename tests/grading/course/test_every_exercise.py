"""Every exercise: empty it earns nothing, solved it earns everything, in the real sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlc_course.grading.course.exam import read_exam
from mlc_course.grading.course.grader import GRADED, Marks, _for_pages, grade
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, Limits, has_bubblewrap

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
LIMITS = Limits(seconds=300, request_seconds=120)  # for a busy machine
SANDBOX = BUBBLEWRAP if has_bubblewrap() else RLIMITS
ASSIGNMENTS = sorted(path.parent.name for path in (ROOT / "solutions").glob("*/*.ipynb"))


def graded(assignment: str, kind: str) -> Marks:
    name = f"{assignment}/{assignment}.ipynb"
    exam = read_exam(ROOT / "solutions" / name)
    submission = Submission("student", assignment, (ROOT / kind / name).read_bytes())
    return grade(exam, submission, seed=7, limits=LIMITS, sandbox=SANDBOX)


def told(marks: Marks) -> str:
    return "\n".join(str(each) for test in marks.tests for each in test.findings)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_an_empty_exercise_earns_nothing(assignment: str) -> None:
    marks = graded(assignment, "exercises")
    assert marks.status == GRADED
    assert marks.points == 0, told(marks)
    for test in marks.tests:
        assert "there is no answer yet" in str(test.findings[0]), told(marks)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_a_solution_earns_everything(assignment: str) -> None:
    marks = graded(assignment, "solutions")
    assert marks.points == marks.out_of > 0, told(marks)
    assert not marks.remarks


def test_a_page_has_time_to_run_out_of_it_on_every_program_twice() -> None:
    exams = [read_exam(ROOT / "solutions" / name / f"{name}.ipynb") for name in ASSIGNMENTS]
    more = {exam.assignment: _for_pages(LIMITS, exam).seconds - LIMITS.seconds for exam in exams}
    assert more.pop("21_capstone") >= 2 * 8 * LIMITS.request_seconds
    assert not any(more.values())

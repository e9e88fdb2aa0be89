"""Points of a cell are all or none, unless its exercise says what each check is worth."""

from __future__ import annotations

from pathlib import Path

import pytest
from sample_class import HALF_SQUARE, STUB, make_class_course, notebook

from mlc_course.errors import UsageError
from mlc_course.grading.course import (
    Exam,
    Marks,
    Result,
    Store,
    Submission,
    exams_in,
    feedback,
    grade,
    grader,
    run_races,
)
from mlc_course.grading.process import RLIMITS, Finding, Limits, Verdict
from mlc_course.words import LANGUAGE

LIMITS = Limits(seconds=300, request_seconds=120)
MET = Finding("correctness", Verdict.MET, "it is right")
UNMET = Finding("ratio", Verdict.UNMET, "it is slow")


@pytest.fixture
def exam(tmp_path: Path) -> Exam:
    (found,) = exams_in(make_class_course(tmp_path / "course") / "solutions")
    return found


def graded(exam: Exam, **answers: str) -> Marks:
    submission = Submission("ada", exam.assignment, notebook(**answers).encode())
    return grade(exam, submission, seed=1, limits=LIMITS, sandbox=RLIMITS)


@pytest.mark.slow
def test_each_part_is_earned_by_its_own_checks_and_is_kept_and_told(
    exam: Exam, tmp_path: Path
) -> None:
    marks = graded(exam, square=HALF_SQUARE, twice="def twice(x):\n    return 2")
    assert [test.points for test in marks.tests] == [0, 1]
    store = Store(tmp_path / "marks.sqlite")
    store.save(marks, exam.digest)
    assert list(store.marks()) == [marks]
    store.close()
    page = " ".join(feedback.page(Result(marks)).split())
    assert "Points in parts: 1 of 1, 0 of 2 (hidden)." in page
    assert page.count("Points in parts") == 1


@pytest.mark.slow
def test_marks_are_the_same_whatever_language_is_spoken(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = {"square": HALF_SQUARE, "twice": "def twice(x):\n    return 2"}
    english = graded(exam, **answers)
    monkeypatch.setenv(LANGUAGE, "zh")
    assert graded(exam, **answers).tests == english.tests


@pytest.mark.slow
def test_no_answer_earns_no_part(exam: Exam) -> None:
    assert [test.points for test in graded(exam, square=STUB).tests] == [2, 0]


def test_all_parts_are_all_points() -> None:
    parts = tuple(grader.Part(i, worth, False, True) for i, worth in enumerate((0.1, 0.2)))
    assert grader.TestMarks("t", 0.3, (MET,), (), parts).points == 0.3


def test_a_lost_race_takes_the_points_of_its_own_part_only(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = tuple(grader.Part(i, worth, False, True) for i, worth in enumerate((1.0, 2.0)))
    test = grader.TestMarks("square-test", 3, (MET,), (), parts)
    marks = Marks(
        "ada", exam.assignment, "", "graded", (test,), (), (grader.Race(test.grade_id, 1, ""),)
    )
    monkeypatch.setattr(grader, "_race", lambda *_: [UNMET])
    raced = run_races(exam, marks, {}, limits=LIMITS, sandbox=RLIMITS)
    assert [each.points for each in raced.tests] == [1]


@pytest.mark.parametrize(
    ("test", "got"),
    [
        ("check(called(square), returns(2, result=4), worth=1)", "1"),
        ("check(called(square), returns(2, result=4), worth=4)", "4"),
        (
            "check(called(square), returns(2, result=4))\n"
            "check(called(square), returns(3, result=9), worth=3)",
            "nothing, 3",
        ),
        (
            "check(called(square), returns(2, result=4), worth=-1)\n"
            "check(called(square), returns(3, result=9), worth=4)",
            "-1, 4",
        ),
    ],
)
def test_parts_that_do_not_make_up_the_points_are_refused(
    tmp_path: Path, test: str, got: str
) -> None:
    course = make_class_course(tmp_path / "course")
    (path,) = (course / "solutions").glob("*/*.ipynb")
    path.write_text(notebook(square_test=test))
    with pytest.raises(UsageError, match="does not make up its points") as caught:
        exams_in(course / "solutions")
    assert caught.value.got == got


def test_the_sample_states_what_its_parts_are_worth(exam: Exam) -> None:
    asked = exam.tests[1]
    assert [demand.worth for demand in asked.demands] == [1, 2]

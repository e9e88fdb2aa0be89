"""``mlc-course grade``: who is graded, and what is filled in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sample_class import NAME, full_marks, hand_in_to, make_class_course

from mlc_course.commands import cli
from mlc_course.commands import grade as command
from mlc_course.errors import UsageError
from mlc_course.grading.course import Exam, Settings, Store, Submission, exams_in


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Stands in for the grader, which would run for minutes: who was graded, with which seed."""
    seen: list[tuple[str, int]] = []

    def grade_all(
        submissions: Sequence[Submission],
        exams: Sequence[Exam],
        store: Store,
        settings: Settings,
        executor: object,
        *,
        again: bool = False,
    ) -> list[Submission]:
        (exam,) = exams
        for each in submissions:
            if again or not store.has(each, exam.digest):
                seen.append((each.student, settings.seed))
                store.save(full_marks(each, exam), exam.digest)
        return []

    monkeypatch.setattr(command, "grade_all", grade_all)
    monkeypatch.setattr(command, "prepare", lambda *_: None)
    monkeypatch.setattr(command, "race_all", lambda *_: None)
    return seen


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return make_class_course(tmp_path / "course")


def run(course: Path, *options: str) -> int:
    places = ("--solutions", str(course / "solutions"), "--out", str(course / "out" / "marks.csv"))
    return cli.main(["grade", str(course / "class"), *places, "--sandbox", "rlimits", *options])


def students(course: Path) -> list[str]:
    lines = (course / "out" / "marks.csv").read_text().splitlines()
    return [line.split(",")[0] for line in lines[1:]]


def test_one_student_is_graded_again_with_the_same_seed_and_the_table_keeps_the_others(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    for student in ("ada", "bob", "cy"):
        hand_in_to(course / "class", student)
    assert run(course, "--no-gradebook") == 0
    assert run(course, "--no-gradebook") == 0
    assert run(course, "--no-gradebook", "--only", "bob", "--only", "cy") == 0
    assert [name for name, _ in graded] == ["ada", "bob", "cy", "bob", "cy"]
    assert len({seed for _, seed in graded}) == 1
    assert students(course) == ["ada", "bob", "cy"]


def test_only_before_anybody_is_graded_grades_only_them(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course, "--no-gradebook", "--only", "ada") == 0
    assert students(course) == ["ada"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Lovelace", "did you mean lovelaceada_12?"), ("ABD", "did you mean abe?"), ("zzzz", None)],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, hint: str | None) -> None:
    handed_in = [Submission(student, NAME) for student in ("lovelaceada_12", "abe")]
    with pytest.raises(UsageError) as caught:
        command.of_students(handed_in, ["abe", name])
    assert caught.value.hint == hint


def test_a_trial_fills_no_gradebook(
    course: Path, graded: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[Any] = []
    monkeypatch.setattr(command, "_fill_gradebook", lambda *arguments: filled.append(arguments))
    hand_in_to(course / "class", "ada")
    assert run(course, "--no-gradebook") == 0
    assert filled == []
    assert run(course) == 0
    assert len(filled) == 1


def test_the_sample_class_is_an_exam(course: Path) -> None:
    (exam,) = exams_in(course / "solutions")
    assert {test.grade_id: test.points for test in exam.tests} == {
        "twice-test": 2,
        "square-test": 3,
    }

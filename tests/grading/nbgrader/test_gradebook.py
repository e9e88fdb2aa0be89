from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from sample_course import (
    EXERCISE,
    NAME,
    cell,
    edit,
    hand_in,
    make_course,
    nbgrader,
    solve,
)

from mlc_course.errors import UsageError
from mlc_course.grading.nbgrader.exercise_release import open_gradebook, release, settings
from mlc_course.grading.nbgrader.gradebook import Entry, record_marks

FULL = {"test-total": 3.0, "test-twice": 2.0}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with its gradebook, which takes nbgrader three seconds to make."""
    course = make_course(tmp_path_factory.mktemp("template") / "course")
    db_url = settings(course).CourseDirectory.db_url
    release(course / "solutions", course / "exercises", db_url=db_url)
    return course


@pytest.fixture
def course(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "course"))


def listed(course: Path) -> dict[str, dict[str, Any]]:
    """What formgrader lists, by student."""
    config = settings(course)
    api = NbGraderAPI(coursedir=CourseDirectory(config=config), config=config)
    return {each["student"]: each for each in api.get_submissions(NAME)}


def shown(course: Path, student: str) -> dict[str, Any]:
    path = course / ".grading" / "autograded" / student / NAME / f"{NAME}.ipynb"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


# --- marks ----------------------------------------------------------------------------------------


def test_marks_are_listed_with_their_scores(course: Path) -> None:
    record_marks(
        [Entry("ada", NAME, FULL), Entry("bob", NAME, {"test-total": 1.5, "test-twice": 0})],
        root=course,
    )
    scores = {name: (each["score"], each["max_score"]) for name, each in listed(course).items()}
    assert scores == {"ada": (5, 5), "bob": (1.5, 5)}
    assert not any(each["needs_manual_grade"] for each in listed(course).values())


def test_new_marks_replace_older_ones(course: Path) -> None:
    record_marks([Entry("ada", NAME, FULL)], root=course)
    record_marks([Entry("ada", NAME, FULL | {"test-total": 0})], root=course)
    assert listed(course)["ada"]["score"] == 2


def test_points_that_a_person_gave_stay_and_are_to_be_looked_at_again(course: Path) -> None:
    record_marks([Entry("ada", NAME, FULL)], root=course)
    with open_gradebook(settings(course).CourseDirectory.db_url) as book:
        book.find_grade("test-total", NAME, NAME, "ada").manual_score = 1
        book.db.commit()
    record_marks([Entry("ada", NAME, FULL)], root=course)
    assert listed(course)["ada"]["score"] == 3
    assert listed(course)["ada"]["needs_manual_grade"]


def test_an_assignment_that_was_never_released_is_registered(tmp_path: Path) -> None:
    course = make_course(tmp_path / "course")
    record_marks([Entry("ada", NAME, FULL)], root=course)
    assert listed(course)["ada"]["score"] == 5


def test_a_submission_in_nbgrader_s_folder_counts_as_graded_at_its_own_time(course: Path) -> None:
    path = hand_in(course, "ada")
    path.with_name("timestamp.txt").write_text("2026-11-21 10:00:00 UTC")
    assert not listed(course)["ada"]["autograded"]
    record_marks([Entry("ada", NAME, FULL, path.read_bytes())], root=course)
    assert listed(course)["ada"]["autograded"]
    assert listed(course)["ada"]["timestamp"].startswith("2026-11-21T10:00:00")


# --- what formgrader shows ------------------------------------------------------------------------


def test_the_notebook_is_shown_as_handed_in_but_without_outputs(course: Path) -> None:
    path = hand_in(course, "ada", total="sum(numbers)")

    def ran(notebook: dict[str, Any]) -> None:
        page = {"data": {"text/html": "<script>1</script>"}, "metadata": {}}
        cell(notebook, "twice").update(
            execution_count=3, outputs=[{"output_type": "display_data", **page}]
        )
        notebook["metadata"]["widgets"] = {"state": {}}

    edit(path, ran)
    for _ in range(2):  # the second time over the first
        record_marks([Entry("ada", NAME, FULL, path.read_bytes())], root=course)
    found = shown(course, "ada")
    assert cell(found, "twice")["outputs"] == []
    assert "widgets" not in found["metadata"]
    assert "sum(numbers)" in "".join(cell(found, "total")["source"])


@pytest.mark.parametrize(
    "text", ["", "no JSON", "[]", "[" * 100_000, '{"cells": 3}', '{"nbformat": 4}']
)
def test_a_file_that_is_no_notebook_has_marks_and_a_page_that_says_so(
    course: Path, text: str
) -> None:
    record_marks([Entry("ada", NAME, dict.fromkeys(FULL, 0.0), text.encode())], root=course)
    assert listed(course)["ada"]["score"] == 0
    assert "What was handed in is no notebook" in str(shown(course, "ada")["cells"])


# --- feedback -------------------------------------------------------------------------------------


def collected(course: Path, name: str = f"{NAME}.ipynb") -> Path:
    path = hand_in(course, "ada").rename(course / ".grading" / "submitted" / "ada" / NAME / name)
    path.with_name("timestamp.txt").write_text("2026-11-21 10:00:00 UTC")
    path.with_name("submission_secret.txt").write_text("a secret")
    return path


def test_feedback_lies_with_time_and_secret_under_the_students_own_name(course: Path) -> None:
    path = collected(course, "my sums.ipynb")
    entry = Entry("ada", NAME, FULL, path.read_bytes(), path, "<html>well done</html>")
    for _ in range(2):  # the second time over the first
        assert record_marks([entry], root=course) == 1
    folder = course / ".grading" / "feedback" / "ada" / NAME
    assert {each.name: each.read_text() for each in folder.iterdir()} == {
        f"{NAME}.html": "<html>well done</html>",
        "my sums.html": "<html>well done</html>",
        "timestamp.txt": "2026-11-21 10:00:00 UTC",
        "submission_secret.txt": "a secret",
    }


@pytest.mark.parametrize("missing", ["timestamp.txt", "submission_secret.txt", "the folder"])
def test_no_page_lies_where_release_feedback_would_stop_for_all(course: Path, missing: str) -> None:
    path = collected(course)
    if missing == "the folder":  # the same file, graded from elsewhere
        path = Path(shutil.copy(path, course / "elsewhere.ipynb"))
    else:
        path.with_name(missing).unlink()
    entry = Entry("ada", NAME, FULL, path.read_bytes(), path, "<html></html>")
    assert record_marks([entry], root=course) == 0
    assert not (course / ".grading" / "feedback").exists()


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (Entry("ada", "99_none", FULL), "no assignment 99_none"),
        (Entry("ada", NAME, {"test-total": 3}), "not those of its cells"),
        (Entry("ada", NAME, FULL | {"bonus": 1}), "not those of its cells"),
        (Entry("ada", NAME, FULL | {"test-twice": 2.5}), "points of test-twice"),
        (Entry("ada", NAME, FULL | {"test-twice": -1}), "points of test-twice"),
        (Entry("ada", NAME, FULL | {"test-twice": float("nan")}), "points of test-twice"),
        (Entry("../ada", NAME, FULL), "no name for a student"),
        (Entry(".", NAME, FULL), "no name for a student"),
        (Entry("", NAME, FULL), "no name for a student"),
        (Entry("a*", NAME, FULL), "no name for a student"),
        (Entry("{x}", NAME, FULL), "no name for a student"),
    ],
)
def test_bad_marks_are_refused_and_none_is_written(
    course: Path, entry: Entry, complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint) as caught:
        record_marks([Entry("bob", NAME, FULL), entry], root=course)
    assert caught.value.expected is not None and caught.value.got is not None
    assert listed(course) == {}


# --- the real commands ----------------------------------------------------------------------------


@pytest.mark.slow
def test_nbgrader_grades_an_honest_submission_and_exports_our_marks_over_its_own(
    course: Path,
) -> None:
    hand_in(course, "ada")
    hand_in(course, "bob", twice="3 * number")
    hidden = hand_in(course, "eve", total="3")  # right for the visible test alone
    done = nbgrader(course, "autograde", NAME)
    assert done.returncode == 0, done.stderr
    assert exported(course) == {"ada": 5, "bob": 3, "eve": 2}

    record_marks([Entry("eve", NAME, dict.fromkeys(FULL, 0.0), hidden.read_bytes())], root=course)
    record_marks([Entry("zoe", NAME, FULL | {"test-total": 2.5})], root=course)
    assert exported(course) == {"ada": 5, "bob": 3, "eve": 0, "zoe": 4.5}


def exported(course: Path) -> dict[str, float]:
    done = nbgrader(course, "export")
    assert done.returncode == 0, done.stderr
    with (course / "grades.csv").open() as lines:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(lines)}


@pytest.mark.slow
def test_validate_names_the_tests_that_fail_until_both_are_solved(course: Path) -> None:
    unsolved = nbgrader(course, "validate", EXERCISE)
    assert "VALIDATION FAILED ON 2 CELL(S)" in unsolved.stdout
    assert "write your answer in this cell" in unsolved.stdout
    edit(course / EXERCISE, solve)
    assert (
        "Success! Your notebook passes all the tests."
        in nbgrader(course, "validate", EXERCISE).stdout
    )


def test_the_solution_can_be_given_out_after_the_deadline(course: Path) -> None:
    done = nbgrader(course, "generate_solution", NAME)
    assert done.returncode == 0, done.stderr
    given = json.loads((course / f".grading/solution/{NAME}/{NAME}.ipynb").read_text())
    assert "return numbers.sum()" in "".join(cell(given, "total")["source"])

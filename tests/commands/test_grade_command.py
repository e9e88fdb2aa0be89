"""``mlc-course grade``: who is graded, and what is filled in."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import pytest
from sample_class import NAME, full_marks, hand_in_to, make_class_course, notebook

from mlc_course.commands import cli
from mlc_course.commands import grade as command
from mlc_course.errors import UsageError
from mlc_course.grading.course import Exam, Settings, Store, Submission, exams_in
from mlc_course.grading.nbgrader import settings
from mlc_course.grading.nbgrader.exercise_release import open_gradebook


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
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course, "--no-gradebook", "--only", "ada") == 0
    assert students(course) == ["ada"]
    assert "not in the tables, because not graded yet: 1: bob" in capsys.readouterr().err


def test_what_came_again_and_is_not_asked_for_is_named(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course, "--no-gradebook") == 0
    assert "not in the tables" not in capsys.readouterr().err
    hand_in_to(course / "class", "bob", why="It is.")
    assert run(course, "--no-gradebook", "--only", "ada") == 0
    assert students(course) == ["ada"]
    assert "not graded yet: 1: bob" in capsys.readouterr().err
    assert run(course, "--no-gradebook") == 0
    assert students(course) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [("Lovelace", "did you mean lovelaceada_12?"), ("ABD", "did you mean abe?"), ("zzzz", None)],
)
def test_an_unknown_name_is_refused_with_the_nearest_one(name: str, hint: str | None) -> None:
    handed_in = [Submission(student, NAME) for student in ("lovelaceada_12", "abe")]
    with pytest.raises(UsageError) as caught:
        command.of_students(handed_in, ["abe", name])
    assert caught.value.hint == hint


def test_a_trial_fills_no_gradebook(course: Path, graded: list[tuple[str, int]]) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course, "--no-gradebook") == 0
    assert not (course / ".grading" / "gradebook.db").exists()
    assert run(course) == 0
    assert (course / ".grading" / "gradebook.db").exists()


# --- what a person grades -------------------------------------------------------------------------


def rows(course: Path) -> dict[str, dict[str, str]]:
    with (course / "out" / "marks.csv").open() as lines:
        return {row["student"]: row for row in csv.DictReader(lines)}


def give(course: Path, **points: str) -> None:
    """Fill in the table as a person does: change some fields, and save it."""
    path = course / "out" / "marks_by_hand" / f"{NAME}--why.csv"
    with path.open() as lines:
        table = list(csv.DictReader(lines))
    for row in table:
        row["points"] = points.get(row["student"], row["points"])
    with path.open("w") as lines:
        writer = csv.DictWriter(lines, table[0])
        writer.writeheader()
        writer.writerows(table)


def test_free_text_waits_is_given_points_and_keeps_them(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in_to(course / "class", "ada")
    hand_in_to(course / "class", "bob", why="It is.")
    hand_in_to(course / "class", "cy", why="")
    assert run(course, "--no-gradebook") == 0
    assert "graded by hand: 2 answers wait" in capsys.readouterr().err
    assert {
        name: (r["points"], r["by_hand"], r["waiting"]) for name, r in rows(course).items()
    } == {
        "ada": ("5", "why=?/4", "1"),
        "bob": ("5", "why=?/4", "1"),
        "cy": ("5", "why=0/4", ""),  # no answer needs nobody
    }
    give(course, ada="4", bob="2.5")
    assert run(course, "--no-gradebook") == 0
    assert "graded by hand: all" in capsys.readouterr().err
    assert {name: r["points"] for name, r in rows(course).items()} == {
        "ada": "9", "bob": "7.5", "cy": "5",
    }  # fmt: skip
    assert rows(course)["ada"]["percent"] == "100"
    page = (course / "out" / "marks_feedback" / "bob" / f"{NAME}.html").read_text()
    assert "2.5 of\n4" in page

    (course / "out" / "marks_by_hand" / f"{NAME}--why.csv").unlink()
    hand_in_to(course / "class", "dee")
    assert run(course, "--no-gradebook") == 0
    assert [r["points"] for r in rows(course).values()] == ["9", "7.5", "5", "5"]


def test_points_of_a_student_who_is_gone_from_the_folder_are_kept(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course, "--no-gradebook") == 0
    give(course, ada="3", bob="4")
    hand_in_to(course / "class", "bob").unlink()
    assert run(course, "--no-gradebook") == 1  # bob's folder is empty
    hand_in_to(course / "class", "bob")
    assert run(course, "--no-gradebook") == 0
    assert {name: r["by_hand"] for name, r in rows(course).items()} == {
        "ada": "why=3/4",
        "bob": "why=4/4",
    }


def test_bad_points_stop_before_anything_is_graded(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course, "--no-gradebook") == 0
    give(course, ada="5")
    hand_in_to(course / "class", "bob")
    assert run(course, "--no-gradebook") == 2
    assert "points 5, not between 0 and 4" in capsys.readouterr().err
    assert [name for name, _ in graded] == ["ada"]
    give(course, ada="4")
    assert run(course, "--no-gradebook") == 0


def test_points_go_to_the_gradebook_and_come_from_formgrader(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course) == 0
    give(course, ada="3")
    db_url = settings(course).CourseDirectory.db_url
    with open_gradebook(db_url) as book:
        assert book.find_grade("why", NAME, NAME, "bob").needs_manual_grade
        book.find_grade("why", NAME, NAME, "bob").manual_score = 1.5
        book.find_grade("twice-test", NAME, NAME, "bob").manual_score = 0.5
        book.db.commit()
    assert run(course) == 0
    assert {name: (r["points"], r["by_hand"]) for name, r in rows(course).items()} == {
        "ada": ("8", "why=3/4"),
        "bob": ("5", "why=1.5/4"),  # 0.5 by hand in place of 2, and 3
    }
    assert "twice-test: 0.5 by hand" in rows(course)["bob"]["remarks"]
    with open_gradebook(db_url) as book:
        assert book.find_submission(NAME, "ada").score == 8
        assert book.find_submission(NAME, "bob").score == 5
        assert not book.find_grade("why", NAME, NAME, "ada").needs_manual_grade
    give(course, ada="-")
    assert run(course) == 0
    assert rows(course)["ada"]["waiting"] == "1"

    # A trial leaves the gradebook behind the table, and the next run brings them together.
    give(course, ada="2")
    assert run(course) == 0
    give(course, ada="4")
    assert run(course, "--no-gradebook") == 0
    assert run(course) == 0
    with open_gradebook(db_url) as book:
        assert book.find_grade("why", NAME, NAME, "ada").manual_score == 4
        book.find_grade("why", NAME, NAME, "ada").manual_score = 4.5  # of 4
        book.db.commit()
    assert run(course) == 2


def test_an_answer_that_comes_later_waits_in_the_gradebook_too(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    def in_gradebook() -> tuple[float | None, float | None, bool]:
        with open_gradebook(settings(course).CourseDirectory.db_url) as book:
            grade = book.find_grade("why", NAME, NAME, "ada")
            return grade.auto_score, grade.manual_score, grade.needs_manual_grade

    hand_in_to(course / "class", "ada", why="")
    for _ in range(2):  # the second run must not take its own 0 for a person's
        assert run(course) == 0
        assert in_gradebook() == (0, None, False)
    hand_in_to(course / "class", "ada", why="It is.")
    assert run(course) == 0
    assert in_gradebook() == (None, None, True)
    give(course, ada="3")
    assert run(course) == 0
    assert in_gradebook() == (None, 3, False)
    hand_in_to(course / "class", "ada", why="It is not.")
    for _ in range(2):
        assert run(course) == 0
        assert rows(course)["ada"]["waiting"] == "1"
        assert in_gradebook() == (None, None, True)


def set_in_formgrader(course: Path, cell: str, **scores: float) -> None:
    """Give ada these scores for a cell, such as ``manual_score``."""
    with open_gradebook(settings(course).CourseDirectory.db_url) as book:
        for name, points in scores.items():
            setattr(book.find_grade(cell, NAME, NAME, "ada"), name, points)
        book.db.commit()


def test_points_that_an_emptied_answer_is_given_again_in_formgrader_count(
    course: Path, graded: list[tuple[str, int]]
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course) == 0
    set_in_formgrader(course, "why", manual_score=3)
    assert run(course) == 0
    hand_in_to(course / "class", "ada", why="")
    assert run(course) == 0
    assert rows(course)["ada"]["by_hand"] == "why=0/4"
    set_in_formgrader(course, "why", manual_score=3)  # it was in another cell
    for _ in range(2):
        assert run(course) == 0
        assert rows(course)["ada"]["by_hand"] == "why=3/4"


@pytest.mark.parametrize("in_formgrader", [False, True])
def test_points_count_for_the_answer_that_was_read_and_not_for_one_that_came_meanwhile(
    course: Path, graded: list[tuple[str, int]], in_formgrader: bool
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course) == 0
    for _ in range(2):  # also where the points are the same again
        if in_formgrader:
            set_in_formgrader(course, "why", manual_score=3)
        else:
            give(course, ada="3")
        hand_in_to(course / "class", "ada", why=f"Something else, {len(graded)}.")
        assert run(course) == 0
        assert rows(course)["ada"]["by_hand"] == "why=?/4"
    give(course, ada="3")
    assert run(course) == 0
    assert rows(course)["ada"]["by_hand"] == "why=3/4"


@pytest.mark.parametrize("points", [8 / 3, 0.1 + 0.2, 2.123456789])
def test_points_with_many_digits_are_for_one_answer_too(
    course: Path, graded: list[tuple[str, int]], points: float
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course) == 0
    set_in_formgrader(course, "why", manual_score=points)
    assert run(course) == 0
    hand_in_to(course / "class", "ada", why="Something else.")
    assert run(course) == 0
    assert rows(course)["ada"]["waiting"] == "1"


@pytest.mark.parametrize("cell", ["why", "twice-test"])
def test_extra_credit_that_a_person_gave_in_formgrader_counts(
    course: Path, graded: list[tuple[str, int]], cell: str
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course) == 0
    set_in_formgrader(course, "why", manual_score=4)
    set_in_formgrader(course, cell, extra_credit=0.5)
    for _ in range(2):
        assert run(course) == 0
        (row,) = rows(course).values()
        assert (row["points"], row["final"], row["out_of"]) == ("9.5", "9.5", "9")
        assert f"{cell}: 0.5 extra by hand" in row["remarks"]
        with open_gradebook(settings(course).CourseDirectory.db_url) as book:
            assert book.find_submission(NAME, "ada").score == 9.5
    page = (course / "out" / "marks_feedback" / "ada" / f"{NAME}.html").read_text()
    assert f"0.5 points of extra credit for {cell}" in page


def test_hostile_names_are_text_in_every_file(course: Path, graded: list[tuple[str, int]]) -> None:
    names = ["=HYPERLINK(1)", "<img src=x onerror=alert(1)>", "@x", "-1+1", "'=x", "a\x1b[2Jb"]
    for name in names:
        hand_in_to(course / "class", name)
    assert run(course) == 0
    assert run(course) == 0
    out = course / "out"
    for path in out.rglob("*.csv"):
        for row in csv.reader(path.read_text().splitlines()):
            assert not [each for each in row if each[:1] in tuple("=+-@\t\r")]
    for path in out.rglob("*.html"):
        assert "<img" not in path.read_text() and "\x1b" not in path.read_text()
    assert len(rows(course)) == len(names)


def test_points_given_while_the_grader_runs_are_not_lost(
    course: Path, graded: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("ada", "bob"):
        hand_in_to(course / "class", student)
    assert run(course) == 0

    def meanwhile(*_: object) -> None:
        give(course, ada="3")
        with open_gradebook(settings(course).CourseDirectory.db_url) as book:
            book.find_grade("why", NAME, NAME, "bob").manual_score = 1
            book.db.commit()

    monkeypatch.setattr(command, "race_all", meanwhile)
    assert run(course) == 0
    assert {name: r["by_hand"] for name, r in rows(course).items()} == {
        "ada": "why=3/4",
        "bob": "why=1/4",
    }


# --- late -----------------------------------------------------------------------------------------


def test_what_is_late_keeps_less_by_the_rules_beside_the_solutions(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    (course / "rules.toml").write_text(
        f"[late]\npercent_a_day = 10\n[due]\n{NAME} = 2026-11-02T12:00:00Z\n"
    )
    hand_in_to(course / "class", "ada").with_name("timestamp.txt").write_text(
        "2026-11-04 11:00:00.0 UTC"
    )
    hand_in_to(course / "class", "bob")
    assert run(course, "--no-gradebook") == 0
    assert f"no time is known for 1, which count as on time: bob, {NAME}" in capsys.readouterr().err
    kept = {name: (r["points"], r["days_late"], r["final"]) for name, r in rows(course).items()}
    assert kept == {"ada": ("5", "2", "4"), "bob": ("5", "", "5")}
    page = (course / "out" / "marks_feedback" / "ada" / f"{NAME}.html").read_text()
    assert "2 days late: 20 % off. 5 points were earned, 4" in page


# --- learning platforms ---------------------------------------------------------------------------


def test_from_downloads_of_canvas_to_a_table_for_canvas(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    (course / "class").mkdir()
    for name in ("lovelaceada_LATE_12_345", "hoppergrace_13_346"):
        (course / "class" / f"{name}_{NAME}.ipynb").write_text(notebook(why=""))
    (course / "rules.toml").write_text("[late]\npercent_a_day = 20\n")
    exported = course / "Grades.csv"
    exported.write_text(
        "Student,ID,SIS User ID,SIS Login ID,Section,07 Twice (71)\n"
        "    Points Possible,,,,,9\n"
        '"Lovelace, Ada",12,s1,ada,A,\n"Hopper, Grace",13,s2,grace,A,\n"Turing, Alan",14,s3,al,A,\n'
    )
    before = exported.read_text()
    assert run(course, "--no-gradebook", "--fill", str(exported)) == 0
    told = capsys.readouterr().err
    assert "for Canvas: 2 marks in" in told and "handed in nothing: 1: Turing, Alan" in told
    assert exported.read_text() == before
    lines = (course / "out" / "marks_filled" / "Grades.csv").read_text().splitlines()
    assert [line.rsplit(",", 1)[1] for line in lines[2:]] == ["4", "5", ""]

    assert run(course, "--no-gradebook", "--fill", f"{NAME}={exported}") == 0
    (course / "class" / f"stranger_99_1_{NAME}.ipynb").write_text(notebook(why=""))
    assert run(course, "--no-gradebook", "--fill", str(exported)) == 1
    assert "not filled in: 1: 'stranger_99'" in capsys.readouterr().err


def test_a_table_of_no_platform_stops_before_anything_is_graded(
    course: Path, graded: list[tuple[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    hand_in_to(course / "class", "ada")
    assert run(course, "--no-gradebook", "--fill", __file__) == 2
    assert "no table that Canvas or Moodle exported" in capsys.readouterr().err
    assert graded == []


def test_the_sample_class_is_an_exam(course: Path) -> None:
    (exam,) = exams_in(course / "solutions")
    assert {test.grade_id: test.points for test in exam.tests} == {
        "twice-test": 2,
        "square-test": 3,
    }

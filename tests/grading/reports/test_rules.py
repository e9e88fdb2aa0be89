"""What being late costs, and which assignments are dropped, is one file's to say."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mlc_course.errors import UsageError
from mlc_course.grading.course import GRADED, ByPerson, Late, Marks, Result, Submission
from mlc_course.grading.handed_in import HandedIn
from mlc_course.grading.reports import Rules, marks_table, read_rules, totals_table

DUE = datetime(2026, 11, 2, 12, tzinfo=UTC)
RULES = Rules(percent_a_day=10, most_days=3, due={"a": DUE}, days_late={("cy", "a"): 0})
ON_TIME = Late()
WORKS = [Submission("ada", "a"), Submission("=bob", "a")]


def read(folder: Path, text: str) -> Rules:
    (folder / "rules.toml").write_text(text)
    return read_rules(None, folder / "solutions", WORKS, ["a", "b"])


@pytest.mark.parametrize(
    ("hours", "days", "kept"),
    [(-5, 0, 1), (0, 0, 1), (0.01, 1, 0.9), (24, 1, 0.9), (24.1, 2, 0.8), (72, 3, 0.7), (73, 4, 0)],
)
def test_each_day_that_has_begun_costs(hours: float, days: int, kept: float) -> None:
    late = RULES.late(("ada", "a"), HandedIn(DUE + timedelta(hours=hours)))
    assert late.days == days
    assert late.kept == pytest.approx(kept)


def test_the_note_says_how_late_and_what_it_costs() -> None:
    def note(hours: float) -> str:
        return RULES.late(("ada", "a"), HandedIn(DUE + timedelta(hours=hours))).note

    assert note(20) == "1 day late: 10 % off"
    assert note(50) == "3 days late: 30 % off"
    assert note(100) == "5 days late: more than 3 days count 0"
    assert note(-1) == ""


def test_days_written_down_count_before_any_time() -> None:
    assert RULES.late(("cy", "a"), HandedIn(DUE + timedelta(days=9))) == Late()


def test_late_without_a_time_is_one_day_and_says_or_more() -> None:
    late = RULES.late(("ada", "a"), HandedIn(is_marked_late=True))
    assert (late.days, late.note) == (1, "1 day or more late: 10 % off")


def test_only_what_is_due_and_has_no_time_is_unknown() -> None:
    assert RULES.is_unknown(("ada", "a"), HandedIn())
    assert not RULES.is_unknown(("cy", "a"), HandedIn())
    assert not RULES.is_unknown(("ada", "b"), HandedIn())
    assert not RULES.is_unknown(("ada", "a"), HandedIn(DUE))


def test_all_rules_are_read(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("student;assignment;days\nada;a;2\n'=bob;a;0\n")
    found = read(
        tmp_path,
        """
        drop_lowest = 1
        days_late = "days.csv"
        [late]
        percent_a_day = 12.5
        most_days = 2
        [due]
        a = 2026-11-02T13:00:00+01:00
        [columns]
        a = "First steps"
        """,
    )
    days = {("ada", "a"): 2, ("=bob", "a"): 0}
    assert found == Rules(12.5, 2, 1, {"a": DUE}, days, {"a": "First steps"})


def test_without_a_file_nothing_is_late(tmp_path: Path) -> None:
    assert read_rules(None, tmp_path / "solutions", WORKS, ["a"]) == Rules()
    with pytest.raises(UsageError, match="cannot be read"):
        read_rules(tmp_path / "rules.toml", tmp_path / "solutions", WORKS, ["a"])


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("drop_lowest = -1", "drop_lowest"),
        ("drop_lowest = true", "drop_lowest"),
        ("drop_lowest = 1.5", "drop_lowest"),
        ("drop_last = 1", "did you mean drop_lowest"),
        ("late = 10", "a part .late."),
        ("[late]\npercent_a_day = 101", "from 0 to 100"),
        ("[late]\npercent_a_day = nan", "from 0 to 100"),
        ("[late]\npercent = 10", "did you mean percent_a_day"),
        ("[due]\na = 2026-11-02", "with its offset"),
        ("[due]\na = 2026-11-02T12:00:00", "with its offset"),
        ("[due]\nc = 2026-11-02T12:00:00Z", "'c' is not known"),
        ("[columns]\na = 3", "columns, a"),
        ("days_late = 3", "name of a CSV"),
        ('days_late = "none.csv"', "none.csv cannot be read"),
        ("[late", "cannot be read"),
    ],
)
def test_a_faulty_rule_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("zed,a,1", "line 2, 'zed', 'a': no such submission"),
        ("ada,c,1", "no such submission"),
        ("ada,a,-1", "days '-1'"),
        ("ada,a,1.5", "days '1.5'"),
        ("ada,a,", "days ''"),
        ("ada,a,1\nada,a,2", "a second time"),
    ],
)
def test_faulty_days_are_refused(tmp_path: Path, line: str, fault: str) -> None:
    (tmp_path / "days.csv").write_text(f"student,assignment,days\n{line}\n")
    with pytest.raises(UsageError) as caught:
        read(tmp_path, 'days_late = "days.csv"')
    assert fault in str(caught.value.got)


def test_days_of_an_assignment_that_is_not_graded_here_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "days.csv").write_text("student,assignment,days\nada,b,1\nzed,b,2\nada,a,3\n")
    assert read(tmp_path, 'days_late = "days.csv"').days_late == {("ada", "a"): 3}


# --- tables ---------------------------------------------------------------------------------------


def result(student: str, assignment: str, points: float | None, late: Late = ON_TIME) -> Result:
    marks = Marks(student, assignment, "digest", GRADED, ())
    return Result(marks, (ByPerson("why", 10, points),), late=late)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_points_before_and_after_the_penalty_are_in_the_table() -> None:
    (row,) = read_csv(marks_table([result("ada", "a", 8, Late(2, 0.8, "2 days late: 20 % off"))]))
    assert (row["points"], row["days_late"], row["final"]) == ("8", "2", "6.4")
    assert (row["out_of"], row["percent"]) == ("10", "64")
    assert row["remarks"] == "2 days late: 20 % off"


def test_the_lowest_are_dropped_and_what_is_missing_is_0() -> None:
    class_of = [
        result("ada", "a", 10), result("ada", "b", 4), result("ada", "c", 6),
        result("bob", "b", 7), result("=cy", "c", None),
    ]  # fmt: skip
    rows = {row["student"]: row for row in read_csv(totals_table(class_of, 1))}
    assert (rows["ada"]["total"], rows["ada"]["out_of"], rows["ada"]["dropped"]) == (
        "16",
        "20",
        "b",
    )
    assert (rows["bob"]["total"], rows["bob"]["percent"]) == ("7", "35")
    assert (rows["bob"]["a"], rows["bob"]["dropped"]) == ("none", "a")
    assert (rows["'=cy"]["total"], rows["'=cy"]["waiting"]) == ("0", "1")


def test_of_two_that_are_as_low_the_larger_one_is_dropped() -> None:
    larger = Result(
        Marks("ada", "b", "digest", GRADED, ()),
        (ByPerson("why", 20, 0),),
    )
    class_of = [result("ada", "a", 0), larger, result("ada", "c", 10)]
    (row,) = read_csv(totals_table(class_of, 1))
    assert (row["dropped"], row["total"], row["out_of"]) == ("b", "10", "20")


def test_what_is_handed_in_and_not_graded_yet_waits() -> None:
    class_of = [result("ada", "a", 10), result("bob", "b", 7)]
    rows = {r["student"]: r for r in read_csv(totals_table(class_of, 0, {("ada", "b")}))}
    assert (rows["ada"]["b"], rows["ada"]["waiting"], rows["ada"]["total"]) == ("?", "1", "10")
    assert (rows["bob"]["a"], rows["bob"]["waiting"]) == ("none", "")


def test_one_assignment_always_stays() -> None:
    (row,) = read_csv(totals_table([result("ada", "a", 3), result("ada", "b", 5)], 9))
    assert (row["total"], row["dropped"]) == ("5", "a")

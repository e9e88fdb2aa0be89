"""Marks go into the tables of learning platforms to whom they belong, or to nobody."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlc_course.errors import UsageError
from mlc_course.grading.course import GRADED, ByPerson, Late, Marks, Result
from mlc_course.grading.reports.platforms import Filled, fill

CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Packing (71),Tiling (72),Homework Current Score,\
Current Score
,,,,,Manual Posting,,,
    Points Possible,,,,,10,20.0,(read only),(read only)
"Lovelace, Ada",12345,s1,ada@uni.edu,"A, B",3,,91,91
"Hopper, Grace",12346,s2,grace,A,,,,
"Müller, Jörg",12347,s3,joerg,A,,,,
"Student, Test",99,,abc,A,,,,
"""
MOODLE = """\
\ufeffIdentifier,"Full name","Email address",Status,Grade,"Maximum Grade","Grade can be changed",\
"Last modified (submission)","Last modified (grade)","Feedback comments"
"Participant 321","Ada Lovelace",ada@uni.edu,"Submitted for grading",,100.00,Yes,"Monday, 2",-,
"Participant 322","Grace Hopper",grace@uni.edu,"No submission",55.00,100.00,Yes,-,-,well
"""


def result(
    student: str, assignment: str = "packing", points: float | None = 8, late: float = 1
) -> Result:
    marks = Marks(student, assignment, "digest", GRADED, ())
    return Result(marks, (ByPerson("why", 10, points),), late=Late(kept=late))


def filled(
    folder: Path,
    text: str,
    *results: Result,
    columns: Mapping[str, str] | None = None,
    only: str = "",
) -> Filled:
    path = folder / "exported.csv"
    path.write_bytes(text.encode())
    return fill(path, results, columns or {}, only)


def cells(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))


def differences(before: str, after: str) -> list[tuple[str, str, str]]:
    """Each field that is another: the name in its line, its column, and what it is now."""
    header, *lines = cells(before)
    return [
        (line[0], header[i], new[i])
        for line, new in zip(lines, cells(after)[1:], strict=True)
        for i in range(len(header))
        if line[i] != new[i]
    ]


# --- Canvas ---------------------------------------------------------------------------------------


def test_canvas_has_each_mark_in_its_own_row_and_column_and_nothing_else_changed(
    tmp_path: Path,
) -> None:
    found = filled(
        tmp_path,
        CANVAS,
        result("lovelaceada_12345", late=0.5),
        result("lovelaceada_12345", "TILING", 5),
        result("müllerjörg_12347", points=9.25),
    )
    assert differences(CANVAS, found.text) == [
        ("Lovelace, Ada", "Packing (71)", "4"),
        ("Lovelace, Ada", "Tiling (72)", "10"),
        ("Müller, Jörg", "Packing (71)", "9.25"),
    ]
    assert (found.platform, found.filled) == ("Canvas", 3)
    # Not Canvas's own test student.
    assert found.missing == ("Hopper, Grace", "Müller, Jörg (TILING)")
    assert found.replaced == ("Lovelace, Ada, packing: 3 by 4",)
    assert found.notes == ("TILING: 10 points are 20.0 in Canvas",)
    assert found.refused == ()


@pytest.mark.parametrize("student", ["Hopper, Grace", "grace", "s2", "12346"])
def test_students_are_found_by_exact_names_too(tmp_path: Path, student: str) -> None:
    found = filled(tmp_path, CANVAS, result(student))
    assert differences(CANVAS, found.text) == [("Hopper, Grace", "Packing (71)", "8")]


@pytest.mark.parametrize(
    ("student", "why"),
    [
        ("hoppergrace_12345", "the platform has 'Lovelace, Ada' under 12345"),
        ("lovelaceada_77777", "nobody of this name"),
        ("Grace", "nobody of this name"),
        ("Student, Test", "nobody of this name"),
        ("=cmd", "nobody of this name"),
    ],
)
def test_who_does_not_fit_is_not_marked_and_named(tmp_path: Path, student: str, why: str) -> None:
    found = filled(tmp_path, CANVAS, result(student))
    assert differences(CANVAS, found.text) == []
    assert len(found.refused) == 1 and why in found.refused[0] and repr(student) in found.refused[0]


def test_two_names_of_one_person_are_refused(tmp_path: Path) -> None:
    found = filled(tmp_path, CANVAS, result("grace"), result("hoppergrace_12346", points=2))
    assert differences(CANVAS, found.text) == []
    assert found.refused == ("'grace' and 'hoppergrace_12346' are both 'Hopper, Grace'",)


def test_a_name_that_two_people_have_is_refused(tmp_path: Path) -> None:
    twice = CANVAS + '"Hopper, Grace",12348,s4,gh,A,,,,\n'
    assert "more than one" in filled(tmp_path, twice, result("Hopper, Grace")).refused[0]
    found = filled(tmp_path, twice, result("hoppergrace_12348"))
    assert cells(found.text)[-1][5] == "8"


def test_what_is_not_graded_yet_is_not_told_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "exported.csv"
    path.write_text(CANVAS)
    later = {("hoppergrace_12346", "packing"), ("stranger", "packing"), ("grace", "elsewhere")}
    found = fill(path, [result("müllerjörg_12347")], {}, ungraded=later)
    assert found.missing == ("Lovelace, Ada",)
    assert found.refused == (
        "'hoppergrace_12346', packing: not graded yet",
        "'stranger', packing: not graded yet",
    )


def test_a_mark_that_is_there_already_is_no_other_mark(tmp_path: Path) -> None:
    assert filled(tmp_path, CANVAS, result("lovelaceada_12345", points=3)).replaced == ()
    text = CANVAS.replace('"A, B",3,', '"A, B","3,00",')
    assert filled(tmp_path, text, result("lovelaceada_12345", points=3)).replaced == ()
    text = CANVAS.replace('"A, B",3,', '"A, B",B+,')
    found = filled(tmp_path, text, result("lovelaceada_12345", points=3))
    assert found.replaced == ("Lovelace, Ada, packing: B+ by 3",)


def test_who_is_excused_in_canvas_stays_excused(tmp_path: Path) -> None:
    text = CANVAS.replace('"A, B",3,', '"A, B",EX,')
    found = filled(tmp_path, text, result("lovelaceada_12345"))
    assert differences(text, found.text) == []
    assert found.refused == ("'lovelaceada_12345', packing: excused in Canvas",)


def test_marks_are_written_out(tmp_path: Path) -> None:
    text = CANVAS.replace("10,20.0", "1000000,20.0")
    found = filled(tmp_path, text, result("grace", points=7.654321))
    assert differences(text, found.text) == [("Hopper, Grace", "Packing (71)", "765432.1")]
    found = filled(tmp_path, text, result("grace", points=10))
    assert cells(found.text)[4][5] == "1000000"


def test_what_waits_for_a_person_leaves_the_field_as_it_was(tmp_path: Path) -> None:
    found = filled(tmp_path, CANVAS, result("lovelaceada_12345", points=None))
    assert differences(CANVAS, found.text) == []
    assert "waits for points by hand" in found.refused[0]
    assert "Lovelace, Ada" not in found.missing


def test_a_column_is_named_in_the_rules_where_it_has_another_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no column for 11_packing") as caught:
        filled(tmp_path, CANVAS, result("grace", "11_packing"))
    assert caught.value.expected == "Packing (71) | Tiling (72)"
    for name in ("Packing", "Packing (71)"):
        found = filled(
            tmp_path, CANVAS, result("grace", "11_packing"), columns={"11_packing": name}
        )
        assert found.filled == 1


def test_a_gradebook_with_semicolons_stays_one(tmp_path: Path) -> None:
    text = "\ufeff" + CANVAS.replace(", ", "; ").replace(",", ";").replace("10;20.0", "10,0;20,0")
    found = filled(tmp_path, text, result("grace", points=2.5))
    assert found.text.startswith("\ufeffStudent;ID;")
    assert cells(found.text, ";")[4][5] == "2.5"


# --- Moodle ---------------------------------------------------------------------------------------


def test_moodle_has_the_grade_scaled_to_its_maximum(tmp_path: Path) -> None:
    found = filled(tmp_path, MOODLE, result("Ada Lovelace_321", points=7.5))
    assert found.text.startswith("\ufeffIdentifier,")
    body = found.text.removeprefix("\ufeff")
    assert differences(MOODLE.removeprefix("\ufeff"), body) == [("Participant 321", "Grade", "75")]
    assert (found.platform, found.missing) == ("Moodle", ("Grace Hopper",))
    assert found.notes == ("packing: 10 points are 100.00 in Moodle",)


def test_names_that_moodle_hides_are_found(tmp_path: Path) -> None:
    lines = [",".join(row[:1] + row[3:6]) for row in cells(MOODLE)]
    found = filled(tmp_path, "\n".join(lines), result("Participant_322", points=1))
    assert cells(found.text)[2][2] == "10"


def test_somebody_elses_number_is_refused(tmp_path: Path) -> None:
    found = filled(tmp_path, MOODLE, result("Ada Lovelace_322"))
    assert "the platform has 'Grace Hopper' under 322" in found.refused[0]


def test_a_mark_that_moodle_has_locked_stays(tmp_path: Path) -> None:
    text = MOODLE.replace("100.00,Yes,-", "100.00,No,-")
    found = filled(tmp_path, text, result("Grace Hopper_322"))
    assert differences(text, found.text) == []
    assert found.refused == ("'Grace Hopper_322', packing: Moodle has locked the mark",)


def test_a_worksheet_is_for_one_assignment(tmp_path: Path) -> None:
    both = (result("Ada Lovelace_321", "a"), result("Ada Lovelace_321", "b", 5))
    with pytest.raises(UsageError, match="for one assignment, and there are marks of 2") as caught:
        filled(tmp_path, MOODLE, *both)
    assert "--fill ASSIGNMENT=" in str(caught.value.expected)
    assert cells(filled(tmp_path, MOODLE, *both, only="b").text)[1][4] == "50"
    with pytest.raises(UsageError, match="no marks for 'c'"):
        filled(tmp_path, MOODLE, *both, only="c")


# --- other files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no table that Canvas or Moodle"),
        ("student,points\nada,3\n", "no table that Canvas or Moodle"),
        ("ID,Bewertung,Bestwertung\n", "no table that Canvas or Moodle"),
        (CANVAS.replace("    Points Possible", "Points"), "no row 'Points Possible'"),
        (CANVAS.replace("10,20.0", ",20.0"), "graded out of"),
        (CANVAS.replace("10,20.0", "0,20.0"), "graded out of"),
        (CANVAS.replace("10,20.0", '"1,000",20.0'), "graded out of"),
        (MOODLE.replace("100.00", "A to F"), "graded out of"),
        (MOODLE.replace("100.00", "50", 1), "no one Maximum Grade"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        filled(tmp_path, text, result("ada"))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no file"):
        fill(tmp_path / "none.csv", [result("ada")], {})

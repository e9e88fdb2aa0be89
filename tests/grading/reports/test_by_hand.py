"""Points that a person gives: bad ones are refused by name, and nothing that was given is lost."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st
from sample_class import NAME, STUB, cell, make_class_course, notebook

from mlc_course.errors import UsageError
from mlc_course.grading.course import exams_in
from mlc_course.grading.reports import Given, Place, Question, answer, by_hand, questions_in
from mlc_course.grading.reports.question_page import page_of
from mlc_course.grading.reports.sheets import alive, inert

WHY = Question(NAME, "why", 4, asked="Why?")
KNOWN = {NAME: {"ada", "bob", "=cy", "'=cy"}}


def place(student: str) -> Place:
    return Place(NAME, "why", student)


def fill(folder: Path, text: str | bytes) -> None:
    path = by_hand.sheet_path(folder, WHY)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def read(folder: Path, text: str | bytes) -> Mapping[Place, Mapping[str, str]]:
    fill(folder, text)
    return by_hand.filled_in(folder, [WHY], KNOWN)


# --- what is asked, and what was answered ---------------------------------------------------------


def test_questions_come_with_what_is_asked_and_the_solution(tmp_path: Path) -> None:
    course = make_class_course(tmp_path)
    (found,) = questions_in(exams_in(course / "solutions"), course / "solutions")
    assert (found.name, found.out_of, found.asked) == ("why", 4, "**3.** Why is it fast?")
    assert found.solution == "Because the loop runs once for each row."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is.", "It is."),
        ("  \n ", ""),
        ("YOUR ANSWER HERE", ""),
        ("Write  here:\n", ""),  # what students found in the cell, but for spaces
        ("x" * 20_001, "x" * 20_000 + "\n(cut here; the notebook has 20,001 characters)"),
    ],
)
def test_an_answer_is_what_the_student_wrote(text: str, found: str) -> None:
    asked = Question(NAME, "why", 4, given="Write here:")
    assert answer(asked, notebook(why=text).encode()) == found


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"cells": 3}', b'{"cells": [3, null]}'])
def test_what_is_no_notebook_has_no_answer(raw: bytes) -> None:
    assert answer(WHY, raw) == ""


def test_a_task_is_answered_in_the_cells_below_it() -> None:
    cells = [
        cell("task", "Explain.", "markdown", task=True, points=2),
        cell("one", "First,"),
        cell("two", "second.", "markdown"),
        cell("other", "no", solution=True),
        cell("three", "not this"),
    ]
    raw = json.dumps({"cells": cells}).encode()
    assert answer(Question(NAME, "task", 2, is_task=True), raw) == "First,\n\nsecond."


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "student,points,comment\nada,2.5,good\n",
        "student;points;comment\nada;2,5;good\n",
        "\ufeffcomment\tstudent\tpoints\r\ngood\tada\t2.5\r\n\r\n",
        'number,student,points,out_of,comment,mine\n9,ada, 2.5 ,4,"good",x\n,,,,,\n',
    ],
)
def test_tables_are_read_as_spreadsheets_save_them(tmp_path: Path, text: str) -> None:
    found = by_hand.merged({}, read(tmp_path, text), {})
    assert found == {place("ada"): Given(2.5, "good")}


def test_a_name_in_the_encoding_of_windows_is_read(tmp_path: Path) -> None:
    fill(tmp_path, "student,points,comment\nJosé,2,\n".encode("cp1252"))
    found = by_hand.filled_in(tmp_path, [WHY], {NAME: {"José"}})
    assert list(found) == [place("José")]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("ada,-1,", "line 2, 'ada': points -1, not between 0 and 4"),
        ("ada,4.5,", "points 4.5, not between 0 and 4"),
        ("ada,two,", "points 'two' is no number"),
        ("ada,nan,", "points 'nan' is no number"),
        ("ada,inf,", "points 'inf' is no number"),
        ("ada,0_1,", "points '0_1' is no number"),
        ("zed,1,", "line 2, 'zed': no such student"),
        ("ada,1,\nada,2,", "line 3, 'ada': a second time"),
    ],
)
def test_bad_points_are_refused_with_line_and_name(tmp_path: Path, line: str, fault: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(tmp_path, f"student,points,comment\n{line}\nbob,1,\n")
    assert fault in str(caught.value.got)
    assert "0 to 4" in str(caught.value.expected)


@pytest.mark.parametrize("text", ["ada,2,5,", "ada,2,5,good", "bob,1,\nada,2,5,good"])
def test_a_comma_that_splits_a_number_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="has faults") as caught:
        read(tmp_path, f"student,points,comment\n{text}\n")
    assert "4 fields for 3 columns" in str(caught.value.got)


def test_a_column_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has faults") as caught:
        read(tmp_path, "student,points,comment, points\nada,2,,3\n")
    assert caught.value.got == "column points twice"


def test_all_faults_are_told_at_once_but_not_hundreds(tmp_path: Path) -> None:
    lines = "".join(f"x{i},1,\n" for i in range(30))
    with pytest.raises(UsageError) as caught:
        read(tmp_path, f"student,points,comment\n{lines}")
    assert str(caught.value.got).count("no such student") == 10
    assert str(caught.value.got).endswith("and 20 more")


@pytest.mark.parametrize(
    "text", ["", "student,points\nada,1\n", "\0\0\0", "<html>", b"\xff\xfes\0t\0"]
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(UsageError, match="not the table") as caught:
        read(tmp_path, text)
    assert "student, points, comment" in str(caught.value.expected)


def test_what_is_written_is_read_back_whatever_names_and_comments_are(tmp_path: Path) -> None:
    points = {
        place("ada"): Given(3.0, "=1+1\nsecond line, with; signs"),
        place("=cy"): Given(0.0, "-"),
        place("'=cy"): Given(None, "'tis unclear"),
    }
    text = by_hand.sheet(WHY, ["'=cy", "=cy", "ada", "bob"], points)
    assert by_hand.merged(points, read(tmp_path, text), {}) == points
    fields = [field for row in csv.reader(text.splitlines()) for field in row]
    assert not [each for each in fields if each[:1] in ("=", "+", "@", "\t", "\r")]


@drawn(st.text(max_size=4), st.sampled_from(["", "=", "'", "'=", "''", "-", "+", "@", "\t"]))
def test_text_that_no_spreadsheet_runs_is_given_back(tail: str, head: str) -> None:
    text = head + tail
    assert alive(inert(text)) == text
    assert inert(text)[:1] not in ("=", "+", "-", "@", "\t", "\r")


# --- two places, and nothing lost -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "recorded", "in_table", "in_formgrader", "counts"),
    [
        (None, None, "3", None, 3),
        (None, None, None, 2, 2),
        (None, None, "3", 3, 3),
        (3, 3, "3", 3, 3),
        (3, 3, "4", 3, 4),  # changed in the table
        (3, 3, "3", 2, 2),  # changed in formgrader
        (3, 3, None, None, 3),  # a table cut short, a gradebook that is gone
        (3, 3, None, 3, 3),
        (3, 3, "-", 3, None),  # taken back
        (3, 4, "4", 3, 4),  # changed in the table in a trial, which leaves the gradebook alone
        (3, 4, "4", 4, 4),
    ],
)
def test_the_place_that_was_changed_counts(
    shared: float | None,
    recorded: float | None,
    in_table: str | None,
    in_formgrader: float | None,
    counts: float | None,
) -> None:
    found = by_hand.merged(
        {} if recorded is None else {place("ada"): Given(recorded, "", shared)},
        {} if in_table is None else {place("ada"): {"points": in_table}},
        {} if in_formgrader is None else {place("ada"): in_formgrader},
    )
    assert found.get(place("ada"), Given()).points == counts


@pytest.mark.parametrize(("recorded", "in_table"), [(1, "3"), (3, "3"), (1, "-")])
def test_two_places_changed_differently_are_refused(recorded: float, in_table: str) -> None:
    with pytest.raises(UsageError, match="two places differ") as caught:
        by_hand.merged(
            {place("ada"): Given(recorded, "", 1)},
            {place("ada"): {"points": in_table}},
            {place("ada"): 2},
        )
    in_words = "none" if in_table == "-" else in_table
    assert f"'ada', why: {in_words} in the table, 2 in formgrader" in str(caught.value.got)


def test_points_are_for_one_answer_and_another_one_waits_again() -> None:
    def now(given: Given, text: str) -> Given:
        return by_hand.for_answers({place("ada"): given}, {place("ada"): text})[place("ada")]

    first = now(Given(3, "good"), "It is.")
    assert (first.points, first.comment) == (3, "good")
    assert now(first, " It\nis. ") == first
    changed = now(first, "It is not.")
    assert (changed.points, changed.comment) == (None, "good (an earlier answer had 3 points)")
    for points in (2, 3):
        assert now(replace(changed, points=points), "It is not.").points == points


def test_points_for_an_answer_that_changed_before_they_were_read_wait() -> None:
    shown = by_hand.for_answers({}, {place("ada"): "It is."})
    filled = by_hand.merged(shown, {place("ada"): {"points": "3"}}, {})
    assert by_hand.for_answers(filled, {place("ada"): "It is."})[place("ada")].points == 3
    (given,) = by_hand.for_answers(filled, {place("ada"): "It is not."}).values()
    assert (given.points, given.comment) == (None, "(an earlier answer had 3 points)")


@drawn(st.floats(0, 4))
def test_a_table_that_is_not_touched_changes_no_points(points: float) -> None:
    """Points that seem new would count for an answer that they were not given for."""
    before = {place("ada"): Given(points, "good", answer="digest")}
    (row,) = csv.DictReader(by_hand.sheet(WHY, ["ada"], before).splitlines())
    assert by_hand.merged(before, {place("ada"): {"points": row["points"]}}, {}) == before


def test_only_what_is_in_the_gradebook_is_shared() -> None:
    points = {place("ada"): Given(2, "good", 1), place("bob"): Given(3)}
    assert by_hand.shared(points, {place("ada")}) == {
        place("ada"): Given(2, "good", 2),
        place("bob"): Given(3),
    }


def test_the_record_is_read_back_and_a_spoilt_one_refused(tmp_path: Path) -> None:
    points = {place("=cy"): Given(2.5, "é\n", 1.5), place("ada"): Given(None, "why?")}
    assert by_hand.recorded(tmp_path) == {}
    path = tmp_path / by_hand.RECORDED
    path.write_text(by_hand.record(points))
    assert by_hand.recorded(tmp_path) == points
    for text in ("", "[3]", "{", '[{"student": "ada"}]'):
        path.write_text(text)
        with pytest.raises(UsageError, match="cannot be read"):
            by_hand.recorded(tmp_path)


# --- the page -------------------------------------------------------------------------------------


def test_the_page_runs_nothing_that_students_wrote() -> None:
    bad = "</pre><script>alert(1)</script><img src=x onerror=alert(1)>"
    page = page_of(WHY, {bad: bad, "ada": ""}, {place(bad): Given(1, bad)})
    assert "<script" not in page and "<img" not in page
    assert page.count("&lt;script&gt;") == 3
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert "no answer" in page and "0 wait" in page


def test_the_stub_of_an_answer_cell_is_no_answer() -> None:
    assert answer(Question(NAME, "why", 4, given=STUB), notebook(why=STUB).encode()) == ""

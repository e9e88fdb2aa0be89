"""The five commands of docs/instructors.md, with the real nbgrader on both sides."""

from __future__ import annotations

import csv
import getpass
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sample_class import HALF_SQUARE, NAME, make_class_course, notebook
from sample_course import ROOT, nbgrader

pytestmark = pytest.mark.slow

ME = getpass.getuser()  # nbgrader's name of a student is that of the account


def run_well(where: Path, *words: str, **variables: str) -> str:
    done = nbgrader(where, *words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def guided() -> list[list[str]]:
    """The commands of the guide, for this assignment."""
    guide = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^## From a class list to .*?```\n(.*?)```", guide, re.M | re.S)
    return [line.replace("NAME", NAME).split() for line in block.splitlines()]


def command(course: Path, program: str, *words: str) -> str:
    """Run a command of the guide; return all that it said."""
    if program == "nbgrader":
        return run_well(course, *words)
    done = subprocess.run(
        [sys.executable, "-m", "mlc_course.commands", *words, "--sandbox", "rlimits"],
        cwd=course,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def points(course: Path) -> dict[str, tuple[str, str]]:
    with (course / "marks.csv").open() as lines:
        return {row["student"]: (row["points"], row["waiting"]) for row in csv.DictReader(lines)}


def test_from_a_class_list_to_marks_in_five_commands(tmp_path: Path) -> None:
    course = make_class_course(tmp_path / "course")
    own = {"JUPYTER_CONFIG_PATH": str(course), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    desk = tmp_path / "desk"  # the student's
    desk.mkdir()
    (course / "class.csv").write_text(f"id,first_name\n{ME},Ada\ngrace,Grace\n")
    run_well(course, "generate_assignment", NAME)
    listing, release, collect, grade, give_back = guided()

    command(course, *listing)
    command(course, *release)
    run_well(desk, "fetch_assignment", NAME, **own)
    (desk / NAME / f"{NAME}.ipynb").write_text(notebook(square=HALF_SQUARE))
    run_well(desk, "submit", NAME, **own)
    command(course, *collect)
    # Someone whose work came by mail, so that nbgrader knows neither its time nor its secret.
    mailed = course / ".grading/submitted/grace" / NAME / f"{NAME}.ipynb"
    mailed.parent.mkdir(parents=True)
    mailed.write_text(notebook())
    graded = command(course, *grade)
    released = command(course, *give_back)

    assert "pages for nbgrader release_feedback: 1" in graded
    assert "2 answers wait for points" in graded
    assert f"Releasing feedback for student '{ME}'" in released and "grace" not in released
    assert points(course) == {ME: ("3", "1"), "grace": ("5", "1")}
    run_well(desk, "fetch_feedback", NAME, **own)
    (page,) = (desk / NAME / "feedback").glob(f"*/{NAME}.html")
    assert "1 of 1" in page.read_text() and "0 of 2 (hidden)" in page.read_text()
    assert "not graded yet" in page.read_text()
    assert os.listdir(course / ".grading/feedback") == [ME]

    # What a person grades: fill in the table, and give the last two commands again.
    table = course / "marks_by_hand" / f"{NAME}--why.csv"
    table.write_text(f"student;points;comment\n{ME};2,5;which loop?\ngrace;4;\n")
    command(course, *grade)
    command(course, *give_back)
    assert points(course) == {ME: ("5.5", ""), "grace": ("9", "")}
    run_well(desk, "fetch_feedback", NAME, **own)
    assert "which loop?" in page.read_text()
    run_well(course, "export")
    with (course / "grades.csv").open() as lines:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(lines)}
    assert scores == {ME: 5.5, "grace": 9}
    assert (course / "marks_class.html").exists()

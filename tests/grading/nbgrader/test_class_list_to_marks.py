"""The five commands of docs/instructors.md, with the real nbgrader on both sides."""

from __future__ import annotations

import csv
import getpass
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from sample_class import HALF_SQUARE, NAME, make_class_course, notebook
from sample_course import nbgrader

pytestmark = pytest.mark.slow

ME = getpass.getuser()  # nbgrader's name of a student is that of the account


def run_well(where: Path, *words: str, **variables: str) -> str:
    done = nbgrader(where, *words, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def grade(course: Path, *options: str) -> subprocess.CompletedProcess[str]:
    words = ["grade", ".grading/submitted", "--sandbox", "rlimits", *options]
    return subprocess.run(
        [sys.executable, "-m", "mlc_course.commands", *words],
        cwd=course,
        capture_output=True,
        text=True,
    )


def test_from_a_class_list_to_marks_in_five_commands(tmp_path: Path) -> None:
    course = make_class_course(tmp_path / "course")
    own = {"JUPYTER_CONFIG_PATH": str(course), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    desk = tmp_path / "desk"  # the student's
    desk.mkdir()
    (course / "class.csv").write_text(f"id,first_name\n{ME},Ada\ngrace,Grace\n")
    run_well(course, "generate_assignment", NAME)

    run_well(course, "db", "student", "import", "class.csv")  # 1
    run_well(course, "release_assignment", NAME)  # 2
    run_well(desk, "fetch_assignment", NAME, **own)
    (desk / NAME / f"{NAME}.ipynb").write_text(notebook(square=HALF_SQUARE))
    run_well(desk, "submit", NAME, **own)
    run_well(course, "collect", NAME)  # 3
    # Someone whose work came by mail, so that nbgrader knows neither its time nor its secret.
    mailed = course / ".grading/submitted/grace" / NAME / f"{NAME}.ipynb"
    mailed.parent.mkdir(parents=True)
    mailed.write_text(notebook())
    graded = grade(course)  # 4
    assert graded.returncode == 0, graded.stderr
    released = run_well(course, "release_feedback", NAME)  # 5

    assert f"Releasing feedback for student '{ME}'" in released and "grace" not in released
    assert "pages for nbgrader release_feedback: 1" in graded.stderr
    with (course / "marks.csv").open() as lines:
        points = {row["student"]: row["points"] for row in csv.DictReader(lines)}
    assert points == {ME: "3", "grace": "5"}
    run_well(desk, "fetch_feedback", NAME, **own)
    (page,) = (desk / NAME / "feedback").glob(f"*/{NAME}.html")
    text = page.read_text()
    assert "twice-test" in text and "✘ not met: 1 hidden" in text
    assert (course / ".grading/feedback" / ME / NAME / "timestamp.txt").read_text()
    shutil.rmtree(desk)
    assert os.listdir(course / ".grading/feedback") == [ME]

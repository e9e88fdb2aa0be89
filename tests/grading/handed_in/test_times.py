"""When something was handed in is read where platforms write it, and from nowhere else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mlc_course.grading.handed_in import HandedIn, handed_in
from mlc_course.grading.handed_in.times import time_in

NOTEBOOK = "07_twice.ipynb"
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


def put(folder: Path, name: str, text: str = "{}") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("text", "later"),
    [
        ("2026-11-02 12:00:00.000000 UTC", 0),
        ("2026-11-02 12:00:00 UTC\n", 0),
        ("2026-11-02 12:00:00", 0),
        ("2026-11-02 14:00:00.5 +0200", 0),
        ("2026-11-02 12:00:00 Europe/Berlin", -3600),
    ],
)
def test_times_of_nbgrader_are_read(text: str, later: int) -> None:
    assert time_in(text) == NOON + timedelta(seconds=later)


@pytest.mark.parametrize(
    "text",
    ["", "now", "2026-13-02 12:00:00 UTC", "2026-11-02 12:00:00 ../../etc/passwd",
     "2026-11-02 12:00:00 CXT", "2026-11-02 12:00:00 +9", "0000-00-00 00:00:00"],
)  # fmt: skip
def test_other_texts_are_no_times(text: str) -> None:
    assert time_in(text) is None


def test_a_stamp_counts_where_nbgrader_puts_it_and_nowhere_else(tmp_path: Path) -> None:
    stamp = "2026-11-02 12:00:00 UTC"
    moodle = "Ada Lovelace_321_assignsubmission_file_"
    for folder in ("ada/07_twice", "bob", "cy/a/07_twice", f"{moodle}/07_twice"):
        put(tmp_path, f"{folder}/{NOTEBOOK}")
        put(tmp_path, f"{folder}/timestamp.txt", stamp)
    found = {
        folder: handed_in(tmp_path, f"{folder}/{NOTEBOOK}", [NOTEBOOK]).at
        for folder in ("ada/07_twice", "bob", "cy/a/07_twice", f"{moodle}/07_twice", "dee.zip/x")
    }
    assert found == {
        "ada/07_twice": NOON,
        "bob": None,
        "cy/a/07_twice": None,
        f"{moodle}/07_twice": None,
        "dee.zip/x": None,
    }


def test_names_of_the_exchange_tell_the_time(tmp_path: Path) -> None:
    name = "ada+07_twice+2026-11-02 12:00:00.000000 UTC+Zm9v"
    put(tmp_path, f"{name}/{NOTEBOOK}")
    assert handed_in(tmp_path, f"{name}/{NOTEBOOK}", [NOTEBOOK]) == HandedIn(NOON)


@pytest.mark.parametrize(
    ("name", "late"),
    [
        (f"lovelaceada_LATE_12_34_{NOTEBOOK}", True),
        (f"lovelaceada_LATE_12_{NOTEBOOK}", True),
        (f"lovelaceada_12_34_{NOTEBOOK}", False),
        ("lovelaceada_12_34_x_LATE_5_6.ipynb", False),  # the student's own name for a file
        ("lovelaceada_LATE_12_34_other.ipynb", True),
    ],
)
def test_canvas_marks_what_came_late(tmp_path: Path, name: str, late: bool) -> None:
    put(tmp_path, name)
    assert handed_in(tmp_path, name, [NOTEBOOK]) == HandedIn(is_marked_late=late)

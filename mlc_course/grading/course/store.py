"""Marks on disk: one SQLite file that survives Ctrl-C and a crash, and CSV made of such."""

from __future__ import annotations

import csv
import io
import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.grading.course.grader import Marks, Part, Race, TestMarks
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import Finding, Verdict

SCHEMA = """
create table if not exists about (name text primary key, value text not null);
create table if not exists ratios (exam text primary key, value text not null);
create table if not exists marks (
    student text not null, assignment text not null, submission text not null, exam text not null,
    value text not null, primary key (student, assignment)
);
"""


class Store:
    """Marks by student and assignment. Every ``save`` is on disk when it returns.

    ``seed`` is drawn once for a file, so that a batch that goes on asks what it asked before, and
    so that an appeal can be graded again as it was.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._connection = sqlite3.connect(path)
            self._connection.executescript(SCHEMA)
        except sqlite3.Error as error:
            raise UsageError(
                f"{path} cannot be used to keep marks",
                expected="a file that this command wrote, or a place for a new one",
                got=error,
            ) from None
        self.seed = self._kept_seed()

    def _kept_seed(self) -> int:
        with self._connection as connection:
            drawn = str(secrets.randbits(63))
            connection.execute("insert or ignore into about values ('seed', ?)", (drawn,))
            (kept,) = connection.execute("select value from about where name = 'seed'").fetchone()
        return int(kept)

    def has(self, submission: Submission, exam: str) -> bool:
        """Tell whether this very notebook was graded with this very exam."""
        found = self._connection.execute(
            "select 1 from marks where student = ? and assignment = ? and submission = ?"
            " and exam = ?",
            (submission.student, submission.assignment, submission.digest, exam),
        )
        return found.fetchone() is not None

    def save(self, marks: Marks, exam: str) -> None:
        """Keep marks, in place of older ones of the same student and assignment."""
        row = (marks.student, marks.assignment, marks.digest, exam, json.dumps(asdict(marks)))
        with self._connection as connection:
            connection.execute("insert or replace into marks values (?, ?, ?, ?, ?)", row)

    def marks(self) -> Iterator[Marks]:
        """All marks, by assignment and student."""
        rows = self._connection.execute("select value from marks order by assignment, student")
        for (value,) in rows.fetchall():
            yield _marks(json.loads(value))

    def ratios(self, exam: str) -> dict[tuple[str, int], float] | None:
        """Return what the reference solution reached in each race on this machine, if measured."""
        found = self._connection.execute("select value from ratios where exam = ?", (exam,))
        row = found.fetchone()
        return {(name, i): ratio for name, i, ratio in json.loads(row[0])} if row else None

    def save_ratios(self, exam: str, ratios: dict[tuple[str, int], float]) -> None:
        """Keep what the reference solution reached."""
        value = json.dumps([[name, i, ratio] for (name, i), ratio in ratios.items()])
        with self._connection as connection:
            connection.execute("insert or replace into ratios values (?, ?)", (exam, value))

    def close(self) -> None:
        self._connection.close()


def _marks(tree: dict[str, Any]) -> Marks:
    tests = [
        TestMarks(
            each["grade_id"],
            each["out_of"],
            tuple(_finding(found) for found in each["visible"]),
            tuple(_finding(found) for found in each["hidden"]),
            tuple(Part(**part) for part in each.get("parts", ())),
        )
        for each in tree["tests"]
    ]
    races = tuple(Race(**each) for each in tree["races"])
    return Marks(**tree | {"tests": tuple(tests), "races": races, "remarks": (*tree["remarks"],)})


def _finding(tree: dict[str, str]) -> Finding:
    return Finding(**tree | {"verdict": Verdict(tree["verdict"])})  # type: ignore[arg-type]


def as_csv(rows: Iterable[Sequence[object]]) -> str:
    """CSV in which no field is run by a spreadsheet that opens it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [_inert(str(value)) for value in row] for row in rows
    )
    return text.getvalue()


def percent(marks: Marks) -> float:
    """Points in percent of what can be had."""
    return 100 * marks.points / marks.out_of if marks.out_of else 0.0


def _inert(text: str) -> str:
    """A spreadsheet runs what begins with one of these; students choose names and errors."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text

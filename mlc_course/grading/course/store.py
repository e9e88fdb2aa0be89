"""Marks on disk: one SQLite file that survives Ctrl-C and a crash, and CSV made of such.

Every row is signed with a key that lies beside the file. Submissions inside bubblewrap see neither.
With rlimits only they could read both, so the key is in the grader's memory alone while they run.
While a grader is at work, the key's file is locked: nobody else writes the same marks.
"""

from __future__ import annotations

import contextlib
import csv
import fcntl
import functools
import hashlib
import hmac
import io
import json
import os
import secrets
import signal
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import mlc_course
from mlc_course.errors import MachineError, UsageError
from mlc_course.grading.course.grader import Marks, Part, Race, TestMarks
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, Finding, Verdict

# As SQLite keeps it in sqlite_master, so that a file with anything else in it is recognised.
TABLES = {
    "about": "CREATE TABLE about (name text primary key, value text not null, "
    "signature text not null)",
    "ratios": "CREATE TABLE ratios (exam text primary key, conditions text not null, "
    "value text not null, signature text not null)",
    "marks": "CREATE TABLE marks (student text not null, assignment text not null, "
    "submission text not null, exam text not null, conditions text not null, value text not null, "
    "signature text not null, primary key (student, assignment))",
}
KEY_BYTES = 32


class Store:
    """Marks by student and assignment. Every ``save`` is on disk when it returns.

    ``seed`` is drawn once for a file, so that a batch that goes on asks what it asked before, and
    so that an appeal can be graded again as it was. Rows whose signature is wrong do not count;
    ``forged`` is their number when the file was opened.

    Raises ``UsageError`` for a file that another grader is using, that cannot be opened, or that
    holds another table, a trigger, a view or an index: nothing in it has run by then.
    """

    def __init__(self, path: Path, *, sandbox: str = BUBBLEWRAP) -> None:
        self.path, self.conditions = path, f"{sandbox} {package_version()}"
        with contextlib.ExitStack() as opened:
            try:
                self._key_file = opened.enter_context(_KeyFile(path.with_suffix(".key")))
                self._connection = opened.enter_context(contextlib.closing(sqlite3.connect(path)))
                self._connection.text_factory = _text
                self._connection.set_authorizer(_allow_no_trigger)
                self._check_schema(path)
                self._key = self._key_file.key
                self.forged = sum(not self._signed(table, row) for table, row in self._rows())
                self.seed = self._kept_seed()
            except (sqlite3.Error, OSError) as error:
                raise UsageError(
                    f"{path} cannot be used to keep marks",
                    expected="a file that this command wrote, or a place for a new one",
                    got=error,
                    hint="name another --out, and everything is graded again",
                ) from None
            if sandbox == RLIMITS:
                self._key_file.blank()
            self._opened = opened.pop_all()

    def _check_schema(self, path: Path) -> None:
        """Make the tables of a new file; refuse one that has others, or anything that can act."""
        # Read before anything is written, when no trigger and no view can have run yet.
        self._connection.execute("pragma trusted_schema = off")
        self._connection.execute("pragma cell_size_check = on")
        found = self._connection.execute("select type, name, sql from sqlite_master").fetchall()
        # SQLite's own indices, of primary keys, have no text.
        made = {name: (kind, sql) for kind, name, sql in found if sql is not None}
        if made and made != {name: ("table", sql) for name, sql in TABLES.items()}:
            strange = [f"{kind} {name}" for name, (kind, _) in made.items() if name not in TABLES]
            raise UsageError(
                f"{path} is not a file of marks of this version of the course",
                expected=f"the tables {', '.join(TABLES)} as this command makes them",
                got=", ".join(strange)[:200] or "tables with other columns",
                hint="name another --out, and everything is graded again",
            )
        if not made:
            with self._connection as connection:
                for sql in TABLES.values():
                    connection.execute(sql)

    def _rows(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        for table in TABLES:
            for row in self._connection.execute(f"select * from {table}").fetchall():
                yield table, row

    def _signature(self, table: str, fields: Sequence[object]) -> str:
        text = json.dumps([table, *map(str, fields)])
        return hmac.new(self._key, text.encode(errors="surrogatepass"), hashlib.sha256).hexdigest()

    def _signed(self, table: str, row: Sequence[object]) -> bool:
        *fields, signature = row
        return hmac.compare_digest(self._signature(table, fields), str(signature))

    def _save(self, table: str, *fields: str) -> None:
        row = (*fields, self._signature(table, fields))
        places = ", ".join("?" * len(row))
        try:
            with self._connection as connection:
                connection.execute(f"insert or replace into {table} values ({places})", row)
        except sqlite3.Error as error:
            raise MachineError(
                f"{self.path} cannot be written",
                got=error,
                hint="what it holds is kept; when it can be written, the same command goes on",
            ) from None

    def _find(self, table: str, where: str, *values: str) -> list[tuple[str, ...]]:
        """The rows that this command has written, and nobody changed."""
        found = self._connection.execute(f"select * from {table} {where}", values).fetchall()
        return [row for row in found if self._signed(table, row)]

    def _kept_seed(self) -> int:
        for _, value, _ in self._find("about", "where name = 'seed'"):
            return int(value)
        drawn = secrets.randbits(63)
        self._save("about", "seed", str(drawn))
        return drawn

    def has(self, submission: Submission, exam: str) -> bool:
        """Tell whether this very notebook was graded like this: exam, sandbox, package."""
        where = "where student = ? and assignment = ?"
        found = self._find("marks", where, submission.student, submission.assignment)
        asked = (submission.digest, exam, self.conditions)
        return any(row[2:5] == asked for row in found)

    def save(self, marks: Marks, exam: str) -> None:
        """Keep marks, in place of older ones of the same student and assignment."""
        about = (marks.student, marks.assignment, marks.digest, exam, self.conditions)
        self._save("marks", *about, json.dumps(asdict(marks)))

    def marks(self) -> Iterator[Marks]:
        """All marks that were given like this, by assignment and student: sandbox, package.

        Another version of the package may have kept other things of them.
        """
        where = "where conditions = ? order by assignment, student"
        for row in self._find("marks", where, self.conditions):
            yield _marks(json.loads(row[5]))

    def places(self) -> Iterator[tuple[str, str]]:
        """Return student and assignment of all marks, also of those that count no longer."""
        for student, assignment, *_ in self._find("marks", ""):
            yield student, assignment

    def waiting(self, exams: Mapping[str, str]) -> list[Marks]:
        """Marks whose races are still to be run, with exams of these digests, by assignment."""
        found = self._find("marks", "where conditions = ?", self.conditions)
        marks = [_marks(json.loads(row[5])) for row in found if exams.get(row[1]) == row[3]]
        return [each for each in marks if each.races]

    def ratios(self, exam: str) -> dict[tuple[str, int], float] | None:
        """Return what the reference solution reached in each race on this machine, if measured."""
        found = self._find("ratios", "where exam = ? and conditions = ?", exam, self.conditions)
        for row in found:
            return {(name, i): ratio for name, i, ratio in json.loads(row[2])}
        return None

    def save_ratios(self, exam: str, ratios: dict[tuple[str, int], float]) -> None:
        """Keep what the reference solution reached."""
        value = json.dumps([[name, i, ratio] for (name, i), ratio in ratios.items()])
        self._save("ratios", exam, self.conditions, value)

    def close(self) -> None:
        """Close the file, and put the key beside it where it was taken away."""
        # Ctrl-C while the key is written would cost all that is kept.
        ends = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ends)
        try:
            self._opened.close()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _KeyFile:
    """The key of a file of marks, in a file beside it; a new one where there is none.

    The file is locked while it is open, so that no two graders write the same marks. ``blank``
    leaves it as large as it is: the key can be put back even when the disk is full.

    Raises ``UsageError`` where another grader holds it, and ``OSError``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            kept = os.pread(self._file, KEY_BYTES + 1, 0)
            self.key = kept if len(kept) == KEY_BYTES else secrets.token_bytes(KEY_BYTES)
            if self.key != kept:
                _overwrite(self._file, self.key)
        except BlockingIOError:
            os.close(self._file)
            raise UsageError(
                f"another grader is at work on {path.with_suffix('')}",
                expected="one at a time for the same --out",
                hint="wait for it, or name another --out",
            ) from None
        except BaseException:
            os.close(self._file)
            raise

    def blank(self) -> None:
        """Take the key out of the file: what is longer than a key is none."""
        _overwrite(self._file, b" " * (KEY_BYTES + 1))

    def __enter__(self) -> _KeyFile:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            _overwrite(self._file, self.key)
            if not self._is_in_place():
                _write_key(self.path, self.key)
        finally:
            os.close(self._file)

    def _is_in_place(self) -> bool:
        """Tell whether the file still has its name: with rlimits only, anyone may have taken it."""
        try:
            return os.path.samestat(os.fstat(self._file), self.path.lstat())
        except OSError:
            return False


def _overwrite(file: int, content: bytes) -> None:
    os.pwrite(file, content, 0)
    os.ftruncate(file, len(content))
    os.fsync(file)


def _text(raw: bytes) -> str:
    """A text that somebody else put there may be none; its signature is then wrong too."""
    return raw.decode(errors="replace")


def _allow_no_trigger(
    action: int, first: str | None, second: str | None, file: str | None, inner: str | None
) -> int:
    """Refuse a statement as soon as a trigger or a view would take part in it, whoever made it."""
    return sqlite3.SQLITE_DENY if inner else sqlite3.SQLITE_OK


@functools.cache
def package_version() -> str:
    """The version of this package and a digest of its sources: another one may mark otherwise."""
    root = Path(mlc_course.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        digest.update(f"{path.relative_to(root).as_posix()} {len(text)} ".encode())
        digest.update(text)
    return f"{mlc_course.__version__}+{digest.hexdigest()[:16]}"


def _write_key(path: Path, key: bytes) -> None:
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(key)
        file.flush()
        os.fsync(descriptor)
    part.replace(path)


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

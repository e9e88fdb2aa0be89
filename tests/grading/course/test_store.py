"""Marks on disk: nobody but the grader writes them, and what changed is graded again."""

from __future__ import annotations

import contextlib
import random
import secrets
import sqlite3
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from mlc_course.errors import MachineError, UsageError
from mlc_course.grading.course import grader
from mlc_course.grading.course import store as stores
from mlc_course.grading.course.grader import GRADED, Marks, Race
from mlc_course.grading.course.store import Store
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, met

SUBMISSION = Submission("ann", "07_twice", b"a notebook")
TESTS = (grader.TestMarks("twice-test", 2, (met("correctness", "right for (1)"),)),)
MARKS = Marks("ann", "07_twice", SUBMISSION.digest, GRADED, TESTS, sandbox=BUBBLEWRAP)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with the marks of one submission, and a measured race."""
    found = tmp_path / "marks.sqlite"
    with contextlib.closing(Store(found)) as store:
        store.save(MARKS, "exam")
        store.save_ratios("exam", {("twice-test", 0): 2.0})
    return found


def change(path: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as book, book:
        for each in statements:
            book.execute(each)


def test_marks_come_back_as_they_were_saved(path: Path) -> None:
    with contextlib.closing(Store(path)) as store:
        assert list(store.marks()) == [MARKS]
        assert store.has(SUBMISSION, "exam")
        assert store.ratios("exam") == {("twice-test", 0): 2.0}
        assert store.forged == 0


def test_another_exam_submission_sandbox_or_package_is_graded_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with contextlib.closing(Store(path)) as store:
        assert not store.has(SUBMISSION, "another exam")
        assert not store.has(Submission("ann", "07_twice", b"another notebook"), "exam")
    with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
        assert not store.has(SUBMISSION, "exam")
        assert store.ratios("exam") is None
    monkeypatch.setattr(stores, "package_version", lambda: "0.1.0+another digest")
    with contextlib.closing(Store(path)) as store:
        assert not store.has(SUBMISSION, "exam")
        assert store.ratios("exam") is None


def test_the_version_of_the_package_is_that_of_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "__init__.py").write_text("a = 1")
    monkeypatch.setattr(stores.mlc_course, "__file__", str(tmp_path / "__init__.py"))
    before = stores.package_version.__wrapped__()
    (tmp_path / "__init__.py").write_text("a = 2")
    assert stores.package_version.__wrapped__() != before


def test_races_that_wait_are_run_only_for_what_was_graded_alike(path: Path) -> None:
    raced = Marks(**{**MARKS.__dict__, "races": (Race("twice-test", 0, "text"),)})
    with contextlib.closing(Store(path)) as store:
        store.save(raced, "exam")
        assert store.waiting({"07_twice": "exam"}) == [raced]
        assert store.waiting({"07_twice": "another exam"}) == []
    with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
        assert store.waiting({"07_twice": "exam"}) == []


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        (
            "create trigger better after insert on marks begin"
            " update marks set value = replace(value, 'unmet', 'met'); end",
            "trigger better",
        ),
        ("create view about_marks as select * from marks", "view about_marks"),
        ("create table more (name text)", "table more"),
        ("create index quick on marks (value)", "index quick"),
        ("alter table marks add column note text", "other columns"),
        ("drop table ratios", "other columns"),
    ],
)
def test_a_file_that_holds_more_than_marks_is_refused(
    path: Path, statement: str, named: str
) -> None:
    change(path, statement)
    with pytest.raises(UsageError, match="not a file of marks") as caught:
        Store(path)
    assert named in str(caught.value)


def test_a_view_in_place_of_a_table_is_refused(path: Path) -> None:
    change(path, "alter table marks rename to old", "create view marks as select * from old")
    with pytest.raises(UsageError, match="not a file of marks"):
        Store(path)


def test_a_trigger_made_while_the_file_is_open_never_runs(path: Path) -> None:
    with contextlib.closing(Store(path)) as store:
        change(path, "create trigger t after insert on marks begin delete from about; end")
        with pytest.raises(MachineError, match="cannot be written"):
            store.save(MARKS, "exam")
    with contextlib.closing(sqlite3.connect(path)) as book:
        assert book.execute("select count(*) from about").fetchone() == (1,)


def test_a_row_that_somebody_changed_or_copied_does_not_count(path: Path) -> None:
    change(path, "update marks set value = replace(value, 'met', 'unmet')")
    with contextlib.closing(Store(path)) as store:
        assert store.forged == 1
        assert not store.has(SUBMISSION, "exam")
        assert list(store.marks()) == []
        store.save(MARKS, "exam")
        change(path, "insert into marks select 'bob', assignment, submission, exam, conditions,"
               " value, signature from marks")  # fmt: skip
        assert [each.student for each in store.marks()] == ["ann"]
        change(path, "update ratios set value = '[]'")
        assert store.ratios("exam") is None


def test_a_seed_that_somebody_chose_is_drawn_again(path: Path) -> None:
    change(path, "update about set value = '0'")
    with contextlib.closing(Store(path)) as store:
        assert store.seed != 0


def test_the_key_is_for_its_owner_only_and_without_it_no_row_counts(path: Path) -> None:
    key = path.with_suffix(".key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.unlink()
    with contextlib.closing(Store(path)) as store:
        assert store.forged == 3
        assert not store.has(SUBMISSION, "exam")


def test_with_rlimits_the_key_is_not_on_disk_while_submissions_run(path: Path) -> None:
    store = Store(path, sandbox=RLIMITS)
    store.save(MARKS, "exam")
    key = store._key
    assert key not in b"".join(each.read_bytes() for each in path.parent.iterdir())
    store.close()
    assert path.with_suffix(".key").read_bytes() == key
    with contextlib.closing(Store(path, sandbox=RLIMITS)) as again:
        assert again.has(SUBMISSION, "exam")
        assert again.forged == 0


@pytest.mark.parametrize("sandbox", [BUBBLEWRAP, RLIMITS])
def test_two_graders_do_not_write_the_same_marks(path: Path, sandbox: str) -> None:
    with contextlib.closing(Store(path, sandbox=sandbox)) as store:
        with pytest.raises(UsageError, match="another grader is at work") as caught:
            Store(path, sandbox=sandbox)
        assert "name another --out" in str(caught.value)
        store.save(MARKS, "exam")
    with contextlib.closing(Store(path, sandbox=sandbox)) as store:
        assert store.forged == 0
        assert store.has(SUBMISSION, "exam")


def test_after_an_end_without_a_close_a_grader_goes_on_or_begins_anew(path: Path) -> None:
    """As after ``kill -9``: nothing is put back, and the lock ends with the process."""
    for sandbox, kept in ((BUBBLEWRAP, True), (RLIMITS, False)):
        script = (
            "import os, sys; from pathlib import Path\n"
            "from mlc_course.grading.course.store import Store\n"
            "Store(Path(sys.argv[1]), sandbox=sys.argv[2]); os._exit(0)"
        )
        subprocess.run([sys.executable, "-c", script, str(path), sandbox], check=True)
        with contextlib.closing(Store(path)) as store:
            assert store.has(SUBMISSION, "exam") is kept


@pytest.mark.parametrize("sandbox", [BUBBLEWRAP, RLIMITS])
@pytest.mark.parametrize("content", [b"", b"short", b" " * 33])
def test_a_key_file_without_a_key_gets_one_that_stays(
    path: Path, sandbox: str, content: bytes
) -> None:
    path.with_suffix(".key").write_bytes(content)
    with contextlib.closing(Store(path, sandbox=sandbox)) as store:
        assert store.forged == 3
        store.save(MARKS, "exam")
    with contextlib.closing(Store(path, sandbox=sandbox)) as store:
        assert store.has(SUBMISSION, "exam")


def test_a_key_file_that_somebody_replaced_is_written_again(path: Path) -> None:
    key, other = path.with_suffix(".key"), path.with_name("other")
    for take in (
        lambda: key.unlink(),
        lambda: (key.unlink(), key.write_bytes(b"x" * 32)),
        lambda: (other.write_bytes(b"y" * 32), key.unlink(), key.symlink_to(other)),
    ):
        with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
            store.save(MARKS, "exam")
            take()
        with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
            assert store.has(SUBMISSION, "exam")
    assert other.read_bytes() == b"y" * 32


def test_a_full_disk_takes_no_key_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing new can be written; what has its place on disk can be written again."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
        store.save(MARKS, "exam")
        monkeypatch.setattr(stores, "_write_key", full)
    with contextlib.closing(Store(path, sandbox=RLIMITS)) as store:
        assert store.has(SUBMISSION, "exam")


def test_a_damaged_file_is_refused_and_its_key_is_kept(path: Path) -> None:
    with contextlib.closing(Store(path)) as store:
        for number in range(100):
            store.save(replace(MARKS, student=f"s{number}"), "exam")
    key = path.with_suffix(".key").read_bytes()
    raw = bytearray(path.read_bytes())
    for page in range(4, len(raw) // 4096):
        raw[page * 4096 : page * 4096 + 200] = bytes([page]) * 200
    path.write_bytes(raw)
    for sandbox in (BUBBLEWRAP, RLIMITS):
        with pytest.raises(UsageError, match="cannot be used to keep marks") as caught:
            Store(path, sandbox=sandbox)
        assert "malformed" in str(caught.value)
        assert path.with_suffix(".key").read_bytes() == key


def test_a_row_that_is_no_text_does_not_count(path: Path) -> None:
    change(path, "update marks set value = x'ff00', student = cast(x'ff80' as text)")
    with contextlib.closing(Store(path)) as store:
        assert store.forged == 1
        assert list(store.marks()) == []


def test_marks_that_another_version_kept_in_another_form_are_not_read(path: Path) -> None:
    with contextlib.closing(Store(path)) as store:
        old = ("gone", "07_twice", "digest", "exam", f"{BUBBLEWRAP} 0.0.1+other", '{"old": 1}')
        store._save("marks", *old)
    with contextlib.closing(Store(path)) as store:
        assert store.forged == 0
        assert list(store.marks()) == [MARKS]
        assert sorted(store.places()) == [("ann", "07_twice"), ("gone", "07_twice")]


def test_a_file_that_holds_no_marks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "marks.sqlite").write_text("not a database, and longer than a header" * 10)
    with pytest.raises(UsageError, match="cannot be used to keep marks"):
        Store(tmp_path / "marks.sqlite")


def test_a_seed_is_drawn_once_for_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "randbits", random.SystemRandom().getrandbits)
    seeds = []
    for name in ("a", "a", "b"):
        store = Store(tmp_path / name)
        seeds.append(store.seed)
        store.close()
    assert seeds[0] == seeds[1] != seeds[2]

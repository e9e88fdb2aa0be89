"""A batch in parallel: Ctrl-C, a crash, or a submission that kills its grader lose nothing."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from distributed import LocalCluster

from mlc_course.commands import grade
from mlc_course.commands.marks import MarksFiles
from mlc_course.errors import MachineError, UsageError
from mlc_course.grading.course import batch
from mlc_course.grading.course.batch import ENDED_GRADER, Settings, exams_in, grade_all, prepare
from mlc_course.grading.course.grader import GRADED, REFUSED, Marks
from mlc_course.grading.course.result import Result
from mlc_course.grading.course.store import Store
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.handed_in import Left, collect
from mlc_course.grading.process import RLIMITS, Limits, sandbox
from mlc_course.parallel import executor_for

pytestmark = pytest.mark.slow

SETTINGS = Settings(Limits(seconds=300, request_seconds=120), RLIMITS, seed=1)
PATIENCE_S = 300  # seconds, on a busy machine
ANSWER = "def twice(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
TEST = """check(called(twice), returns(1, result=2))
### BEGIN HIDDEN TESTS
check(called(twice), agrees(lambda x: x + x, lambda rng: (int(rng.integers(99)),)))
### END HIDDEN TESTS"""


def notebook(answer: str) -> str:
    def code(source: str, name: str, **about: object) -> dict[str, object]:
        return {
            "cell_type": "code",
            "id": name,
            "source": source,
            "outputs": [],
            "execution_count": None,
            "metadata": {"nbgrader": about | {"grade_id": name}},
        }

    cells = [
        code("from mlc_course.exercise import *", "setup", locked=True),
        code(answer, "twice", solution=True),
        code(TEST, "twice-test", grade=True, locked=True, points=2),
    ]  # fmt: skip
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def solutions(tmp_path: Path) -> Path:
    path = tmp_path / "solutions" / "07_twice" / "07_twice.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(notebook(ANSWER))
    return tmp_path / "solutions"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "marks.sqlite", sandbox=RLIMITS)
    yield opened
    opened.close()


HandIn = Callable[..., Path]


@pytest.fixture
def hand_in(tmp_path: Path) -> HandIn:
    """``hand_in(ann="source of the answer", ...)`` writes a class and returns its folder."""

    def write(**answers: str) -> Path:
        for student, answer in answers.items():
            path = tmp_path / "class" / student / "07_twice.ipynb"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(notebook(answer))
        return tmp_path / "class"

    return write


def points(store: Store) -> dict[str, float]:
    return {each.student: each.points for each in store.marks()}


RIGHT = "twice = lambda x: x + x"
WRONG = "twice = lambda x: 2"
# Without walls: its parent is a warden, whose parent is the grader.
KILLS_ITS_GRADER = """\
import os, psutil
psutil.Process(os.getppid()).parent().kill()"""


def test_any_executor_will_do(solutions: Path, store: Store, hand_in: HandIn) -> None:
    exams = exams_in(solutions)
    waiting = collect(hand_in(ann=RIGHT, bob=WRONG), exams).submissions
    assert grade_all(waiting, exams, store, SETTINGS, lambda: ThreadPoolExecutor(2)) == []
    assert points(store) == {"ann": 2, "bob": 0}


def test_what_is_graded_is_not_graded_again(solutions: Path, store: Store, hand_in: HandIn) -> None:
    exams = exams_in(solutions)
    folder = hand_in(ann=RIGHT, bob=WRONG)
    grade_all(
        collect(folder, exams).submissions, exams, store, SETTINGS, lambda: ThreadPoolExecutor(1)
    )

    graded: list[str] = []

    class Counting(ThreadPoolExecutor):
        def submit(self, fn, /, *given):  # type: ignore[no-untyped-def]
            graded.extend(each.student for each in given if isinstance(each, Submission))
            return super().submit(fn, *given)

    hand_in(bob=RIGHT)
    grade_all(collect(folder, exams).submissions, exams, store, SETTINGS, lambda: Counting(1))
    assert graded == ["bob"]
    assert points(store) == {"ann": 2, "bob": 2}


def test_a_submission_that_kills_its_grader_costs_only_its_own_marks(
    solutions: Path, store: Store, hand_in: HandIn
) -> None:
    exams = exams_in(solutions)
    waiting = collect(
        hand_in(ann=RIGHT, bob=KILLS_ITS_GRADER, cy=RIGHT, dee=RIGHT), exams
    ).submissions
    failed = grade_all(waiting, exams, store, SETTINGS, executor_for(None, 2))
    assert failed == []
    assert points(store) == {"ann": 2, "bob": 0, "cy": 2, "dee": 2}
    assert {m.student: m.status for m in store.marks()}["bob"] == REFUSED
    assert {m.student: m.remarks for m in store.marks()}["bob"] == (ENDED_GRADER,)


def test_workers_that_do_not_start_cost_nobody_a_mark(
    solutions: Path, store: Store, hand_in: HandIn
) -> None:
    def broken() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(1, initializer=os._exit, initargs=(1,))

    exams = exams_in(solutions)
    waiting = collect(hand_in(ann=RIGHT), exams).submissions
    with pytest.raises(MachineError, match="do not start"):
        grade_all(waiting, exams, store, SETTINGS, broken)
    assert points(store) == {}


def test_an_error_of_the_grader_is_no_mark(
    solutions: Path, store: Store, hand_in: HandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr(batch, "_grade_packed", broken)
    exams = exams_in(solutions)
    waiting = collect(hand_in(ann=RIGHT), exams).submissions
    failed = grade_all(waiting, exams, store, SETTINGS, lambda: ThreadPoolExecutor(1))
    assert [each.student for each in failed] == ["ann"]
    assert points(store) == {}


def test_a_dask_cluster_grades(
    solutions: Path, store: Store, hand_in: HandIn, tmp_path: Path
) -> None:
    with LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=None, local_directory=tmp_path
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        exams = exams_in(solutions)
        waiting = collect(hand_in(ann=RIGHT, bob=WRONG), exams).submissions
        grade_all(waiting, exams, store, SETTINGS, executor_for(address, 1))
    assert points(store) == {"ann": 2, "bob": 0}


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "ray://127.0.0.1:1", "dask://127.0.0.1:1"])
def test_an_executor_that_is_not_there_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="not an executor|no Dask"):
        executor_for(address, 1)


def test_a_solution_that_fails_its_own_test_stops_the_batch(solutions: Path, store: Store) -> None:
    path = solutions / "07_twice" / "07_twice.ipynb"
    path.write_text(notebook(WRONG))
    with pytest.raises(UsageError, match="does not earn all points") as caught:
        prepare(*exams_in(solutions), solutions, store, SETTINGS)
    assert "hidden" not in str(caught.value)
    assert "a wrong result" in str(caught.value)


def test_a_folder_without_solutions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no solution notebook"):
        exams_in(tmp_path)


# --- the command ----------------------------------------------------------------------------------


def command(folder: Path, solutions: Path, out: Path) -> list[str]:
    arguments = ["--solutions", str(solutions), "--out", str(out), "--sandbox", RLIMITS]
    return [sys.executable, "-m", "mlc_course.commands", "grade", str(folder), *arguments]


def test_ctrl_c_keeps_what_is_graded_and_the_same_command_goes_on(
    solutions: Path, hand_in: HandIn, tmp_path: Path
) -> None:
    slow = "import time; time.sleep(1)\n" + RIGHT
    folder = hand_in(**{f"s{i:02}": slow for i in range(4)})
    out = tmp_path / "marks.csv"
    run = command(folder, solutions, out) + ["--jobs", "1"]
    process = subprocess.Popen(
        run, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=take_ctrl_c
    )
    _wait_for_marks(tmp_path / "marks.sqlite")
    below = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert "the same command goes on" in told
    assert not out.exists()
    psutil.wait_procs(below, timeout=PATIENCE_S)
    assert not [each for each in below if each.is_running()]
    before = _seconds(tmp_path / "marks.sqlite")
    assert 1 <= len(before) < 4
    done = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stdout + done.stderr
    after = _seconds(tmp_path / "marks.sqlite")
    assert len(after) == 4
    assert {name: after[name] for name in before} == before  # not graded again
    assert len(out.read_text().splitlines()) == 5


def take_ctrl_c() -> None:
    """A shell's background jobs ignore Ctrl-C, and so would what they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _seconds(path: Path) -> dict[str, float]:
    """How long each submission took, which is another number when it is graded again."""
    store = Store(path, sandbox=RLIMITS)
    found = {each.student: each.seconds for each in store.marks()}
    store.close()
    return found


def _wait_for_marks(path: Path) -> None:
    for _ in range(10 * PATIENCE_S):
        # Not by a Store, which would take the key of this one, or make it another.
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as book:
            if book.execute("select * from marks").fetchone():
                return
        time.sleep(0.1)
    raise AssertionError("nothing was graded in all this time")


def test_the_command_prints_json_and_writes_marks_and_feedback(
    solutions: Path, hand_in: HandIn, tmp_path: Path
) -> None:
    folder, out = hand_in(ann=RIGHT, bob=WRONG), tmp_path / "out" / "marks.csv"
    (folder / "late.ipynb").write_text(notebook(RIGHT))
    done = subprocess.run(
        [*command(folder, solutions, out), "--json", "-"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1, done.stderr
    assert "not graded: 1" in done.stderr
    told = json.loads(done.stdout)
    assert [(m["student"], m["status"], m["sandbox"]) for m in told["marks"]] == [
        ("ann", GRADED, RLIMITS),
        ("bob", GRADED, RLIMITS),
    ]
    assert [each["path"] for each in told["not_graded"]] == ["late.ipynb"]
    (left,) = csv.reader((tmp_path / "out" / "marks_not_graded.csv").read_text().splitlines()[1:])
    assert left == ["late.ipynb", told["not_graded"][0]["why"]]
    rows = out.read_text().splitlines()
    assert rows[1].startswith("ann,07_twice,2,,2,2,100,,,graded,,rlimits,twice-test=2/2")
    page = (tmp_path / "out" / "marks_feedback" / "bob" / "07_twice.html").read_text()
    assert "✘ not met: 1 hidden, correctness" in page
    assert "x + x" not in page


def test_without_bubblewrap_nothing_is_graded_unless_rlimits_are_asked_for(
    solutions: Path, hand_in: HandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "has_bubblewrap", lambda: False)
    with pytest.raises(MachineError, match="apt-get install bubblewrap") as caught:
        grade.run(hand_in(ann=RIGHT), solutions=solutions, out=tmp_path / "marks.csv")
    assert "--sandbox rlimits" in str(caught.value)
    assert not list(tmp_path.glob("marks*"))


def test_a_submission_without_marks_is_named_whatever_became_of_it(
    solutions: Path, hand_in: HandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when something else wrote over its row: nobody said that it failed."""
    monkeypatch.setattr(grade, "grade_all", lambda *_, **__: [])
    out = tmp_path / "marks.csv"
    assert grade.run(hand_in(ann=RIGHT), solutions=solutions, out=out, sandbox=RLIMITS) == 1
    assert "ann/07_twice.ipynb" in (tmp_path / "marks_not_graded.csv").read_text()


def test_marks_beside_the_submissions_are_not_handed_in(
    solutions: Path, hand_in: HandIn, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = hand_in(ann=RIGHT)
    for _ in range(2):
        out = folder / "marks.csv"
        assert grade.run(folder, solutions=solutions, out=out, jobs=1, sandbox=RLIMITS) == 0
    assert "not graded" not in capsys.readouterr().err


def test_rlimits_say_what_they_do_not_protect_and_the_table_says_which_sandbox_it_was(
    solutions: Path, hand_in: HandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "marks.csv"
    run = {"solutions": solutions, "out": out, "jobs": 1, "sandbox": RLIMITS}
    assert grade.run(hand_in(ann=RIGHT), **run) == 0  # type: ignore[arg-type]
    told = capsys.readouterr()
    assert "not protected: solutions, other submissions, marks" in told.err
    header, row, *_ = told.out.splitlines()
    assert row.split()[:5] == ["ann", "07_twice", "2/2", "100%", RLIMITS]
    assert header.split()[-2:] == ["sandbox", "note"]


def test_feedback_that_cannot_be_written_costs_only_itself(
    tmp_path: Path,
) -> None:
    empty = Marks("ann", "07_twice", "digest", GRADED, ())
    out = tmp_path / "marks.csv"
    (tmp_path / "marks_feedback").mkdir()
    (tmp_path / "marks_feedback" / "bob").write_text("a file where a folder is to be")
    faults = MarksFiles(out).write([Result(replace(empty, student="bob")), Result(empty)], [])
    assert len(out.read_text().splitlines()) == 3
    assert (tmp_path / "marks_feedback" / "ann" / "07_twice.html").exists()
    assert len(faults) == 1 and "no feedback for 'bob'" in faults[0]


def test_a_list_of_an_earlier_run_does_not_stay(tmp_path: Path) -> None:
    out = tmp_path / "marks.csv"
    MarksFiles(out).write([], [Left("=late.ipynb", "why")])
    assert "'=late.ipynb,why" in (tmp_path / "marks_not_graded.csv").read_text()
    MarksFiles(out).write([], [])
    assert not (tmp_path / "marks_not_graded.csv").exists()


def test_long_names_have_pages_of_their_own(tmp_path: Path) -> None:
    names = ["é" * 200, "é" * 201, "e" * 255, "\\x01" * 120]
    graded = [Result(Marks(name, "07_twice", "digest", GRADED, ())) for name in names]
    MarksFiles(tmp_path / "marks.csv").write(graded, [])
    pages = sorted((tmp_path / "marks_feedback").glob("*/*.html"))
    assert len(pages) == 4


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--out", "marks.txt"], "expected  a name that ends in .csv"),
        (["--jobs", "0"], "too few processes"),
        (["--executor", "slurm"], "expected  dask://HOST:PORT"),
        (["--solutions", "nowhere"], "holds no solution notebook"),
    ],
)
def test_bad_arguments_are_told_before_anything_is_graded(
    solutions: Path, hand_in: HandIn, tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    run = command(hand_in(ann=RIGHT), solutions, tmp_path / "marks.csv") + arguments
    done = subprocess.run(run, capture_output=True, text=True, timeout=PATIENCE_S, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert not list(tmp_path.glob("*.sqlite"))


def test_another_exam_means_grading_again(solutions: Path, store: Store) -> None:
    (exam,) = exams_in(solutions)
    submission = Submission("ann", exam.assignment, notebook(RIGHT).encode())
    grade_all([submission], [exam], store, SETTINGS, lambda: ThreadPoolExecutor(1))
    assert store.has(submission, exam.digest)
    assert not store.has(submission, "another digest")

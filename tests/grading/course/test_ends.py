"""However a batch ends, no process and no file is left of it, and it goes on from there."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from processes import runs
from test_batch import notebook, take_ctrl_c

from mlc_course.grading.course.store import Store
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, has_bubblewrap

pytestmark = pytest.mark.slow

PATIENCE_S = 240
isolated = pytest.mark.skipif(
    not has_bubblewrap(), reason="needs bubblewrap: apt-get install bubblewrap"
)
SANDBOXES = [pytest.param(BUBBLEWRAP, marks=isolated), RLIMITS]
ENDS = {"SIGTERM": 143, "SIGHUP": 129, "SIGKILL": -9}
SOLUTION = "def twice(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"
RIGHT = "twice = lambda x: x + x"
# A daemon that every way of forking hides from its parent, and a cell that does not end.
SLOW = """\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        time.sleep(600)
    os._exit(0)
os.wait()
open("left.txt", "w").write("left")
time.sleep(4)  # the limit is 10 s, and a busy machine adds its own
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    for place, text in (
        ("solutions/07_twice", notebook(SOLUTION)),
        ("class/ann", notebook(RIGHT)),
        ("class/bob", notebook(SLOW + RIGHT)),
        ("class/cy", notebook(RIGHT)),
    ):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "07_twice.ipynb").write_text(text)
    (tmp_path / "temporary").mkdir()
    return tmp_path


def command(course: Path, sandbox: str) -> list[str]:
    words = ["--solutions", "solutions", "--sandbox", sandbox, "--jobs", "1"]
    return [sys.executable, "-m", "mlc_course.commands", "grade", "class", *words]


def started(course: Path, sandbox: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(course, sandbox),
        cwd=course,
        env=os.environ | {"TMPDIR": str(course / "temporary")},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        preexec_fn=take_ctrl_c,
    )


def rows(course: Path) -> list[str]:
    path = course / "marks.sqlite"
    if not path.exists():
        return []
    with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path)) as book:
        return [name for (name,) in book.execute("select student from marks order by student")]
    return []


def wait_until(true: object) -> None:
    assert callable(true)
    for _ in range(10 * PATIENCE_S):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to that")


def of_this_run(course: Path) -> list[psutil.Process]:
    """Every process that was started from this run, known by the folder of its temporary files."""
    return list(_of_this_run(str(course)))


def _of_this_run(folder: str) -> Iterator[psutil.Process]:
    for each in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if each.pid != os.getpid() and each.status() != psutil.STATUS_ZOMBIE:
                about = [each.environ().get("TMPDIR", ""), each.cwd(), *each.cmdline()]
                if any(word.startswith(folder) for word in about):
                    yield each


@pytest.mark.parametrize("pause", [0.0, 0.02, 0.3])
def test_ctrl_c_again_and_again_loses_nothing(course: Path, pause: float) -> None:
    process = started(course, RLIMITS)
    try:
        wait_until(lambda: "ann" in rows(course))
        for _ in range(5):
            os.killpg(process.pid, signal.SIGINT)
            time.sleep(pause)
        _, told = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 130, told
    assert "the same command goes on" in told and "Traceback" not in told
    with contextlib.closing(Store(course / "marks.sqlite", sandbox=RLIMITS)) as store:
        assert store.forged == 0
        assert "ann" in [each.student for each in store.marks()]


@pytest.mark.skipif(sys.platform != "linux", reason="processes that end with others")
@pytest.mark.parametrize("sandbox", SANDBOXES)
@pytest.mark.parametrize("name", ENDS)
def test_a_batch_that_is_ended_leaves_nothing_and_goes_on(
    course: Path, sandbox: str, name: str
) -> None:
    process = started(course, sandbox)
    try:
        wait_until(lambda: "ann" in rows(course))
        time.sleep(2)  # the second one is in the middle of its cells, most often
        below = psutil.Process(process.pid).children(recursive=True)
        assert below
        process.send_signal(getattr(signal, name))
        _, told = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == ENDS[name], told
    assert "Traceback" not in told
    wait_until(lambda: not of_this_run(course))
    wait_until(lambda: not any(runs(each.pid) for each in below))
    wait_until(lambda: not list((course / "temporary").iterdir()))
    assert rows(course)[0] == "ann"
    again = started(course, sandbox)
    _, told = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, told
    lines = (course / "marks.csv").read_text().splitlines()
    assert [line.split(",")[:3] for line in lines[1:]] == [
        [student, "07_twice", "2"] for student in ("ann", "bob", "cy")
    ]
    assert not list((course / "temporary").iterdir())
    wait_until(lambda: not of_this_run(course))

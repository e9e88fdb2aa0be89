"""Cells that end a process: their own, the grader's, every one that they can reach."""

from __future__ import annotations

from pathlib import Path

from corpus.handing_in import ANSWER_NAMES, Notebook, hand_in


def exits_at_once(folder: Path, exercise: Notebook) -> None:
    """The process ends with status 0, as if all had gone well."""
    hand_in(folder, exercise, first="import os\nos._exit(0)")


def exits_politely(folder: Path, exercise: Notebook) -> None:
    """``sys.exit(0)`` in a cell, in a schedule and in a function."""
    hand_in(
        folder,
        exercise,
        first="import sys\nsys.exit(0)",
        along_rows="def along_rows(sch):\n    sys.exit(0)",
        mean_of_rows="def mean_of_rows(a):\n    raise SystemExit(0)",
    )


def exits_in_every_answer(folder: Path, exercise: Notebook) -> None:
    """Each answer ends the process that asks for it."""
    hand_in(
        folder,
        exercise,
        **{name: f"import os\n{name} = 1\nos._exit(0)" for name in ANSWER_NAMES},
        last="os._exit(0)",
    )


def signals_to_all(folder: Path, exercise: Notebook) -> None:
    """Signals to the parent, to process 1, to the process group, to everyone."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, signal
for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
    for pid in (os.getppid(), 1, 2, -os.getpgrp(), -1, *range(1, 40_000)):
        if pid not in (os.getpid(), -os.getpid(), 0):
            try:
                os.kill(pid, number)
            except OSError:
                pass""",
    )


def stops_itself(folder: Path, exercise: Notebook) -> None:
    """A stopped process does not answer, and does not end either."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
os.kill(os.getpid(), signal.SIGSTOP)""",
    )


def another_program(folder: Path, exercise: Notebook) -> None:
    """The process becomes another program, which keeps the connection open."""
    hand_in(folder, exercise, first='import os\nos.execv("/bin/sleep", ["sleep", "600"])')


def closed_connection(folder: Path, exercise: Notebook) -> None:
    """All descriptors are closed, and the process goes on alone."""
    hand_in(folder, exercise, first="import os, time\nos.closerange(0, 256)\ntime.sleep(600)")


def orphan(folder: Path, exercise: Notebook) -> None:
    """A grandchild in a session of its own survives, with the connection in its hands."""
    hand_in(
        folder,
        exercise,
        first="""\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(30)
    os._exit(0)
os._exit(0)""",
    )

"""A child process that may be anything: limits, isolation, and an end that it cannot refuse.

With bubblewrap the child sees the system's programs, Python and this package, read-only; an empty
folder of its own; no network, no other process, no home. Without bubblewrap it has the same limits
but sees every file that the grader may read; ``Child.sandbox`` says which.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import threading
import time
from multiprocessing.connection import Connection
from socket import SHUT_RDWR, socket

import psutil

from mlc_course.errors import MachineError
from mlc_course.grading.process import lives
from mlc_course.grading.process.child import READY
from mlc_course.grading.process.walls import (
    BUBBLEWRAP,
    RLIMITS,
    Limits,
    has_bubblewrap,
    wall_fault,
)

__all__ = [
    "BUBBLEWRAP",
    "Child",
    "Ended",
    "Limits",
    "RLIMITS",
    "chosen",
    "has_bubblewrap",
    "wall_fault",
]
POLL_S = 0.1
START_SECONDS = 60.0  # for the imports of a child, which are not the student's
EXIT_SECONDS = 10.0  # for a child that ends to be gone, on a busy machine


class Ended(Exception):
    """The child ended, or was ended; the text says why."""


def chosen(name: str | None = None) -> str:
    """The sandbox to use: bubblewrap, or the one that is asked for.

    Raises ``MachineError`` for bubblewrap where it does not work: nothing weaker takes its place.
    """
    name = name or BUBBLEWRAP
    if name == BUBBLEWRAP and not has_bubblewrap():
        program = shutil.which("bwrap")
        raise MachineError(
            "no bubblewrap, which keeps submissions away from solutions, marks and each other",
            expected="a program bwrap that may make namespaces",
            got=f"{program}, which fails: {wall_fault(program)}" if program else "none on the PATH",
            hint="apt-get install bubblewrap (mlc-course doctor says what else it needs); or "
            "--sandbox rlimits, in which a submission can read solutions and change marks",
        )
    return name


class Child:
    """A module of this package, running alone; it is asked with bytes and answers bytes."""

    def __init__(self, module: str, limits: Limits, sandbox: str) -> None:
        self.limits, self.sandbox = limits, sandbox
        self.why = ""
        self._life, near = lives.start(module, limits, sandbox)
        self._connection = Connection(near.detach())
        self._seen: set[psutil.Process] = set()
        self._ends = time.monotonic() + limits.seconds
        self._request_seconds, self._request_ends = START_SECONDS, self._ends
        self._ready = self._has_hung_up = False
        self._stopped = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    def ask(self, message: bytes, seconds: float | None = None) -> bytes:
        """Send, and wait for the answer; raises ``Ended`` when the child does not live to it."""
        try:
            if not self._ready:
                self._within(START_SECONDS)
                self._ready = self._connection.recv_bytes(len(READY)) == READY
            self._within(seconds or self.limits.request_seconds)
            self._connection.send_bytes(message)
            return self._connection.recv_bytes(self.limits.message_bytes)
        except (EOFError, OSError) as error:
            self._has_hung_up = True
            seen = _why(error, self._life)  # meanwhile the watcher may find a reason
            self.why = self.why or seen
            raise Ended(self.why) from None
        finally:
            self._request_ends = float("inf")

    def _within(self, seconds: float) -> None:
        self._request_seconds, self._request_ends = seconds, time.monotonic() + seconds

    def stop(self) -> None:
        """End it, and everything that it started, and remove its folder."""
        self._stopped.set()
        self._kill()
        self._watcher.join()
        self._connection.close()
        self._life.clear()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _watch(self) -> None:
        while not self._stopped.wait(POLL_S):
            reason = self._excess()
            if reason:
                self.why = reason
                self._kill()
                self._hang_up()
                return

    def _hang_up(self) -> None:
        """A process that got away may still hold the far end; ``ask`` must not wait for it."""
        with socket(fileno=os.dup(self._connection.fileno())) as near:
            near.shutdown(SHUT_RDWR)

    def _excess(self) -> str:
        now = time.monotonic()
        if now > self._request_ends and not self._has_ended():
            return f"over the time limit of {self._request_seconds:g} s"
        if now > self._ends:
            return f"over the time limit of {self.limits.seconds:g} s in total"
        too_many = f"over the limit of {self.limits.processes} processes"
        if self._is_a_crowd():
            return too_many
        tree = self._tree()
        if len(tree) > self.limits.processes:
            return too_many
        if sum(map(_threads, tree)) > self.limits.threads:
            return f"over the limit of {self.limits.threads} threads"
        if sum(map(_resident, tree)) > self.limits.memory_bytes:
            return f"over the memory limit of {self.limits.memory_bytes >> 20} MiB"
        return ""

    def _has_ended(self) -> bool:
        """Tell whether it ended by itself, so that only finding out why takes longer."""
        return self._has_hung_up and not self._tree()

    def _is_a_crowd(self) -> bool:
        """Count no further than needed: those that fork without end leave a grader no time.

        Some may have ended and wait for their parent, which are not counted otherwise.
        """
        most = 2 * self.limits.processes
        with contextlib.suppress(psutil.Error):
            return len(lives.below(self._life.root, most)) > most
        return False

    def _tree(self) -> list[psutil.Process]:
        known = {each.pid: each for each in list(self._seen)}  # stop() may add to it meanwhile
        with contextlib.suppress(psutil.Error):
            for pid in lives.below(self._life.root):
                if pid not in known or not _alive(known[pid]):
                    with contextlib.suppress(psutil.Error):
                        self._seen.add(psutil.Process(pid))
        return [each for each in list(self._seen) if _alive(each)]

    def _kill(self) -> None:
        """Inside bubblewrap all die with the first one; others one by one, while any is left."""
        self._life.kill()
        for _ in range(20):
            alive = self._tree()
            for each in alive:
                with contextlib.suppress(psutil.Error):
                    each.kill()
            if not alive:
                break


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _threads(process: psutil.Process) -> int:
    try:
        return int(process.num_threads())
    except psutil.Error:
        return 0


def _why(error: Exception, life: lives.Life) -> str:
    """Say what ended a child that the watcher did not end."""
    if isinstance(error, OSError) and "bad message length" in str(error):
        return "over the limit of one message"
    status = life.status(EXIT_SECONDS)
    if status is None:
        return "it closed its connection"
    if status < 0 or status > 128:
        number = -status if status < 0 else status - 128
        known = {int(s) for s in signal.Signals}
        return f"ended by signal {signal.Signals(number).name if number in known else number}"
    return f"the process ended itself, with status {status}"

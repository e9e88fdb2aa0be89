"""How a child is started, how it is ended, and what it leaves: three ways, one for each sandbox.

Inside bubblewrap a warm parent forks it, where the system lets it (see ``warm``); where not, it is
started in a bubblewrap of its own. With rlimits a warden starts it, which ends whatever is left of
it and removes its folder when it ends, or the grader does.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import psutil

import mlc_course
from mlc_course.errors import MachineError
from mlc_course.grading.process import privileges, warden
from mlc_course.grading.process.walls import (
    BUBBLEWRAP,
    FOLDER,
    PACKAGE,
    Limits,
    around_warm_parent,
    fits_warm_parent,
    locked_in,
)

ROOM = "mlc_course.grading.process"
CREDENTIALS = struct.Struct("3i")  # of who sends: process, user, group
BIRTH_SECONDS = 60.0  # for a warm parent to import everything, and to fork
CLEAR_SECONDS = 10.0  # for a warden to end what is left
# Python isolated (-I) imports what is installed; the child has to be the grader's own version.
RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)


class Life(Protocol):
    """A running child: ``root`` is the process below which all of its own are."""

    root: psutil.Process

    def kill(self) -> None:
        """End it, at once."""

    def status(self, seconds: float) -> int | None:
        """The status that it ended with, below 0 or above 128 for a signal; None if it runs."""

    def clear(self) -> None:
        """Wait for its end, and remove what it leaves."""


def start(module: str, limits: Limits, sandbox: str) -> tuple[Life, socket.socket]:
    """Start a module of this package; returns it, and the connection at which it answers.

    Raises ``MachineError`` where a warm parent forked before, and forks no more.
    """
    if sandbox == BUBBLEWRAP:
        parent = warm_parent(module, limits.hidden)
        if parent is not None:
            try:
                return parent.fork(limits)
            except MachineError:  # something ended it: a new one
                parent = warm_parent(module, limits.hidden)
        if parent is not None:
            return parent.fork(limits)
    near, far = socket.socketpair()
    with far:
        how = Wrapped if sandbox == BUBBLEWRAP else Watched
        return how(module, limits, far), near


def python(module: str, root: Path | str, *words: object) -> list[str]:
    """The command line of this Python, isolated, running a module of the package in ``root``."""
    return [own_python(), "-I", "-c", RUN, str(root), module, *map(str, words)]


def own_python() -> str:
    """This Python's program in the folder that children see, however it was called.

    A path such as ``../.venv/bin/python`` leads through folders that are not there for them.
    """
    own = Path(sys.prefix, "bin", Path(sys.executable).name)
    return str(own) if own.exists() else os.path.abspath(sys.executable)


def environment(folder: str) -> dict[str, str]:
    """The environment of a child: nothing of the grader's own, one thread for every library."""
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _spawn(command: Sequence[str], folder: str, far: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=True,
        pass_fds=(far.fileno(),),
        cwd="/",
        env=environment(folder),
        start_new_session=True,
    )


def _bwrap() -> str:
    return shutil.which("bwrap") or "bwrap"


class Wrapped:
    """A child in a bubblewrap of its own, which dies with the thread that started it."""

    def __init__(self, module: str, limits: Limits, far: socket.socket) -> None:
        inner = python(f"{ROOM}.child", PACKAGE, module, far.fileno(), 1, *limits.of_process)
        self._process = _spawn([*locked_in(_bwrap(), limits), *inner], FOLDER, far)
        self.root = psutil.Process(self._process.pid)

    def kill(self) -> None:
        self._process.kill()

    def status(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def clear(self) -> None:
        self._process.wait()


class Watched:
    """A child with limits and no walls, below a warden."""

    def __init__(self, module: str, limits: Limits, far: socket.socket) -> None:
        privileges.hide_memory()
        self._folder = tempfile.mkdtemp(prefix="mlc-grade-")
        around = Path(mlc_course.__file__).parent.parent
        inner = python(
            f"{ROOM}.child", around, module, far.fileno(), warden.HERE, *limits.of_process
        )
        watched = (os.getpid(), self._folder, far.fileno())
        self._process = _spawn(
            [own_python(), "-I", "-S", warden.__file__, *map(str, watched), *inner],
            self._folder,
            far,
        )
        self.root = psutil.Process(self._process.pid)

    def kill(self) -> None:
        """Ask the warden, which knows better what is below it."""
        self._process.send_signal(signal.SIGCONT)
        self._process.terminate()

    def status(self, seconds: float) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(seconds)
        return None

    def clear(self) -> None:
        if self.status(CLEAR_SECONDS) is None:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


class Forked:
    """A child of a warm parent. ``report`` is where its keeper says how it ended."""

    def __init__(self, first: int, report: int) -> None:
        self.root = psutil.Process(first)
        self._report = io.FileIO(report)
        self._said: int | None = None

    def kill(self) -> None:
        with contextlib.suppress(psutil.Error):
            self.root.kill()

    def status(self, seconds: float) -> int | None:
        known = self._said is not None or self._report.closed
        if not known and select.select([self._report], [], [], seconds)[0]:
            text = self._report.read(32)
            self._said = int(text) if text else -signal.SIGKILL  # its keeper was ended too
        return self._said

    def clear(self) -> None:
        self.status(CLEAR_SECONDS)
        self._report.close()


class WarmParent:
    """The grader's side of a process that forks children inside bubblewrap."""

    def __init__(self, module: str, hidden: Sequence[Path]) -> None:
        self.pid = os.getpid()
        self._control, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        inner = python(f"{ROOM}.warm", PACKAGE, module, far.fileno())
        command = [*around_warm_parent(_bwrap(), hidden), *inner]
        started = threading.Event()

        def keep() -> None:
            with far:
                self._process = _spawn(command, FOLDER, far)
            started.set()
            self._process.wait()

        # It dies with the thread that starts it, so this one lasts as long as the grader.
        threading.Thread(target=keep, daemon=True).start()
        started.wait()
        atexit.register(self.stop)

    def fork(self, limits: Limits) -> tuple[Forked, socket.socket]:
        """Fork a child; returns it, and the connection at which it answers.

        Raises ``MachineError`` where the system does not let it, or something ended the parent.
        """
        request = {
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "open_files": limits.open_files,
            "seconds": int(limits.seconds) + 1,
            "folder_bytes": limits.folder_bytes,
            "tasks": limits.tasks,
        }
        near, far = socket.socketpair()
        report, writes = os.pipe()
        near.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        near.settimeout(BIRTH_SECONDS)
        try:
            try:
                message = [json.dumps(request).encode()]
                socket.send_fds(self._control, message, [far.fileno(), writes])
            finally:
                os.close(writes)
                far.close()  # so that the end of the child is the end of the connection
            said, about, _, _ = near.recvmsg(1, socket.CMSG_SPACE(CREDENTIALS.size))
            first = CREDENTIALS.unpack(about[0][2])[0] if said and about else 0
            if first == 0:
                raise OSError("no child")
            near.settimeout(None)
            return Forked(first, report), near
        except (OSError, psutil.Error) as error:
            os.close(report)
            near.close()
            self.stop()
            forget(self)
            raise MachineError("a warm parent forks no child", got=error) from None

    def stop(self) -> None:
        """End it, and with it all of its children."""
        self._control.close()
        if self.pid == os.getpid():
            self._process.kill()
            self._process.wait()


def below(root: psutil.Process, most: int | None = None) -> list[int]:
    """The processes below one, or the first ones as soon as there are more than ``most``.

    Asked ten times a second, so without a list of all processes.
    """
    if not Path("/proc/self/task", str(os.getpid()), "children").exists():
        return [each.pid for each in root.children(recursive=True)]
    found: list[int] = []
    waiting = [str(root.pid)] if root.is_running() else []
    while waiting and (most is None or len(found) <= most):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            for task in Path("/proc", waiting.pop(), "task").iterdir():
                children = Path(task, "children").read_text().split()
                found += map(int, children)
                waiting += children
    return found


_lock = threading.RLock()
_parents: dict[tuple[int, str, tuple[Path, ...]], WarmParent | None] = {}


def warm_parent(module: str, hidden: tuple[Path, ...]) -> WarmParent | None:
    """The warm parent of this process for a module; None where the system lets it fork nothing."""
    key = os.getpid(), module, hidden
    with _lock:
        if key not in _parents:
            _parents[key] = _tried(module, hidden) if fits_warm_parent() else None
        return _parents[key]


def _tried(module: str, hidden: Sequence[Path]) -> WarmParent | None:
    """Start a warm parent, and let it fork a child that ends at once."""
    parent = WarmParent(module, hidden)
    try:
        born, near = parent.fork(Limits())
    except MachineError:
        return None
    with near:
        born.kill()
        born.clear()
    return parent


def forget(parent: WarmParent) -> None:
    """Let the next child have a new parent."""
    with _lock:
        for key in [key for key, each in _parents.items() if each is parent]:
            del _parents[key]


def end_warm_parents() -> None:
    """End the warm parents of this process now; otherwise they end with it."""
    for each in [*_parents.values()]:
        if each is not None and each.pid == os.getpid():
            each.stop()
            forget(each)


def warm_works() -> bool:
    """Tell whether a warm parent forks children here."""
    return warm_parent(f"{ROOM}.student_process", ()) is not None

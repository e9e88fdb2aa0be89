"""A child process that may be anything: limits, isolation, and an end that it cannot refuse.

With bubblewrap the child sees the system's programs, Python and this package, read-only; an empty
folder of its own; no network, no other process, no home. Without bubblewrap it has the same limits
but sees every file that the grader may read; ``Child.sandbox`` says which.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from socket import SHUT_RDWR, socket, socketpair

import psutil

import mlc_course
from mlc_course.errors import MachineError
from mlc_course.grading.process.child import READY
from mlc_course.parallel import run_program

NOBODY = "65534"  # the user that a child is, inside
BUBBLEWRAP, RLIMITS = "bubblewrap", "rlimits"
POLL_S = 0.1
TRIAL_SECONDS = 10.0  # for bubblewrap to run a small program
START_SECONDS = 60.0  # for the imports of a child, which are not the student's
EXIT_SECONDS = 10.0  # for a child that ends to be gone, on a busy machine


@dataclass(frozen=True)
class Limits:
    """The limits of one child."""

    seconds: float = 60.0  # of its life
    request_seconds: float = 10.0  # for one cell, one answer, one run
    memory_bytes: int = 4 << 30  # addresses of one process, and resident of all together
    processes: int = 24  # threads not counted
    threads: int = 512  # of all processes together
    file_bytes: int = 16 << 20  # one file; what it prints is a file too
    folder_bytes: int = 64 << 20
    message_bytes: int = 16 << 20  # as JSON it can take fifty times its size here
    open_files: int = 256


class Ended(Exception):
    """The child ended, or was ended; the text says why."""


@functools.cache
def has_bubblewrap() -> bool:
    """Tell whether ``bwrap`` is here and locks a program in as a child of the grader's is."""
    program = shutil.which("bwrap")
    return program is not None and not wall_fault(program)


def wall_fault(program: str) -> str:
    """Run ``id`` in bubblewrap as the grader runs a child: what went wrong, or an empty text."""
    with tempfile.TemporaryDirectory(prefix="mlc-grade-") as folder:
        command = [*_walls(program, Limits(), Path(folder)), "id", "-u"]
        said = run_program(command, TRIAL_SECONDS)
    return "" if said.out.strip() == NOBODY else str(said)


@functools.cache
def _without_namespaces(program: str) -> tuple[str, ...]:
    """Inside, nobody becomes root of a namespace of their own; bubblewrap knows it since 0.8."""
    options = ("--unshare-user", "--disable-userns")
    around = ("--unshare-all", *options, "--ro-bind", "/", "/", "--proc", "/proc")
    said = run_program([program, *around, "true"], TRIAL_SECONDS)
    return options if said.status == 0 else ()


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
    """A Python module of this package, running alone; it is asked with bytes and answers bytes."""

    def __init__(self, module: str, limits: Limits, sandbox: str) -> None:
        self.limits, self.sandbox = limits, sandbox
        self.why = ""
        self._folder = tempfile.mkdtemp(prefix="mlc-grade-")
        near, far = socketpair()
        with far:
            self._process = subprocess.Popen(
                _command(module, limits, sandbox, far.fileno(), Path(self._folder)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(far.fileno(),),
                cwd=self._folder,
                env=_environment(Path(self._folder)),
                start_new_session=True,
            )
        self._connection = Connection(near.detach())
        self._root = psutil.Process(self._process.pid)
        self._seen: set[psutil.Process] = set()
        self._ends = time.monotonic() + limits.seconds
        self._request_seconds, self._request_ends = START_SECONDS, self._ends
        self._ready = False
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
            seen = _why(error, self._process)  # meanwhile the watcher may find a reason
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
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

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
        if now > self._request_ends:
            return f"over the time limit of {self._request_seconds:g} s"
        if now > self._ends:
            return f"over the time limit of {self.limits.seconds:g} s in total"
        tree = self._tree()
        if len(tree) > self.limits.processes:
            return f"over the limit of {self.limits.processes} processes"
        if sum(map(_threads, tree)) > self.limits.threads:
            return f"over the limit of {self.limits.threads} threads"
        if sum(map(_resident, tree)) > self.limits.memory_bytes:
            return f"over the memory limit of {self.limits.memory_bytes >> 20} MiB"
        return ""

    def _tree(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            self._seen.update(self._root.children(recursive=True))
        return [each for each in self._seen if _alive(each)]

    def _kill(self) -> None:
        """Bubblewrap's processes die with it, all at once; others one by one, while any is left.

        Without bubblewrap the first process is stopped before, and stays the parent of them all.
        """
        wrapped = self.sandbox == BUBBLEWRAP
        self._process.send_signal(signal.SIGKILL if wrapped else signal.SIGSTOP)
        for _ in range(20):
            alive = self._tree()
            for each in alive:
                with contextlib.suppress(psutil.Error):
                    each.kill()
            if not alive:
                break
        self._process.kill()


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


def _why(error: Exception, process: subprocess.Popen[bytes]) -> str:
    """Say what ended a child that the watcher did not end."""
    if isinstance(error, OSError) and "bad message length" in str(error):
        return "over the limit of one message"
    try:
        status = process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        return "it closed its connection"
    if status < 0 or status > 128:
        number = -status if status < 0 else status - 128
        known = {int(s) for s in signal.Signals}
        return f"ended by signal {signal.Signals(number).name if number in known else number}"
    return f"the process ended itself, with status {status}"


def _environment(folder: Path) -> dict[str, str]:
    """The environment of a child: nothing of the grader's own, one thread for every library."""
    return {
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def _command(module: str, limits: Limits, sandbox: str, descriptor: int, folder: Path) -> list[str]:
    """The command line of the child: Python isolated (``-I``), inside bubblewrap or not."""
    numbers = (limits.memory_bytes, limits.file_bytes, limits.open_files, int(limits.seconds) + 1)
    python = [sys.executable, "-I", "-m", module, str(descriptor), *map(str, numbers)]
    if sandbox == RLIMITS:
        return python
    return [*_walls(shutil.which("bwrap") or "bwrap", limits, folder), *python]


def _walls(program: str, limits: Limits, folder: Path) -> list[str]:
    """The command line of bubblewrap, up to the program that is to be locked in."""
    bound = [
        argument
        for path in _needed()
        for argument in ("--ro-bind-try", str(path), str(path))
    ]  # fmt: skip
    links = [
        argument
        for name in ("bin", "sbin", "lib", "lib64", "lib32")
        if Path("/", name).is_symlink()
        for argument in ("--symlink", os.readlink(f"/{name}"), f"/{name}")
    ]
    return [
        program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--uid", NOBODY, "--gid", "65534", "--hostname", "exam",
        *_without_namespaces(program), "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev",
        "--size", str(limits.file_bytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", str(limits.folder_bytes), "--tmpfs", "/tmp",
        *links, *bound,
        "--perms", "0700", "--size", str(limits.folder_bytes), "--tmpfs", str(folder),
        "--remount-ro", "/", "--chdir", str(folder),
    ]  # fmt: skip


def _needed() -> list[Path]:
    """List the paths that a Python process here reads; of the course only its package."""
    package = Path(mlc_course.__file__).parent
    system = [Path("/usr"), Path("/etc/ld.so.cache"), Path("/etc/alternatives")]
    plain = [
        Path("/", name) for name in ("bin", "lib", "lib64") if not Path("/", name).is_symlink()
    ]
    interpreter = [Path(sys.prefix), Path(sys.base_prefix)]
    return list(dict.fromkeys([*system, *plain, *interpreter, package]))

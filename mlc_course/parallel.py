"""Run work in a thread that Ctrl-C can end, in other processes, or on a cluster.

Python sees Ctrl-C only between its own instructions, and one call of a naive kernel can take twenty
seconds. The main thread waits here instead, where it can be interrupted at once; the worker is a
daemon thread and ends with the process. Busy neighbours are processes that keep cores occupied, to
see what they do to a measurement.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import multiprocessing
import multiprocessing.util
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NoReturn, TypeVar, cast

import psutil

from mlc_course.errors import MachineError, UsageError
from mlc_course.extras import brought_by
from mlc_course.machine import usable_cores

if sys.platform != "win32":
    import resource

Item = TypeVar("Item")

INTERRUPTED = 130  # the exit status that a shell reports of a program that Ctrl-C ended


@dataclass(frozen=True)
class _Ended:
    error: BaseException | None


class Pushed(Iterator[Item]):
    """What ``run(push)`` pushes from a thread of its own, in order; its error is raised here.

    ``leave`` asks the thread to end. Who closes the iterator waits until it has ended, and so does
    the end of Python, where a thread in compiled code would abort the process. Who only drops the
    iterator does not wait: that may happen in any thread, in this one too, and at any time.
    """

    def __init__(
        self,
        run: Callable[[Callable[[Item], None]], object],
        leave: Callable[[], object] | None = None,
    ) -> None:
        self._queue: SimpleQueue[Item | _Ended] = SimpleQueue()
        self._leave, self._is_read = leave, False
        self._end = _begin(run, self._queue, leave)

    def __next__(self) -> Item:
        if self._is_read:
            raise StopIteration
        item = self._queue.get()
        if not isinstance(item, _Ended):
            return item
        self._is_read = True
        raise item.error or StopIteration

    def close(self) -> None:
        """Let the thread end, and wait for it. After Ctrl-C in here, it can be asked again."""
        self._is_read = True
        if self._leave:
            self._end()

    def __del__(self) -> None:
        if self._leave:
            self._leave()


def _begin(
    run: Callable[[Callable[[Item], None]], object],
    queue: SimpleQueue[Item | _Ended],
    leave: Callable[[], object] | None,
) -> Callable[[], None]:
    """Fill a queue from a thread, which outlives the reader; returns what ends it."""
    is_over = threading.Event()

    def work() -> None:
        error: BaseException | None = None
        if leave:
            atexit.register(end)
        try:
            run(queue.put)
        except BaseException as failure:
            error = failure
        is_over.set()
        atexit.unregister(end)
        queue.put(_Ended(error))

    def end() -> None:
        if leave:
            leave()
        if thread.is_alive():  # in a process that was forked, it is not
            is_over.wait()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return end


def interruptible(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the same items in the same order, computed in a thread of their own."""

    def run(push: Callable[[Item], None]) -> None:
        for item in items:
            push(item)

    return Pushed(run)


def leave(status: int = INTERRUPTED) -> NoReturn:
    """End the process now, although a worker may be inside compiled code.

    Processes that it has started are ended, and their semaphores are given back: no exit function
    of Python's does that here.
    """
    end_workers()
    multiprocessing.util._run_finalizers()  # type: ignore[attr-defined]
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


@contextlib.contextmanager
def interrupted_once() -> Iterator[threading.Event]:
    """Raise the first Ctrl-C as ever, set an event, and ignore those that follow it.

    A measurement may catch what is raised and end early, which the event then tells. After the
    first one the process is ending, and a second must not cut short how it keeps what it has. Where
    Ctrl-C is ignored, as in the background of a shell, it stays so; outside the main thread, where
    it is not raised, nothing changes.
    """
    asked = threading.Event()
    before = signal.getsignal(signal.SIGINT)

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asked.set()
        raise KeyboardInterrupt

    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or before is not signal.default_int_handler:
        yield asked
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield asked
    finally:
        if not asked.is_set():
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def ends_like_ctrl_c() -> Iterator[Callable[[], int]]:
    """Let SIGTERM and SIGHUP raise ``KeyboardInterrupt``, as Ctrl-C does.

    Yields a function that returns the exit status that a shell reports of such an end. When one of
    the three has come, all are ignored from then on: the process is ending, and an impatient hand
    must not cut short how it puts its things away. Signals that are ignored stay so, as under
    ``nohup``; outside the main thread all stay as they are.
    """
    came: list[int] = []

    def interrupt(number: int, frame: object) -> None:
        came.append(number)
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # Windows lacks the last
            number = getattr(signal, name, None)
            plain = (signal.SIG_DFL, signal.default_int_handler)
            if number is not None and signal.getsignal(number) in plain:
                before[number] = signal.getsignal(number)
        for number in before:
            signal.signal(number, interrupt)
    try:
        yield lambda: 128 + came[0] if came else INTERRUPTED
    finally:
        if not came:
            for number, handler in before.items():
                signal.signal(number, handler)


PR_SET_PDEATHSIG = 1  # linux/prctl.h


def die_with_parent(parent: int, number: int = 9) -> None:
    """Get a signal when the thread that started this process ends; end now if it has ended."""
    with contextlib.suppress(AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, *map(ctypes.c_ulong, (number, 0, 0, 0)))
        if os.getppid() != parent:
            os._exit(INTERRUPTED)


def end_workers() -> None:
    """End the processes that this one has started, in the middle of whatever they do."""
    for process in multiprocessing.active_children():
        process.terminate()


@dataclass(frozen=True)
class Said:
    """The output of another program, and the status that it ended with; None if it was ended."""

    status: int | None
    out: str
    errors: str = ""

    def __str__(self) -> str:
        """The last line that tells something."""
        lines = (self.errors.strip() or self.out.strip()).splitlines()
        if self.status is None:
            return "does not end"
        return lines[-1] if lines else f"ends with status {self.status} and says nothing"


def run_program(command: Sequence[str], patience_s: float) -> Said:
    """Run another program to its end, or end it when the seconds are over.

    Whatever it started in its process group is ended too. One that cannot be started is told as a
    shell tells it, by status 127.
    """
    try:
        return _run_program(command, patience_s)
    except OSError as error:
        return Said(127, "", error.strerror or str(error))


def _run_program(command: Sequence[str], patience_s: float) -> Said:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        # Files, not pipes: a process that it left behind would keep a pipe open.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True
        )
        status = None
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(patience_s)
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        texts = [os.pread(each.fileno(), 1 << 20, 0) for each in (out, errors)]
    return Said(status, *(text.decode(errors="replace") for text in texts))


def run_limited(work: Callable[[], Item], *, seconds: int, memory_bytes: int) -> Item:
    """Return what ``work()`` returns, from a process of its own with limits.

    It has ``seconds`` of processor time, ten times as much on the clock, and ``memory_bytes`` of
    addresses more than this process, whose free memory it may use as well. What it returns is
    pickled. Where processes cannot be forked, the work is done here, without limits.

    Raises ``MachineError`` when it passes a limit, ends its process or raises an error.
    """
    if not hasattr(os, "fork"):
        return work()
    reads, writes = os.pipe()
    parent = os.getpid()
    with warnings.catch_warnings():
        # Other threads may hold locks of their own libraries; the work uses none of those.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reads)
        _work_and_leave(work, writes, parent, seconds, memory_bytes)
    os.close(writes)
    try:
        with Connection(reads, writable=False) as connection:
            if not connection.poll(10 * seconds):
                raise MachineError(f"it takes more than {10 * seconds} s")
            has_worked, answer = pickle.loads(connection.recv_bytes())
    except EOFError:
        raise MachineError(f"it takes more than {seconds} s of a processor") from None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    if not has_worked:
        raise MachineError(answer)
    return cast(Item, answer)


def _work_and_leave(
    work: Callable[[], object], writes: int, parent: int, seconds: int, memory_bytes: int
) -> NoReturn:
    """Do the work within its limits, write what came of it, and end without Python's own end."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        die_with_parent(parent)
        own = psutil.Process().memory_info().vms
        for kind, most in (
            (resource.RLIMIT_CPU, seconds),
            (resource.RLIMIT_AS, own + memory_bytes),
            (resource.RLIMIT_CORE, 0),
        ):
            with contextlib.suppress(OSError, ValueError):  # macOS has no limit of addresses
                resource.setrlimit(kind, (most, most))
        try:
            answer = pickle.dumps((True, work()))
        except MemoryError:
            answer = pickle.dumps((False, f"it takes more than {memory_bytes >> 20} MiB of memory"))
        except Exception as error:
            answer = pickle.dumps((False, f"{type(error).__name__}: {error}"))
        with Connection(writes, readable=False) as connection:
            connection.send_bytes(answer)
    finally:
        os._exit(0)


DASK = "dask://"
MOST_PROCESSES = 256


def executor_for(address: str | None, jobs: int | None = None) -> Callable[[], Executor]:
    """Return a function that starts workers: processes here, or a Dask cluster's.

    ``jobs`` counts the processes, one for each core when it is None; ``address`` is
    ``dask://HOST:PORT``. Raises ``UsageError`` for fewer processes than one, for another address,
    and where Dask is not installed or not reached.
    """
    jobs = usable_cores() if jobs is None else jobs
    if not 1 <= jobs <= MOST_PROCESSES:
        what = "too few processes" if jobs < 1 else "too many processes"
        raise UsageError(what, expected=f"1 or more, up to {MOST_PROCESSES}", got=jobs)
    if address is None:
        context = multiprocessing.get_context("spawn")
        return lambda: _started(
            ProcessPoolExecutor(jobs, context, initializer=_belong_to_the_parent), jobs
        )
    if not address.startswith(DASK):
        raise UsageError("not an executor", expected=f"{DASK}HOST:PORT", got=address)
    try:
        with brought_by("cluster"):
            from distributed import Client

        client: Any = Client("tcp://" + address.removeprefix(DASK), timeout=10)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler at {address}", got=error) from None
    return lambda: cast(Executor, client.get_executor())


def _started(pool: ProcessPoolExecutor, jobs: int) -> ProcessPoolExecutor:
    """Start the processes with Ctrl-C blocked, which they inherit: none dies of it at its start."""
    mask = getattr(signal, "pthread_sigmask", None)
    before = mask(signal.SIG_BLOCK, {signal.SIGINT}) if mask else None
    try:
        for _ in range(jobs):
            pool.submit(int)
    finally:
        if mask:
            mask(signal.SIG_SETMASK, before)
    return pool


def _belong_to_the_parent() -> None:
    """Leave Ctrl-C to the parent process, and end when it does, whatever it dies of."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        die_with_parent(parent.pid, signal.SIGKILL)
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(INTERRUPTED)


# A neighbour ends by itself when the process that started it is gone.
SPIN = """
import os
parent = os.getppid()
print("busy", flush=True)
while os.getppid() == parent:
    sum(range(10000))
"""


@contextlib.contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """Keep ``count`` processes at full speed inside the ``with``, and none after it."""
    command = [sys.executable, "-S", "-c", SPIN]
    with contextlib.ExitStack() as stack:
        started = []
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            stack.callback(process.kill)
            started.append(process)
        for process in started:
            assert process.stdout is not None
            process.stdout.readline()  # it has begun
        yield

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator

import psutil
import pytest
from processes import all_end

from mlc_course.errors import MachineError, UsageError
from mlc_course.parallel import (
    Pushed,
    Said,
    busy_neighbours,
    executor_for,
    interrupted_once,
    interruptible,
    run_limited,
    run_program,
)

ROOM = {"seconds": 1, "memory_bytes": 256 << 20}


def test_items_arrive_in_order_from_another_thread() -> None:
    def items() -> Iterator[tuple[int, int]]:
        for number in range(5):
            yield number, threading.get_ident()

    found = list(interruptible(items()))
    assert [number for number, _ in found] == list(range(5))
    assert {thread for _, thread in found} != {threading.get_ident()}


def test_an_error_is_raised_where_the_items_are_read_after_those_before_it() -> None:
    def run(push: object) -> None:
        push("one")  # type: ignore[operator]
        raise ZeroDivisionError

    items: Pushed[str] = Pushed(run)
    assert next(items) == "one"
    with pytest.raises(ZeroDivisionError):
        next(items)


def left(leave: threading.Event) -> tuple[Pushed[int], threading.Event]:
    """Return an iterator of one number that goes on until it is left, and whether it has ended."""
    ended = threading.Event()

    def run(push: Callable[[int], None]) -> None:
        push(1)
        leave.wait()
        ended.set()

    return Pushed(run, leave.set), ended


@pytest.mark.parametrize("read", [0, 1])
def test_who_closes_waits_for_the_thread_and_reads_no_more(read: int) -> None:
    items, ended = left(threading.Event())
    for _ in range(read):
        assert next(items) == 1
    items.close()
    assert ended.is_set() and list(items) == []
    items.close()


def test_who_drops_the_items_in_their_own_thread_does_not_wait_for_itself() -> None:
    leave, given, ended = threading.Event(), threading.Event(), threading.Event()
    held: list[Pushed[int]] = []

    def run(push: Callable[[int], None]) -> None:
        given.wait()
        held.clear()  # as a garbage collection may
        assert leave.is_set()
        ended.set()

    held.append(Pushed(run, leave.set))
    given.set()
    assert ended.wait(60)


def test_the_end_of_python_waits_for_a_thread_that_is_left() -> None:
    said = run_program([sys.executable, "-c", KEPT], 60)
    assert (said.status, said.out) == (0, "left")


KEPT = """
import threading
from mlc_course.parallel import Pushed
leave = threading.Event()
def run(push):
    push(1)
    leave.wait()
    print("left", end="", flush=True)
items = Pushed(run, leave.set)
next(items)
"""


def test_none_is_an_item() -> None:
    assert list(interruptible([None, 1, None])) == [None, 1, None]


@pytest.mark.parametrize(
    ("address", "jobs", "words"),
    [(None, 0, "too few processes"), ("tcp://here", 1, "dask://HOST:PORT")],
)
def test_workers_that_cannot_be_are_refused(address: str | None, jobs: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        executor_for(address, jobs)


# --- Ctrl-C ---------------------------------------------------------------------------------------


@pytest.fixture
def own_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_interrupts_once_and_a_second_one_loses_nothing(own_ctrl_c: None) -> None:
    with pytest.raises(KeyboardInterrupt), interrupted_once() as asked:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            assert asked.is_set()
            signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)  # the process is ending: it is still ignored


def test_without_ctrl_c_everything_is_as_before(own_ctrl_c: None) -> None:
    with interrupted_once() as asked:
        pass
    assert not asked.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_thread_may_ask_for_one_ctrl_c_and_changes_nothing(own_ctrl_c: None) -> None:
    def run(push: Callable[[bool], None]) -> None:
        with interrupted_once() as asked:
            push(asked.is_set())

    assert list(Pushed(run)) == [False]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_is_ignored_stays_so(own_ctrl_c: None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupted_once() as asked:
        signal.raise_signal(signal.SIGINT)
    assert not asked.is_set()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


# --- busy neighbours ------------------------------------------------------------------------------


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_neighbours_are_there_inside_and_gone_after() -> None:
    before = children()
    with busy_neighbours(2):
        assert len(children() - before) == 2
    assert children() == before


def test_neighbours_are_gone_after_an_interrupt() -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt), busy_neighbours(1):
        raise KeyboardInterrupt
    assert children() == before


def test_no_neighbours_are_no_processes() -> None:
    before = children()
    with busy_neighbours(0):
        assert children() == before


def shell(text: str, patience_s: float = 60.0) -> Said:
    return run_program(("sh", "-c", text), patience_s)


def test_a_program_is_told_by_its_last_line_and_its_status() -> None:
    said = shell("echo one; echo two")
    assert (said.status, said.out, str(said)) == (0, "one\ntwo\n", "two")
    assert str(shell("echo one; echo wrong >&2; exit 3")) == "wrong"
    assert str(shell("exit 3")) == "ends with status 3 and says nothing"
    assert shell("kill -9 $$").status == -9


def test_a_program_that_is_not_there_is_told_as_a_shell_tells_it() -> None:
    said = run_program(("/no/such/program",), 60.0)
    assert (said.status, str(said)) == (127, "No such file or directory")


@pytest.mark.parametrize(
    ("ends", "seconds", "status"),
    [("sleep 600", 2.0, None), ("exit 0", 60.0, 0)],
    ids=["hangs", "leaves one behind"],
)
def test_nothing_is_left_of_a_program(ends: str, seconds: float, status: int | None) -> None:
    said = shell(f"sleep 600 & echo $!; {ends}", seconds)
    assert said.status == status
    assert all_end(map(int, said.out.split()))


def test_work_with_limits_gives_what_it_returns_and_changes_nothing_here() -> None:
    here, before = [1], children()
    assert run_limited(lambda: (here.append(2), here)[1], **ROOM) == [1, 2]
    assert here == [1]
    assert children() == before


def _without_end() -> None:
    while True:
        pass


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (_without_end, "more than (1 s of a processor|10 s)"),
        (lambda: [bytes(1 << 20) for _ in range(5000)], "more than 256 MiB of memory"),
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (lambda: threading.Lock(), "TypeError: cannot pickle"),
    ],
)
def test_work_that_passes_a_limit_or_fails_is_told_so(
    work: Callable[[], object], words: str
) -> None:
    before = children()
    with pytest.raises(MachineError, match=words):
        run_limited(work, **ROOM)
    assert children() == before

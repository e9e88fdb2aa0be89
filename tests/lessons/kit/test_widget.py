"""What every widget does when its button is pressed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from mlc_course.lessons.kit import widget as kit


class Widget:
    """Counts the interrupts that reach it while it measures."""

    busy, status, tasks = False, "", ("measure",)

    def __init__(self) -> None:
        self.calls = self.interrupts = 0

    def measure(self) -> None:
        self.calls += 1
        if threading.current_thread() is threading.main_thread():
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                self.interrupts += 1


@pytest.fixture
def ignored_interrupts() -> Iterator[None]:
    """As ipykernel may leave them."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_measurement_can_be_interrupted_whatever_the_kernel_left(
    ignored_interrupts: None,
) -> None:
    widget = Widget()
    kit.answer(widget, {"task": "measure"})
    assert widget.interrupts == 1
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


class InSteps:
    """Draws each step; something on the way drops what an interrupt raises, as a finalizer does."""

    status, paced = "", kit.Widget.paced

    def __init__(self) -> None:
        self._pace = kit.Pace()
        self.drawn: list[int] = []

    def measure(self) -> None:
        try:
            for step in self.paced(range(5), unit="step"):
                self.drawn.append(step)
                if step == 1:
                    with contextlib.suppress(KeyboardInterrupt):
                        signal.raise_signal(signal.SIGINT)
        finally:
            self._pace.stop()


def test_an_interrupt_that_is_dropped_on_its_way_stops_after_the_step() -> None:
    widget = InSteps()
    with pytest.raises(KeyboardInterrupt), kit.can_be_interrupted():
        widget.measure()
    assert widget.drawn == [0, 1]
    assert list(widget.paced(range(3), unit="step")) == [0, 1, 2]  # nothing is left of it


class Loop:
    """The main thread's loop of a kernel, with what it was asked to do."""

    def __init__(self) -> None:
        self.asked: list[Callable[[], None]] = []

    def add_callback(self, act: Callable[[], None]) -> None:
        self.asked.append(act)


class Shell:
    def __init__(self) -> None:
        self.kernel = SimpleNamespace(io_loop=Loop())


def elsewhere(act: Callable[[], None]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def test_a_message_to_another_thread_is_answered_by_the_main_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    widget, shell = Widget(), Shell()
    monkeypatch.setattr(kit, "get_ipython", lambda: shell)
    elsewhere(lambda: kit.answer(widget, {"task": "measure"}))
    assert widget.calls == 0
    (act,) = shell.kernel.io_loop.asked
    act()
    assert widget.interrupts == 1


def test_an_interrupt_does_not_end_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    shell = Shell()
    monkeypatch.setattr(kit, "get_ipython", lambda: shell)
    elsewhere(lambda: kit.on_main_thread(interrupted))
    (act,) = shell.kernel.io_loop.asked
    act()


def test_without_a_kernel_a_message_is_answered_where_it_comes() -> None:
    widget = Widget()
    elsewhere(lambda: kit.answer(widget, {"task": "measure"}))
    assert widget.calls == 1

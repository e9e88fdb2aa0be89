"""Ctrl-C that comes where Python drops what is raised ends a search all the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from mlc_course.commands import select, superoptimize

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Interrupting:
    """Ctrl-C comes when it is collected."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def events(taken: list[int]) -> Iterator[Any]:
    for number in range(100):
        if number == 3:
            Interrupting()
        taken.append(number)
        yield SimpleNamespace()


@pytest.fixture(autouse=True)
def ctrl_c_raises() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_superoptimize_ends_and_keeps_the_event_that_came() -> None:
    taken, kept = list[int](), list[Any]()
    tally: Any = SimpleNamespace(take=kept.append, found=())
    assert superoptimize._follow(events(taken), tally, False) == superoptimize.STOPPED
    assert len(kept) == len(taken) == 4


def test_select_ends_and_keeps_the_event_that_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(select, "event_line", lambda event: "an event")
    taken, kept = list[int](), list[str]()
    search: Any = events(taken)
    assert select._follow(search, kept) == (True, "stopped before the search ended")
    assert len(kept) == len(taken) == 4

"""Keep a climb in a thread of its own in step with the widget that shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from threading import Event
from typing import TypeVar

Item = TypeVar("Item")


class Pace:
    """Holds the climb until its last rung is drawn.

    Drawing takes a core and Python's lock, and would count as time of the next rung. ``ended`` is
    set while no climb is under way.
    """

    def __init__(self) -> None:
        self._next, self.ended = Event(), Event()
        self._stopped = False
        self.ended.set()

    def keep(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same items, each one only after ``go_on`` was called for the one before."""
        self.ended.clear()
        try:
            for item in items:
                yield item
                self._next.wait()
                self._next.clear()
                if self._stopped:
                    return
        finally:
            self.ended.set()

    def go_on(self) -> None:
        self._next.set()

    def stop(self) -> None:
        """Let the rung that is under way be the last."""
        self._stopped = True
        self._next.set()

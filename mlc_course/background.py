"""Run work in a thread, so that Ctrl-C works while compiled code runs.

Python sees Ctrl-C only between its own instructions, and one call of a naive kernel can take twenty
seconds. The main thread waits here instead, where it can be interrupted at once; the worker is a
daemon thread and ends with the process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import NoReturn, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class _Ended:
    error: BaseException | None


def pushed(run: Callable[[Callable[[Item], None]], object]) -> Iterator[Item]:
    """What ``run(push)`` pushes from its own thread, in order; its exception is raised here."""
    queue: SimpleQueue[Item | _Ended] = SimpleQueue()

    def work() -> None:
        try:
            run(queue.put)
        except BaseException as error:
            queue.put(_Ended(error))
        else:
            queue.put(_Ended(None))

    threading.Thread(target=work, daemon=True).start()
    while not isinstance(item := queue.get(), _Ended):
        yield item
    if item.error is not None:
        raise item.error


def interruptible(items: Iterable[Item]) -> Iterator[Item]:
    """The same items in the same order, computed in a thread of their own."""

    def run(push: Callable[[Item], None]) -> None:
        for item in items:
            push(item)

    return pushed(run)


def leave(status: int) -> NoReturn:
    """End the process now, although a worker may be inside compiled code."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)

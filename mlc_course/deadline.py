"""A deadline that long computations look at themselves, in whatever function they are.

``with until(when):`` sets it, ``check_time()`` in an inner loop raises ``OutOfTime`` once it has
passed. It belongs to a thread, and nobody in between has to hand it on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from mlc_course.errors import CourseError

_deadline: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(CourseError):
    """A computation that its deadline ended."""


@contextmanager
def until(deadline: float | None) -> Iterator[None]:
    """Set a deadline, a time of ``time.time``; one that is set already and earlier stays."""
    before = _deadline.get()
    token = _deadline.set(before if deadline is None else min(before, deadline))
    try:
        yield
    finally:
        _deadline.reset(token)


def check_time() -> None:
    """Raise ``OutOfTime`` if the deadline has passed."""
    if time.time() > _deadline.get():
        raise OutOfTime("out of time")

"""Processes of which nothing may be left, asked in a way that allows for their end meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

import psutil


def runs(pid: int) -> bool:
    """Tell whether a process is there, and no zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def all_end(pids: Iterable[int], seconds: float = 60.0) -> bool:
    """Wait until none of some processes runs; False if one still does after so long."""
    left, ends = [*pids], time.monotonic() + seconds
    while left := [pid for pid in left if runs(pid)]:
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def commands_below() -> list[str]:
    """Return the command lines of all processes that this one started, directly or not."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):  # it has just ended
            found.append(" ".join(each.cmdline()))
    return found

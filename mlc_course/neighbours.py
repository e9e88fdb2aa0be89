"""Busy neighbours: processes that keep cores occupied, to see what they do to a measurement."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

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
    """That many processes at full speed inside the ``with``, and none after it."""
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

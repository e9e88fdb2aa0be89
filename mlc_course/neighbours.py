"""Busy neighbours: processes that keep cores occupied, to see what they do to a measurement."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator

# A neighbour ends by itself when the process that started it is gone.
SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(10000))"


@contextlib.contextmanager
def busy_neighbours(count: int) -> Iterator[None]:
    """That many processes at full speed inside the ``with``, and none after it."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            process = subprocess.Popen([sys.executable, "-S", "-c", SPIN])
            stack.callback(process.wait)
            stack.callback(process.kill)
        yield

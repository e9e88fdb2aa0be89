"""The program of every child of the grader: limit itself, then answer one request at a time.

The limits are set before anything of a student's is read.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection

from mlc_course.grading.process import privileges
from mlc_course.parallel import die_with_parent

READY = b"ready"  # said once, when all is imported

Answer = Callable[[bytes], bytes]


def main(module: str, descriptor: int, parent: int, limits: Sequence[int]) -> None:
    """Answer until the grader hangs up. ``parent`` is the process that started this one."""
    die_with_parent(parent)
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        privileges.adopt_orphans()  # they stay below it, where the grader sees them
        if os.geteuid() == 0:  # root without privileges may not look into the grader's memory
            privileges.drop_all()
    confine(limits)
    serve(importlib.import_module(module).begin(), descriptor)


def confine(limits: Sequence[int]) -> None:
    """Set the limits ``(memory, file, files, seconds)`` of this process, for good.

    What no namespace separates is given up too.
    """
    privileges.leave_shared_places()
    memory, file, files, seconds = limits
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NOFILE, files),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # macOS has no limit of addresses
            resource.setrlimit(kind, (most, most))


def serve(answer: Answer, descriptor: int) -> None:
    """Answer requests until the grader hangs up; what is printed goes into a file."""
    _print_into_a_file()
    connection = Connection(descriptor)
    with contextlib.suppress(EOFError, OSError):
        connection.send_bytes(READY)
        while True:
            connection.send_bytes(answer(connection.recv_bytes()))


def _print_into_a_file() -> None:
    """Redirect output to a file in the child's folder, where the limit of a file's size holds."""
    printed = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for stream in (1, 2):
        os.dup2(printed, stream)
    os.close(printed)


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    numbers = [int(each) for each in sys.argv[2:]]
    main(sys.argv[1], numbers[0], numbers[1], numbers[2:])

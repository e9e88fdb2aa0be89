"""The program of every child of the grader: limit itself, then answer one request at a time.

The limits are set before anything of a student's is read.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h
READY = b"ready"  # said once, when all is imported


def serve(answer: Callable[[bytes], bytes]) -> None:
    """Read the command line that ``sandbox`` wrote, and answer until the grader hangs up."""
    descriptor, memory, file, files, seconds = map(int, sys.argv[1:])
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans stay below it, where the grader sees them
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, file),
        (resource.RLIMIT_NOFILE, files),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # macOS has no limit of addresses
            resource.setrlimit(kind, (most, most))
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

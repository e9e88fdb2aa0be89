"""A warm parent: inside bubblewrap, with everything imported, it forks a child for each request.

It runs nothing of a student's. It has the privileges that a new child needs to close itself in, in
bubblewrap's own user namespace; the child gives them up before it reads a word. Each child has new
namespaces for processes, mounts, System V memory and the network, new empty folders, and memory in
which nobody has been before it: pages are copied when one of the two writes.

Four processes take part. The warm parent forks a *keeper*, which enters the new namespaces and
reports how the child ended; it forks the *first* process in there, which mounts, gives up and
afterwards only waits, because the kernel protects the first process from signals; that one forks
the child. When any of the first three ends, so do those below it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import random
import resource
import select
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from mlc_course.grading.process import child, privileges
from mlc_course.grading.process.privileges import (
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_RDONLY,
    NEW_IPC,
    NEW_MOUNTS,
    NEW_NETWORK,
    NEW_PROCESSES,
    NEW_USER,
)
from mlc_course.parallel import die_with_parent

NOBODY = 65534  # the user that a child is, inside
LARGEST_REQUEST = 4096
# Linux versions from which a namespace has a largest process number of its own, and the kernel
# counts a user's tasks in each namespace by itself. Before, both are the whole machine's.
NUMBERS_APART, COUNTED_APART = (6, 14), (5, 14)
HELLO = b"\n"  # said once, by the first process, so that the grader learns its number
REFUSED = 113  # the status of a child that could not be closed in


def _imported_by_all() -> list[str]:
    """Name what notebooks and the checks of exercises import: a child need not import it again."""
    lessons = importlib.import_module("mlc_course.lessons")
    rooms = sorted(Path(lessons.__path__[0]).glob("lesson_*/checks.py"))
    return [
        "mlc_course.exercise",
        *(f"{lessons.__name__}.{each.parent.name}.checks" for each in rooms),
    ]


def main(module: str, descriptor: int) -> None:
    """Fork a child for each request, until the grader hangs up."""
    loaded = importlib.import_module(module)
    for name in _imported_by_all():
        importlib.import_module(name)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # keepers are not waited for
    control = socket.socket(fileno=descriptor)
    own = os.getpid()
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, LARGEST_REQUEST, 2)
        if not message:
            return
        if os.fork() == 0:
            keeper = partial(_keep, loaded.begin, control, message, descriptors, own)
            _leave(keeper)
        for each in descriptors:
            os.close(each)


def _leave(work: Callable[[], int]) -> None:
    """Do the work and end, without what Python does at its end."""
    status = REFUSED
    try:
        status = work()
    except SystemExit as end:
        status = end.code if type(end.code) is int else int(end.code is not None)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status & 0xFF)


def _keep(
    begin: Callable[[], child.Answer],
    control: socket.socket,
    message: bytes,
    descriptors: list[int],
    parent: int,
) -> int:
    control.close()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    die_with_parent(parent)
    connection, report = descriptors
    request = json.loads(message)
    privileges.unshare(NEW_MOUNTS | NEW_IPC | NEW_PROCESSES | NEW_NETWORK)
    alive, lives = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(lives)
        os.close(report)
        _leave(lambda: _first(begin, request, connection, alive))
    os.close(connection)
    _, status = os.waitpid(first, 0)
    with contextlib.suppress(OSError):
        os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
    return 0


def _first(begin: Callable[[], child.Answer], request: dict[str, int], to: int, alive: int) -> int:
    _close_in(request["file_bytes"], request["folder_bytes"], request["tasks"])
    privileges.hide_memory()
    die_with_parent(0)  # its parent is in another namespace
    if select.select([alive], [], [], 0)[0]:  # the end of the pipe: the keeper is gone
        return REFUSED
    os.close(alive)
    os.write(to, HELLO)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    own = os.fork()
    if own == 0:
        _leave(lambda: _answer(begin, request, to))
    os.close(to)
    while True:
        ended, status = os.wait()
        if ended == own:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _answer(begin: Callable[[], child.Answer], request: dict[str, int], connection: int) -> int:
    os.setsid()
    privileges.hide_memory(False)  # of this process, to itself
    random.seed()
    np.random.seed()
    names = ("memory_bytes", "file_bytes", "open_files", "seconds")
    child.confine([request[name] for name in names])
    child.serve(begin(), connection)
    return 0


def _close_in(file_bytes: int, folder_bytes: int, tasks: int) -> None:
    """Mount what a child has for itself, become nobody, and give up all privileges.

    The order matters: a mount needs privileges over the old user namespace, and whoever is in the
    new one can neither undo it nor see below it.
    """
    privileges.keep_mounts_private()
    privileges.start_loopback()
    quiet = MS_NOSUID | MS_NODEV
    folder = os.environ["HOME"]
    privileges.mount("tmpfs", "/tmp", quiet, f"mode=1777,size={folder_bytes}")
    privileges.mount("tmpfs", folder, quiet, f"mode=0700,size={folder_bytes}")
    privileges.mount("tmpfs", "/dev/shm", quiet, f"mode=1777,size={file_bytes}")
    terminals = "newinstance,ptmxmode=0666,mode=620"
    privileges.mount("devpts", "/dev/pts", MS_NOSUID | MS_NOEXEC, terminals)
    # The settings of a namespace are made through a /proc that nobody reaches afterwards.
    privileges.mount("proc", "/proc", quiet | MS_NOEXEC)
    settings = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    privileges.unmount("/proc")
    privileges.mount("proc", "/proc", quiet | MS_NOEXEC | MS_RDONLY)
    if privileges.kernel() >= NUMBERS_APART:
        with contextlib.suppress(OSError):  # not told; the grader counts them all the same
            _write(settings, "sys/kernel/pid_max", str(tasks))
    privileges.unshare(NEW_USER)
    if privileges.kernel() >= COUNTED_APART:
        with contextlib.suppress(ValueError):  # a lower limit is set already
            resource.setrlimit(resource.RLIMIT_NPROC, (tasks, tasks))
    for name, value in (
        ("self/setgroups", "deny"),
        ("self/uid_map", f"{NOBODY} 0 1"),
        ("self/gid_map", f"{NOBODY} 0 1"),
        ("sys/user/max_user_namespaces", "0"),
    ):
        _write(settings, name, value)
    os.close(settings)
    os.chdir(folder)
    privileges.drop_all()


def _write(folder: int, name: str, value: str) -> None:
    file = os.open(name, os.O_WRONLY, dir_fd=folder)
    try:
        os.write(file, value.encode())
    finally:
        os.close(file)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

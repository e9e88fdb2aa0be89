"""A warden: starts one child without walls, and leaves nothing of it when it or the grader ends.

A program of its own that imports little, because one is started for each child. Whatever the child
starts comes back to the warden when its own parent ends, however often it forks and whatever
session it is in: the kernel makes the warden the parent, and only the warden could change that.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import sys

HERE = "PARENT"  # in the child's command line: the number of the warden
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 1, 4, 36  # linux/prctl.h


class GraderEnded(Exception):
    """The grader has ended, or wants the child to end."""


def main(grader: int, folder: str, descriptor: int, command: list[str]) -> int:
    """Run the command; return its status, when nothing that it started is left."""
    signal.signal(signal.SIGTERM, _stop)
    child = 0
    try:
        with contextlib.suppress(AttributeError):  # not Linux
            prctl = ctypes.CDLL(None).prctl
            prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != grader:
            return 1
        os.chdir(folder)
        words = [str(os.getpid()) if word == HERE else word for word in command]
        os.set_inheritable(descriptor, True)
        child = os.posix_spawn(words[0], words, os.environ)
        os.close(descriptor)
        while True:
            ended, status = os.wait()
            if ended == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    except GraderEnded:
        return 128 + signal.SIGKILL
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.chdir("/")
        end_all(child)
        shutil.rmtree(folder, ignore_errors=True)


def _stop(number: int, frame: object) -> None:
    raise GraderEnded


def end_all(child: int) -> None:
    """Kill the children of this process until there is none, and their children become its own."""
    while True:
        for each in children() or ([child] if child else []):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(-1, 0)


def children() -> list[int]:
    """The children of this process, by the list of all processes."""
    own, found = os.getpid(), []
    if not os.path.isdir("/proc/self"):
        return []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                with open(f"/proc/{name}/stat", "rb") as file:
                    about = file.read().rpartition(b")")[2].split()  # its name may hold anything
                if int(about[1]) == own and about[0] != b"Z":
                    found.append(int(name))
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]))

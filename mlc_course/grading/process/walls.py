"""What a child may use and see: limits, and the command line of bubblewrap.

Inside, the child sees the system's programs, Python and this package, read-only, and empty folders.
Whatever the grader has to keep to itself is covered where it lies below a folder that is seen.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mlc_course
from mlc_course.errors import UsageError
from mlc_course.parallel import run_program

NOBODY = "65534"  # the user that a child is, inside
BUBBLEWRAP, RLIMITS = "bubblewrap", "rlimits"
TRIAL_SECONDS = 30.0  # for bubblewrap to run a small program
FOLDER = "/mlc-exam"  # a child's own, inside; nothing of that name is outside
PACKAGE = "/mlc-package"  # where a child imports this package from, inside
LEAST_TASKS = 301  # the lowest limit that the kernel takes


@dataclass(frozen=True)
class Limits:
    """The limits of one child. ``hidden`` are folders that it must not see."""

    seconds: float = 60.0  # of its life
    request_seconds: float = 10.0  # for one cell, one answer, one run
    memory_bytes: int = 4 << 30  # addresses of one process, and resident of all together
    processes: int = 24  # threads not counted
    threads: int = 512  # of all processes together
    file_bytes: int = 16 << 20  # one file; what it prints is a file too
    folder_bytes: int = 64 << 20
    message_bytes: int = 16 << 20  # as JSON it can take fifty times its size here
    open_files: int = 256
    hidden: tuple[Path, ...] = ()

    @property
    def tasks(self) -> int:
        """The processes and threads at which the kernel stops a child of a warm parent.

        More than are allowed, so that the grader still finds out who passes a limit. It looks ten
        times a second, in which a busy machine forks thousands, unless something stops them.
        """
        return max(LEAST_TASKS, self.processes + self.threads + 64)

    @property
    def of_process(self) -> tuple[int, int, int, int]:
        """The limits that a process sets itself: addresses, file, open files, seconds."""
        return self.memory_bytes, self.file_bytes, self.open_files, int(self.seconds) + 1


@functools.cache
def has_bubblewrap() -> bool:
    """Tell whether ``bwrap`` is here and locks a program in as a child of the grader's is."""
    program = shutil.which("bwrap")
    return program is not None and not wall_fault(program)


def wall_fault(program: str) -> str:
    """Run ``id`` in bubblewrap as the grader runs a child: what went wrong, or an empty text."""
    said = run_program([*locked_in(program, Limits()), "id", "-u"], TRIAL_SECONDS)
    return "" if said.out.strip() == NOBODY else str(said)


@functools.cache
def _without_namespaces(program: str) -> tuple[str, ...]:
    """Inside, nobody becomes root of a namespace of their own; bubblewrap knows it since 0.8."""
    options = ("--unshare-user", "--disable-userns")
    around = ("--unshare-all", *options, "--ro-bind", "/", "/", "--proc", "/proc")
    said = run_program([program, *around, "true"], TRIAL_SECONDS)
    return options if said.status == 0 else ()


def locked_in(program: str, limits: Limits) -> list[str]:
    """The command line of bubblewrap, up to the program that is to be locked in."""
    return [
        program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        "--uid", NOBODY, "--gid", "65534", "--hostname", "exam",
        *_without_namespaces(program), "--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev",
        "--size", str(limits.file_bytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev",
        "--size", str(limits.folder_bytes), "--tmpfs", "/tmp",
        *_links(), *seen(limits.hidden),
        "--perms", "0700", "--size", str(limits.folder_bytes), "--tmpfs", FOLDER,
        "--remount-ro", "/", "--chdir", FOLDER,
    ]  # fmt: skip


def around_warm_parent(program: str, hidden: Sequence[Path]) -> list[str]:
    """The same for the process whose children close themselves in; see ``warm``."""
    needed = ("SYS_ADMIN", "NET_ADMIN", "SYS_RESOURCE", "SETPCAP", "SETFCAP")
    return [
        program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
        *(word for name in needed for word in ("--cap-add", f"CAP_{name}")),
        "--uid", "0", "--gid", "0", "--hostname", "exam", "--proc", "/proc",
        "--dev", "/dev", "--remount-ro", "/dev", "--tmpfs", "/tmp", *_links(), *seen(hidden),
        "--tmpfs", FOLDER, "--remount-ro", "/", "--chdir", FOLDER,
    ]  # fmt: skip


def fits_warm_parent() -> bool:
    """Whether a child may mount a folder of its own on /tmp: not where Python lies below it."""
    places = [Path("/tmp"), Path("/dev")]
    return not any(path.is_relative_to(place) for path in needed() for place in places)


def _links() -> list[str]:
    return [
        argument
        for name in ("bin", "sbin", "lib", "lib64", "lib32")
        if Path("/", name).is_symlink()
        for argument in ("--symlink", os.readlink(f"/{name}"), f"/{name}")
    ]


def needed() -> list[Path]:
    """List the paths that a Python process here reads, but for this package."""
    system = [Path("/usr"), Path("/etc/ld.so.cache"), Path("/etc/alternatives")]
    plain = [
        Path("/", name) for name in ("bin", "lib", "lib64") if not Path("/", name).is_symlink()
    ]
    return list(dict.fromkeys([*system, *plain, Path(sys.prefix), Path(sys.base_prefix)]))


def checkout() -> list[Path]:
    """The folder around this package, unless it is the one where packages are installed.

    A checkout has solutions in it, tests with known answers, and all of them in its history.
    """
    around = Path(mlc_course.__file__).resolve().parent.parent
    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    return [] if around in installed else [around]


def seen(hidden: Iterable[Path]) -> list[str]:
    """Arguments that mount what a child needs, and cover what it must not see.

    A deeper path is mounted after the one around it, so that a needed folder inside a hidden one
    is seen, and a hidden one inside a needed one is not.

    Raises ``UsageError`` where a hidden folder is itself needed, or holds all of one.
    """
    paths = needed()
    mounts: dict[Path, tuple[str, ...]] = {
        path: ("--ro-bind-try", str(path), str(path)) for path in paths
    }
    for secret in hidden:
        for place in _places(secret.resolve(), paths):
            if place in mounts and mounts[place][0] != "--tmpfs":
                raise UsageError(
                    f"{secret} is seen by submissions, because programs that they need are in it",
                    expected="solutions, submissions and marks in folders of their own",
                    hint="move them, or give --solutions and --out in other folders",
                )
            mounts[place] = ("--tmpfs", str(place))
    for around in checkout():
        for place in _places(around, paths):
            # With an environment for its folder: then all in it but the environment's own.
            inside = _beside_an_environment(place) if place in mounts else [place]
            mounts |= {each: ("--tmpfs", str(each)) for each in inside}
    ordered = sorted(mounts, key=lambda path: len(path.parts))
    package = Path(mlc_course.__file__).resolve().parent
    bound = [word for path in ordered for word in mounts[path]]
    return [*bound, "--ro-bind", str(package), f"{PACKAGE}/{package.name}"]


def _places(secret: Path, bound: Iterable[Path]) -> list[Path]:
    """The paths at which a folder is seen through folders that are bound."""
    found = []
    for each in bound:
        real = each.resolve()
        if secret.is_relative_to(real):
            found.append(each / secret.relative_to(real))
    return found


def _beside_an_environment(root: Path) -> list[Path]:
    own = ("bin", "lib", "lib64", "include", "share", "etc", "conda-meta", "ssl", "libexec")
    return [path for path in root.iterdir() if path.is_dir() and path.name not in own]

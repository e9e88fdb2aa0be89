"""Where the lessons and exercises are, and how a student's folder gets and keeps them.

A checkout has them beside the package, and an installed package carries a copy. ``lay_out`` copies
them into a folder of the student's. Nothing that the student wrote is ever overwritten: the folder
keeps a list of what was laid out, so that a file which is as the course gave it can be brought up
to date, and any other is left alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import mlc_course
from mlc_course.errors import UsageError

PACKAGE = Path(mlc_course.__file__).resolve().parent
CARRIED = PACKAGE / "carried"  # in an installed package; setup.py puts it there
START_PAGE = Path("notebooks/index.ipynb")
PARTS = (
    "notebooks/*.ipynb",
    "notebooks/*.svg",
    "notebooks/zh/*.ipynb",
    "notebooks/zh/*.svg",
    "exercises/*/*.ipynb",
    "docs/*.md",
    "docs/*.svg",
    "benchmarks/results/*.png",  # pictures of the pages
    "benchmarks/results/*.svg",
)
LIST = ".mlc-course.json"  # in the student's folder: the digests of all that was laid out there


def origin() -> Path:
    """Return the folder from which the course is laid out: the carried copy, or the checkout."""
    return CARRIED if CARRIED.is_dir() else PACKAGE.parent


def has_lessons(folder: Path) -> bool:
    """Tell whether the course's start page is in a folder."""
    return (folder / START_PAGE).is_file()


def course_folder(here: Path | None = None) -> Path:
    """Return the folder with the lessons: this one, the nearest around it, or the checkout.

    Raises ``UsageError`` where there is none: an installed package's own copy is not to be edited.
    """
    start = (here or Path.cwd()).resolve()
    for folder in (start, *start.parents):
        if has_lessons(folder) and folder != CARRIED:
            return folder
    if origin() != CARRIED and has_lessons(origin()):
        return origin()
    raise UsageError(
        "the lessons are not here",
        expected=str(START_PAGE),
        got=f"no such file in {start}, nor in a folder around it",
        hint="mlc-course init mlc lays them out in a folder; then cd mlc",
    )


def course_files(source: Path) -> dict[str, bytes]:
    """Return every file of the course by its path; the start page is the last one."""
    paths = sorted(path for part in PARTS for path in source.glob(part))
    paths.sort(key=lambda path: path.relative_to(source) == START_PAGE)
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in paths}


@dataclass
class LaidOut:
    """The files of a folder by what ``lay_out`` did with them; each is its path."""

    new: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    current: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # differs from the course's, and is not ours
    gone: list[str] = field(default_factory=list)  # laid out once, and not in the course any more


def lay_out(folder: Path, files: Mapping[str, bytes]) -> LaidOut:
    """Copy files of the course into a folder, which is made; each is written whole or not at all.

    What is stopped in the middle is finished by the next call. Raises ``UsageError`` where a folder
    cannot be made, and ``OSError`` where a file cannot be read or written.
    """
    _make(folder)
    given = _read_list(folder / LIST)
    done = LaidOut(gone=[path for path in given if path not in files and (folder / path).exists()])
    # Before the files: what a stopped call wrote is then known to be ours, not the student's.
    known = {path: sorted({*given.get(path, ()), _digest(new)}) for path, new in files.items()}
    if given != (listed := {**given, **known}):
        _write(folder / LIST, json.dumps(listed, indent=0).encode())
    for path, new in files.items():
        target = folder / path
        if not os.path.lexists(target):
            _make(target.parent)
            _write(target, new)
            done.new.append(path)
        elif (old := _content(target)) is None:
            done.kept.append(path)
        elif old == new:
            done.current.append(path)
        elif _digest(old) in given.get(path, ()) and not target.is_symlink():
            _write(target, new)
            done.updated.append(path)
        else:
            done.kept.append(path)
    return done


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes | None:
    """Return what a file holds; None for a folder, a link to nowhere, or what may not be read."""
    try:
        return path.read_bytes() if path.is_file() else None
    except PermissionError:
        return None


def _read_list(path: Path) -> dict[str, list[str]]:
    """Read the digests by path; an unreadable list counts as none, and then no file is ours."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    listed = {path: digests for path, digests in found.items() if isinstance(digests, list)}
    return {
        path: [each for each in digests if isinstance(each, str)]
        for path, digests in listed.items()
    }


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"{folder} cannot be made", expected="a folder", got=reason) from None


def _write(path: Path, content: bytes) -> None:
    """Write a file beside ``path``, which takes its place when all is written, and only then.

    Raises ``OSError`` with the path.
    """
    beside = path.with_name(f".{os.getpid()}.part")  # its own: another init may run in the folder
    try:
        beside.unlink(missing_ok=True)  # rather than follow a link
        beside.write_bytes(content)
        beside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)

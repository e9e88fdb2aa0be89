"""When was it handed in? What the names and files of a class's folder say of it.

nbgrader writes the time into ``STUDENT/ASSIGNMENT/timestamp.txt`` and into the names of its
exchange; Canvas only marks what came late.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from zoneinfo import ZoneInfo

from mlc_course.grading.handed_in.layouts import (
    MOODLE,
    origin_of_file,
    origin_of_folder,
)

TIME = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?)(?: (\S+))?")
STAMP, LARGEST_STAMP = "timestamp.txt", 200  # bytes


@dataclass(frozen=True)
class HandedIn:
    """The time, if it is known, and whether a platform marked it as late without telling it."""

    at: datetime | None = None
    is_marked_late: bool = False


def handed_in(folder: Path, path: str, notebooks: Collection[str]) -> HandedIn:
    """Tell when the notebook at ``path``, below a class's folder, was handed in.

    ``notebooks`` are the names of the assignments' notebooks. A ``timestamp.txt`` counts only where
    nbgrader puts it: students may put one into an archive of their own, or upload it.
    """
    parts = PurePosixPath(path).parts
    if not parts:
        return HandedIn()
    entry = folder / parts[0]
    if not entry.is_dir():
        origin = origin_of_file(parts[0], notebooks)
        return HandedIn(is_marked_late=bool(origin and origin.is_late))
    if named := time_in(origin_of_folder(parts[0]).turn):
        return HandedIn(named)
    if len(parts) == 3 and not MOODLE.fullmatch(parts[0]):
        return HandedIn(time_in(_read(entry / parts[1] / STAMP)))
    return HandedIn()


def time_in(text: str) -> datetime | None:
    """The time that nbgrader wrote, in UTC where it names no zone; None for anything else."""
    found = TIME.fullmatch(text.strip())
    if found is None:
        return None
    try:
        if found[2] and found[2][0] in "+-":
            return datetime.strptime(f"{found[1][:19]} {found[2]}", "%Y-%m-%d %H:%M:%S %z")
        zone = ZoneInfo(found[2]) if found[2] and found[2] != "UTC" else UTC
        return datetime.fromisoformat(found[1]).replace(tzinfo=zone)
    except (ValueError, KeyError, OSError):
        return None


def _read(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            return file.read(LARGEST_STAMP).decode(errors="replace")
    except OSError:
        return ""

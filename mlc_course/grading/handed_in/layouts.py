"""Whose work an entry of a class's folder is, told by its name.

Sources: Canvas's "Download Submissions" (``NAME[_LATE]_USER_ATTACHMENT_FILE``), Moodle's "Download
all submissions" (``NAME_PARTICIPANT_assignsubmission_file[_FILE]``), nbgrader's exchange
(``STUDENT+ASSIGNMENT+TIME[+RANDOM]``).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from mlc_course.grading.handed_in.files import is_archive, without_ending

CANVAS = re.compile(
    r"(?P<name>.+?)(?P<late>_LATE)?_(?P<user>\d+)_(?P<attachment>\d+)_(?P<file>.+)", re.DOTALL
)
# Some versions leave one of the numbers out: then only the name of an assignment's notebook tells
# where the file's own name begins.
CANVAS_SHORT = re.compile(r"(?P<name>.+?)(?P<late>_LATE)?_(?P<user>\d+)", re.DOTALL)
CANVAS_AGAIN = re.compile(r"(?P<stem>.+)-(?P<turn>\d+)")  # added to a file's name that is there
MOODLE = re.compile(
    r"(?P<name>.+_\d+)_assignsubmission_(?:file|onlinetext)_?(?P<file>.*)", re.DOTALL
)
EXCHANGE = re.compile(
    r"(?P<name>[^+]+)\+(?P<assignment>[^+]+)\+(?P<time>\d{4}-\d\d-\d\d[^+]*)(?:\+.*)?", re.DOTALL
)


@dataclass(frozen=True)
class Origin:
    """A student, the file's own name if a platform put others before it, and which turn it is.

    Of several turns that hand in the same notebook, the one that sorts last counts. ``is_late``
    where the platform marked it so.
    """

    student: str
    file: str = ""
    turn: str = ""
    is_late: bool = False


def origin_of_folder(name: str) -> Origin:
    """Return whose a folder is: the student's that it is named after, or as platforms name it."""
    if found := EXCHANGE.fullmatch(name):
        return Origin(found["name"], turn=found["time"])
    if found := MOODLE.fullmatch(name):
        return Origin(found["name"])
    return Origin(name)


def origin_of_file(name: str, notebooks: Collection[str]) -> Origin | None:
    """Return whose a file is; None for one that lies among the students' and names nobody.

    ``notebooks`` are the names of the assignments' notebooks. An archive that no platform named is
    named after its student.
    """
    if found := MOODLE.fullmatch(name):
        return Origin(found["name"], found["file"])
    found = _known_ending(name, notebooks) or CANVAS.fullmatch(name)
    if found:
        fields = found.groupdict()
        file, turn = _without_turn(fields.get("file") or name[found.end() + 1 :])
        order = f"{int(fields.get('attachment') or 0):020}.{turn:06}"
        return Origin(f"{found['name']}_{found['user']}", file, order, bool(fields.get("late")))
    return Origin(without_ending(name)) if is_archive(name) else None


def _known_ending(name: str, notebooks: Collection[str]) -> re.Match[str] | None:
    """The part before an assignment's notebook's name, which may itself begin with a number."""
    for notebook in notebooks:
        stem, ending = without_ending(notebook), notebook[len(without_ending(notebook)) :]
        tail = re.search(rf"_{re.escape(stem)}(?:-\d+)?{re.escape(ending)}$", name, re.IGNORECASE)
        if tail:
            before = name[: tail.start()]
            full = re.fullmatch(CANVAS.pattern.removesuffix("_(?P<file>.+)"), before, re.DOTALL)
            return full or CANVAS_SHORT.fullmatch(before)
    return None


def _without_turn(file: str) -> tuple[str, int]:
    """Canvas adds -1 to a file's name when it is handed in again."""
    stem = without_ending(file)
    found = CANVAS_AGAIN.fullmatch(stem)
    if found is None:
        return file, 0
    return found["stem"] + file[len(stem) :], int(found["turn"][:6])

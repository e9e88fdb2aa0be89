"""Marks for a learning platform: filled into a copy of the table that the platform exported.

Canvas exports a *gradebook*: one row a student, one column an assignment, named ``TITLE (ID)``, and
a row with the points that are possible. Moodle exports a *grading worksheet* of one assignment. Ids
and names come from there, and nothing is changed but the marks. Sources: Canvas,
``lib/gradebook_importer.rb``; Moodle, ``mod/assign/feedback/offline/importgradeslib.php``.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mlc_course.errors import UsageError
from mlc_course.grading.course import Result
from mlc_course.grading.reports.sheets import Sheet, as_number, number_in, read_sheet, written

CANVAS = ("Student", "ID", "Section")
CANVAS_NAMES = ("Student", "SIS User ID", "SIS Login ID", "Integration ID")
POINTS_POSSIBLE = "Points Possible"
READ_ONLY = "(read only)"
TEST_STUDENT = "Student, Test"  # Canvas's own, in every gradebook
EXCUSED = "EX"  # in place of a mark, in Canvas
CANVAS_COLUMN = re.compile(r"(?P<title>.*?)\s*\(\d+\)")
MOODLE = ("Identifier", "Grade", "Maximum Grade")
MOODLE_NAMES = ("Full name", "Email address", "ID number", "Username", "Identifier")
CAN_BE_CHANGED = "Grade can be changed"  # where Moodle says No, it passes over the row
THOUSANDS = re.compile(r"\d+,\d{3}")  # a thousand or one: nobody can tell
WITH_ID = re.compile(r"(?P<name>.+)_(?P<id>\d+)", re.DOTALL)  # of a student, as layouts name it

Work = tuple[str, str]  # a student and an assignment


class Row(NamedTuple):
    """One line of a platform's table: its number there, whose it is, and the names for them.

    ``is_closed`` where the platform takes no mark in this line.
    """

    at: int
    platform_id: str
    name: str
    names: frozenset[str]
    is_closed: bool = False


@dataclass(frozen=True)
class Filled:
    """A platform's table with marks in it, and what could not be filled in, in sentences.

    ``missing`` are those in the platform's table who handed in nothing, or not all assignments, and
    ``replaced`` the marks that were in the table and are others now.
    """

    text: str
    platform: str
    filled: int
    missing: tuple[str, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...]
    replaced: tuple[str, ...]


def fill(
    path: Path,
    results: Sequence[Result],
    columns: Mapping[str, str],
    only: str = "",
    ungraded: Collection[Work] = (),
) -> Filled:
    """Fill marks into a table that Canvas or Moodle exported.

    ``columns`` are the names that assignments have in Canvas, where they have others; ``only`` is
    the one assignment to take. A student is found by the platform's id, which downloads carry in
    their names, or by an exact name; where the id is one person's and the name another's, or two
    students are one person, nobody is marked. Answers that wait for a person leave the field as it
    was, and so do those whom Canvas excuses, those whose mark Moodle has locked, and what was
    handed in and has no marks yet, ``ungraded``.

    Raises ``UsageError`` for another file, and where it cannot be told which assignment is meant.
    """
    chosen = [each for each in results if only in ("", each.marks.assignment)]
    if only and not chosen:
        raise UsageError(
            f"no marks for {only!r} to fill in",
            expected=" | ".join(sorted({each.marks.assignment for each in results})),
            got=only,
        )
    sheet = read_export(path)
    if set(CANVAS) <= set(sheet.names):
        return _canvas(path, sheet, chosen, columns, ungraded)
    return _moodle(path, sheet, chosen, ungraded)


def read_export(path: Path) -> Sheet:
    """A table that Canvas or Moodle exported; raises ``UsageError`` for any other file."""
    if not path.is_file():
        raise UsageError(f"{path} is no file", expected="a CSV that Canvas or Moodle exported")
    faults = []
    for wanted in (CANVAS, MOODLE):
        try:
            sheet = read_sheet(path, wanted)
        except UsageError as error:
            faults.append(str(error.got))
            continue
        lines = (line + ("",) * (len(sheet.header) - len(line)) for line in sheet.lines)
        return replace(sheet, lines=tuple(line for line in lines if any(line)))
    raise UsageError(
        f"{path} is no table that Canvas or Moodle exported",
        expected=f"Canvas: {', '.join(CANVAS)}; Moodle: {', '.join(MOODLE)}",
        got=faults[0],
        hint="the columns are known by their English names: export in English",
    )


def _canvas(
    path: Path,
    sheet: Sheet,
    results: Sequence[Result],
    columns: Mapping[str, str],
    ungraded: Collection[Work],
) -> Filled:
    at = _places(sheet)
    possible = next((line for line in sheet.lines if line[0].strip() == POINTS_POSSIBLE), None)
    if possible is None:
        raise UsageError(f"{path} has no row {POINTS_POSSIBLE!r}", expected="an export of Canvas")
    rows = [
        Row(
            number,
            line[at["ID"]].strip(),
            line[0],
            frozenset(line[at[each]].strip() for each in CANVAS_NAMES if each in at) - {""},
        )
        for number, line in enumerate(sheet.lines)
        if line is not possible and line[at["Section"]].strip() and line[0] != TEST_STUDENT
    ]
    gradable = {
        name: i
        for name, i in at.items()
        if CANVAS_COLUMN.fullmatch(name) and possible[i].strip() != READ_ONLY
    }
    places = {}
    for assignment in sorted({each.marks.assignment for each in results}):
        column = _column(path, assignment, columns.get(assignment, assignment), gradable)
        places[assignment] = (column, possible[column])
    return _filled(path, sheet, "Canvas", rows, results, places, ungraded)


def _places(sheet: Sheet) -> dict[str, int]:
    """Where each column is; of two of one name, the first."""
    return {name: sheet.names.index(name) for name in sheet.names}


def _column(path: Path, assignment: str, title: str, gradable: Mapping[str, int]) -> int:
    """The column of an assignment, by its title there, with capitals and signs left out."""
    fits = []
    for name, at in gradable.items():
        found = CANVAS_COLUMN.fullmatch(name)
        if name == title or found and _plain(found["title"]) == _plain(title):
            fits.append(at)
    if len(fits) != 1:
        raise UsageError(
            f"{path}: {'no' if not fits else 'more than one'} column for {assignment}",
            expected=" | ".join(gradable) or "a column for each assignment, such as Packing (123)",
            got=title,
            hint="name the column under [columns] in rules.toml",
        )
    return fits[0]


def _moodle(
    path: Path, sheet: Sheet, results: Sequence[Result], ungraded: Collection[Work]
) -> Filled:
    assignments = sorted({each.marks.assignment for each in results})
    if len(assignments) > 1:
        raise UsageError(
            f"{path} is for one assignment, and there are marks of {len(assignments)}",
            expected=f"--fill ASSIGNMENT={path}",
            got=", ".join(assignments),
        )
    at = _places(sheet)
    rows = []
    for number, line in enumerate(sheet.lines):
        found = re.search(r"(\d+)\s*$", line[at["Identifier"]])
        names = frozenset(line[at[each]].strip() for each in MOODLE_NAMES if each in at)
        name = line[at.get("Full name", at["Identifier"])]
        is_closed = CAN_BE_CHANGED in at and line[at[CAN_BE_CHANGED]].strip() == "No"
        rows.append(Row(number, found[1] if found else "", name, names - {""}, is_closed))
    maximum = {line[at["Maximum Grade"]] for line in sheet.lines}
    if len(maximum) != 1:
        raise UsageError(f"{path}: no one Maximum Grade", expected="one", got=", ".join(maximum))
    places = {each: (at["Grade"], next(iter(maximum))) for each in assignments}
    return _filled(path, sheet, "Moodle", rows, results, places, ungraded)


def _filled(
    path: Path,
    sheet: Sheet,
    platform: str,
    rows: Sequence[Row],
    results: Sequence[Result],
    places: Mapping[str, tuple[int, str]],
    ungraded: Collection[Work],
) -> Filled:
    lines = [list(line) for line in sheet.lines]
    rows_of = [_row(each.marks.student, rows) for each in results]
    students: defaultdict[tuple[int, str], list[str]] = defaultdict(list)
    for each, row in zip(results, rows_of, strict=True):
        if isinstance(row, Row):
            students[row.at, each.marks.assignment].append(each.marks.student)
    most = {name: _most(path, name, possible) for name, (_, possible) in places.items()}
    refused, replaced, notes, filled = list[str](), list[str](), list[str](), 0
    for each, row in zip(results, rows_of, strict=True):
        student, assignment = each.marks.student, each.marks.assignment
        if isinstance(row, str):
            refused.append(row)
            continue
        same, column = students[row.at, assignment], places[assignment][0]
        before = lines[row.at][column].strip()
        if len(same) > 1:
            refused.append(f"{' and '.join(map(repr, same))} are both {row.name!r}")
        elif each.waiting:
            refused.append(f"{student!r}, {assignment}: waits for points by hand")
        elif row.is_closed:
            refused.append(f"{student!r}, {assignment}: {platform} has locked the mark")
        elif before.upper() == EXCUSED:
            refused.append(f"{student!r}, {assignment}: excused in {platform}")
        else:
            scaled = each.final * most[assignment] / each.out_of if each.out_of else 0.0
            mark = as_number(round(scaled, 2))
            lines[row.at][column] = mark
            filled += 1
            if before and not _is_number(before, float(mark)):
                replaced.append(f"{row.name}, {assignment}: {before} by {mark}")
    for assignment, (_, possible) in places.items():
        out_of = next(each.out_of for each in results if each.marks.assignment == assignment)
        if most[assignment] != out_of:
            notes.append(f"{assignment}: {out_of:g} points are {possible.strip()} in {platform}")
    there = set(students)
    for student, assignment in sorted(ungraded):
        if assignment in places:
            refused.append(f"{student!r}, {assignment}: not graded yet")
            if isinstance(row := _row(student, rows), Row):
                there.add((row.at, assignment))
    missing = []
    for row in rows:
        absent = [name for name in places if (row.at, name) not in there]
        if absent:
            is_all = len(absent) == len(places)
            missing.append(row.name if is_all else f"{row.name} ({', '.join(absent)})")
    return Filled(
        written(replace(sheet, lines=tuple(map(tuple, lines)))),
        platform,
        filled,
        tuple(missing),
        tuple(dict.fromkeys(refused)),
        tuple(notes),
        tuple(replaced),
    )


def _is_number(text: str, number: float) -> bool:
    try:
        return number_in(text) == number
    except ValueError:
        return False


def _most(path: Path, assignment: str, possible: str) -> float:
    try:
        most = number_in(possible)
        if most <= 0 or THOUSANDS.fullmatch(possible.strip()):
            raise ValueError(possible)
    except ValueError:
        raise UsageError(
            f"{path}: what {assignment} is graded out of",
            expected="a number of points, more than 0, and no comma for thousands",
            got=possible,
            hint="set it in the learning platform, and export again",
        ) from None
    return most


def _row(student: str, rows: Sequence[Row]) -> Row | str:
    """The row of a student, or why there is none."""
    found = WITH_ID.fullmatch(student)
    if found:
        own = [row for row in rows if row.platform_id == found["id"]]
        fitting = {_plain(found["name"]), _plain(student)}  # Moodle may hide names: Participant 321
        if len(own) == 1 and any(_plain(name) in fitting for name in own[0].names):
            return own[0]
        if own:
            return f"{student!r}: the platform has {own[0].name!r} under {found['id']}"
    named = [row for row in rows if student in row.names or student == row.platform_id]
    if len(named) == 1:
        return named[0]
    return f"{student!r}: {'more than one such name' if named else 'nobody of this name'} there"


def _plain(name: str) -> str:
    """A name as Canvas writes it into those of files: small letters and digits only."""
    return "".join(c for c in unicodedata.normalize("NFC", name).casefold() if c.isalnum())

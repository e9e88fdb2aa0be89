"""Points that a person gives: asked for in one table a question, and read back from there.

Beside each table (CSV) is a page with all answers to the question. What is filled in is kept in
``recorded.json``, so that a table that is deleted, cut short or emptied loses nothing. nbgrader's
formgrader is a second place to give points: whichever place was changed since both had the same
counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mlc_course.errors import UsageError
from mlc_course.grading.course import as_csv
from mlc_course.grading.reports.questions import Question
from mlc_course.grading.reports.sheets import alive, as_number, inert, number_in, records, refuse

RECORDED = "recorded.json"
COLUMNS = ("number", "student", "points", "out_of", "comment")
TAKE_BACK = "-"  # in place of points or a comment; an empty field changes nothing


class Place(NamedTuple):
    """Whose answer to which question."""

    assignment: str
    question: str
    student: str


@dataclass(frozen=True)
class Given:
    """A person's points and comment; None and an empty text where there is none yet.

    ``shared`` are the points that nbgrader's gradebook was last known to have, too; ``answer`` is a
    digest of the answer that the page last showed, which is the one that a person has read.
    """

    points: float | None = None
    comment: str = ""
    shared: float | None = None
    answer: str = ""


Points = Mapping[Place, Given]


def sheet_path(folder: Path, question: Question) -> Path:
    """Where the table of a question is; its page has the same name and ends in .html."""
    return folder / f"{question.assignment}--{question.name}.csv"


def recorded(folder: Path) -> Points:
    """The points that were taken in until now; raises ``UsageError`` for a spoilt record."""
    path = folder / RECORDED
    if not path.exists():
        return {}
    try:
        return {
            Place(each["assignment"], each["question"], each["student"]): Given(
                each["points"], each["comment"], each["shared"], each["answer"]
            )
            for each in json.loads(path.read_text(encoding="utf-8"))
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{path} cannot be read",
            expected="the points given by hand, as this command wrote them",
            got=f"{type(error).__name__}: {error}"[:200],
            hint="restore it; or delete it, and points are taken from the tables beside it",
        ) from None


def record(points: Points) -> str:
    """The text of the record."""
    rows = [
        place._asdict() | asdict(given)
        for place, given in sorted(points.items(), key=lambda item: item[0])
    ]
    return json.dumps(rows, indent=1)


def filled_in(
    folder: Path, questions: Sequence[Question], known: Mapping[str, Collection[str]]
) -> dict[Place, dict[str, str]]:
    """The fields that are filled in, ``points`` and ``comment``, for each answer that has one.

    ``known`` are the students of each assignment. Raises ``UsageError`` with every fault of a
    table: no number, below 0, above the question's points, an unknown student, one student twice.
    """
    found: dict[Place, dict[str, str]] = {}
    for question in questions:
        path = sheet_path(folder, question)
        if path.exists():
            rows = _rows(path, question, known.get(question.assignment, ()))
            found |= {Place(question.assignment, question.name, who): row for who, row in rows}
    return found


def _rows(
    path: Path, question: Question, known: Collection[str]
) -> list[tuple[str, dict[str, str]]]:
    rows, faults, seen = [], list[str](), set[str]()
    for number, line in records(path, ("student", "points", "comment")):
        student = alive(line["student"])
        fields = {name: line[name].strip() for name in ("points", "comment") if line[name].strip()}
        where = f"line {number}, {student!r}"
        if student not in known:
            faults.append(f"{where}: no such student")
        elif student in seen:
            faults.append(f"{where}: a second time")
        elif fault := _fault(fields.get("points", TAKE_BACK), question.out_of):
            faults.append(f"{where}: {fault}")
        seen.add(student)
        rows.append((student, fields))
    refuse(path, faults, f"points from 0 to {question.out_of:g}, a line for each student")
    return rows


def _fault(text: str, out_of: float) -> str:
    if text == TAKE_BACK:
        return ""
    try:
        points = number_in(text)
    except ValueError:
        return f"points {text!r} is no number"
    return "" if 0 <= points <= out_of else f"points {points:g}, not between 0 and {out_of:g}"


def merged(
    before: Points, filled: Mapping[Place, Mapping[str, str]], in_formgrader: Mapping[Place, float]
) -> Points:
    """The points that count now: those before, with what was changed in whichever place.

    Raises ``UsageError`` where table and formgrader differ, and both from what they last shared.
    """
    points, faults = dict(before), list[str]()
    for place in {**filled, **in_formgrader}:
        old, fields = before.get(place, Given()), filled.get(place, {})
        ours, theirs = _points(fields.get("points"), old.points), in_formgrader.get(place)
        if theirs not in (None, ours, old.shared):
            if ours != old.shared:
                was = f"{_told(ours)} in the table, {_told(theirs)} in formgrader"
                faults.append(f"{place.student!r}, {place.question}: {was}")
            ours = theirs
        points[place] = replace(old, points=ours, comment=_comment(fields, old))
    if faults:
        raise UsageError(
            "points given in two places differ",
            expected="the same points in the table and in formgrader",
            got="; ".join(faults[:10]),
        )
    return {place: given for place, given in points.items() if given != Given()}


def for_answers(points: Points, answers: Mapping[Place, str]) -> Points:
    """The same points, without those for an answer that is another one than the page last showed.

    Such an answer waits again, and the comment says what the earlier one had. That is so for new
    points, too: who wrote them has not seen the answer that came meanwhile.
    """
    found = dict(points)
    for place, text in answers.items():
        given = points.get(place, Given())
        digest = hashlib.sha256(" ".join(text.split()).encode(errors="replace")).hexdigest()[:16]
        if given.points is not None and given.answer not in ("", digest):
            note = f"{given.comment} (an earlier answer had {given.points:g} points)".strip()
            given = replace(given, points=None, comment=note)
        found[place] = replace(given, answer=digest)
    return found


def shared(points: Points, places: Collection[Place]) -> Points:
    """The same points, of which those at ``places`` are now in nbgrader's gradebook, too."""
    return {
        place: replace(given, shared=given.points) if place in places else given
        for place, given in points.items()
    }


def _told(points: float | None) -> str:
    return "none" if points is None else f"{points:g}"


def _points(text: str | None, old: float | None) -> float | None:
    if text is None:
        return old
    return None if text == TAKE_BACK else number_in(text)


def _comment(fields: Mapping[str, str], old: Given) -> str:
    text = fields.get("comment", inert(old.comment))
    return "" if text == TAKE_BACK else alive(text)


def sheet(question: Question, students: Sequence[str], points: Points) -> str:
    """The table of a question, with what is given already."""
    rows: list[Sequence[object]] = [COLUMNS]
    for number, student in enumerate(students, start=1):
        given = points.get(Place(question.assignment, question.name, student), Given())
        number_of_points = "" if given.points is None else as_number(given.points)
        rows.append((
            number, inert(student), number_of_points, f"{question.out_of:g}", inert(given.comment)
        ))  # fmt: skip
    return as_csv(rows)

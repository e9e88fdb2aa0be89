"""Marks of our own grader, in nbgrader's gradebook: for ``nbgrader export`` and for formgrader."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mlc_course.extras import brought_by

with brought_by("grade"):
    import nbformat
    from nbformat.v4 import new_markdown_cell, new_notebook
    from nbgrader.api import Gradebook, MissingEntry
    from nbgrader.coursedir import CourseDirectory

from mlc_course.errors import UsageError
from mlc_course.grading.nbgrader.exercise_release import (
    ROOT,
    find_assignments,
    open_gradebook,
    register,
    settings,
)

STUDENT = re.compile(
    r"[^./\\*?\[\]{}][^/\\*?\[\]{}]*"
)  # names one folder, and no pattern of nbgrader's

COLLECTED_WITH = ("timestamp.txt", "submission_secret.txt")  # written by nbgrader submit

# What nbformat raises for a file that anything may be in.
NO_NOTEBOOK = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    RecursionError,
    nbformat.ValidationError,
)


@dataclass(frozen=True)
class Entry:
    """One student's marks for one assignment.

    ``points`` has an entry for every cell that is graded automatically, by its ``grade_id``, and
    ``by_person`` one for every cell that a person grades, None where it waits; ``no_answer`` are
    such cells in which there is nothing to grade.
    ``notebook`` is what was handed in; formgrader shows its cells beside the points. ``file`` is
    where it was handed in, and ``page`` the feedback as HTML, to be given back.
    """

    student: str
    assignment: str
    points: Mapping[str, float]
    notebook: bytes = b""
    file: Path | None = None
    page: str = ""
    by_person: Mapping[str, float | None] = field(default_factory=dict)
    no_answer: Collection[str] = ()


def record_marks(entries: Iterable[Entry], *, root: Path = ROOT) -> int:
    """Write marks into the gradebook of the course in ``root``, over older ones.

    Return how many pages of feedback ``nbgrader release_feedback`` can give back now: those of what
    nbgrader collected.

    Students, submissions and assignments that the gradebook does not know are added. Points that a
    person gave in formgrader stay and count in place of ours, to be looked at again. Raises
    ``UsageError``, before any mark is written, for an unknown assignment, for points that do not
    fit its cells, and for a student's name that cannot name a folder.
    """
    course, entries = CourseDirectory(config=settings(root)), list(entries)
    with open_gradebook(course.db_url) as book:
        cells = {name: _cells(book, course, name) for name in {e.assignment for e in entries}}
        for entry in entries:
            _check(entry, cells[entry.assignment])
        for entry in entries:
            _record(book, course, entry, cells[entry.assignment])
            _show(course, entry)
    return sum(_give_back(course, entry) for entry in entries)


def points_by_person(
    assignments: Iterable[str], *, root: Path = ROOT
) -> dict[tuple[str, str, str], float]:
    """The points that persons gave in formgrader, by assignment, cell and student.

    None where the course has no gradebook yet.
    """
    grades = _grades(assignments, root)
    return {place: float(each.manual) for place, each in grades if each.manual is not None}


def extra_credit(
    assignments: Iterable[str], *, root: Path = ROOT
) -> dict[tuple[str, str, str], float]:
    """The extra credit that persons gave in formgrader, by assignment, cell and student."""
    return {place: float(each.extra) for place, each in _grades(assignments, root) if each.extra}


class _Grade(NamedTuple):
    """What a person gave for one cell."""

    manual: float | None
    extra: float | None


def _grades(assignments: Iterable[str], root: Path) -> list[tuple[tuple[str, str, str], _Grade]]:
    """All grades in the gradebook, by assignment, cell and student."""
    course = CourseDirectory(config=settings(root))
    file = course.db_url.removeprefix("sqlite:///")
    if file != course.db_url and not Path(file).exists():
        return []
    found: list[tuple[tuple[str, str, str], _Grade]] = []
    with open_gradebook(course.db_url) as book:
        known = {each.name for each in book.assignments}
        for name in known.intersection(assignments):
            for submission in book.assignment_submissions(name):
                for notebook in submission.notebooks:
                    for grade in notebook.grades:
                        place = (name, grade.name, submission.student.id)
                        found.append((place, _Grade(grade.manual_score, grade.extra_credit)))
    return found


def _cells(book: Gradebook, course: CourseDirectory, assignment: str) -> list[Any]:
    """All cells that have points."""
    try:
        found = book.find_assignment(assignment)
    except MissingEntry:
        solutions = Path(course.root, course.source_directory)
        register(find_assignments(solutions, [assignment]), course.db_url)
        found = book.find_assignment(assignment)
    return [
        cell
        for notebook in found.notebooks
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    ]


def _is_for_a_person(cell: Any) -> bool:
    """A cell that is graded and also an answer, and a task."""
    answers = {answer.name for answer in cell.notebook.solution_cells}
    return cell in cell.notebook.task_cells or cell.name in answers


def _check(entry: Entry, cells: list[Any]) -> None:
    what = f"gradebook: {entry.student}, {entry.assignment}"
    if not STUDENT.fullmatch(entry.student):
        raise UsageError(f"{what}: no name for a student", expected="a word", got=entry.student)
    by_person = [cell.name for cell in cells if _is_for_a_person(cell)]
    most = {cell.name: cell.max_score for cell in cells if cell.name not in by_person}
    if most.keys() != entry.points.keys() or not {
        *entry.by_person,
        *entry.no_answer,
    } <= set(by_person):
        raise UsageError(
            f"{what}: the points are not those of its cells",
            expected=", ".join((*most, *by_person)),
            got=", ".join((*entry.points, *entry.by_person, *entry.no_answer)) or "none",
            hint="after a change of the solution: make exercises",
        )
    for name, points in entry.points.items():
        if not 0 <= points <= most[name]:
            expected = f"0 to {most[name]:g}"
            raise UsageError(f"{what}: points of {name}", expected=expected, got=points)


def _record(book: Gradebook, course: CourseDirectory, entry: Entry, cells: list[Any]) -> None:
    submitted = course.format_path(course.submitted_directory, entry.student, entry.assignment)
    book.update_or_create_student(entry.student)
    # formgrader takes another time than that of the submitted folder for a mark of an older version
    handed_in = course.get_existing_timestamp(submitted)
    with book.db.no_autoflush:  # else a query between making and adding it warns
        book.update_or_create_submission(entry.assignment, entry.student, timestamp=handed_in)
    for cell in cells:
        grade = book.find_grade(cell.name, cell.notebook.name, entry.assignment, entry.student)
        if cell.name in entry.by_person:
            grade.auto_score, grade.manual_score = None, entry.by_person[cell.name]
            grade.needs_manual_grade = grade.manual_score is None
        elif cell.name in entry.no_answer:
            grade.auto_score, grade.manual_score = 0.0, None
            grade.needs_manual_grade = False
        elif cell.name in entry.points:
            grade.auto_score = entry.points[cell.name]
            grade.needs_manual_grade = grade.manual_score is not None
    book.db.commit()


def _show(course: CourseDirectory, entry: Entry) -> None:
    """Put what was handed in where formgrader looks for it, without its outputs."""
    folder = course.format_path(course.autograded_directory, entry.student, entry.assignment)
    path = Path(folder, f"{entry.assignment}.ipynb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)  # nbgrader's own are read-only
    path.write_text(_without_outputs(entry.notebook), encoding="utf-8")


def _give_back(course: CourseDirectory, entry: Entry) -> bool:
    """Put the page where release_feedback looks for it; tell whether that was possible.

    That command reads the time and the secret of a submission beside its page, and stops for
    everybody where one is missing. A student's fetch_feedback looks for the name of the student's
    own file, also where it is not the assignment's.
    """
    where = (entry.student, entry.assignment)
    submitted = Path(course.format_path(course.submitted_directory, *where))
    beside = [submitted / name for name in COLLECTED_WITH]
    own = entry.file
    collected = own is not None and own.parent.resolve() == submitted.resolve()
    if own is None or not collected or not entry.page or not all(map(Path.is_file, beside)):
        return False
    folder = Path(course.format_path(course.feedback_directory, *where))
    folder.mkdir(parents=True, exist_ok=True)
    for name in {own.stem, entry.assignment}:
        path = folder / f"{name}.html"
        path.unlink(missing_ok=True)  # nbgrader's own may be read-only
        path.write_text(entry.page, encoding="utf-8")
    for path in beside:
        shutil.copyfile(path, folder / path.name)
    return True


def _without_outputs(notebook: bytes) -> str:
    """Outputs are not what was graded, and may be pages that run in the grader's browser."""
    try:
        found = nbformat.reads(notebook.decode(), as_version=4)
        for cell in found.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        found.metadata.pop("widgets", None)
    except NO_NOTEBOOK:
        found = new_notebook(cells=[new_markdown_cell("What was handed in is no notebook.")])
    return str(nbformat.writes(found))

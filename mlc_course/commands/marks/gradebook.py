"""nbgrader's gradebook, where the course has one: points from there, and results to there."""

from __future__ import annotations

import importlib.util
from collections.abc import Collection, Sequence
from pathlib import Path

from mlc_course.grading.course import SETTINGS, Result, Submission, feedback
from mlc_course.grading.reports import Place


def is_here(root: Path) -> bool:
    """Tell whether the course in ``root`` has settings for nbgrader, and nbgrader is installed."""
    return (root / SETTINGS).exists() and importlib.util.find_spec("nbgrader") is not None


def points_in_formgrader(root: Path, assignments: Collection[str]) -> dict[Place, float]:
    """The points that persons gave there."""
    # Here, because it takes two seconds and most courses are graded without it.
    from mlc_course.grading.nbgrader import points_by_person

    return {Place(*at): points for at, points in points_by_person(assignments, root=root).items()}


def extra_in_formgrader(root: Path, assignments: Collection[str]) -> dict[Place, float]:
    """The extra credit that persons gave there."""
    from mlc_course.grading.nbgrader import extra_credit

    return {Place(*at): points for at, points in extra_credit(assignments, root=root).items()}


def fill(
    root: Path, folder: Path, submissions: Sequence[Submission], results: Sequence[Result]
) -> tuple[list[str], set[Place]]:
    """Show the results there, and put feedback where nbgrader gives it back.

    Return what is to be said, and the answers whose points are there now.
    """
    from mlc_course.grading.nbgrader import STUDENT, Entry, record_marks

    handed_in = {(each.student, each.assignment): each for each in submissions}
    said, entries = list[str](), list[Entry]()
    for each in results:
        marks = each.marks
        if not STUDENT.fullmatch(marks.student):
            said.append(f"{marks.student!r} is no name for nbgrader's gradebook; see the CSV")
            continue
        own = handed_in[marks.student, marks.assignment]
        entries.append(
            Entry(
                marks.student,
                marks.assignment,
                {test.grade_id: test.points for test in marks.tests},
                own.notebook,
                folder / own.path if own.path else None,
                feedback.page(each),
                {hand.name: hand.points for hand in each.by_person if not hand.is_empty},
                [hand.name for hand in each.by_person if hand.is_empty],
            )
        )
    pages = record_marks(entries, root=root)
    filled = {
        Place(entry.assignment, name, entry.student)
        for entry in entries
        for name in (*entry.by_person, *entry.no_answer)
    }
    if pages:
        said.append(f"pages for nbgrader release_feedback: {pages}")
    return said, filled

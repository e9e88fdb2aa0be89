"""From marks to all that ``mlc-course grade`` writes, with what a person gave and the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from mlc_course.commands.marks import gradebook as nbgrader
from mlc_course.commands.marks.files import MarksFiles
from mlc_course.errors import UsageError
from mlc_course.grading.course import SETTINGS, Exam, Marks, Result, Submission
from mlc_course.grading.handed_in import Left, handed_in
from mlc_course.grading.reports import (
    Place,
    Points,
    answers_to,
    by_hand,
    platforms,
    questions_in,
    read_rules,
    results_of,
    same_answers,
)

MOST_NAMED = 20  # students in one line


class Reported(NamedTuple):
    """Written results, sentences about them, and whether every mark has its place."""

    results: list[Result]
    said: list[str]
    has_all: bool


class MarksReport:
    """Wishes beside marks. Making them raises ``UsageError`` for whatever is faulty."""

    def __init__(
        self,
        folder: Path,
        solutions: Path,
        exams: Sequence[Exam],
        submissions: Sequence[Submission],
        files: MarksFiles,
        *,
        rules_path: Path | None,
        exports: Sequence[str],
        gradebook: bool,
    ) -> None:
        self.folder, self.solutions, self.root = folder, solutions, solutions.parent
        self.submissions, self.files = submissions, files
        self.assignments = {each.assignment for each in submissions}
        self.exams = [exam for exam in exams if exam.assignment in self.assignments]
        known = [exam.assignment for exam in exams]
        self.rules = read_rules(rules_path, solutions, submissions, known)
        self.exports = [_export(text, self.assignments) for text in exports]
        self.questions = questions_in(self.exams, solutions)
        self.students: defaultdict[str, set[str]] = defaultdict(set)
        for each in submissions:
            self.students[each.assignment].add(each.student)
        self.said: list[str] = []
        if gradebook and (self.root / SETTINGS).exists() and not nbgrader.is_here(self.root):
            self.said.append("nbgrader is not installed, so its gradebook is not filled")
        self.has_gradebook = gradebook and nbgrader.is_here(self.root)

    def points_by_hand(
        self, graded: Iterable[tuple[str, str]]
    ) -> tuple[Points, dict[Place, float]]:
        """The points that persons gave: for answers, and for cells of tests in place of ours.

        They are read anew each time, because people go on while the grader runs. Raises
        ``UsageError`` for faulty ones. ``graded`` are students, each with an assignment, who
        may be in the tables.
        """
        for student, assignment in graded:
            self.students[assignment].add(student)
        given: dict[Place, float] = {}
        if self.has_gradebook:
            given = nbgrader.points_in_formgrader(self.root, self.assignments)
        out_of = {(each.assignment, each.name): each.out_of for each in self.questions}
        own = {place: points for place, points in given.items() if place[:2] in out_of}
        for place, points in own.items():
            if not 0 <= points <= out_of[place[:2]]:
                raise UsageError(
                    f"formgrader: {place.student!r}, {place.question}",
                    expected=f"points from 0 to {out_of[place[:2]]:g}",
                    got=f"{points:g}",
                )
        folder = self.files.by_hand
        filled = by_hand.filled_in(folder, self.questions, self.students)
        points_now = by_hand.merged(by_hand.recorded(folder), filled, own)
        return points_now, {at: points for at, points in given.items() if at not in own}

    def write(self, marks: Sequence[Marks], left: Sequence[Left]) -> Reported:
        """Write all tables and pages, and fill gradebook and platforms' tables."""
        files, said, has_all = self.files, list(self.said), not left
        points, overruled = self.points_by_hand((each.student, each.assignment) for each in marks)
        answers = answers_to(self.questions, self.submissions)
        texts = {Place(*at, who): text for at, own in answers.items() for who, text in own.items()}
        points = by_hand.for_answers(points, texts)
        notebooks = [exam.notebook for exam in self.exams]
        times = {
            (each.student, each.assignment): handed_in(self.folder, each.path, notebooks)
            for each in self.submissions
        }
        late = {work: self.rules.late(work, time) for work, time in times.items()}
        extra: dict[Place, float] = {}
        if self.has_gradebook:
            extra = nbgrader.extra_in_formgrader(self.root, self.assignments)
        results = results_of(marks, self.questions, answers, points, overruled, late, extra)
        files.write_by_hand(self.questions, answers, points)
        said += files.write(results, left)
        files.write_class(results, same_answers(self.submissions, self.exams, self.solutions))
        ungraded = set(times) - {(each.student, each.assignment) for each in marks}
        files.write_totals(results, self.rules.drop_lowest, ungraded)
        said += _unknown(
            [work for work, time in times.items() if self.rules.is_unknown(work, time)]
        )
        if self.has_gradebook:
            more, filled = nbgrader.fill(self.root, self.folder, self.submissions, results)
            files.write_record(by_hand.shared(points, filled))
            said += more
        for path, assignment in self.exports:
            more, has_place = files.write_filled(
                path, assignment, results, self.rules.columns, ungraded
            )
            said, has_all = [*said, *more], has_all and has_place
        if self.questions:
            said.append(_waiting(sum(each.waiting for each in results), files.by_hand))
        return Reported(results, said, has_all)


def _export(text: str, assignments: Collection[str]) -> tuple[Path, str]:
    """``[ASSIGNMENT=]FILE.csv``, and the file is one that a platform exported."""
    assignment, _, path = text.partition("=")
    if not path or assignment not in assignments:
        assignment, path = "", text
    platforms.read_export(Path(path))
    return Path(path), assignment


def _unknown(works: Sequence[tuple[str, str]]) -> list[str]:
    if not works:
        return []
    shown = "; ".join(", ".join(work) for work in works[:MOST_NAMED])
    return [
        f"no time is known for {len(works)}, which count as on time: {shown}",
        "  hint      days_late in rules.toml names a table of days",
    ]


def _waiting(count: int, folder: Path) -> str:
    if not count:
        return f"graded by hand: all; the tables and pages are in {folder}"
    wait = "1 answer waits" if count == 1 else f"{count} answers wait"
    return (
        f"graded by hand: {wait} for points\n"
        f"  hint      read the pages in {folder}, fill in the tables beside them, and give the same"
        " command again"
    )

"""Files that ``mlc-course grade`` writes beside its table, and their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from mlc_course.commands.output import check_folder, write_text
from mlc_course.errors import UsageError
from mlc_course.grading.course import Result, as_csv, feedback
from mlc_course.grading.handed_in import Left
from mlc_course.grading.reports import (
    Answers,
    Points,
    Question,
    Same,
    by_hand,
    marks_table,
    page_of,
    page_of_class,
    platforms,
    totals_table,
)

MOST_NAMED = 20  # of students in one line

Work = tuple[str, str]  # a student and an assignment


class MarksFiles:
    """The files of one class: all begin with the table's name, ``out`` without its ``.csv``."""

    def __init__(self, out: Path) -> None:
        self.table = out
        self.store = out.with_suffix(".sqlite")
        self.feedback = out.with_name(f"{out.stem}_feedback")
        self.by_hand = out.with_name(f"{out.stem}_by_hand")
        self.of_class = out.with_name(f"{out.stem}_class.html")
        self.totals = out.with_name(f"{out.stem}_totals.csv")
        self.filled = out.with_name(f"{out.stem}_filled")
        self.not_graded = out.with_name(f"{out.stem}_not_graded.csv")

    @property
    def all(self) -> set[Path]:
        """All that this command writes, resolved: it may lie among what was handed in."""
        kept = [self.table.with_suffix(ending) for ending in (".sqlite-journal", ".key")]
        return {each.resolve() for each in (*kept, *vars(self).values())}

    def write(self, results: Sequence[Result], left: Sequence[Left]) -> list[str]:
        """Write the table, the list of what is left, and a page of feedback for each.

        Return what is to be said of pages that cannot be written; the others are written.
        """
        write_text(self.table, marks_table(results))
        if left:
            rows = [("path", "not graded, because"), *((each.path, each.why) for each in left)]
            write_text(self.not_graded, as_csv(rows))
        else:
            self.not_graded.unlink(missing_ok=True)  # of a run before this one
        faults = []
        for each in results:
            try:
                feedback.write(self.feedback, each)
            except UsageError as error:
                faults.append(f"no feedback for {each.marks.student!r}: {error}")
        return faults

    def write_class(self, results: Sequence[Result], same: Sequence[Same]) -> None:
        """Write the page on the class."""
        if results:
            write_text(self.of_class, page_of_class(results, same))

    def write_totals(
        self, results: Sequence[Result], drop_lowest: int, ungraded: Collection[Work]
    ) -> None:
        """Write the totals of each student, where there is more than one assignment."""
        if len({each.marks.assignment for each in results}) > 1:
            write_text(self.totals, totals_table(results, drop_lowest, ungraded))
        else:
            self.totals.unlink(missing_ok=True)

    def write_filled(
        self,
        exported: Path,
        only: str,
        results: Sequence[Result],
        columns: Mapping[str, str],
        ungraded: Collection[Work],
    ) -> tuple[list[str], bool]:
        """Fill marks into a copy of what a platform exported.

        Return what is to be said of it, and whether every mark has a place there.
        """
        found = platforms.fill(exported, results, columns, only, ungraded)
        check_folder(self.filled)
        path = self.filled / exported.name
        write_text(path, found.text)
        said = [f"for {found.platform}: {found.filled} marks in {path}"]
        for what, items in (
            ("scaled", found.notes),
            ("other marks replaced", found.replaced),
            ("not filled in", found.refused),
            ("handed in nothing", found.missing),
        ):
            if items:
                more = len(items) - MOST_NAMED
                named = [*items[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])]
                said.append(f"  {what}: {len(items)}: {'; '.join(named)}")
        return said, not found.refused

    def write_record(self, points: Points) -> None:
        """Write the points given by hand, if there are any."""
        if points:
            check_folder(self.by_hand)
            write_text(self.by_hand / by_hand.RECORDED, by_hand.record(points))

    def write_by_hand(
        self, questions: Sequence[Question], answers: Answers, points: Points
    ) -> None:
        """Write the points given by hand, then a table and a page for each question.

        The record is first: with it, nothing is lost if the disk fills now.
        """
        self.write_record(points)
        if questions:
            check_folder(self.by_hand)
        for question in questions:
            own = answers[question.assignment, question.name]
            path = by_hand.sheet_path(self.by_hand, question)
            write_text(path, by_hand.sheet(question, list(own), points))
            write_text(path.with_suffix(".html"), page_of(question, own, points))

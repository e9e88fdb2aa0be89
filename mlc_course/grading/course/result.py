"""The worth of a submission: marks, a person's points, and a penalty for being late."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlc_course.grading.course.grader import Marks, TestMarks


@dataclass(frozen=True)
class ByPerson:
    """A question that a person grades; ``points`` None means that the answer waits for them.

    ``is_empty`` where there is no answer, and the points are 0 without anybody's doing.
    """

    name: str
    out_of: float
    points: float | None = None
    comment: str = ""
    is_empty: bool = False


@dataclass(frozen=True)
class Late:
    """Lateness of a submission, the part of its points that it keeps, and a sentence on both."""

    days: int = 0
    kept: float = 1.0
    note: str = ""


@dataclass(frozen=True)
class Result:
    """All points of one submission.

    ``overruled`` has the points that a person gave in formgrader for cells of tests, by their
    ``grade_id``; they count in place of the grader's. ``extra`` has the extra credit that a person
    gave there, for cells of any kind; it is added.
    """

    marks: Marks
    by_person: tuple[ByPerson, ...] = ()
    overruled: Mapping[str, float] = field(default_factory=dict)
    late: Late = Late()
    extra: Mapping[str, float] = field(default_factory=dict)

    def points_of(self, test: TestMarks) -> float:
        """Points of one test, a person's before the grader's."""
        return self.overruled.get(test.grade_id, test.points)

    @property
    def points(self) -> float:
        """Return the points before any penalty."""
        tests = sum(self.points_of(test) for test in self.marks.tests)
        by_person = sum(each.points or 0.0 for each in self.by_person)
        return tests + by_person + sum(self.extra.values())

    @property
    def final(self) -> float:
        """Return the points after the penalty."""
        return round(self.points * self.late.kept, 6)

    @property
    def out_of(self) -> float:
        return self.marks.out_of + sum(each.out_of for each in self.by_person)

    @property
    def percent(self) -> float:
        """Return the points after the penalty, in percent of the points that can be had."""
        return 100 * self.final / self.out_of if self.out_of else 0.0

    @property
    def waiting(self) -> int:
        """Return the number of answers that wait for a person."""
        return sum(each.points is None for each in self.by_person)

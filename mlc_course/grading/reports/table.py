"""The table of marks: one line a submission, as CSV."""

from __future__ import annotations

from collections.abc import Sequence

from mlc_course.grading.course import Result, as_csv

COLUMNS = (
    "student", "assignment", "points", "days_late", "final", "out_of", "percent", "by_hand",
    "waiting", "status", "counters_only", "sandbox", "exercises", "remarks",
)  # fmt: skip


def marks_table(results: Sequence[Result]) -> str:
    """CSV with the points before and after a penalty; ``waiting`` answers still have none."""
    rows: list[tuple[object, ...]] = [COLUMNS]
    for each in results:
        marks, hand = each.marks, each.by_person
        tests = [f"{t.grade_id}={each.points_of(t):g}/{t.out_of:g}" for t in marks.tests]
        given = [
            f"{h.name}={'?' if h.points is None else f'{h.points:g}'}/{h.out_of:g}" for h in hand
        ]
        rows.append((
            marks.student, marks.assignment, f"{each.points:g}", each.late.days or "",
            f"{each.final:g}", f"{each.out_of:g}", f"{each.percent:.0f}", " ".join(given),
            each.waiting or "", marks.status, "yes" if marks.counters_only else "", marks.sandbox,
            " ".join(tests), "; ".join(remarks(each)),
        ))  # fmt: skip
    return as_csv(rows)


def remarks(result: Result) -> list[str]:
    """What is to be said of a submission: of its time, of its cells, and of points by hand."""
    late = [result.late.note] if result.late.note else []
    overruled = [f"{name}: {points:g} by hand" for name, points in result.overruled.items()]
    extra = [f"{name}: {points:g} extra by hand" for name, points in result.extra.items()]
    return [*late, *result.marks.remarks, *overruled, *extra]

"""Totals of each student over all assignments, the lowest of them dropped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

from mlc_course.grading.course import Result, as_csv

NOT_HANDED_IN = "none"
NOT_GRADED = "?"


def totals_table(
    results: Sequence[Result],
    drop_lowest: int = 0,
    ungraded: Collection[tuple[str, str]] = (),
) -> str:
    """CSV: a line for each student, with what counts of each assignment.

    An assignment that somebody handed in and this student did not is 0 points. The lowest are those
    with the smallest part of what could be had; of two such, the one that is out of more, because
    that is better for the student. One assignment always stays. ``ungraded`` are students and
    assignments that were handed in and have no marks yet; they wait, and are 0 too.
    """
    out_of = {each.marks.assignment: each.out_of for each in results}
    students: defaultdict[str, dict[str, Result]] = defaultdict(dict)
    for each in results:
        students[each.marks.student][each.marks.assignment] = each
    names = sorted(out_of)
    rows: list[Sequence[object]] = [
        ("student", "total", "out_of", "percent", "waiting", "dropped", *names)
    ]
    for student in sorted(students):
        own = students[student]
        part = {name: own[name].percent if name in own else 0.0 for name in names}
        worst = sorted(names, key=lambda name: (part[name], -out_of[name]))
        dropped = worst[: min(drop_lowest, len(names) - 1)]
        kept = [name for name in names if name not in dropped]
        total = sum(own[name].final for name in kept if name in own)
        possible = sum(out_of[name] for name in kept)
        later = {name for name in names if (student, name) in ungraded}
        waiting = sum(each.waiting for each in own.values()) + len(later)
        absent = {name: NOT_GRADED if name in later else NOT_HANDED_IN for name in names}
        points = (f"{own[name].final:g}" if name in own else absent[name] for name in names)
        rows.append((
            student, f"{total:g}", f"{possible:g}",
            f"{100 * total / possible:.0f}" if possible else "0", waiting or "",
            " ".join(dropped), *points,
        ))  # fmt: skip
    return as_csv(rows)

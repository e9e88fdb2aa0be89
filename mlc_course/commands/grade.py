"""``mlc-course grade``: from a folder of submissions to a table, feedback and a gradebook."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlc_course.commands.marks import MarksFiles, MarksReport
from mlc_course.commands.output import NOWHERE, Results, check_file
from mlc_course.errors import UsageError, did_you_mean
from mlc_course.grading.course import (
    GRADED,
    SETTINGS,
    Result,
    Settings,
    Store,
    Submission,
    exams_in,
    grade_all,
    prepare,
    race_all,
)
from mlc_course.grading.handed_in import Left, collect
from mlc_course.grading.process import BUBBLEWRAP, Limits, chosen, hide_memory, seen
from mlc_course.grading.reports import remarks
from mlc_course.parallel import ends_like_ctrl_c, executor_for

MOST_ROWS = 150  # of the table that is printed; the CSV has all
MOST_LEFT = 20  # lines of the list of what is not graded; its CSV has all
FAILED = "grading it failed, see above; the same command tries again"


def run(
    folder: Path,
    *,
    solutions: Path,
    out: Path,
    jobs: int | None = None,
    executor: str | None = None,
    sandbox: str | None = None,
    only: Sequence[str] = (),
    rules_path: Path | None = None,
    exports: Sequence[str] = (),
    gradebook: bool = True,
    results: Results = NOWHERE,
) -> int:
    """Grade, print, write; 0 when everything that was handed in is graded, 1 when something is not.

    It is also 1 when a mark has no place in the table of a learning platform.
    Beside ``out`` (CSV) are the marks themselves (``.sqlite``), a folder of feedback, one of tables
    for what a person grades, and a list of what is not graded and why. Ctrl-C keeps what is graded.
    With ``only``, these students are graded again and nobody else; the tables still have all who
    are graded. Raises ``UsageError`` on bad arguments, and on bad points in the tables that a
    person fills in, before anything is graded.
    """
    check_file(out, (".csv",))
    sandbox = chosen(sandbox)
    _tell(_which_sandbox(sandbox))
    exams = exams_in(solutions)
    files = MarksFiles(out)
    submissions, left = collect(folder, exams, files.all)
    wanted = of_students(submissions, only) if only else submissions
    start = executor_for(executor, jobs)
    report = MarksReport(
        folder,
        solutions,
        exams,
        submissions,
        files,
        rules_path=rules_path,
        exports=exports,
        gradebook=gradebook,
    )
    limits = Limits(hidden=_secret(folder, solutions, out))
    if sandbox == BUBBLEWRAP:
        seen(limits.hidden)  # raises where they cannot be hidden
    else:
        hide_memory()  # the key of the marks is in it
    digests = {exam.assignment: exam.digest for exam in exams}
    exams = [exam for exam in exams if exam.assignment in {each.assignment for each in wanted}]
    with (
        ends_like_ctrl_c() as status,
        contextlib.closing(Store(files.store, sandbox=sandbox)) as store,
    ):
        report.points_by_hand(store.places())  # faulty ones are told before anything is graded
        settings = Settings(limits, sandbox, store.seed)
        if store.forged:
            _tell(
                f"{store.path}: {store.forged} entries were written by something else, or without "
                "its key; what they were about is graded again"
            )
        try:
            for exam in exams:
                prepare(exam, solutions, store, settings)
            failed = grade_all(wanted, exams, store, settings, start, again=bool(only))
            race_all(exams, store, settings)
        except KeyboardInterrupt:
            done = sum(store.has(each, digests[each.assignment]) for each in wanted)
            _tell(f"stopped: {done} of {len(wanted)} graded; the same command goes on")
            return status()
        graded = [each for each in submissions if store.has(each, digests[each.assignment])]
        current = {(each.student, each.assignment) for each in graded}
        marks = [each for each in store.marks() if (each.student, each.assignment) in current]
    # By what is kept too, not only by what was said to fail: nothing is in neither list.
    left += tuple(
        Left(each.path, FAILED)
        for each in wanted
        if each in failed or (each.student, each.assignment) not in current
    )
    found, said, has_all = report.write(marks, left)
    print(_rows(found))
    results.write(_record(found, left))
    without = [each.student for each in submissions if each not in {*graded, *wanted}]
    if without:
        said.append(_without_marks(without))
    said.append(f"marks: {out}   feedback: {files.feedback}   the class: {files.of_class}")
    if left:
        said.append(_left_lines(left, files.not_graded))
    _tell("\n".join(said))
    return 0 if has_all else 1


def _secret(folder: Path, solutions: Path, out: Path) -> tuple[Path, ...]:
    """The folders that no submission may see: where answers, submissions and marks lie."""
    course = solutions.resolve().parent
    own = [course] if (course / SETTINGS).exists() else []  # with its gradebook and its history
    return tuple(each.resolve() for each in (solutions, folder, out.parent, *own))


def of_students(submissions: Sequence[Submission], names: Sequence[str]) -> list[Submission]:
    """The submissions of these students; raises ``UsageError`` for a name that has none."""
    known = dict.fromkeys(each.student for each in submissions)
    for name in names:
        if name not in known:
            raise UsageError(
                f"no submission of {name!r}",
                expected="a student's name as the table of marks has it",
                got=name,
                hint=did_you_mean(name, known),
            )
    return [each for each in submissions if each.student in names]


def _tell(text: str) -> None:
    """Print to standard error what is not the result, so that the result can be piped."""
    print(text, file=sys.stderr, flush=True)


def _record(results: Sequence[Result], left: Sequence[Left]) -> dict[str, Any]:
    """Marks as JSON that may be handed on: what hidden checks asked is not in it."""
    trees = [
        {"points": each.points, "final": each.final, "out_of": each.out_of}
        | asdict(each.marks)
        | {"by_person": [asdict(hand) for hand in each.by_person], "late": asdict(each.late)}
        for each in results
    ]
    for test in (test for tree in trees for test in tree["tests"]):
        test["hidden"] = [
            {each: found[each] for each in ("kind", "verdict")} for found in test["hidden"]
        ]
    return {"marks": trees, "not_graded": [asdict(each) for each in left]}


def _left_lines(left: Sequence[Left], path: Path) -> str:
    lines = [f"not graded: {len(left)}, all in {path}"]
    lines += (f"  {each.path}: {each.why}" for each in left[:MOST_LEFT])
    lines += [f"  ... and {len(left) - MOST_LEFT} more"] if len(left) > MOST_LEFT else []
    return "\n".join(lines)


def _without_marks(students: Sequence[str]) -> str:
    """Say whose submissions have no marks yet, because others were asked for with ``--only``."""
    shown = ", ".join(students[:MOST_LEFT])
    more = f", and {len(students) - MOST_LEFT} more" if len(students) > MOST_LEFT else ""
    return (
        f"not in the tables, because not graded yet: {len(students)}: {shown}{more}\n"
        "  hint      the same command without --only grades them"
    )


def _which_sandbox(name: str) -> str:
    if name == BUBBLEWRAP:
        return "sandbox: bubblewrap; no network, no files but their own, limits on everything"
    return (
        "sandbox: rlimits only: time, memory and processes are limited, and nothing else is\n"
        "  not protected: solutions, other submissions, marks and all your files can be read,\n"
        "                 and changed; the network is open; other processes are seen\n"
        "  hint      apt-get install bubblewrap; or grade as a user who cannot read solutions/"
    )


def _rows(results: Sequence[Result]) -> str:
    lines = [f"{'student':<32} {'assignment':<34} {'points':>9} {'':>5}  {'sandbox':<10}  note"]
    for each in results[:MOST_ROWS]:
        marks, points = each.marks, f"{each.final:g}/{each.out_of:g}"
        notes = [] if marks.status == GRADED else [marks.status]
        notes += [f"{each.waiting} to be graded by hand"] if each.waiting else []
        notes += ["graded on counters only"] if marks.counters_only else []
        notes += remarks(each)[:1]
        lines.append(
            f"{marks.student[:32]:<32} {marks.assignment[:34]:<34} {points:>9} "
            f"{each.percent:>4.0f}%  {marks.sandbox:<10}  {'; '.join(notes)[:60]}"
        )
    if len(results) > MOST_ROWS:
        lines.append(f"... and {len(results) - MOST_ROWS} more")
    if results:
        middle = statistics.median(each.percent for each in results)
        lines.append(f"{len(results)} submissions, the median is {middle:.0f} %")
    return "\n".join(lines)

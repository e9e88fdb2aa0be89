"""``mlc-course grade``: from a folder of submissions to a table, feedback and a gradebook."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlc_course.commands.output import check_file, write_text
from mlc_course.errors import UsageError
from mlc_course.grading.course import (
    GRADED,
    SETTINGS,
    Marks,
    Settings,
    Store,
    Submission,
    as_csv,
    exams_in,
    feedback,
    grade_all,
    percent,
    prepare,
    race_all,
    table,
)
from mlc_course.grading.handed_in import Left, collect
from mlc_course.grading.process import BUBBLEWRAP, Limits, chosen, hide_memory, seen
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
    as_json: bool = False,
) -> int:
    """Grade, print, write; 0 when everything that was handed in is graded, 1 when something is not.

    Beside ``out`` (CSV) are the marks themselves (``.sqlite``), a folder of feedback, and, if there
    is something, a list of what is not graded and why. Ctrl-C keeps what is graded. Raises
    ``UsageError`` on bad arguments before anything is graded.
    """
    check_file(out, (".csv",))
    sandbox = chosen(sandbox)
    _tell(_which_sandbox(sandbox))
    exams = exams_in(solutions)
    submissions, left = collect(folder, exams)
    handed_in = {each.assignment for each in submissions}
    exams = [exam for exam in exams if exam.assignment in handed_in]
    start = executor_for(executor, jobs)
    limits = Limits(hidden=_secret(folder, solutions, out))
    if sandbox == BUBBLEWRAP:
        seen(limits.hidden)  # raises where they cannot be hidden
    else:
        hide_memory()  # the key of the marks is in it
    digests = {exam.assignment: exam.digest for exam in exams}
    kept = Store(out.with_suffix(".sqlite"), sandbox=sandbox)
    with contextlib.closing(kept) as store, ends_like_ctrl_c() as status:
        settings = Settings(limits, sandbox, store.seed)
        if store.forged:
            _tell(
                f"{store.path}: {store.forged} entries were written by something else, or without "
                "its key; what they were about is graded again"
            )
        try:
            for exam in exams:
                prepare(exam, solutions, store, settings)
            failed = grade_all(submissions, exams, store, settings, start)
            race_all(exams, store, settings)
        except KeyboardInterrupt:
            done = sum(store.has(each, digests[each.assignment]) for each in submissions)
            _tell(f"stopped: {done} of {len(submissions)} graded; the same command goes on")
            return status()
        graded = [each for each in submissions if store.has(each, digests[each.assignment])]
        current = {(each.student, each.assignment) for each in graded}
        marks = [each for each in store.marks() if (each.student, each.assignment) in current]
    left += tuple(Left(each.path, FAILED) for each in failed)
    write(marks, left, out)
    _fill_gradebook(submissions, marks, solutions.parent)
    print(json.dumps(_record(marks, left), indent=2) if as_json else _rows(marks))
    _tell(f"marks: {out}   feedback: {_feedback(out)}")
    if left:
        _tell(_left_lines(left, _not_graded(out)))
    return 1 if left else 0


def _secret(folder: Path, solutions: Path, out: Path) -> tuple[Path, ...]:
    """The folders that no submission may see: where answers, submissions and marks lie."""
    course = solutions.resolve().parent
    own = [course] if (course / SETTINGS).exists() else []  # with its gradebook and its history
    return tuple(each.resolve() for each in (solutions, folder, out.parent, *own))


def write(marks: Sequence[Marks], left: Sequence[Left], out: Path) -> None:
    """Write the CSV, that of what is left, and a page of feedback for each.

    A page that cannot be written is told, and the others are written all the same.
    """
    write_text(out, table(marks))
    if left:
        rows = [("path", "not graded, because"), *((each.path, each.why) for each in left)]
        write_text(_not_graded(out), as_csv(rows))
    else:
        _not_graded(out).unlink(missing_ok=True)  # of a run before this one
    for each in marks:
        try:
            feedback.write(_feedback(out), each)
        except UsageError as error:
            _tell(f"no feedback for {each.student!r}: {error}")


def _fill_gradebook(submissions: Sequence[Submission], marks: Sequence[Marks], root: Path) -> None:
    """Show the marks in nbgrader's gradebook, where the course has one."""
    if not (root / SETTINGS).exists():
        return
    if importlib.util.find_spec("nbgrader") is None:
        _tell("nbgrader is not installed, so its gradebook was not filled; see the CSV")
        return
    # Here, because it takes two seconds and most courses are graded without it.
    from mlc_course.grading.nbgrader import STUDENT, Entry, record_marks

    notebooks = {(each.student, each.assignment): each.notebook for each in submissions}
    named = [each for each in marks if STUDENT.fullmatch(each.student)]
    for each in marks:
        if each not in named:
            _tell(f"{each.student!r} is no name for nbgrader's gradebook; see the CSV")
    record_marks(
        (
            Entry(
                each.student,
                each.assignment,
                {test.grade_id: test.points for test in each.tests},
                notebooks[each.student, each.assignment],
            )
            for each in named
        ),
        root=root,
    )


def _tell(text: str) -> None:
    """Print to standard error what is not the result, so that the result can be piped."""
    print(text, file=sys.stderr, flush=True)


def _record(marks: Sequence[Marks], left: Sequence[Left]) -> dict[str, Any]:
    """Marks as JSON that may be handed on: what hidden checks asked is not in it."""
    trees = [{"points": each.points, "out_of": each.out_of} | asdict(each) for each in marks]
    for test in (test for tree in trees for test in tree["tests"]):
        test["hidden"] = [
            {each: found[each] for each in ("kind", "verdict")} for found in test["hidden"]
        ]
    return {"marks": trees, "not_graded": [asdict(each) for each in left]}


def _feedback(out: Path) -> Path:
    return out.with_name(f"{out.stem}_feedback")


def _not_graded(out: Path) -> Path:
    return out.with_name(f"{out.stem}_not_graded.csv")


def _left_lines(left: Sequence[Left], path: Path) -> str:
    lines = [f"not graded: {len(left)}, all in {path}"]
    lines += (f"  {each.path}: {each.why}" for each in left[:MOST_LEFT])
    lines += [f"  ... and {len(left) - MOST_LEFT} more"] if len(left) > MOST_LEFT else []
    return "\n".join(lines)


def _which_sandbox(name: str) -> str:
    if name == BUBBLEWRAP:
        return "sandbox: bubblewrap; no network, no files but their own, limits on everything"
    return (
        "sandbox: rlimits only: time, memory and processes are limited, and nothing else is\n"
        "  not protected: solutions, other submissions, marks and all your files can be read,\n"
        "                 and changed; the network is open; other processes are seen\n"
        "  hint      apt-get install bubblewrap; or grade as a user who cannot read solutions/"
    )


def _rows(marks: Sequence[Marks]) -> str:
    lines = [f"{'student':<32} {'assignment':<34} {'points':>9} {'':>5}  {'sandbox':<10}  note"]
    for each in marks[:MOST_ROWS]:
        points = f"{each.points:g}/{each.out_of:g}"
        notes = [] if each.status == GRADED else [each.status]
        notes += ["graded on counters only"] if each.counters_only else []
        notes += each.remarks[:1]
        lines.append(
            f"{each.student[:32]:<32} {each.assignment[:34]:<34} {points:>9} "
            f"{percent(each):>4.0f}%  {each.sandbox:<10}  {'; '.join(notes)[:60]}"
        )
    if len(marks) > MOST_ROWS:
        lines.append(f"... and {len(marks) - MOST_ROWS} more")
    if not marks:
        return "\n".join(lines)
    middle = statistics.median(map(percent, marks))
    lines.append(f"{len(marks)} submissions, half of them above {middle:.0f} %")
    return "\n".join(lines)

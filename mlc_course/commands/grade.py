"""``mlc-course grade``: from a folder of submissions to a table, feedback and a gradebook."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
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
from mlc_course.grading.process import BUBBLEWRAP, chosen
from mlc_course.parallel import INTERRUPTED, executor_for

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
    gradebook: bool = True,
    as_json: bool = False,
) -> int:
    """Grade, print, write; 0 when everything that was handed in is graded, 1 when something is not.

    Beside ``out`` (CSV) are the marks themselves (``.sqlite``), a folder of feedback, and, if there
    is something, a list of what is not graded and why. Ctrl-C keeps what is graded. With ``only``,
    these students are graded again and nobody else; the tables still have all who are graded.
    Raises ``UsageError`` on bad arguments before anything is graded.
    """
    check_file(out, (".csv",))
    exams = exams_in(solutions)
    submissions, left = collect(folder, exams)
    wanted = of_students(submissions, only) if only else submissions
    asked_for = {each.assignment for each in wanted}
    exams = [exam for exam in exams if exam.assignment in asked_for]
    start = executor_for(executor, jobs)
    store = Store(out.with_suffix(".sqlite"))
    settings = Settings(sandbox=sandbox, seed=store.seed)
    _tell(_which_sandbox(chosen(sandbox)))
    with tempfile.TemporaryDirectory(prefix="mlc-grade-") as scratch:
        os.environ["TMPDIR"] = scratch  # for the workers: what one that is killed leaves behind
        try:
            for exam in exams:
                prepare(exam, solutions, store, settings)
            failed = grade_all(wanted, exams, store, settings, start, again=bool(only))
            race_all(exams, store, settings)
        except KeyboardInterrupt:
            kept = {(each.student, each.assignment) for each in store.marks()}
            done = sum((each.student, each.assignment) in kept for each in wanted)
            _tell(f"stopped: {done} of {len(wanted)} graded; the same command goes on")
            return INTERRUPTED
    current = {(each.student, each.assignment) for each in submissions}
    marks = [each for each in store.marks() if (each.student, each.assignment) in current]
    left += tuple(Left(each.path, FAILED) for each in failed)
    write(marks, left, out)
    if gradebook:
        _fill_gradebook(folder, submissions, marks, solutions.parent)
    store.close()
    print(json.dumps(_record(marks, left), indent=2) if as_json else _rows(marks))
    _tell(f"marks: {out}   feedback: {_feedback(out)}")
    if left:
        _tell(_left_lines(left, _not_graded(out)))
    return 1 if left else 0


def of_students(submissions: Sequence[Submission], names: Sequence[str]) -> list[Submission]:
    """The submissions of these students; raises ``UsageError`` for a name that has none."""
    known = dict.fromkeys(each.student for each in submissions)
    for name in names:
        if name not in known:
            folded = {each.casefold(): each for each in known}
            similar = get_close_matches(name.casefold(), folded, n=1, cutoff=0.5)
            raise UsageError(
                f"no submission of {name!r}",
                expected="a student's name as the table of marks has it",
                got=name,
                hint=f"did you mean {folded[similar[0]]}?" if similar else None,
            )
    return [each for each in submissions if each.student in names]


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


def _fill_gradebook(
    folder: Path, submissions: Sequence[Submission], marks: Sequence[Marks], root: Path
) -> None:
    """Show the marks in nbgrader's gradebook, where the course has one, and give feedback back."""
    if not (root / SETTINGS).exists():
        return
    if importlib.util.find_spec("nbgrader") is None:
        _tell("nbgrader is not installed, so its gradebook was not filled; see the CSV")
        return
    # Here, because it takes two seconds and most courses are graded without it.
    from mlc_course.grading.nbgrader import STUDENT, Entry, record_marks

    handed_in = {(each.student, each.assignment): each for each in submissions}
    named = [each for each in marks if STUDENT.fullmatch(each.student)]
    for each in marks:
        if each not in named:
            _tell(f"{each.student!r} is no name for nbgrader's gradebook; see the CSV")
    entries = []
    for each in named:
        own = handed_in[each.student, each.assignment]
        points = {test.grade_id: test.points for test in each.tests}
        file = folder / own.path if own.path else None
        page = feedback.page(each)
        entries.append(Entry(each.student, each.assignment, points, own.notebook, file, page))
    pages = record_marks(entries, root=root)
    if pages:
        _tell(f"pages for nbgrader release_feedback: {pages}")


def _tell(text: str) -> None:
    """Print to standard error what is not the result, so that the result can be piped."""
    print(text, file=sys.stderr, flush=True)


def _record(marks: Sequence[Marks], left: Sequence[Left]) -> dict[str, Any]:
    graded = [{"points": each.points, "out_of": each.out_of} | asdict(each) for each in marks]
    return {"marks": graded, "not_graded": [asdict(each) for each in left]}


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
        "sandbox: rlimits only, so that a submission may read every file that you may read\n"
        "  hint      apt-get install bubblewrap; or grade as a user who cannot read solutions/"
    )


def _rows(marks: Sequence[Marks]) -> str:
    lines = [f"{'student':<32} {'assignment':<34} {'points':>9} {'':>5}  note"]
    for each in marks[:MOST_ROWS]:
        points = f"{each.points:g}/{each.out_of:g}"
        notes = [] if each.status == GRADED else [each.status]
        notes += ["graded on counters only"] if each.counters_only else []
        notes += each.remarks[:1]
        lines.append(
            f"{each.student[:32]:<32} {each.assignment[:34]:<34} {points:>9} "
            f"{percent(each):>4.0f}%  {'; '.join(notes)[:60]}"
        )
    if len(marks) > MOST_ROWS:
        lines.append(f"... and {len(marks) - MOST_ROWS} more")
    middle = statistics.median(map(percent, marks))
    lines.append(f"{len(marks)} submissions, half of them above {middle:.0f} %")
    return "\n".join(lines)

"""A class, unattended: many submissions in parallel, then the races one by one.

What is graded is kept at once, so Ctrl-C or a crash loses nothing: the same command goes on.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import cloudpickle
import psutil
from tqdm.auto import tqdm

from mlc_course.errors import MachineError, UsageError
from mlc_course.grading.course.exam import Exam, read_exam
from mlc_course.grading.course.grader import Marks, grade, reference_ratios, refused, run_races
from mlc_course.grading.course.store import Store
from mlc_course.grading.course.submission import Submission
from mlc_course.grading.process import Limits, chosen

ENDED_GRADER = "ended the process of its grader, twice"


@dataclass(frozen=True)
class Settings:
    """The settings of a batch, the same for every submission.

    ``sandbox`` None is bubblewrap.
    """

    limits: Limits = Limits()
    sandbox: str | None = None
    seed: int = 0


def exams_in(solutions: Path) -> list[Exam]:
    """The exams of all solution notebooks, ``solutions/NAME/NAME.ipynb``.

    Raises ``UsageError`` when there is none.
    """
    paths = sorted(solutions.glob("*/*.ipynb"))
    if not paths:
        raise UsageError(
            f"{solutions} holds no solution notebook",
            expected="SOLUTIONS/NAME/NAME.ipynb",
            hint="run in the course's folder, or give --solutions",
        )
    return [read_exam(path) for path in paths]


def prepare(exam: Exam, solutions: Path, store: Store, settings: Settings) -> None:
    """Grade the solution itself, and keep how fast it is on this machine.

    Raises ``UsageError`` when it does not earn all points here: then nobody's marks would be right.
    """
    if store.ratios(exam.digest) is not None:
        return
    path = solutions / exam.assignment / exam.notebook
    own = Submission("solution", exam.assignment, path.read_bytes())
    sandbox = chosen(settings.sandbox)
    marks = grade(exam, own, seed=settings.seed, limits=settings.limits, sandbox=sandbox)
    if marks.points < marks.out_of:
        lost = next(test for test in marks.tests if test.points < test.out_of)
        raise UsageError(
            f"{path}: the solution itself does not earn all points on this machine",
            expected=f"{marks.out_of:g} points",
            got=f"{marks.points:g}; {lost.grade_id}:\n" + "\n".join(map(str, lost.findings)),
            hint="an exercise that asks for less, or a machine that does more",
        )
    ratios = reference_ratios(exam, marks, limits=settings.limits, sandbox=sandbox)
    store.save_ratios(exam.digest, ratios)


def grade_all(
    submissions: Sequence[Submission],
    exams: Sequence[Exam],
    store: Store,
    settings: Settings,
    executor: Callable[[], Executor],
    *,
    again: bool = False,
) -> list[Submission]:
    """Grade what the store does not have yet; returns what could not be graded, to try again.

    With ``again``, grade what it has as well: the same seed asks the same questions.
    """
    by_name = {exam.assignment: exam for exam in exams}
    packed = {exam.assignment: cloudpickle.dumps(exam) for exam in exams}
    waiting = [s for s in submissions if again or not store.has(s, by_name[s.assignment].digest)]
    with tqdm(total=len(waiting), desc="grading", unit=" submissions", disable=None) as bar:
        failed = []
        for submission, marks in _graded(waiting, packed, settings, executor):
            exam = by_name[submission.assignment]
            if isinstance(marks, Marks):
                store.save(marks, exam.digest)
            elif isinstance(marks, BrokenProcessPool):
                store.save(refused(submission, exam, ENDED_GRADER), exam.digest)
            else:
                failed.append(submission)
                bar.write(f"{submission.student}, {submission.assignment}: not graded: {marks!r}")
            bar.update()
    return failed


def race_all(exams: Sequence[Exam], store: Store, settings: Settings) -> None:
    """Run the races that wait, one at a time and with nothing beside them."""
    by_name = {exam.assignment: exam for exam in exams}
    waiting = store.waiting({exam.assignment: exam.digest for exam in exams})
    sandbox = chosen(settings.sandbox)
    for each in tqdm(waiting, desc="races", unit=" submissions", disable=None):
        exam = by_name[each.assignment]
        ratios = store.ratios(exam.digest) or {}
        raced = run_races(exam, each, ratios, limits=settings.limits, sandbox=sandbox)
        store.save(raced, exam.digest)


Outcome = tuple[Submission, Marks | BaseException]


def _graded(
    waiting: Sequence[Submission],
    packed: dict[str, bytes],
    settings: Settings,
    executor: Callable[[], Executor],
) -> Iterator[Outcome]:
    """Every submission with its marks, or with the error that prevented them.

    A pool whose process dies names no culprit; what was left is then graded one by one.
    """
    left = {(s.student, s.assignment): s for s in waiting}
    for submission, marks in _together(waiting, packed, settings, executor):
        if not isinstance(marks, BrokenProcessPool):
            del left[submission.student, submission.assignment]
            yield submission, marks
    for submission in left.values():
        yield from _together([submission], packed, settings, executor)


def _together(
    waiting: Iterable[Submission],
    packed: dict[str, bytes],
    settings: Settings,
    executor: Callable[[], Executor],
) -> Iterator[Outcome]:
    pool = executor()
    try:
        _check_starts(pool)
        futures: dict[Future[Marks], Submission] = {}
        for each in waiting:
            try:
                futures[pool.submit(_grade_packed, packed[each.assignment], each, settings)] = each
            except BrokenProcessPool as error:
                yield each, error
        for done in as_completed(futures):
            failure = done.exception()
            yield futures[done], done.result() if failure is None else failure
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in psutil.Process().children():
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        raise
    pool.shutdown()


def _check_starts(pool: Executor) -> None:
    """Raise ``MachineError`` where no worker starts: that is no student's fault, and costs none."""
    try:
        pool.submit(_nothing).result()
    except BrokenProcessPool:
        raise MachineError(
            "the processes that grade do not start",
            expected="a worker that answers",
            got="one that ended at once",
            hint="grade with the command mlc-course, from a shell",
        ) from None


def _nothing() -> None:
    """The first job of every pool."""


def _grade_packed(exam: bytes, submission: Submission, settings: Settings) -> Marks:
    """Grade one submission, in a worker of the executor."""
    return grade(
        _unpacked(exam),
        submission,
        seed=settings.seed,
        limits=settings.limits,
        sandbox=chosen(settings.sandbox),
    )


@functools.lru_cache(maxsize=64)
def _unpacked(exam: bytes) -> Exam:
    loaded: Exam = cloudpickle.loads(exam)
    return loaded

"""Two corpora against the real grader: no cheat earns a point, no right answer loses one."""

from __future__ import annotations

import csv
import importlib
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import pytest
from processes import commands_below

from mlc_course.grading.course.exam import Exam, read_exam
from mlc_course.grading.course.feedback import page
from mlc_course.grading.course.grader import Marks, grade, reference_ratios, run_races
from mlc_course.grading.course.result import Result
from mlc_course.grading.course.store import Store
from mlc_course.grading.handed_in import Left, collect
from mlc_course.grading.process import BUBBLEWRAP, RLIMITS, Limits, has_bubblewrap, lives
from mlc_course.grading.reports import marks_table

TESTS = Path(__file__).parents[2]
sys.path.insert(0, str(TESTS))
corpus: ModuleType = importlib.import_module("corpus.build")
CHEATS, HONEST = corpus.CHEATS, corpus.HONEST
handing_in: ModuleType = importlib.import_module("corpus.handing_in")

# The last submissions wait for all others, and a busy machine grades those at a third of its speed.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

LIMITS = Limits(seconds=240, request_seconds=120, memory_bytes=2 << 30)  # for a busy machine
SHORT = replace(LIMITS, seconds=8, request_seconds=1)  # where a limit of time is what is tested
SLACK_S = 60  # for starting processes on a machine that does other things
TOGETHER = 3  # submissions at a time; they mostly wait
STARVES = ("fork_bomb", "thread_bomb")  # leave no time to others: graded last, one after the other

isolated = pytest.mark.skipif(
    not has_bubblewrap(), reason="needs bubblewrap: apt-get install bubblewrap"
)
# Each module's first cheat and a few honest notebooks; the walls are tested with bubblewrap.
WITHOUT_WALLS = (
    "equal_to_everything", "a_pickle_that_acts", "exits_at_once", "infinite_loop", "half_a_message",
    "edited_tests", "extern_call", "the_solution",
)  # fmt: skip
WITHOUT_WALLS_IN_FULL = (
    "lying_array", "nan_everywhere", "patched_grader", "replaced_server",
    "expected_value_through_gc", "deep_message", "zip_links", "zeros", "magics", "an_archive",
)  # fmt: skip


@dataclass(frozen=True)
class Graded:
    marks: Marks
    seconds: float
    left: tuple[Left, ...] = ()

    @property
    def text(self) -> str:
        findings = (str(found) for test in self.marks.tests for found in test.findings)
        return "\n".join((*self.marks.remarks, *findings, *(each.why for each in self.left)))


TRACES = [Path(path) for path in ("/tmp/unpickled", "/tmp/called", "/tmp/slipped", "/tmp/large")]


def limits_of(name: str) -> Limits:
    # Ended by the limit, which the other cells and answers have to keep on a busy machine.
    if name in ("a_loop_that_ended", "long_loops"):
        return replace(LIMITS, request_seconds=20)
    return SHORT if name in CHEATS and CHEATS[name].takes_time else LIMITS


class Corpus:
    """Grades what this session asks for, a few at a time, ahead of the tests that look at it."""

    def __init__(self, folder: Path, asked: Iterable[tuple[str, str]]) -> None:
        self.exam: Exam = read_exam(corpus.SOLUTION)
        self.folder, self.scratch = folder / "students", folder / "scratch"
        self.scratch.mkdir()
        self.exercise = corpus.released()
        self.pool = ThreadPoolExecutor(TOGETHER)
        self.alone = Lock()
        self.futures: dict[tuple[str, str], Future[Graded]] = {}
        for each in sorted(dict.fromkeys(asked), key=lambda each: each[0] in STARVES):
            self.futures[each] = self.pool.submit(self._in_turn, *each)

    def __call__(self, name: str, sandbox: str) -> Graded:
        key = name, sandbox
        if key not in self.futures:
            self.futures[key] = self.pool.submit(self._in_turn, *key)
        return self.futures[key].result()

    def wait(self) -> None:
        wait(self.futures.values())

    def _in_turn(self, name: str, sandbox: str) -> Graded:
        if name not in STARVES:
            return self._grade(name, sandbox)
        with self.alone:
            wait([each for (other, _), each in self.futures.items() if other not in STARVES])
            return self._grade(name, sandbox)

    def _grade(self, name: str, sandbox: str) -> Graded:
        write = CHEATS[name].write if name in CHEATS else HONEST[name]
        students = self.folder / f"{sandbox}-{name}"
        write(students / name, self.exercise)
        began = time.monotonic()
        (submission,), left = collect(students, [self.exam])
        limits = limits_of(name)
        marks = grade(self.exam, submission, seed=1, limits=limits, sandbox=sandbox)
        return Graded(marks, time.monotonic() - began, left)


def in_turn(config: pytest.Config, name: str, sandbox: str) -> bool:
    """Tell whether this run grades a submission in this sandbox."""
    if sandbox == BUBBLEWRAP:
        return has_bubblewrap()
    return config.option.full or name not in WITHOUT_WALLS_IN_FULL


@pytest.fixture(scope="module")
def graded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Corpus]:
    calls = [getattr(each, "callspec", None) for each in request.session.items]
    params = [call.params for call in calls if call and set(call.params) == {"name", "sandbox"}]
    asked = [(each["name"], each["sandbox"]) for each in params]
    work = Corpus(
        tmp_path_factory.mktemp("corpus"),
        (each for each in asked if in_turn(request.config, *each)),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(work.scratch))
        yield work
        work.pool.shutdown(cancel_futures=True)


def check_what_is_shown(marks: Marks) -> None:
    """Nothing in it runs in a browser, in a spreadsheet or on a terminal."""
    html = page(marks)
    assert "<script" not in html
    for text in (html, marks_table([Result(marks)])):
        assert all(c.isprintable() or c == "\n" for c in text)
    for row in csv.reader(marks_table([Result(marks)]).splitlines()):
        assert not [each for each in row if each[:1] in ("=", "+", "-", "@")]


def in_sandboxes(names: Any) -> list[Any]:
    names = sorted(names, key=lambda name: name in STARVES)  # as they are graded
    walled = [pytest.param(name, BUBBLEWRAP, marks=isolated, id=name) for name in names]
    bare = [name for name in names if name in WITHOUT_WALLS + WITHOUT_WALLS_IN_FULL]
    return walled + [pytest.param(name, RLIMITS, id=f"{name}-without-walls") for name in bare]


@pytest.mark.parametrize(("name", "sandbox"), in_sandboxes(CHEATS))
def test_a_cheat_earns_nothing(
    graded: Corpus, name: str, sandbox: str, pytestconfig: pytest.Config
) -> None:
    if not in_turn(pytestconfig, name, sandbox):
        pytest.skip("graded without walls by make test-all")
    found = graded(name, sandbox)
    assert found.marks.points == 0, found.text
    assert found.marks.out_of == 10
    assert CHEATS[name].why in found.text
    assert found.seconds < 2 * limits_of(name).seconds + SLACK_S
    check_what_is_shown(found.marks)


@pytest.mark.parametrize(("name", "sandbox"), in_sandboxes(HONEST))
def test_a_right_answer_earns_all_points(
    graded: Corpus, name: str, sandbox: str, pytestconfig: pytest.Config
) -> None:
    if not in_turn(pytestconfig, name, sandbox):
        pytest.skip("graded without walls by make test-all")
    found = graded(name, sandbox)
    assert found.marks.points == found.marks.out_of == 10, found.text


@isolated
@pytest.mark.parametrize("name", ["the_solution", "another_schedule"])
def test_a_right_schedule_wins_its_race(graded: Corpus, name: str) -> None:
    marks = graded(name, BUBBLEWRAP).marks
    exam = read_exam(corpus.SOLUTION)
    how: dict[str, Any] = {"limits": LIMITS, "sandbox": BUBBLEWRAP}
    reference = graded("the_solution", BUBBLEWRAP).marks
    raced = run_races(exam, marks, reference_ratios(exam, reference, **how), **how)
    assert len(marks.races) == 1
    assert raced.points == 10, raced.tests[0].findings


def test_the_search_for_the_solution_is_a_real_one(graded: Corpus) -> None:
    """Where there are no walls it finds what it looks for: the walls are what stops it."""
    assert graded("solution_by_its_name", RLIMITS).marks.points == 10


def test_a_program_that_takes_too_long_costs_only_its_own_points(tmp_path: Path) -> None:
    """It is compiled and run in one request, so that the limit covers both."""
    body = """\
@T.prim_func(s_tir=True)
def add_rows(A: T.Buffer((24, 40)), b: T.Buffer((40,)), C: T.Buffer((24, 40))):
    for r in range(2 * 10**7):
        for k in T.unroll(1500):
            C[0, k % 8] = T.pow(C[0, k % 8], A[0, k % 8])
"""
    answers = {**handing_in.right(), "add_rows": body}
    handing_in.hand_in(tmp_path / "student", corpus.released(), **answers)
    exam = read_exam(corpus.SOLUTION)
    (submission,) = collect(tmp_path, [exam]).submissions
    limits = replace(LIMITS, request_seconds=20)
    marks = grade(exam, submission, seed=1, limits=limits, sandbox=RLIMITS)
    (lost,) = [test for test in marks.tests if test.points < test.out_of]
    assert lost.grade_id == "add-rows-test"
    assert "over the time limit of 20 s" in str(lost.findings[0])


def test_every_submission_is_found_in_one_folder(tmp_path: Path) -> None:
    students = corpus.build(tmp_path / "class")
    found = collect(tmp_path / "class", [read_exam(corpus.SOLUTION)]).submissions
    assert sorted(each.student for each in found) == sorted(path.name for path in students)
    assert len(CHEATS) >= 40 and len(HONEST) >= 20
    assert all(each.write.__doc__ for each in CHEATS.values())


@pytest.mark.parametrize(
    "name",
    [
        b"=HYPERLINK(1)",
        b"-2+3",
        b"@SUM(1)",
        b"<script>alert(1)</script>",
        b"\xff\xfe",
        b"a\nb\x1b[2J",
    ],
)
def test_a_name_is_only_a_name(tmp_path: Path, name: bytes) -> None:
    exam = read_exam(corpus.SOLUTION)
    CHEATS["empty_file"].write(tmp_path / "class" / os.fsdecode(name), {})
    (submission,) = collect(tmp_path / "class", [exam]).submissions
    marks = grade(exam, submission, seed=1, limits=LIMITS, sandbox=RLIMITS)
    store = Store(tmp_path / "marks.sqlite")
    store.save(marks, exam.digest)
    assert list(store.marks()) == [marks]
    store.close()
    check_what_is_shown(marks)


def test_nothing_is_left(graded: Corpus) -> None:
    graded.wait()
    assert not list(graded.scratch.iterdir())
    lives.end_warm_parents()
    assert not [words for words in commands_below() if "mlc_course.grading" in words]
    for path in TRACES:
        assert not path.exists()

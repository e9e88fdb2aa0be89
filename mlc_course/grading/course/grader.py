"""Grading one submission: run its cells, take its answers, examine them.

This runs in the grader. Seeds, expected values and the clock live here; a student's code is in one
child, what it produced in another.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError
from mlc_course.grading.checks import RATIO, Demand, Examined, Faster, examine, race
from mlc_course.grading.course.exam import Exam, Test
from mlc_course.grading.course.submission import Examine, Run, Submission, plan
from mlc_course.grading.process import (
    Boxed,
    Called,
    Finding,
    Given,
    Interpreter,
    Limits,
    RemoteBench,
    Scheduled,
    Verdict,
    Written,
    earned,
    unmet,
    values,
)

GRADED, REFUSED = "graded", "refused"


@dataclass(frozen=True)
class Race:
    """A ratio check that waits until nothing else runs: of which demand, and the program."""

    grade_id: str
    demand: int
    text: str


@dataclass(frozen=True)
class Part:
    """One demand of a cell whose points are divided, and whether its points are earned."""

    demand: int
    worth: float
    is_hidden: bool
    is_met: bool


@dataclass(frozen=True)
class TestMarks:
    """The marks of one graded cell, with the findings that explain them.

    ``parts`` is empty where all findings have to be met for any point.
    """

    grade_id: str
    out_of: float
    visible: tuple[Finding, ...]
    hidden: tuple[Finding, ...] = ()
    parts: tuple[Part, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.visible, *self.hidden)

    @property
    def points(self) -> float:
        if earned(self.findings):
            return self.out_of
        return sum((part.worth for part in self.parts if part.is_met), start=0.0)


@dataclass(frozen=True)
class Marks:
    """The marks of one submission. ``remarks`` are for the student and the instructor."""

    student: str
    assignment: str
    digest: str
    status: str
    tests: tuple[TestMarks, ...]
    remarks: tuple[str, ...] = ()
    races: tuple[Race, ...] = ()
    sandbox: str = ""
    seconds: float = 0.0

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)

    @property
    def out_of(self) -> float:
        return sum(test.out_of for test in self.tests)

    @property
    def counters_only(self) -> bool:
        """True where a race was too noisy to tell."""
        findings = (each for test in self.tests for each in test.findings)
        return any(each.verdict is Verdict.UNJUDGED for each in findings)


def refused(submission: Submission, exam: Exam, why: str) -> Marks:
    """Marks without a point, for what cannot be graded."""
    finding = unmet("answer", CourseError(why))
    tests = tuple(TestMarks(test.grade_id, test.points, (finding,)) for test in exam.tests)
    return Marks(submission.student, exam.assignment, submission.digest, REFUSED, tests, (why,))


def grade(exam: Exam, submission: Submission, *, seed: int, limits: Limits, sandbox: str) -> Marks:
    """Everything but the races; those are named in ``Marks.races``."""
    began = time.monotonic()
    try:
        if submission.fault:
            raise CourseError(submission.fault)
        steps = plan(exam, submission.notebook)
    except CourseError as error:
        return refused(submission, exam, f"{error.what}: {error.got}" if error.got else error.what)
    student = Interpreter(limits, sandbox)
    bench = RemoteBench(limits, sandbox)
    examiner = _Examiner(student, bench, _seed(seed, submission))
    tests = {test.grade_id: test for test in exam.tests}
    marks: dict[str, TestMarks] = {}
    try:
        for step in steps:
            match step:
                case Run(cell, source):
                    student.run(cell, source)
                case Examine(grade_id):
                    marks[grade_id] = examiner.marks(tests[grade_id])
    finally:
        student.stop()
        bench.stop()
    return Marks(
        submission.student,
        exam.assignment,
        submission.digest,
        GRADED,
        tuple(marks[test.grade_id] for test in exam.tests),
        tuple(student.remarks),
        tuple(examiner.races),
        sandbox,
        time.monotonic() - began,
    )


def _seed(secret: int, submission: Submission) -> int:
    """Another seed for every submission, which nobody without the secret can foresee."""
    mixed = hashlib.sha256(f"{secret} {submission.digest}".encode()).digest()
    return int.from_bytes(mixed[:8], "little")


class _Examiner:
    """Asks for answers and examines them."""

    def __init__(self, student: Interpreter, bench: RemoteBench, seed: int) -> None:
        self.student, self.bench, self.seed = student, bench, seed
        self.races: list[Race] = []

    def marks(self, test: Test) -> TestMarks:
        findings = [self._findings(test, i) for i in range(len(test.demands))]
        visible = [each for found in findings[: len(test.visible)] for each in found]
        hidden = [each for found in findings[len(test.visible) :] for each in found]
        once = tuple(dict.fromkeys(visible))  # "no answer yet" is said by every demand
        parts = [
            Part(number, demand.worth, number >= len(test.visible), earned(found))
            for number, (demand, found) in enumerate(zip(test.demands, findings, strict=True))
            if demand.worth is not None
        ]
        return TestMarks(test.grade_id, test.points, once, tuple(hidden), tuple(parts))

    def _findings(self, test: Test, number: int) -> list[Finding]:
        """A process may also end for reasons of the machine's: then the answer is asked again."""
        ends = self.student.ends + self.bench.ends
        found = self._asked(test, number)
        if self.student.ends + self.bench.ends > ends:
            found = self._asked(test, number)
        return found

    def _asked(self, test: Test, number: int) -> list[Finding]:
        demand = test.demands[number]
        try:
            text, answer = self._answer(demand)
        except Exception as error:
            return [unmet("answer", error)]
        found = [examine(check, answer) for check in demand.checks if check.kind != RATIO]
        raced = len(found) < len(demand.checks)
        if raced and all(each.verdict is Verdict.MET for each in found):
            self.races.append(Race(test.grade_id, number, text))
        return found

    def _answer(self, demand: Demand) -> tuple[str, Examined]:
        subject = demand.subject
        name = subject.answer.name
        text = self.student.produce(name, subject.ask())
        match subject:
            case Scheduled() | Written():
                self.bench.load_program(text, subject.problem)
                answer = Examined(self.bench, problem=subject.problem)
            case Called():
                answer = Examined(self.bench, call=self.student.function(name))
            case Boxed() | Given():
                self.bench.load_value(text)
                answer = Examined(self.bench, value=values.from_text(text))
        answer.seed = self.seed
        return text, answer


def reference_ratios(
    exam: Exam, reference: Marks, *, limits: Limits, sandbox: str
) -> dict[tuple[str, int], float]:
    """Measure what the reference solution reaches in each race here, where that can be told."""
    ratios = {}
    bench = RemoteBench(limits, sandbox)
    try:
        for each, demand in _raced(exam, reference.races):
            answer = _on_bench(bench, each, demand)
            for check in demand.checks:
                if isinstance(check, Faster):
                    found = race(answer, check.than)
                    if found.warning is None:
                        ratios[each.grade_id, each.demand] = found.ratio
    finally:
        bench.stop()
    return ratios


def run_races(
    exam: Exam,
    marks: Marks,
    ratios: dict[tuple[str, int], float],
    *,
    limits: Limits,
    sandbox: str,
) -> Marks:
    """The marks with the findings of the races that they named. Nothing else should run now."""
    bench = RemoteBench(limits, sandbox)
    tests = {test.grade_id: test for test in marks.tests}
    try:
        for each, demand in _raced(exam, marks.races):
            test, found = tests[each.grade_id], _race(bench, each, demand, ratios)
            parts = tuple(
                replace(part, is_met=part.is_met and (part.demand != each.demand or earned(found)))
                for part in test.parts
            )
            tests[each.grade_id] = replace(test, visible=(*test.visible, *found), parts=parts)
    finally:
        bench.stop()
    return replace(marks, tests=tuple(tests.values()), races=())


def _race(
    bench: RemoteBench, each: Race, demand: Demand, ratios: dict[tuple[str, int], float]
) -> list[Finding]:
    try:
        answer = _on_bench(bench, each, demand)
    except CourseError as error:
        return [unmet(RATIO, error)]
    answer.reference_ratio = ratios.get((each.grade_id, each.demand))
    return [examine(check, answer) for check in demand.checks if check.kind == RATIO]


def _raced(exam: Exam, races: Sequence[Race]) -> Iterator[tuple[Race, Demand]]:
    tests = {test.grade_id: test for test in exam.tests}
    for each in races:
        yield each, tests[each.grade_id].demands[each.demand]


def _on_bench(bench: RemoteBench, each: Race, demand: Demand) -> Examined:
    assert isinstance(demand.subject, Scheduled | Written)
    bench.load_program(each.text, demand.subject.problem)
    return Examined(bench, problem=demand.subject.problem, patient=True)

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
    Optimized,
    RemoteBench,
    Scheduled,
    Verdict,
    Written,
    earned,
    unmet,
    values,
)
from mlc_course.words import ENGLISH, spoken

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
    asked_last = max(i for i, step in enumerate(steps) if isinstance(step, Examine))
    benches = RemoteBench(limits, sandbox), RemoteBench(_for_pages(limits, exam), sandbox)
    examiner = _Examiner(exam, *benches, _seed(seed, submission))
    try:
        # In this order: what asks a hidden check is started when all that is shown has been said.
        student, again = Interpreter(limits, sandbox), Interpreter(limits, sandbox)
        useful = examiner.ask(student, steps[: asked_last + 1], hidden=False)
        if any(test.hidden for test in exam.tests):
            examiner.ask(again, useful, hidden=True)
    finally:
        for bench in benches:
            bench.stop()
    return Marks(
        submission.student,
        exam.assignment,
        submission.digest,
        GRADED,
        tuple(examiner.marks(test) for test in exam.tests),
        tuple(student.remarks),
        tuple(examiner.races),
        sandbox,
        time.monotonic() - began,
    )


def _for_pages(limits: Limits, exam: Exam) -> Limits:
    """Limits in which a page may run out of time on each of its programs, twice, and lose no other.

    What is asked again (``_findings``) takes its time again.
    """
    demands = [each for test in exam.tests for each in test.demands]
    asked = sum(isinstance(each.subject, Optimized) for each in demands)
    return replace(limits, seconds=limits.seconds + 2 * asked * limits.request_seconds)


def _seed(secret: int, submission: Submission) -> int:
    """Another seed for every submission, which nobody without the secret can foresee."""
    return _mixed(secret, submission.digest)


def _mixed(secret: int, name: str) -> int:
    """Another seed for every name: what a visible check draws says nothing of a hidden one."""
    mixed = hashlib.sha256(f"{secret} {name}".encode()).digest()
    return int.from_bytes(mixed[:8], "little")


Step = Run | Examine


class _Examiner:
    """Asks for answers and examines them: visible checks first, then hidden ones.

    A notebook is run twice, in two processes. The first is asked what visible checks ask, and all
    that a student is told comes from it; the second is asked what hidden ones ask, and of what it
    says only the verdicts are told. So no cell and no answer can say what a hidden check asked.
    """

    def __init__(self, exam: Exam, bench: RemoteBench, pages: RemoteBench, seed: int) -> None:
        """``pages`` runs students' pages, in a process that judges nothing."""
        self.tests = {test.grade_id: test for test in exam.tests}
        self.bench, self.pages, self.seed = bench, pages, seed
        self.races: list[Race] = []
        self._found: dict[tuple[str, int], list[Finding]] = {}

    def ask(self, student: Interpreter, steps: Sequence[Step], *, hidden: bool) -> list[Step]:
        """Run the cells and ask on the way; returns the steps without cells that ended it."""
        useful: list[Step] = []
        try:
            for step in steps:
                match step:
                    case Run(cell, source):
                        went_on = student.run(cell, source)
                        useful += [step] if went_on else []
                    case Examine(grade_id):
                        useful.append(step)
                        test = self.tests[grade_id]
                        for number in test.numbers(hidden=hidden):
                            self._found[grade_id, number] = self._findings(student, test, number)
        finally:
            student.stop()
        return useful

    def marks(self, test: Test) -> TestMarks:
        """The marks of a cell of which everything was asked."""
        visible, hidden = (
            [each for i in test.numbers(hidden=part) for each in self._found[test.grade_id, i]]
            for part in (False, True)
        )
        once = tuple(dict.fromkeys(visible))  # "no answer yet" is said by every demand
        parts = [
            Part(i, demand.worth, i in test.numbers(hidden=True), self._is_met(test, i))
            for i, demand in enumerate(test.demands)
            if demand.worth is not None
        ]
        return TestMarks(test.grade_id, test.points, once, tuple(hidden), tuple(parts))

    def _is_met(self, test: Test, number: int) -> bool:
        return earned(self._found[test.grade_id, number])

    def _findings(self, student: Interpreter, test: Test, number: int) -> list[Finding]:
        """A process may also end for reasons of the machine's: then the answer is asked again."""
        ends = student.ends + self.bench.ends + self.pages.ends
        found = self._asked(student, test, number)
        if student.ends + self.bench.ends + self.pages.ends > ends:
            found = self._asked(student, test, number)
        return found

    @spoken(ENGLISH)  # a mark's words are the same, whoever gives it
    def _asked(self, student: Interpreter, test: Test, number: int) -> list[Finding]:
        demand = test.demands[number]
        try:
            seed = _mixed(self.seed, f"{test.grade_id} {number}")
            text, answer = self._answer(student, demand, seed)
            answer.seed = seed
        except Exception as error:
            return [unmet("answer", error)]
        found = [examine(check, answer) for check in demand.checks if check.kind != RATIO]
        raced = len(found) < len(demand.checks)
        if raced and all(each.verdict is Verdict.MET for each in found):
            self.races.append(Race(test.grade_id, number, text))
        return found

    def _answer(self, student: Interpreter, demand: Demand, seed: int) -> tuple[str, Examined]:
        subject = demand.subject
        name = subject.answer.name
        text = student.produce(name, subject.ask())
        match subject:
            case Scheduled() | Written():
                self.bench.load_program(text, subject.problem)
                answer = Examined(self.bench, problem=subject.problem)
            case Called():
                answer = Examined(self.bench, call=student.function(name))
            case Optimized():
                program = subject.draw(seed)
                text = values.to_text([self.pages.optimize(text, program), program])
                self.bench.load_graph(*values.from_text(text))
                answer = Examined(self.bench)
            case Boxed() | Given():
                self.bench.load_value(text)
                answer = Examined(self.bench, value=values.from_text(text))
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
    asked = {test.grade_id: test for test in exam.tests}
    try:
        for each, demand in _raced(exam, marks.races):
            test, found = tests[each.grade_id], _race(bench, each, demand, ratios)
            parts = tuple(
                replace(part, is_met=part.is_met and (part.demand != each.demand or earned(found)))
                for part in test.parts
            )
            if each.demand in asked[each.grade_id].numbers(hidden=True):
                test = replace(test, hidden=(*test.hidden, *found), parts=parts)
            else:
                test = replace(test, visible=(*test.visible, *found), parts=parts)
            tests[each.grade_id] = test
    finally:
        bench.stop()
    return replace(marks, tests=tuple(tests.values()), races=())


@spoken(ENGLISH)
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
    if isinstance(demand.subject, Optimized):
        bench.load_graph(*values.from_text(each.text))
        return Examined(bench, patient=True)
    assert isinstance(demand.subject, Scheduled | Written)
    bench.load_program(each.text, demand.subject.problem)
    return Examined(bench, problem=demand.subject.problem, patient=True)

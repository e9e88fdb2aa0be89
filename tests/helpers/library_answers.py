"""What the package itself would answer: its functions, its schedules and its values, tried.

A function is asked for: every function that takes the arguments answers. A schedule is asked for:
every function that changes the program does. A value is asked for: every constant of a lesson, and
whatever its functions without arguments return. In lessons the names with an underscore count too,
because an answer may use them.

Run as a program with the names of assignments: prints, as JSON, how many answers were tried and
which earn a graded cell. It runs functions with arguments that they do not expect, so it does so in
a process of its own, which may write no file.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import mlc_course
from mlc_course.grading.checks import RATIO, Demand, findings_here
from mlc_course.grading.checks.pruning import Prunes
from mlc_course.grading.course import read_exam
from mlc_course.grading.process import Called, Given, Scheduled, Verdict, values
from mlc_course.tensor_program.tir import Schedule

SOLUTIONS = Path(__file__).parents[2] / "solutions"
SECONDS = 0.1  # of one call
LESSONS = "mlc_course.lessons."
LONGEST = 20_000  # characters of a value
SLOW: set[int] = set()  # functions that took longer, and are not asked again
# They start programs, measure for long, or are the machinery of grading itself.
LEFT_OUT = ("mlc_course.commands", "mlc_course.grading.process", "mlc_course.grading.course")
Function = Callable[..., Any]


class TooLong(BaseException):
    """A call that is given up."""


@cache
def functions() -> tuple[tuple[str, Function], ...]:
    """The functions, classes and methods of the package by their full names."""
    found: dict[int, tuple[str, Function]] = {}
    for name, value in _named("mlc_course."):
        for each, function in _of(name, value):
            found.setdefault(id(function), (each, function))
    return tuple(found.values())


@cache
def constants() -> dict[str, str]:
    """The values that lessons hold, as text, with their full names; a number fits by chance."""
    found: dict[str, str] = {}
    for name, value in _named(LESSONS):
        if inspect.isfunction(value) and value.__module__.startswith(LESSONS) and takes(value, 0):
            with contextlib.suppress(TooLong, Exception), limited(1.0):
                found.setdefault(values.to_text(value()), f"{name}()")
        with contextlib.suppress(Exception):
            if not isinstance(value, int | float):
                found.setdefault(values.to_text(value), name)
    return {text: name for text, name in found.items() if len(text) < LONGEST}


def _named(beginning: str) -> Iterator[tuple[str, Any]]:
    """What modules hold, with its full name."""
    for info in pkgutil.walk_packages(mlc_course.__path__, "mlc_course."):
        if info.name.endswith("__main__") or info.name.startswith(LEFT_OUT):
            continue
        if not info.name.startswith(beginning):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            continue
        yield from ((f"{info.name}.{name}", value) for name, value in vars(module).items())


def _of(name: str, value: Any) -> Iterator[tuple[str, Function]]:
    if not callable(value) or name.rpartition(".")[2].startswith("__"):
        return
    if name.rpartition(".")[2].startswith("_") and not name.startswith(LESSONS):
        return
    if not str(getattr(value, "__module__", "")).startswith("mlc_course"):
        return
    yield name, value
    if inspect.isclass(value):
        for each, method in inspect.getmembers(value, callable):
            if not each.startswith("_") and inspect.isroutine(method):
                yield f"{name}.{each}", method


def takes(function: Function, count: int) -> bool:
    """Whether it can be called with so many arguments."""
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def answers(assignment: str) -> tuple[int, list[str]]:
    """How many functions were tried, and those that earn a graded cell of an assignment."""
    exam = read_exam(SOLUTIONS / assignment / f"{assignment}.ipynb")
    tried, earned = 0, []
    for test in exam.tests:
        for kind, candidates, earns in (
            (Given, constants().items(), _value_earns),
            (Scheduled, _schedules(), _schedule_earns),
        ):
            asked = [d for d in test.demands if isinstance(d.subject, kind)]
            for answer in sorted({d.subject.answer.name for d in asked}):
                own = [d for d in asked if d.subject.answer.name == answer]
                for candidate, name in candidates:
                    tried += 1
                    if earns(own, candidate):
                        earned.append(f"{test.grade_id}: {answer} = {name}")
        names = {d.subject.answer.name for d in test.demands if isinstance(d.subject, Called)}
        for answer in sorted(names):
            demands = [
                d
                for d in test.demands
                if isinstance(d.subject, Called) and d.subject.answer.name == answer
            ]
            for name, function, order in _candidates(_arguments(demands)):
                tried += 1
                if _earns(demands, _ordered(function, order)):
                    earned.append(f"{test.grade_id}: {answer} = {name}")
    return tried, earned


def _schedules() -> list[tuple[Function, str]]:
    """The functions of a schedule, where a function says what it takes."""
    return [
        (each, name) for name, each in functions() if inspect.isfunction(each) and takes(each, 1)
    ]


def _value_earns(demands: list[Demand], text: str) -> bool:
    return all(_is_met(replace(d, subject=Given(values.from_text(text)))) for d in demands)


def _schedule_earns(demands: list[Demand], function: Function) -> bool:
    def answer(sch: Schedule) -> None:
        with limited(1.0):
            function(sch)

    return id(function) not in SLOW and all(
        _is_met(replace(d, subject=replace(d.subject, answer=answer))) for d in demands
    )


def _is_met(demand: Demand) -> bool:
    """Whether all checks but races are met; the first that is not ends it."""
    for check in sorted(demand.checks, key=lambda each: each.kind == "correctness"):
        if check.kind != RATIO:
            try:
                found = findings_here(replace(demand, checks=(check,)))
            except TooLong:
                return False
            if any(each.verdict is Verdict.UNMET for each in found):
                return False
    return True


def _arguments(demands: list[Demand]) -> int:
    """With how many arguments the checks call the answer."""
    counts: list[int] = []

    def answer(*arguments: Any) -> None:
        counts.append(len(arguments))

    [*_judged(demands[:1], answer)]
    return counts[0]


def _candidates(count: int) -> Iterator[tuple[str, Function, tuple[int, ...]]]:
    """Each function with each order of two or three arguments."""
    for name, function in functions():
        if takes(function, count):
            for order in permutations(range(count)) if count <= 2 else [(*range(count),)]:
                if id(function) not in SLOW:
                    yield name, function, order


def _ordered(function: Function, order: tuple[int, ...]) -> Function:
    def answer(*arguments: Any) -> Any:
        try:
            with limited():
                return _plain(function(*(arguments[n] for n in order)))
        except TooLong as error:
            SLOW.add(id(function))
            raise ValueError("given up") from error

    return answer


def _plain(result: Any) -> Any:
    """A result as a value that an answer may have, where that is only a matter of form."""
    if inspect.isgenerator(result) or isinstance(result, set | frozenset | range):
        return [each for each, _ in zip(result, range(10_000), strict=False)]
    return result


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Iterator[None]:
    """A call that takes no longer than this and prints nothing."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    except (SystemExit, KeyboardInterrupt) as error:
        raise TooLong from error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _judged(demands: list[Demand], answer: Function) -> Iterator[Verdict]:
    for demand in demands:
        for check in demand.checks:
            if isinstance(check, Prunes) and not _says_yes_and_no(answer):
                yield Verdict.UNMET
            one = Demand(Called(answer), (check,))
            yield from (each.verdict for each in findings_here(one))


def _says_yes_and_no(answer: Function) -> bool:
    """Whether it may be a pruner: those take long to judge."""
    try:
        found = answer({"A X": 1}, {"A X": 1}), answer({"A A": 1}, {"A X": 1})
    except Exception:
        return False
    return found == (True, False)


def _earns(demands: list[Demand], answer: Function) -> bool:
    return all(each is not Verdict.UNMET for each in _judged(demands, answer))


def refuse(*arguments: Any, **named: Any) -> None:
    """Stands for what would end this process, or begin another."""
    raise TooLong


if __name__ == "__main__":
    end, functions_of_package = os._exit, functions()
    os._exit = os.fork = os.kill = os.execv = refuse  # type: ignore[assignment]
    subprocess.Popen.__init__ = threading.Thread.start = refuse  # type: ignore[method-assign]
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    found = {each: answers(each) for each in sys.argv[1:]}
    print(json.dumps({"functions": len(functions_of_package), "found": found}), flush=True)
    end(0)

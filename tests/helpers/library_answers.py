"""What the package itself would answer: every public function that takes the arguments, tried.

Run as a program with the names of assignments: prints, as JSON, how many functions were tried and
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
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import mlc_course
from mlc_course.grading.checks import Demand, findings_here
from mlc_course.grading.checks.pruning import Prunes
from mlc_course.grading.course import read_exam
from mlc_course.grading.process import Called, Verdict

SOLUTIONS = Path(__file__).parents[2] / "solutions"
SECONDS = 0.1  # of one call
SLOW: set[int] = set()  # functions that took longer, and are not asked again
# They start programs, measure for long, or are the machinery of grading itself.
LEFT_OUT = ("mlc_course.commands", "mlc_course.grading.process", "mlc_course.grading.course")
Function = Callable[..., Any]


class TooLong(BaseException):
    """A call that is given up."""


@cache
def functions() -> tuple[tuple[str, Function], ...]:
    """The public functions, classes and methods of the package by their full names."""
    found: dict[int, tuple[str, Function]] = {}
    for info in pkgutil.walk_packages(mlc_course.__path__, "mlc_course."):
        if info.name.endswith("__main__") or info.name.startswith(LEFT_OUT):
            continue
        try:
            module = importlib.import_module(info.name)
        except ImportError:
            continue
        for name, value in vars(module).items():
            for each, function in _of(f"{info.name}.{name}", value):
                found.setdefault(id(function), (each, function))
    return tuple(found.values())


def _of(name: str, value: Any) -> Iterator[tuple[str, Function]]:
    if name.rpartition(".")[2].startswith("_") or not callable(value):
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
def limited() -> Iterator[None]:
    """A call that takes no longer than ``SECONDS`` and prints nothing."""

    def stop(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
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

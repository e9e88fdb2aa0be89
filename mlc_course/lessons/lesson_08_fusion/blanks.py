"""The lines that the reader of lesson 8 writes, and how they are judged."""

from __future__ import annotations

from collections.abc import Callable

from mlc_course.exercise import computes, holds, misses, returns, scheduled
from mlc_course.grading.checks import Demand
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks
from mlc_course.lessons.lesson_08_fusion.checks import each_once
from mlc_course.tensor_program.memory import Cache
from mlc_course.tensor_program.problems import softmax
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

arrays_moved = Blank(
    asks(
        called,
        returns(["new"], result=3, hint="one array is read, and one is fetched and returned"),
        returns(["in place"], result=2, hint="the line to be written is in the cache already"),
        returns(["new", "in place", "in place"], result=7, hint="add up the passes"),
        returns(["new", "in place", "new"], result=8),
    ),
    (
        "Each pass reads one array. How many moves is that?",
        'Reading and writing a new array are 1 + 2 moves. And reading and writing "in place"?',
        "A new array: 1 + 2. In place: 1 + ...",
    ),
    'total += {"new": 3, "in place": 2}[writes]',
)


def _one_pass(rest: Callable[[Schedule], object]) -> Demand:
    """Return what is asked of the two steps, after the step that the lesson has shown."""

    def whole(sch: Schedule) -> None:
        steps.compute_per_iteration(sch, "Sum", of="P", at="m")
        rest(sch)

    work = softmax(16, 256)  # X is 256 lines, and so is P; a pass more costs 256 misses
    asked = computes(), holds(each_once, kind="counted"), misses(600, Cache(4096))
    return Demand(scheduled(whole, work), asked)


exp_and_max = Blank(
    _one_pass,
    (
        "A stage can only move to where all its readers are. Who reads Exp, and who reads Max?",
        'The loop is the one that `Sum` went to, and the reader is "P" both times.',
        'steps.compute_per_iteration(sch, "Exp", of="P", at="m"), and then the same for ...',
    ),
    'steps.compute_per_iteration(sch, "Exp", of="P", at="m")\n'
    'steps.compute_per_iteration(sch, "Max", of="P", at="m")',
)

share_of_time = Blank(
    asks(
        called,
        returns(32e9, 2.0, 32.0, result=0.5, hint="32e9 bytes at 32 GB/s take one second"),
        returns(8e6, 0.01, 16.0, result=0.05, hint="a GB/s is 1e9 bytes in a second"),
        returns(0, 0.01, 16.0, result=0.0),
    ),
    (
        "How many seconds do the saved bytes take at this bandwidth?",
        "A GB is 1e9 bytes, so that is saved_bytes / (1e9 * gbytes_per_s). Which share of the time "
        "is it?",
        "Divide those seconds by apart_s.",
    ),
    "return saved_bytes / (1e9 * gbytes_per_s) / apart_s",
)

"""The lines that the reader of lesson 0 writes, each judged by running them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck
from mlc_course.grading.checks import Demand, Examined, returns
from mlc_course.grading.process import called
from mlc_course.lessons.kit import Blank, asks
from mlc_course.words import marked, tr

COLD_S = 0.02  # of the first call of the judge's program; the others take no time
COUNT = 4
TRIES = 3  # another program may take the processor for as long as a first call


@dataclass(frozen=True)
class _WarmsUp:
    """The function calls once more than it takes readings, and keeps the first call out of them."""

    kind: ClassVar[str] = "counted"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        for _ in range(TRIES):
            calls, seconds = answer.call(COUNT)
            if type(seconds) is not list:
                raise UnmetCheck(
                    tr("no list of readings"),
                    expected=tr("a list of {count} numbers of seconds", count=COUNT),
                    got=seconds,
                    hint=tr("did you return the list?"),
                )
            if len(seconds) != COUNT:
                what = tr("not {count} readings", count=COUNT)
                raise UnmetCheck(what, expected=COUNT, got=len(seconds))
            cold = [each >= COLD_S for each in seconds]
            if not any(cold):
                break
        else:
            raise UnmetCheck(
                tr("reading {number} is of the first call", number=cold.index(True) + 1),
                expected=tr("a call before it, without the clock"),
                got=tr("{time:.0f} ms, where the others take none", time=1e3 * max(seconds)),
            )
        if calls != COUNT + 1:
            raise UnmetCheck(
                tr("another number of calls"),
                expected=tr("{all}: one and {count}", all=COUNT + 1, count=COUNT),
                got=calls,
            )
        return tr(
            "{calls} calls, {readings} readings, none of the first call",
            calls=calls,
            readings=len(seconds),
        )


def _counting(written: Any) -> Any:
    """The function that gives ``written`` a program, and returns calls and readings."""
    if not callable(written):
        return written

    def call(count: int) -> list[Any]:
        starts: list[float] = []

        def program() -> None:
            starts.append(time.perf_counter())
            if len(starts) == 1:
                time.sleep(COLD_S)

        seconds = written(program, count)
        return [len(starts), seconds]

    return call


warm_readings = Blank(
    lambda written: Demand(called(_counting(written)), (_WarmsUp(),)),
    (
        marked(
            "Two lines. The first one is the warm-up: what does a call without the clock look like?"
        ),
        marked(
            "seconds(call) times one call. A list comprehension makes a list of several: "
            "[... for _ in range(count)]."
        ),
        marked(
            "The first line is call(), alone. The second one returns the list of seconds(call)."
        ),
    ),
    "    call()\n    return [seconds(call) for _ in range(count)]",
)

paired_ratio = Blank(
    asks(
        called,
        returns(
            [[2.0, 1.0], [6.0, 3.0], [4.0, 2.0]],
            result=2.0,
            hint=marked("in each round NumPy takes twice as long as ours: NumPy's time / our time"),
        ),
        returns(
            [[2.0, 1.0], [3.0, 1.0], [8.0, 1.0]],
            result=3.0,
            hint=marked("the rounds give 2, 3 and 8; their median is 3"),
        ),
        returns(
            [[1.0, 0.5], [8.0, 2.0], [9.0, 3.0]],
            result=3.0,
            hint=marked("one ratio for each round first, then one median of all the ratios"),
        ),
        returns(
            [[3.0, 2.0], [6.0, 4.0], [1.0, 4.0]],
            result=1.5,
            hint=marked("two of the three rounds give 1.5: a ratio need not be a whole number"),
        ),
    ),
    (
        marked(
            "What does one round tell you? Which figure of many such numbers ignores a few bad "
            "ones?"
        ),
        marked(
            "for numpy, ours in rounds gives you the two times of each round. One ratio a round, "
            "and then statistics.median of all of them."
        ),
        marked("statistics.median takes a generator, (... for numpy, ours in rounds). Return it."),
    ),
    "    return statistics.median(numpy / ours for numpy, ours in rounds)",
)

gflops = Blank(
    asks(
        called,
        returns(3e9, 1.0, result=3.0, hint=marked("3e9 operations in a second are 3 GFLOP/s")),
        returns(
            2e9, 0.5, result=4.0, hint=marked("the same work in half the time is twice the rate")
        ),
        returns(3e9, 2.0, result=1.5, hint=marked("a rate need not be a whole number")),
    ),
    (
        marked("A rate is work divided by time."),
        marked("flops / seconds is operations per second. How many of them make one GFLOP/s?"),
        marked("Divide flops by seconds, and the result by 1e9."),
    ),
    "    return flops / seconds / 1e9",
)

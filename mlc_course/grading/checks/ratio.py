"""The check of speed: a ratio of times that are measured in turns.

The clock is the caller's; what is timed runs on the bench. Time alone never decides: a race is run
only when every other check of the exercise is met, and no mark is lost on a machine that is too
noisy to tell.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from mlc_course.errors import TooNoisy, UnmetCheck
from mlc_course.grading.checks.checking import Examined
from mlc_course.grading.process import BASELINE, NAIVE, YOURS
from mlc_course.machine import describe
from mlc_course.measure import Clock, Comparison, Timing, compare
from mlc_course.mugraph.cpu_kernels import rates_of
from mlc_course.tensor_program.memory import Roofs, higher, measure_roofs, roofs
from mlc_course.words import tr

UNFUSED = "unfused"  # a program of mu-graphs whose operators are kernels of their own
SHORTEST_S = 0.002  # of one reading: a message to the bench and back takes 50 microseconds
ATTEMPTS = 3
SHARE_OF_REFERENCE = 0.7  # of the reference solution's own ratio on this machine
BUDGET_S = 0.6
SLACK = 0.8  # of the floor: the roof itself is measured


@dataclass(frozen=True)
class Faster:
    """The program is at least ``times`` as fast as a rung of its problem's ladder.

    A graph is held against its program, ``UNFUSED``, in which every operator is a kernel.

    Where a reference solution is at hand, 70 % of its own ratio on this machine is enough.
    """

    times: float
    than: str = NAIVE
    kind: ClassVar[str] = "ratio"

    def judge(self, answer: Examined) -> str:
        comparison = race(answer, self.than)
        if answer.patient and answer.problem is not None:
            check_possible(answer, comparison)
        asked = self.times
        if answer.reference_ratio is not None:
            asked = min(asked, SHARE_OF_REFERENCE * answer.reference_ratio)
        low, high = comparison.ratio_iqr
        saw = tr(
            "{ratio:.2f} [{low:.2f} {high:.2f}] times as fast as the {other} one",
            ratio=comparison.ratio,
            low=low,
            high=high,
            other=self.than,
        )
        if comparison.ratio >= asked:
            return saw
        if comparison.warning or high >= asked:
            raise TooNoisy(tr("too noisy to tell; graded on counters only"), got=saw)
        raise UnmetCheck(
            tr("right, but too slow"),
            expected=tr(
                "{ratio:.2f} times as fast as the {other} program", ratio=asked, other=self.than
            ),
            got=saw,
            hint=tr("which bytes does it still move?")
            if answer.problem is None
            else tr("compare what the innermost loop reads with the picture in the lesson"),
        )


faster = Faster


def race(answer: Examined, rung: str, clock: Clock = time.perf_counter) -> Comparison:
    """Time the answer against a rung, in turns; again while the machine is too noisy to tell.

    The clock is the wall's: an answer that waits, or has others work for it, gains nothing.
    """
    seed = int(answer.rng().integers(2**62))
    if answer.problem is None:
        answer.bench.race_graph(seed, rates_of(describe(), roofs(1)))
    else:
        answer.bench.race(rung, answer.problem.inputs(seed))
    yours, baseline = (_calls(answer, each, clock) for each in (YOURS, BASELINE))
    for _ in range(ATTEMPTS if answer.patient else 1):
        found = compare(
            {YOURS: lambda: answer.bench.repeat(YOURS, yours)},
            (rung, lambda: answer.bench.repeat(BASELINE, baseline)),
            budget_s=BUDGET_S,
            clock=clock,
            cpu_clock=None,  # of this process, which waits for the bench: only time counts
        )[YOURS]
        if found.warning is None:
            break
    return Comparison(_per_call(found.timing, yours), _per_call(found.baseline, baseline))


def _calls(answer: Examined, contestant: str, clock: Clock) -> int:
    """Return how many calls make one reading long enough: doubled until the best of three is.

    One reading would not do: an interrupt during a single short call would make it look long, and
    then the message to the bench would be most of what is timed.
    """
    calls = 1
    answer.bench.repeat(contestant, calls)
    while min(_reading(answer, contestant, calls, clock) for _ in range(3)) < SHORTEST_S:
        calls *= 2
    return calls


def _reading(answer: Examined, contestant: str, calls: int, clock: Clock) -> float:
    start = clock()
    answer.bench.repeat(contestant, calls)
    return clock() - start


def _per_call(timing: Timing, calls: int) -> Timing:
    return Timing(timing.name, tuple(seconds / calls for seconds in timing.seconds))


def check_possible(answer: Examined, comparison: Comparison, known: Roofs | None = None) -> None:
    """Raises ``UnmetCheck`` for a time that no program can reach on this machine."""
    assert answer.problem is not None
    best, flops = comparison.timing.best_s, answer.problem.flops
    roof = known or roofs(1)
    if best < SLACK * roof.seconds(flops, 0) and known is None:
        roof = higher(roof, measure_roofs(1))  # a neighbour may have lowered the first
    floor = roof.seconds(flops, 0)
    if best < SLACK * floor:
        raise UnmetCheck(
            "faster than this machine can be: the work was not done",
            expected=f"{1e6 * floor:.0f} µs or more for {flops:,} operations",
            got=f"{1e6 * best:.0f} µs",
        )

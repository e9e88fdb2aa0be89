"""Timing of candidates and their baseline, which take turns in one process.

A neighbour on the same machine can double every time from one minute to the next, so times taken a
minute apart cannot be compared. Here each round calls the baseline and then every
candidate, and the figure that counts is the *paired ratio*: baseline time / candidate time within
the same round, as a median with its interquartile range.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores

Clock = Callable[[], float]
Call = Callable[[], object]

NOISY_SPREAD = 0.10  # interquartile range / median above which a reading says little
# After a parallel call, the worker threads of OpenBLAS and TVM spin for a while and take cores from
# whoever comes next: a 2-thread kernel right after NumPy's took 100 ms instead of 54 (2-core Zen 4,
# 2026-11-21). So on several threads each reading waits, then calls once untimed to wake its own
# workers, then calls again.
SETTLE_SECONDS = 0.1


@dataclass(frozen=True)
class Timing:
    """Readings of one contestant, in seconds, in the order in which they were taken."""

    name: str
    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    @property
    def best_s(self) -> float:
        return min(self.seconds)

    @property
    def iqr_s(self) -> tuple[float, float]:
        """First and third quartile, in seconds."""
        return quartiles(self.seconds)

    @property
    def spread(self) -> float:
        """Interquartile range / median: 0.02 is quiet, 0.2 says little."""
        low, high = self.iqr_s
        return (high - low) / self.median_s if self.median_s else 0.0


@dataclass(frozen=True)
class Comparison:
    """Readings of one candidate and of the baseline, taken in turn."""

    timing: Timing
    baseline: Timing

    @property
    def ratios(self) -> tuple[float, ...]:
        """Baseline time / candidate time, round by round; above 1 the candidate is faster."""
        pairs = zip(self.baseline.seconds, self.timing.seconds, strict=True)
        return tuple(base / candidate for base, candidate in pairs)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)

    @property
    def ratio_iqr(self) -> tuple[float, float]:
        return quartiles(self.ratios)

    @property
    def ratio_error(self) -> float:
        """Standard error of the median ratio, relative to it (1.25 sigma / sqrt(n))."""
        if len(self.ratios) < 2:
            return float("inf")
        low, high = self.ratio_iqr
        sigma = (high - low) / 1.349  # of a normal distribution with these quartiles
        return float(1.25 * sigma / len(self.ratios) ** 0.5 / self.ratio)

    @property
    def warning(self) -> str | None:
        """The reason why this ratio may mislead, or None."""
        low, high = self.ratio_iqr
        if (high - low) / self.ratio <= NOISY_SPREAD:
            return None
        return (
            f"too noisy to tell: half of the {len(self.ratios)} ratios of {self.timing.name} to "
            f"{self.baseline.name} lie outside {low:.2f} to {high:.2f}"
        )


def quartiles(values: tuple[float, ...]) -> tuple[float, float]:
    """First and third quartile, linear between neighbours; a single value is both."""
    if len(values) == 1:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, 0 for the smallest; equal values share the mean of their ranks."""
    return [
        float(sum(v < each for v in values) + (sum(v == each for v in values) - 1) / 2)
        for each in values
    ]


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's rank correlation: 1 for the same order, -1 for the opposite order, 0 at random.

    Raises ``UsageError`` for lists of different lengths, or whose values are all the same.
    """
    if len(first) != len(second) or min(len(set(first)), len(set(second))) < 2:
        raise UsageError(
            "rank_correlation: nothing to rank",
            expected="two lists of the same length, with different values in each",
            got=f"{len(first)} and {len(second)} values",
        )
    return statistics.correlation(ranks(first), ranks(second))


@contextlib.contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Limit NumPy's BLAS and TVM's thread pool to this many threads inside the ``with``.

    Afterwards BLAS has its own number again, and TVM all cores.
    """
    from mlc_course.tensor_program.tir import tvm

    tvm.use_threads(threads)
    try:
        with threadpool_limits(threads):
            yield
    finally:
        tvm.use_threads(usable_cores())


def compare(
    candidates: Mapping[str, Call],
    baseline: tuple[str, Call],
    *,
    threads: int = 1,
    budget_s: float = 3.0,
    rounds: tuple[int, int] = (3, 30),
    tight: float = 0.005,
    warm_up: bool = True,
    clock: Clock = time.perf_counter,
    sleep: Callable[[float], object] = time.sleep,
    on_round: Callable[[int], object] | None = None,
) -> dict[str, Comparison]:
    """Time ``candidates`` against ``baseline``, interleaved call by call.

    Rounds go on until every ratio is known to ``tight`` (relative standard error), or ``budget_s``
    seconds of clock are used, within ``rounds`` = (fewest, most). Ctrl-C ends the measurement early
    and keeps the whole rounds that there are, unless there are none.

    Raises ``UsageError`` on an empty set of candidates or impossible rounds.
    """
    if not candidates or not 1 <= rounds[0] <= rounds[1]:
        raise UsageError(
            "compare: nothing to measure",
            expected="one candidate or more, and rounds (fewest, most) with 1 <= fewest <= most",
            got=f"{len(candidates)} candidates, rounds {rounds}",
        )
    base_name, base_call = baseline
    taken: list[tuple[float, ...]] = []
    settle = SETTLE_SECONDS if threads > 1 else 0.0
    with limited_threads(threads):
        calls = (base_call, *candidates.values())
        if warm_up:
            for call in calls:
                call()
        start = clock()
        try:
            while not _done(taken, candidates, rounds, tight, clock() - start >= budget_s):
                taken.append(tuple(_time(call, clock, sleep, settle) for call in calls))
                if on_round is not None:
                    on_round(len(taken))
        except KeyboardInterrupt:
            if not taken:
                raise
    base_seconds, *seconds = zip(*taken, strict=True)
    base = Timing(base_name, base_seconds)
    return {
        name: Comparison(Timing(name, own), base)
        for name, own in zip(candidates, seconds, strict=True)
    }


def readings(
    call: Call, count: int, *, warm_ups: int = 1, clock: Clock = time.perf_counter
) -> list[float]:
    """Seconds of each of ``count`` calls, after ``warm_ups`` that are not timed."""
    for _ in range(warm_ups):
        call()
    return [_time(call, clock, time.sleep, 0.0) for _ in range(count)]


def _time(call: Call, clock: Clock, sleep: Callable[[float], object], settle: float) -> float:
    if settle:
        sleep(settle)
        call()
    start = clock()
    call()
    return clock() - start


def _done(
    taken: list[tuple[float, ...]],
    candidates: Mapping[str, Call],
    rounds: tuple[int, int],
    tight: float,
    spent: bool,
) -> bool:
    fewest, most = rounds
    if len(taken) < fewest:
        return False
    if spent or len(taken) >= most:
        return True
    if len(taken) < max(fewest, 5):  # quartiles of fewer readings are too kind
        return False
    base, *others = zip(*taken, strict=True)
    pairs = (Comparison(Timing("", own), Timing("", base)) for own in others)
    return all(pair.ratio_error <= tight for pair in pairs)


@dataclass(frozen=True)
class Noise:
    """The variation in the time of one fixed piece of arithmetic on this machine now."""

    timing: Timing

    @property
    def spread(self) -> float:
        return self.timing.spread

    @property
    def verdict(self) -> str:
        return "noisy" if self.spread > NOISY_SPREAD else "quiet"


def noise(seconds: float = 0.5, *, clock: Clock = time.perf_counter) -> Noise:
    """Repeat a small matrix product on one thread for about ``seconds``; at least 10 readings."""
    import numpy as np

    operand = np.random.default_rng(0).standard_normal((256, 256), dtype=np.float32)
    taken: list[float] = []
    with threadpool_limits(1):
        operand @ operand
        start = clock()
        while len(taken) < 10 or clock() - start < seconds:
            taken.append(_time(lambda: operand @ operand, clock, time.sleep, 0.0))
    return Noise(Timing("256 x 256 matmul", tuple(taken)))

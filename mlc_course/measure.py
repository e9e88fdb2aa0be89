"""Timing of candidates and their baseline, which take turns in one process.

A neighbour on the same machine can double every time from one minute to the next, so times taken a
minute apart cannot be compared. Here each round calls the baseline and every candidate, and the
figure that counts is the *paired ratio*: baseline time / candidate time within the same round, as a
median with its 95 % confidence interval.

The interval holds for disturbances that come and go. A neighbour on the same core may stay: it
adds the same wait to every call, and so draws each ratio to 1. So on one thread the CPU time of
each call is read as well. Where the two differ, CPU time is what counts, and a warning says so.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import statistics
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from threadpoolctl import threadpool_limits

from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores
from mlc_course.words import tr

Clock = Callable[[], float]
Call = Callable[[], object]

NOISY_SPREAD = 0.10  # interquartile range / median above which a reading says little
RUNNING = 0.95, 1.05  # CPU time / time of a call on one thread, if it is alone on its core
FEWEST = 6  # rounds: the range of 5 values holds their median in 94 cases of 100, that of 6 in 97
# Rounds after which it is asked whether the ratio is known: each look is a chance to stop by luck.
LOOKS = frozenset(int(FEWEST * 1.25**look) for look in range(40))
READ_S = 0.002  # of one reading, at least: as many calls as that takes, so that the clock is exact
MOST_CALLS = 1 << 17  # in one reading
# What a call finds in the caches depends on who was called before it: after a sweep over 64 MiB, an
# addition of 24 KiB took 8 times as long (2-core Zen 4, 2026-11-21). So a reading of a call that is
# shorter than this follows an untimed one of the same call; a longer one fills the caches itself.
LONG_S = 0.02
# After a parallel call, the worker threads of OpenBLAS and TVM spin for a while and take cores from
# whoever comes next: a 2-thread kernel right after NumPy's took 100 ms instead of 54 (2-core Zen 4,
# 2026-11-21). So on several threads each reading waits, then calls once untimed to wake its own
# workers, then calls again.
SETTLE_SECONDS = 0.1
# With this variable set to 0.2, measurements take a fifth of their time, and their intervals are
# wider: for a look at a lesson, and for tests that look at everything but its times.
BUDGET = "MLC_COURSE_BUDGET"
LINE = 88  # characters that fit into a narrow page of a lesson


@dataclass(frozen=True)
class Timing:
    """Readings of one contestant, in seconds a call, in the order in which they were taken.

    ``running`` is its CPU time / its time, 1 where that was not read; ``by_cpu`` says that the
    seconds are of CPU time.
    """

    name: str
    seconds: tuple[float, ...]
    running: float = 1.0
    by_cpu: bool = False

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

    def times(self, factor: float) -> Timing:
        """The readings of a part, as those of the whole: each so many times as long."""
        return replace(self, seconds=tuple(factor * each for each in self.seconds))

    @property
    def spread(self) -> float:
        """Interquartile range / median: 0.02 is quiet, 0.2 says little."""
        low, high = self.iqr_s
        return (high - low) / self.median_s if self.median_s else 0.0


@dataclass(frozen=True)
class Comparison:
    """Readings of one candidate and of the baseline, taken in turn.

    ``f"{found:.2f}"`` is its ratio and, where there is a warning, its mark: ``1.25 (noisy)``.
    """

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
        """First and third quartile of the ratios: how far they spread, however many there are."""
        return quartiles(self.ratios)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the ratio; the range of fewer than ``FEWEST`` rounds."""
        return median_interval(self.ratios)

    @property
    def warning(self) -> str | None:
        """The reason why this ratio may mislead, or None; what is before the colon is its mark."""
        ours, base = self.timing, self.baseline
        _, most = RUNNING
        shares = {
            "ours": ours.name,
            "ours_ran": ours.running,
            "base": base.name,
            "base_ran": base.running,
        }
        if ours.by_cpu:
            return tr(
                "CPU time: {ours} ran for {ours_ran:.0%} of its time, {base} for {base_ran:.0%}; "
                "a neighbour had the core, or one of those in this race waits, so CPU times are "
                "told",
                **shares,
            )
        if max(ours.running, base.running) > most:
            return tr(
                "several threads: {ours} ran for {ours_ran:.0%} of its time, {base} for "
                "{base_ran:.0%}, where one thread was asked for",
                **shares,
            )
        low, high = self.ratio_iqr
        if (high - low) / self.ratio > NOISY_SPREAD:
            return tr(
                "noisy: half of the {count} ratios of {ours} to {base} lie outside {low:.2f} to "
                "{high:.2f}",
                count=len(self.ratios),
                ours=ours.name,
                base=base.name,
                low=low,
                high=high,
            )
        if len(self.ratios) < FEWEST:
            return tr(
                "few rounds: {count} of {ours} and {base}, and a 95 % interval needs {fewest}",
                count=len(self.ratios),
                ours=ours.name,
                base=base.name,
                fewest=FEWEST,
            )
        return None

    @property
    def mark(self) -> str:
        """The warning in a word or two, to be put behind a figure; empty where there is none."""
        return mark(self.warning)

    def __format__(self, specification: str) -> str:
        return f"{self.ratio:{specification}}{self.mark}" if specification else str(self)


def mark(warning: str | None) -> str:
    """A warning in a word or two, such as `` (noisy)``, to be put behind a figure."""
    return f" ({warning.partition(':')[0]})" if warning else ""


def warning_lines(warnings: Iterable[str | None]) -> list[str]:
    """A line for each mark, to be put below a table whose rows have the marks.

    It tells the first warning with this mark, and how many more there are; a long one is folded.
    """
    found: dict[str, list[str]] = {}
    for each in filter(None, warnings):
        found.setdefault(mark(each), []).append(each)
    lines = (
        f"warning: {first}" + (f"; {len(others)} more of this kind" if others else "")
        for first, *others in found.values()
    )
    return [textwrap.fill(each, LINE, subsequent_indent="  ") for each in lines]


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """Two of the values, between which the median that they are drawn from lies with 95 %.

    Nothing is assumed of their distribution, only that one value says nothing of the next: as many
    values are cut off on each side as a fair coin would leave there. Of fewer than ``FEWEST``
    values it is their range, which holds less often.
    """
    cut = _cut(len(values))
    return sorted(values)[cut], sorted(values, reverse=True)[cut]


@functools.cache
def _cut(count: int) -> int:
    """The most values that may be cut off on each side, with 2.5 % for the median beyond them."""
    term = below = 1  # of 2 ** count ways to throw the coins, those with so few heads
    cut = 0
    while 40 * below <= 2**count:
        cut += 1
        term = term * (count - cut + 1) // cut
        below += term
    return max(cut - 1, 0)


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
    rounds: tuple[int, int] = (FEWEST, 30),
    tight: float = 0.01,
    warm_up: bool = True,
    clock: Clock = time.perf_counter,
    cpu_clock: Clock | None = time.process_time,
    sleep: Callable[[float], object] = time.sleep,
    on_round: Callable[[int], object] | None = None,
) -> dict[str, Comparison]:
    """Time ``candidates`` against ``baseline``, in turns whose order changes from round to round.

    Rounds go on until every ratio's interval is within ``tight`` of it (0.01: 1 % on each side), or
    ``budget_s`` seconds of clock are used, within ``rounds`` = (fewest, most). Short calls are read
    many at a time, each reading after an untimed call of its own. On one thread ``cpu_clock`` is
    read beside ``clock``, unless it is None: where a contestant was not running all the time, the
    seconds are those of the CPU, with a warning. Ctrl-C ends the measurement early and keeps the
    whole rounds that there are, unless there are none.

    Raises ``UsageError`` on an empty set of candidates or impossible rounds.
    """
    if not candidates or not 1 <= rounds[0] <= rounds[1]:
        raise UsageError(
            "compare: nothing to measure",
            expected="one candidate or more, and rounds (fewest, most) with 1 <= fewest <= most",
            got=f"{len(candidates)} candidates, rounds {rounds}",
        )
    budget_s *= float(os.environ.get(BUDGET, 1))
    clocks = (clock, cpu_clock) if cpu_clock and threads == 1 else (clock,)
    settle = functools.partial(sleep, SETTLE_SECONDS) if threads > 1 else None
    pairs = (baseline, *candidates.items())
    contestants = [_Contestant(call, clocks, settle) for _, call in pairs]
    names = [name for name, _ in pairs]
    orders = _orders(len(pairs))
    rows: list[list[Reading]] = []
    with limited_threads(threads):
        if warm_up:
            for each in contestants:
                each.call()
        start = clock()
        try:
            while len(rows) < rounds[1]:
                taken = {place: contestants[place].take() for place in next(orders)}
                rows.append([taken[place] for place in range(len(pairs))])
                if on_round is not None:
                    on_round(len(rows))
                if len(rows) >= rounds[0] and (
                    clock() - start >= budget_s
                    or (len(rows) in LOOKS and _known(_compared(names, rows), tight))
                ):
                    break
        except KeyboardInterrupt:
            if not rows:
                raise
    return _compared(names, rows)


Reading = tuple[float, ...]  # seconds of a call by each clock


class _Contestant:
    """Takes readings of one call, each of as many calls as ``READ_S`` needs."""

    def __init__(
        self, call: Call, clocks: Sequence[Clock], settle: Callable[[], object] | None
    ) -> None:
        self.call = call
        self._clocks, self._settle = clocks, settle
        self._short, self._calls = False, 1

    def take(self) -> Reading:
        """Take one reading; one that turns out too short is taken again, of twice the calls."""
        total = self._read()
        while total[0] < (READ_S if self._short else LONG_S) and self._calls < MOST_CALLS:
            self._calls *= 2 if self._short else 1
            self._short = True
            total = self._read()
        if total[0] <= 0:
            raise UsageError(
                "compare: the clock stands still",
                expected="a clock that goes on while something runs",
                got=f"{total[0]:g} s for {self._calls:,} calls",
            )
        return tuple(seconds / self._calls for seconds in total)

    def _read(self) -> Reading:
        """Seconds of all the calls of a reading by each clock, after an untimed call if short."""
        if self._settle is not None:
            self._settle()
        if self._settle is not None or self._short:
            self.call()
        return _timed(self.call, self._calls, self._clocks)


def _timed(call: Call, calls: int, clocks: Sequence[Clock]) -> Reading:
    """Seconds of all these calls together by each clock."""
    starts = [clock() for clock in clocks]
    for _ in range(calls):
        call()
    return tuple(clock() - start for clock, start in zip(clocks, starts, strict=True))


def _orders(count: int) -> Iterator[list[int]]:
    """Orders of the contestants, in which each follows every other one equally often.

    Source: E. J. Williams, Experimental designs balanced for the estimation of residual effects of
    treatments, 1949.
    """
    zigzag = [(place + 1) // 2 * (-1) ** (place + 1) for place in range(count)]  # 0 1 -1 2 -2 ...
    for first in itertools.count():
        order = [(first + step) % count for step in zigzag]
        yield order
        yield order[::-1]


def _compared(names: Sequence[str], rows: Sequence[Sequence[Reading]]) -> dict[str, Comparison]:
    base, *others = _timings(names, rows)
    return {each.name: Comparison(each, base) for each in others}


def _timings(names: Sequence[str], rows: Sequence[Sequence[Reading]]) -> list[Timing]:
    """The timing of each name: by CPU time, if that was read and one was not always running."""
    clocks = [list(zip(*readings, strict=True)) for readings in zip(*rows, strict=True)]
    if any(min(each[-1]) <= 0 for each in clocks):  # a CPU clock too coarse for such calls
        clocks = [each[:1] for each in clocks]
    running = [sum(each[-1]) / sum(each[0]) if len(each) > 1 else 1.0 for each in clocks]
    chosen = -1 if min(running) < RUNNING[0] else 0
    return [
        Timing(name, each[chosen], share, by_cpu=chosen == -1)
        for name, each, share in zip(names, clocks, running, strict=True)
    ]


def _known(found: Mapping[str, Comparison], tight: float) -> bool:
    """Tell whether the interval of every ratio is within ``tight`` of it on each side."""
    ends = ((each.ratio, *each.interval) for each in found.values())
    return all(high - low <= 2 * tight * ratio for ratio, low, high in ends)


def readings(
    call: Call,
    count: int,
    *,
    warm_ups: int = 1,
    clock: Clock = time.perf_counter,
    cpu_clock: Clock | None = None,
) -> Timing:
    """Time each of ``count`` calls, after ``warm_ups`` that are not timed.

    With a ``cpu_clock``, by CPU time if the calls were not always running, as ``compare`` does.
    """
    for _ in range(warm_ups):
        call()
    clocks = (clock, cpu_clock) if cpu_clock else (clock,)
    (timing,) = _timings([""], [[_timed(call, 1, clocks)] for _ in range(count)])
    return timing


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
            taken += _timed(lambda: operand @ operand, 1, [clock])
    return Noise(Timing("256 x 256 matmul", tuple(taken)))

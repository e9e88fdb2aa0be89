from __future__ import annotations

import contextlib
import itertools
import math
import os
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from mlc_course import measure
from mlc_course.errors import UsageError
from mlc_course.machine import usable_cores
from mlc_course.measure import (
    FEWEST,
    LONG_S,
    READ_S,
    Comparison,
    Noise,
    Timing,
    compare,
    limited_threads,
    mark,
    median_interval,
    quartiles,
    rank_correlation,
    warning_lines,
)
from mlc_course.tensor_program.tir import ALIGNMENT, T, compile_program, shared_tensor, use_threads

SECONDS = st.floats(1e-6, 1e3)
READINGS = st.lists(SECONDS, min_size=1, max_size=40).map(tuple)


class World:
    """A clock that only calls and sleeps move on, one that only calls do, and a diary of both."""

    def __init__(self) -> None:
        self.now = self.worked = 0.0
        self.diary: list[str] = []

    def clock(self) -> float:
        return self.now

    def cpu_clock(self) -> float:
        return self.worked

    @property
    def clocks(self) -> dict[str, Callable[..., Any]]:
        return {"clock": self.clock, "cpu_clock": self.cpu_clock, "sleep": self.sleep}

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.diary.append(f"sleep {seconds:g}")

    def call(self, name: str, seconds: Iterable[float]) -> Callable[[], None]:
        """A call that takes these times in turn, the last one for ever."""
        times = iter(seconds)
        last = 0.0

        def run() -> None:
            nonlocal last
            last = next(times, last)
            self.now += last
            self.worked += last
            self.diary.append(name)

        return run


def comparison(
    world: World, base: Iterable[float], own: Iterable[float], **choices: Any
) -> Comparison:
    """``own`` beside ``base``, both given as seconds call by call."""
    found = compare(
        {"ours": world.call("ours", own)},
        ("base", world.call("base", base)),
        **({"warm_up": False, **world.clocks} | choices),
    )
    return found["ours"]


def paired(base: tuple[float, ...], own: tuple[float, ...]) -> Comparison:
    return Comparison(Timing("ours", own), Timing("base", base))


# --- a ratio --------------------------------------------------------------------------------------


def test_a_drift_that_doubles_every_time_leaves_the_ratio_as_it_is() -> None:
    drift = [2.0**n for n in range(6)]
    found = comparison(World(), [3 * d for d in drift], drift, budget_s=1e9, rounds=(6, 6))
    assert found.ratio == 3.0
    assert found.ratio_iqr == (3.0, 3.0)
    assert found.timing.spread > 1


def test_the_ratio_pairs_rounds_and_not_medians() -> None:
    found = paired((1, 2, 30), (1, 4, 10))
    assert found.ratios == (1.0, 0.5, 3.0)
    assert found.ratio == 1.0
    assert found.baseline.median_s / found.timing.median_s == 0.5


def test_readings_that_have_no_partner_are_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        _ = paired((1.0, 2.0), (1.0,)).ratios


def test_more_readings_make_the_ratio_surer() -> None:
    few = paired((1.0, 1.1, 1.2, 1.3) * 2, (1.0,) * 8)
    many = paired((1.0, 1.1, 1.2, 1.3) * 8, (1.0,) * 32)
    assert few.interval == (1.0, 1.3)
    assert many.interval == (1.1, 1.2)


# --- warnings -------------------------------------------------------------------------------------


def test_a_quiet_ratio_has_no_warning() -> None:
    found = paired((1.0, 1.01, 1.02, 1.03, 1.04, 1.05), (1.0,) * 6)
    assert (found.warning, found.mark) == (None, "")
    assert f"{found:.2f}" == "1.02"


def test_a_noisy_ratio_says_so_with_its_range() -> None:
    found = paired((1.0, 2.0, 3.0, 4.0, 5.0), (1.0,) * 5)
    assert found.warning == "noisy: half of the 5 ratios of ours to base lie outside 2.00 to 4.00"
    assert f"{found:.1f}" == "3.0 (noisy)"


def test_the_range_of_a_few_rounds_is_no_95_percent_interval() -> None:
    assert paired((1.0,) * FEWEST, (1.0,) * FEWEST).warning is None
    found = paired((1.0, 1.01, 1.02), (1.0,) * 3)
    assert found.interval == (1.0, 1.02)
    assert found.warning == "few rounds: 3 of ours and base, and a 95 % interval needs 6"


def test_a_call_that_was_not_always_running_has_a_warning_with_both_shares() -> None:
    found = Comparison(
        Timing("ours", (1.0,) * 6, 0.52, by_cpu=True), Timing("base", (1.0,) * 6, 0.49, by_cpu=True)
    )
    assert found.warning is not None
    assert found.warning.startswith("CPU time: ours ran for 52% of its time, base for 49%")
    assert f"{found:.2f}" == "1.00 (CPU time)"


def test_a_call_that_ran_on_two_cores_has_a_warning() -> None:
    found = Comparison(Timing("ours", (1.0,) * 6, 1.9), Timing("base", (1.0,) * 6))
    assert found.mark == " (several threads)"


def test_a_warning_that_several_have_is_explained_once() -> None:
    assert warning_lines([None, "noisy: a", "few rounds: b", "noisy: c"]) == [
        "warning: noisy: a; 1 more of this kind",
        "warning: few rounds: b",
    ]
    assert mark(None) == ""


# --- the interval ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", range(1, 80))
def test_a_median_lies_outside_in_5_cases_of_100_and_closer_ends_would_not_do(count: int) -> None:
    low, high = median_interval(list(range(count)))
    assert high == count - 1 - low
    # The median is below the value at place k if at most k of the values are below the median.
    beyond = [2 * sum(math.comb(count, i) for i in range(k + 1)) / 2**count for k in range(count)]
    if count >= FEWEST:
        assert beyond[int(low)] <= 0.05 < beyond[int(low) + 1]
    else:
        assert (low, high) == (0, count - 1)
        assert beyond[0] > 0.05


@given(READINGS)
def test_an_interval_holds_the_median_and_not_more_than_the_readings(
    seconds: tuple[float, ...],
) -> None:
    low, high = median_interval(seconds)
    assert min(seconds) <= low <= statistics.median(seconds) * (1 + 1e-12)
    assert statistics.median(seconds) <= high * (1 + 1e-12)
    assert high <= max(seconds)


# --- when to stop ---------------------------------------------------------------------------------


def test_a_tight_ratio_ends_the_measurement_early() -> None:
    found = comparison(World(), [2.0], [1.0], budget_s=1e9, rounds=(3, 30))
    assert len(found.timing.seconds) == FEWEST  # fewer have no interval


def test_every_ratio_must_be_tight() -> None:
    world = World()
    calls = {"quiet": world.call("q", [1.0]), "noisy": world.call("n", itertools.cycle([1.0, 2.0]))}
    base = ("base", world.call("b", [1.0]))
    found = compare(calls, base, rounds=(3, 12), budget_s=1e9, **world.clocks)
    assert len(found["quiet"].timing.seconds) == 12


def test_the_budget_ends_the_measurement() -> None:
    found = comparison(World(), itertools.cycle([1.0, 2.0]), [1.5], budget_s=8, rounds=(1, 30))
    assert len(found.timing.seconds) == 3  # 2.5, 6 and 8.5 seconds used


def test_the_fewest_rounds_are_taken_whatever_they_cost() -> None:
    found = comparison(World(), itertools.cycle([50.0, 90.0]), [1.0], budget_s=0, rounds=(4, 30))
    assert len(found.timing.seconds) == 4


def test_the_most_rounds_are_a_bound() -> None:
    found = comparison(World(), itertools.cycle([1.0, 2.0]), [1.0], budget_s=1e9, rounds=(1, 7))
    assert len(found.timing.seconds) == 7


@pytest.mark.parametrize("interrupted", [2, 3])
def test_ctrl_c_keeps_the_whole_rounds(interrupted: int) -> None:
    world = World()
    numbers = itertools.count(1)
    steady = world.call("ours", [1.0])

    def ours() -> None:
        if next(numbers) == interrupted:
            raise KeyboardInterrupt
        steady()

    base = ("base", world.call("base", [2.0]))
    found = compare({"ours": ours}, base, warm_up=False, budget_s=1e9, **world.clocks)["ours"]
    assert len(found.timing.seconds) == len(found.baseline.seconds) == interrupted - 1
    assert found.ratio == 2.0


def test_ctrl_c_before_the_first_round_is_done_is_not_swallowed() -> None:
    def ours() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare({"ours": ours}, ("base", lambda: None), warm_up=False)


@pytest.mark.parametrize("rounds", [(0, 3), (4, 3), (-1, -1)])
def test_impossible_rounds_are_refused(rounds: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="fewest <= most"):
        compare({"ours": lambda: None}, ("base", lambda: None), rounds=rounds)


def test_nothing_to_measure_is_refused() -> None:
    with pytest.raises(UsageError, match="0 candidates"):
        compare({}, ("base", lambda: None))


# --- who is called when ---------------------------------------------------------------------------


def test_calls_take_turns_and_the_first_ones_are_not_recorded() -> None:
    world = World()
    calls = {"a": world.call("a", [100.0, 1.0]), "b": world.call("b", [200.0, 2.0])}
    base = ("base", world.call("base", [300.0, 4.0]))
    found = compare(calls, base, rounds=(3, 3), budget_s=1e9, **world.clocks)
    assert world.diary == [*(["base", "a", "b"] * 2), *["b", "a", "base"], *["a", "b", "base"]]
    assert list(found) == ["a", "b"]
    assert found["a"].baseline.seconds == (4.0,) * 3
    assert (found["a"].ratio, found["b"].ratio) == (4.0, 2.0)


def test_the_warm_up_does_not_use_the_budget() -> None:
    found = comparison(
        World(), [900.0, 1.0, 2.0, 1.0], [900.0, 1.0], budget_s=9, rounds=(1, 3), warm_up=True
    )
    assert len(found.timing.seconds) == 3


def test_each_round_is_announced() -> None:
    rounds: list[int] = []
    comparison(World(), [1.0], [1.0], rounds=(3, 3), on_round=rounds.append)
    assert rounds == [1, 2, 3]


def test_on_several_threads_each_reading_settles_and_wakes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measure, "limited_threads", lambda threads: contextlib.nullcontext())
    world = World()
    # Waking takes 9 seconds, the reading one.
    found = comparison(
        world, itertools.cycle([9.0, 2.0]), itertools.cycle([9.0, 1.0]), threads=2, rounds=(2, 2)
    )
    settle = f"sleep {measure.SETTLE_SECONDS:g}"
    first, second = ([settle, name, name] for name in ("base", "ours"))
    assert world.diary == [*first, *second, *second, *first]
    assert found.timing.seconds == pytest.approx((1.0, 1.0))
    assert found.baseline.seconds == pytest.approx((2.0, 2.0))


def test_on_one_thread_nobody_sleeps() -> None:
    world = World()
    comparison(world, [1.0], [1.0], rounds=(3, 3))
    assert set(world.diary) == {"base", "ours"}


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_each_follows_every_other_one_equally_often(count: int) -> None:
    orders = list(itertools.islice(measure._orders(count), 2 * count))
    assert all(sorted(order) == list(range(count)) for order in orders)
    after = Counter(pair for order in orders for pair in itertools.pairwise(order))
    assert after == dict.fromkeys(itertools.permutations(range(count), 2), 2)


def test_a_reading_of_a_short_call_is_of_many_and_follows_an_untimed_one() -> None:
    world = World()
    microseconds = comparison(world, [0.8e-6], [1e-6], rounds=(6, 6))
    assert microseconds.ratio == pytest.approx(0.8)
    assert microseconds.timing.median_s == pytest.approx(1e-6)
    groups = [len(list(group)) for _, group in itertools.groupby(world.diary)]
    assert min(groups) > READ_S / 1e-6  # of the untimed call and the timed ones


def test_a_long_call_is_read_alone() -> None:
    world = World()
    comparison(world, [2 * LONG_S], [3 * LONG_S], rounds=(6, 6))
    assert Counter(world.diary) == {"base": 6, "ours": 6}


def test_an_interrupt_does_not_make_one_short_call_a_reading() -> None:
    world = World()
    found = comparison(world, [1e-6], [1.0, 1e-6], rounds=(6, 6))
    assert found.timing.seconds[0] == 1.0
    assert found.timing.median_s == pytest.approx(1e-6)
    assert len(world.diary) > 2 * 5 * READ_S / 1e-6


# --- a machine with neighbours --------------------------------------------------------------------


class Shared(World):
    """A core with caches, which a neighbour may take during every reading; all luck is seeded."""

    def __init__(self, seed: int, *, wait_s: float = 0.0, spread: float = 0.02) -> None:
        super().__init__()
        self.rng = random.Random(seed)
        self.wait_s, self.spread = wait_s, spread
        self.cached = ""
        self.left_s = 0.0  # of this process's slice of time

    def work(self, name: str, seconds: float, *, cold_s: float = 0.0) -> Callable[[], None]:
        """A call of this length, and longer if another one has been in the caches since."""

        def run() -> None:
            spent = seconds * self.rng.lognormvariate(0, self.spread)
            if self.rng.random() < 0.1:  # an interrupt
                spent += self.rng.expovariate(1 / (0.3 * seconds))
            if self.cached != name:
                spent += cold_s
            self.cached = name
            self.worked += spent
            self.now += spent
            self.left_s -= spent
            if self.wait_s and self.left_s < 0:
                self.left_s = self.rng.uniform(0.5, 1.5) * READ_S
                self.now += self.wait_s * self.rng.lognormvariate(0, self.spread)

        return run

    def race(self, ratio: float, seconds: float, **choices: Any) -> Comparison:
        """A call beside one that takes ``ratio`` times as long, for half a second of this clock."""
        calls = {"ours": self.work("ours", seconds)}
        base = ("base", self.work("base", ratio * seconds))
        return compare(calls, base, **({"budget_s": 0.5, **self.clocks} | choices))["ours"]


RUNS = 200


def untold(found: Iterable[Comparison], truth: float) -> float:
    """The share of comparisons whose interval misses the truth, without any warning."""
    wrong = [
        each.warning is None and not each.interval[0] <= truth <= each.interval[1] for each in found
    ]
    assert len(wrong) == RUNS
    return sum(wrong) / RUNS


@pytest.mark.parametrize("seconds", [1e-4, 3e-3, 3e-2])
def test_on_a_quiet_machine_the_truth_is_outside_in_5_runs_of_100(seconds: float) -> None:
    found = [Shared(seed).race(1.25, seconds) for seed in range(RUNS)]
    assert untold(found, 1.25) <= 0.075
    assert sum(each.warning is None for each in found) > 0.8 * RUNS


def test_quartiles_of_few_rounds_would_miss_it_more_often() -> None:
    found = [Shared(seed).race(1.25, 3e-3, rounds=(6, 6)) for seed in range(RUNS)]
    assert untold(found, 1.25) <= 0.075
    assert sum(not each.ratio_iqr[0] <= 1.25 <= each.ratio_iqr[1] for each in found) > 0.15 * RUNS


@pytest.mark.parametrize("seconds", [3e-3, 3e-2])
def test_beside_a_neighbour_on_the_same_core_cpu_time_is_right_and_a_warning_says_so(
    seconds: float,
) -> None:
    found = [Shared(seed, wait_s=4e-3).race(1.25, seconds) for seed in range(RUNS)]
    assert {each.mark for each in found} == {" (CPU time)"}
    wrong = sum(not each.interval[0] <= 1.25 <= each.interval[1] for each in found)
    assert wrong <= 0.075 * RUNS


def test_beside_that_neighbour_the_wall_clock_alone_would_be_wrong_without_a_word() -> None:
    found = [
        Shared(seed, wait_s=4e-3).race(1.25, 3e-3, cpu_clock=None, rounds=(30, 30))
        for seed in range(RUNS)
    ]
    assert untold(found, 1.25) > 0.5


@pytest.mark.parametrize("seconds", [2e-5, 1e-4, 3e-3])
def test_the_same_call_twice_is_equally_fast_after_a_sweep_through_the_caches(
    seconds: float,
) -> None:
    found = []
    for seed in range(RUNS):
        core = Shared(seed)
        twice = {name: core.work("same", seconds, cold_s=1e-3) for name in ("first", "second")}
        base = ("sweep", core.work("sweep", 5e-3))
        raced = compare(twice, base, budget_s=0.5, **core.clocks)
        found.append(Comparison(raced["second"].timing, raced["first"].timing))
        assert raced["first"].timing.median_s < 2 * seconds + 1e-5  # in its own caches
    assert untold(found, 1.0) <= 0.075


def test_the_same_long_call_twice_is_equally_fast_although_it_finds_other_caches() -> None:
    found = []
    for seed in range(RUNS):
        core = Shared(seed)
        twice = {name: core.work("same", LONG_S, cold_s=LONG_S / 4) for name in ("a", "b")}
        raced = compare(twice, ("sweep", core.work("sweep", LONG_S)), **core.clocks)
        found.append(Comparison(raced["b"].timing, raced["a"].timing))
    assert untold(found, 1.0) <= 0.075


def test_what_waits_or_works_elsewhere_is_never_faster_without_a_warning() -> None:
    world = World()

    def sleeps() -> None:
        world.sleep(0.9)
        world.worked += 0.1
        world.now += 0.1

    def on_two_cores() -> None:
        world.worked += 1.0
        world.now += 0.5

    base = ("base", world.call("base", [1.0]))
    found = compare({"sleeps": sleeps}, base, **world.clocks)["sleeps"]
    assert found.mark == " (CPU time)"
    found = compare({"two": on_two_cores}, base, **world.clocks)["two"]
    assert (found.ratio, found.mark) == (2.0, " (several threads)")


def test_a_cpu_clock_too_coarse_for_the_calls_is_not_used() -> None:
    world = World()
    found = comparison(world, [0.03], [0.025], cpu_clock=lambda: world.worked // 0.1 * 0.1)
    assert found.ratio == pytest.approx(1.2)
    assert found.warning is None


def test_several_threads_have_no_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "limited_threads", lambda threads: contextlib.nullcontext())
    found = comparison(World(), [2.0], [1.0], threads=2, cpu_clock=lambda: 0.0)
    assert (found.ratio, found.timing.running) == (2.0, 1.0)


# --- threads --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thread_ids() -> Callable[[], int]:
    """On how many threads a parallel loop of TVM ran."""
    if os.name == "nt":
        pytest.skip("pthread_self is POSIX")
    pieces = 64

    @T.prim_func(s_tir=True)
    def record(ids: T.Buffer((pieces,), "int64")):  # type: ignore[valid-type]
        for i in T.parallel(pieces):
            with T.sblock("who"):
                v = T.axis.spatial(pieces, i)
                ids[v] = T.call_extern("int64", "pthread_self")

    run = compile_program(record, threads=usable_cores())

    def count() -> int:
        room = np.zeros(pieces + ALIGNMENT // 8, np.int64)
        skip = -room.ctypes.data % ALIGNMENT // 8
        ids = room[skip : skip + pieces]
        run(shared_tensor(ids))
        return len(set(ids.tolist()))

    return count


@pytest.mark.parametrize("threads", sorted({1, usable_cores()}))
def test_both_sides_run_on_as_many_threads_as_asked(
    threads: int, thread_ids: Callable[[], int]
) -> None:
    np.ones((8, 8)) @ np.ones((8, 8))  # loads the BLAS
    with limited_threads(threads):
        blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        if not blas:
            pytest.skip("threadpoolctl does not know this NumPy's BLAS")
        assert set(blas) == {threads}
        assert thread_ids() == threads


def test_the_limit_can_rise_again(thread_ids: Callable[[], int]) -> None:
    before = threadpool_info()
    counts = []
    for threads in (usable_cores(), 1, usable_cores()):
        with limited_threads(threads):
            counts.append(thread_ids())
    assert counts == [usable_cores(), 1, usable_cores()]
    assert threadpool_info() == before


@pytest.mark.parametrize("threads", [0, -1, usable_cores() + 1])
def test_threads_that_this_machine_does_not_have_are_refused(threads: int) -> None:
    with pytest.raises(UsageError, match=f"1 to {usable_cores()}"):
        use_threads(threads)
    with pytest.raises(UsageError):
        compare({"ours": lambda: None}, ("base", lambda: None), threads=threads)


# --- readings -------------------------------------------------------------------------------------


@given(READINGS)
def test_quartiles_stand_in_order_within_the_readings(seconds: tuple[float, ...]) -> None:
    low, high = quartiles(seconds)
    rounding = 1e-12 * max(seconds)
    assert min(seconds) - rounding <= low <= high + rounding <= max(seconds) + 2 * rounding


@given(READINGS)
def test_half_of_the_readings_lie_within_the_quartiles(seconds: tuple[float, ...]) -> None:
    low, high = quartiles(seconds)
    inside = sum(low * (1 - 1e-12) <= s <= high * (1 + 1e-12) for s in seconds)
    assert inside >= len(seconds) / 2 - 1


@given(READINGS, st.integers(-8, 8))
def test_a_slower_clock_does_not_change_the_spread(seconds: tuple[float, ...], power: int) -> None:
    once, scaled = Timing("t", seconds), Timing("t", tuple(s * 2.0**power for s in seconds))
    assert scaled.spread == once.spread
    assert scaled.median_s == once.median_s * 2.0**power


@given(READINGS)
def test_best_median_and_quartiles_stand_in_order(seconds: tuple[float, ...]) -> None:
    timing = Timing("t", seconds)
    low, high = timing.iqr_s
    assert timing.best_s <= timing.median_s
    assert low <= timing.median_s * (1 + 1e-12) <= high * (1 + 1e-11)
    assert timing.spread >= 0


@given(READINGS, SECONDS)
def test_a_contestant_that_is_always_so_much_faster_has_that_ratio(
    seconds: tuple[float, ...], factor: float
) -> None:
    found = paired(tuple(s * factor for s in seconds), seconds)
    assert found.ratio == pytest.approx(factor)
    assert found.mark == (" (few rounds)" if len(seconds) < FEWEST else "")


def test_a_single_reading_is_both_quartiles() -> None:
    assert quartiles((2.5,)) == (2.5, 2.5)


def test_readings_of_a_clock_that_stands_still_have_no_spread() -> None:
    assert Timing("t", (0.0, 0.0)).spread == 0.0


# --- noise ----------------------------------------------------------------------------------------


def ticking(steps: Iterable[float]) -> Callable[[], float]:
    """A clock that goes on by these steps, one each time it is read."""
    times: Iterator[float] = itertools.accumulate(steps)
    return lambda: next(times)


def test_noise_is_read_ten_times_at_least() -> None:
    found = measure.noise(1.0, clock=ticking(itertools.repeat(1.0)))
    assert found.timing.seconds == (1.0,) * 10


def test_noise_is_read_for_its_time() -> None:
    steps = itertools.repeat(1 / 64)  # two ticks for a reading, and a third to look at the time
    assert 64 // 3 < len(measure.noise(1.0, clock=ticking(steps)).timing.seconds) < 64 // 2


def test_a_steady_machine_is_quiet() -> None:
    assert measure.noise(1.0, clock=ticking(itertools.repeat(1.0))).verdict == "quiet"


def test_a_machine_that_halves_its_speed_is_noisy() -> None:
    assert Noise(Timing("t", (1.0, 2.0) * 5)).verdict == "noisy"
    steps = itertools.chain([0.0], itertools.cycle([0.0, 1.0, 0.0, 2.0]))
    assert measure.noise(1.0, clock=ticking(steps)).verdict == "noisy"


# --- rank correlation -----------------------------------------------------------------------------


NUMBERS = st.lists(st.floats(-100, 100), min_size=2, max_size=20, unique=True)


@given(NUMBERS)
def test_an_order_agrees_with_itself_and_disagrees_with_its_opposite(values: list[float]) -> None:
    assert rank_correlation(values, values) == pytest.approx(1)
    assert rank_correlation(values, [-v for v in values]) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 99], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 2, 3], [1, 2, 2, 3], 1.0),
        ([1, 2, 3], [1, 3, 2], 0.5),
        ([1, 1, 2, 2], [1, 2, 1, 2], 0.0),
    ],
)
def test_rank_correlation_looks_at_the_order_only(
    first: list[float], second: list[float], expected: float
) -> None:
    assert rank_correlation(first, second) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("first", "second"), [([1, 2], [1]), ([1], [1]), ([], []), ([1, 1], [1, 2])]
)
def test_lists_without_an_order_are_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(UsageError, match="nothing to rank"):
        rank_correlation(first, second)


def test_a_candidate_beside_one_that_waits_is_told_by_cpu_time_and_says_so() -> None:
    wall, cpu = [0.0], [0.0]

    def runs(seconds: float, share: float) -> Callable[[], None]:
        def call() -> None:
            wall[0] += seconds
            cpu[0] += seconds * share

        return call

    candidates = {"ours": runs(0.1, 0.96), "sleeper": runs(0.1, 0.1)}
    found = compare(
        candidates,
        ("base", runs(0.1, 1.0)),
        clock=lambda: wall[0],
        cpu_clock=lambda: cpu[0],
    )
    assert found["ours"].mark == found["sleeper"].mark == " (CPU time)"


def test_a_clock_that_stands_still_is_told() -> None:
    with pytest.raises(UsageError, match="the clock stands still"):
        compare({"ours": int}, ("base", int), clock=lambda: 1.0)

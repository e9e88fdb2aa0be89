from __future__ import annotations

import contextlib
import itertools
import os
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
    Comparison,
    Noise,
    Timing,
    compare,
    limited_threads,
    quartiles,
    rank_correlation,
)
from mlc_course.tensor_program.tir import ALIGNMENT, T, compile_program, shared_tensor, use_threads

SECONDS = st.floats(1e-6, 1e3)
READINGS = st.lists(SECONDS, min_size=1, max_size=40).map(tuple)


class World:
    """A clock that only calls and sleeps move on, and a diary of both."""

    def __init__(self) -> None:
        self.now = 0.0
        self.diary: list[str] = []

    def clock(self) -> float:
        return self.now

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
            self.diary.append(name)

        return run


def comparison(
    world: World, base: Iterable[float], own: Iterable[float], **choices: Any
) -> Comparison:
    """``own`` beside ``base``, both given as seconds call by call."""
    found = compare(
        {"ours": world.call("ours", own)},
        ("base", world.call("base", base)),
        **({"warm_up": False, "clock": world.clock, "sleep": world.sleep} | choices),
    )
    return found["ours"]


def paired(base: tuple[float, ...], own: tuple[float, ...]) -> Comparison:
    return Comparison(Timing("ours", own), Timing("base", base))


# --- a ratio --------------------------------------------------------------------------------------


def test_a_drift_that_doubles_every_time_leaves_the_ratio_as_it_is() -> None:
    drift = [2.0**n for n in range(6)]
    found = comparison(World(), (3 * d for d in drift), drift, budget_s=1e9, rounds=(6, 6))
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
    assert many.ratio_error == pytest.approx(few.ratio_error / 2, rel=0.05)


def test_one_reading_says_nothing_of_its_error() -> None:
    assert paired((1.0,), (1.0,)).ratio_error == float("inf")


def test_a_quiet_ratio_has_no_warning() -> None:
    assert paired((1.0, 1.01, 1.02, 1.03), (1.0,) * 4).warning is None


def test_a_noisy_ratio_says_so_with_its_range() -> None:
    warning = paired((1.0, 2.0, 3.0, 4.0, 5.0), (1.0,) * 5).warning
    assert warning is not None
    assert "too noisy" in warning
    assert "5 ratios of ours to base" in warning
    assert "2.00 to 4.00" in warning


# --- when to stop ---------------------------------------------------------------------------------


def test_a_tight_ratio_ends_the_measurement_early() -> None:
    found = comparison(World(), [2.0], [1.0], budget_s=1e9, rounds=(3, 30))
    assert len(found.timing.seconds) == 5  # quartiles of fewer would be too kind


def test_every_ratio_must_be_tight() -> None:
    world = World()
    calls = {"quiet": world.call("q", [1.0]), "noisy": world.call("n", itertools.cycle([1.0, 2.0]))}
    base = ("base", world.call("b", [1.0]))
    choices: dict[str, Any] = {"clock": world.clock, "sleep": world.sleep, "budget_s": 1e9}
    found = compare(calls, base, rounds=(3, 12), **choices)
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
    choices: dict[str, Any] = {"clock": world.clock, "sleep": world.sleep, "budget_s": 1e9}
    found = compare({"ours": ours}, base, warm_up=False, **choices)["ours"]
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
    choices: dict[str, Any] = {"clock": world.clock, "sleep": world.sleep, "budget_s": 1e9}
    found = compare(calls, base, rounds=(3, 3), **choices)
    assert world.diary == ["base", "a", "b"] * 4
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
    assert world.diary == [settle, "base", "base", settle, "ours", "ours"] * 2
    assert found.timing.seconds == pytest.approx((1.0, 1.0))
    assert found.baseline.seconds == pytest.approx((2.0, 2.0))


def test_on_one_thread_nobody_sleeps() -> None:
    world = World()
    comparison(world, [1.0], [1.0], rounds=(3, 3))
    assert set(world.diary) == {"base", "ours"}


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
    assert found.warning is None


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

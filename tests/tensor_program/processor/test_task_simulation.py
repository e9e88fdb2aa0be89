"""Tasks on simulated workers, and Amdahl's law both ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.errors import SizeError, UsageError
from mlc_course.tensor_program.processor.task_simulation import (
    HOW,
    Interval,
    Timeline,
    amdahl,
    chunks,
    grouped,
    serial_share,
    simulate,
)

COSTS = st.lists(st.integers(0, 50), min_size=1, max_size=40).filter(any)
WORKERS = st.integers(1, 16)


def sizes(tasks: int, workers: int) -> list[int]:
    return [len(own) for own in chunks(tasks, workers)]


def test_tvm_gives_each_worker_a_run_of_neighbours_and_the_last_ones_what_is_left() -> None:
    assert sizes(8, 4) == [2, 2, 2, 2]
    assert sizes(5, 4) == [2, 2, 1, 0]
    assert sizes(9, 4) == [3, 3, 3, 0]
    assert sizes(2, 4) == [1, 1, 0, 0]
    assert [task for own in chunks(9, 4) for task in own] == list(range(9))


def test_a_triangle_in_halves_takes_three_quarters_of_its_time() -> None:
    costs = [i + 1 for i in range(128)]
    assert simulate(costs, 2).speedup == pytest.approx(4 / 3, rel=0.01)
    assert simulate(costs, 2, how="interleaved").speedup == pytest.approx(2, rel=0.02)
    assert simulate(costs, 2, how="dynamic").speedup == pytest.approx(2, rel=0.02)


def test_three_workers_can_be_slower_than_two() -> None:
    costs = [1, 1, 10, 10, 1, 1]
    assert simulate(costs, 2).end == 12
    assert simulate(costs, 3).end == 20


def test_serial_work_and_the_start_come_before_the_first_task() -> None:
    found = simulate([4, 4], 2, serial=2, start=1)
    assert (found.serial, found.work, found.end) == (3, 8, 7)
    assert found.regions == ((3, 7),)
    assert found.utilisation == pytest.approx(11 / 14)


def test_fetching_is_paid_for_each_dynamic_task_and_only_there() -> None:
    assert simulate([5] * 8, 2, how="dynamic", take=1).end == 4 * 6
    assert simulate([5] * 8, 2, how="static", take=1).end == 4 * 5


@given(COSTS, WORKERS, st.sampled_from(HOW))
def test_nobody_does_two_things_at_once_and_every_task_runs_once(
    costs: list[int], workers: int, how: str
) -> None:
    found = simulate(costs, workers, how=how)
    assert sorted(each.task for each in found.intervals) == list(range(len(costs)))
    assert found.work == pytest.approx(sum(costs))
    for worker in range(workers):
        own = sorted((i.start, i.end) for i in found.intervals if i.worker == worker)
        assert all(first[1] <= second[0] for first, second in zip(own, own[1:], strict=False))
    assert max(max(costs), sum(costs) / workers) <= found.end <= sum(costs)


@given(COSTS, WORKERS)
def test_dynamic_sharing_is_never_twice_as_long_as_the_best(costs: list[int], workers: int) -> None:
    """Graham 1966: a list schedule is below (2 - 1/p) times the optimum."""
    least = max(max(costs), sum(costs) / workers)
    assert simulate(costs, workers, how="dynamic").end <= (2 - 1 / workers) * least + 1e-9


@given(COSTS, st.integers(1, 50))
def test_coarser_tasks_do_the_same_work(costs: list[int], grain: int) -> None:
    coarse = grouped(costs, grain)
    assert len(coarse) == -(-len(costs) // grain)
    assert sum(coarse) == sum(costs)


@given(st.floats(0, 1), st.integers(2, 1000))
def test_amdahl_and_his_inverse_agree(serial: float, workers: int) -> None:
    speedup = amdahl(serial, workers)
    assert 1 <= speedup <= workers + 1e-9
    assert serial_share(speedup, workers) == pytest.approx(serial, abs=1e-9)


def test_without_end_the_speed_up_goes_to_one_over_the_share() -> None:
    assert amdahl(0.25, 10**9) == pytest.approx(4)
    assert amdahl(0.0, 7) == 7
    assert serial_share(2.2, 2) < 0, "faster than two workers can be"


def run(*spans: tuple[int, float, float]) -> Timeline:
    intervals = tuple(Interval(i, *span) for i, span in enumerate(spans))
    return Timeline(2, intervals, max(end for _, _, end in spans))


def test_threads_that_take_turns_on_one_core_are_seen() -> None:
    assert run((0, 0, 5), (1, 5, 10)).took_turns
    assert run((1, 0, 5), (0, 4.9, 10)).took_turns
    assert not run((0, 0, 5), (1, 0.2, 5)).took_turns
    assert not run((0, 0, 5), (0, 5, 10)).took_turns, "one worker has nobody to wait for"


@pytest.mark.parametrize(
    ("error", "change"),
    [
        (UsageError, {"costs": []}),
        (UsageError, {"workers": 0}),
        (UsageError, {"how": "guided"}),
        (SizeError, {"costs": [1, -1]}),
        (SizeError, {"costs": [float("nan")]}),
        (SizeError, {"serial": -1.0}),
        (SizeError, {"take": -1.0}),
    ],
)
def test_what_cannot_be_simulated_is_refused(error: type[Exception], change: dict) -> None:  # type: ignore[type-arg]
    asked = {"costs": [1, 2], "workers": 2} | change
    with pytest.raises(error):
        simulate(**asked)


def test_what_is_no_share_no_grain_and_no_speed_up_is_refused() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError):
            amdahl(wrong, 2)
    for speedup, workers in ((1.0, 1), (0.0, 2), (-1.0, 2)):
        with pytest.raises(UsageError):
            serial_share(speedup, workers)
    with pytest.raises(SizeError):
        grouped([1], 0)
    with pytest.raises(UsageError):
        chunks(4, 0)

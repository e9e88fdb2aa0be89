"""One thread against several, with a clock of the test's own."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import column_sums
from mlc_course.machine import usable_cores
from mlc_course.measure import FEWEST
from mlc_course.tensor_program.processor import thread_scaling as module
from mlc_course.tensor_program.processor.thread_scaling import prepared, scaling, speedups
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

pytestmark = pytest.mark.measures


class Machine:
    """A clock that a call moves on, by 1 s divided by the threads that are set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.threads, self.slept = 0.0, 1, 0.0
        monkeypatch.setattr(module, "limited_threads", self.limited)
        monkeypatch.setattr(module, "usable_cores", lambda: 4)

    def limited(self, threads: int) -> Machine:
        self.threads = threads
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept += seconds

    def shared(self) -> None:
        self.now += 1.0 / self.threads

    def alone(self) -> None:
        self.now += 1.0

    def short(self) -> None:
        self.now += 0.001 / self.threads


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def test_the_ratio_is_the_speed_up_over_one_thread(machine: Machine) -> None:
    calls = {"shared": machine.shared, "alone": machine.alone, "short": machine.short}
    found = scaling(calls, threads=4, clock=machine.clock, sleep=machine.sleep)
    assert found["shared"].ratio == pytest.approx(4)
    assert found["alone"].ratio == pytest.approx(1)
    assert found["short"].ratio == pytest.approx(4)
    assert found["short"].baseline.median_s == pytest.approx(0.001)
    assert found["shared"].timing.name == "shared, 4 threads"
    assert machine.slept > 0


def test_two_threads_unless_another_number_is_asked_for(machine: Machine) -> None:
    calls = {"shared": machine.shared}
    assert scaling(calls, clock=machine.clock, sleep=machine.sleep)["shared"].ratio == 2


def test_the_budget_ends_the_rounds(machine: Machine) -> None:
    options = {"clock": machine.clock, "sleep": machine.sleep}
    few = scaling({"alone": machine.alone}, budget_s=0, **options)  # type: ignore[arg-type]
    more = scaling({"alone": machine.alone}, budget_s=30, **options)  # type: ignore[arg-type]
    assert len(few["alone"].ratios) == FEWEST < len(more["alone"].ratios)


def test_a_line_tells_both_times_and_the_speed_up(machine: Machine) -> None:
    found = scaling({"shared": machine.shared}, clock=machine.clock, sleep=machine.sleep)
    assert speedups(found) == "shared         1,000 ms ->     500 ms    2.00 x [2.00 to 2.00]"


def test_a_speed_up_with_a_warning_says_so(machine: Machine) -> None:
    options: dict[str, Any] = {"clock": machine.clock, "sleep": machine.sleep}
    found = scaling({"shared": machine.shared}, rounds=(2, 2), **options)
    line, *below = speedups(found).splitlines()
    assert line.endswith("2.00 x [2.00 to 2.00] (few rounds)")
    assert below[0].startswith("warning: few rounds: 2 of shared")


def test_one_core_has_nothing_to_compare(machine: Machine) -> None:
    found = scaling({"shared": machine.shared}, threads=1, clock=machine.clock, sleep=machine.sleep)
    assert found["shared"].ratio == 1
    assert speedups(found).endswith("one core: nothing to compare")
    assert machine.slept == 0


def test_programs_are_prepared_on_their_own_problem() -> None:
    def rows(sch: Schedule) -> None:
        steps.reorder(sch, "S", "k", "j")

    calls = prepared(column_sums(64, 32), {"rows": rows})
    found = scaling(calls, budget_s=0.0)
    assert list(found) == ["rows"]
    assert found["rows"].ratio > 0


def test_no_calls_and_threads_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError):
        scaling({})
    with pytest.raises(UsageError):
        scaling({"nothing": lambda: None}, rounds=(0, 3))
    with pytest.raises(UsageError):
        scaling({"nothing": lambda: None}, threads=usable_cores() + 1)

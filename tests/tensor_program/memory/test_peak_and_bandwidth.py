from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.measure import Timing
from mlc_course.tensor_program.memory import peak_and_bandwidth as module
from mlc_course.tensor_program.memory.peak_and_bandwidth import Roofs, higher, measure_roofs, roofs

pytestmark = [pytest.mark.measures, pytest.mark.slow]


class Measured:
    """Roofs in place of measured ones: those that are set, and how often they were asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.gflops, self.gbytes_per_s, self.spread = 100.0, 10.0, 0.01

    def __call__(self, threads: int = 1) -> Roofs:
        self.asked.append(threads)
        return Roofs(threads, self.gflops, self.gbytes_per_s, (), (self.spread,) * 2, "today")


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Measured:
    instead = Measured()
    monkeypatch.setattr(module, "measure_roofs", instead)
    return instead


# --- a roof ---------------------------------------------------------------------------------------


def test_no_program_is_faster_than_its_slower_half() -> None:
    machine = Roofs(threads=1, gflops=100.0, gbytes_per_s=10.0)
    assert machine.seconds(flops=200e9, bytes_moved=1e9) == pytest.approx(2.0)
    assert machine.seconds(flops=1e9, bytes_moved=30e9) == pytest.approx(3.0)
    assert machine.seconds(flops=100e9, bytes_moved=10e9) == pytest.approx(1.0)


def test_of_two_measurements_each_roof_is_the_higher_one() -> None:
    first, second = Roofs(2, 90.0, 30.0, (200.0, 80.0)), Roofs(2, 100.0, 20.0, (180.0, 90.0))
    found = higher(first, second)
    assert replace(found, spreads=()) == Roofs(2, 100.0, 30.0, (200.0, 90.0))


def test_each_rate_keeps_the_spread_of_its_own_readings() -> None:
    first = Roofs(1, 90.0, 30.0, (200.0,), (0.01, 0.02, 0.03), "2026-11-24T12:00")
    second = Roofs(1, 100.0, 20.0, (180.0,), (0.04, 0.05, 0.06), "2026-11-24T13:00")
    expected = Roofs(1, 100.0, 30.0, (200.0,), (0.04, 0.02, 0.03), "2026-11-24T13:00")
    assert higher(first, second) == higher(second, first) == expected


def test_roofs_whose_readings_lie_apart_say_so() -> None:
    assert Roofs(1, 90.0, 30.0, (200.0,), (0.01, 0.02, 0.03)).warning is None
    noisy = Roofs(1, 90.0, 30.0, (200.0,), (0.01, 0.02, 0.4))
    assert noisy.warning is not None and "readings of L2 spans 40%" in noisy.warning
    assert str(noisy) == "90 GFLOP/s, 30.0 GB/s (noisy)"


def test_each_cache_is_filled_by_the_next_one_and_the_last_by_memory() -> None:
    assert Roofs(1, 90.0, 30.0, (200.0, 80.0)).sources == {"L2": 200, "L3": 80, "memory": 30}
    assert Roofs(1, 90.0, 30.0).sources == {"memory": 30}


# --- the cache ------------------------------------------------------------------------------------


def test_roofs_are_measured_once(measured: Measured, tmp_path: Path) -> None:
    cache = tmp_path / "new" / "roofs.json"
    assert roofs(cache=cache) == roofs(cache=cache) == measured()
    assert measured.asked == [1, 1]


def test_roofs_are_measured_again_on_request(measured: Measured, tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    roofs(cache=cache)
    measured.gflops = 90.0
    assert roofs(remeasure=True, cache=cache).gflops == 90.0


def test_of_what_was_kept_and_what_is_measured_again_the_higher_is_kept(
    measured: Measured, tmp_path: Path
) -> None:
    cache = tmp_path / "roofs.json"
    roofs(cache=cache)
    measured.gflops, measured.gbytes_per_s = 90.0, 12.0
    roofs(remeasure=True, cache=cache)
    kept = roofs(cache=cache)
    assert (kept.gflops, kept.gbytes_per_s) == (100.0, 12.0)


def test_noisy_roofs_are_never_kept(measured: Measured, tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    measured.spread, measured.gflops = 0.3, 2.4
    assert roofs(cache=cache).warning is not None
    assert not cache.exists()
    measured.spread, measured.gflops = 0.01, 100.0
    assert roofs(cache=cache).gflops == 100.0
    measured.spread, measured.gflops = 0.3, 200.0
    assert roofs(remeasure=True, cache=cache).gflops == 200.0
    assert roofs(cache=cache).gflops == 100.0


def test_each_number_of_threads_has_roofs_of_its_own(measured: Measured, tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    assert [roofs(n, cache=cache).threads for n in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert measured.asked == [1, 2]


@pytest.mark.parametrize("other", [{"l3_bytes": 1 << 26}, {"isa": "NEON"}, {"cores": 64}])
def test_a_machine_with_the_same_name_is_told_apart(
    other: dict[str, Any], measured: Measured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "roofs.json"
    here = replace(machine.describe(), cpu="unknown")
    for each in (here, replace(here, **other), here):
        monkeypatch.setattr(machine, "describe", lambda each=each: each)
        roofs(cache=cache)
    assert measured.asked == [1, 1]


def test_another_machine_s_roofs_are_kept_and_not_used(measured: Measured, tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    figures = asdict(Roofs(1, 7.0, 8.0, (90.0,)))
    other = {"another CPU | NEON | 64+512+8192 KiB | 1 of 8 threads": figures}
    cache.write_text(json.dumps(other))
    assert roofs(cache=cache).gflops == 100.0
    kept = json.loads(cache.read_text())
    assert kept.keys() > other.keys()
    assert any(machine.describe().cpu in key for key in kept)


@pytest.mark.parametrize(
    "text", ["", "not JSON", "[]", "3", '{"x": 3}', '{"x": {"gflops": 1}}', '{"x": {"speed": 1}}']
)
def test_a_broken_cache_is_ignored_and_replaced(
    text: str, measured: Measured, tmp_path: Path
) -> None:
    cache = tmp_path / "roofs.json"
    cache.write_text(text)
    assert roofs(cache=cache) == roofs(cache=cache)
    assert measured.asked == [1]


def test_a_cache_that_cannot_be_written_is_no_error(measured: Measured, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert roofs(cache=tmp_path / "file" / "roofs.json").gflops == 100.0


# --- the kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", sorted({1, machine.usable_cores()}))
def test_the_kernels_do_the_work_that_is_counted(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def once(call: Callable[[], object], threads: int) -> Timing:
        call()
        ran.append(threads)
        return Timing("", (1.0,))

    monkeypatch.setattr(module, "_readings", once)
    monkeypatch.setattr(module, "STREAM_BYTES", 1 << 20)
    found = measure_roofs(threads)
    lanes = machine.describe().lanes
    assert found.gflops * 1e9 == 2 * module.STEPS * module.CHAINS * lanes * threads
    assert found.gbytes_per_s * 1e9 >= 4 * machine.describe().l3_bytes - 12 * 1024
    assert all(speed > 0 for speed in found.caches)
    assert len(ran) == 2 + len(found.caches)


def test_the_peak_is_not_that_of_a_kernel_optimized_away() -> None:
    # No core does more than four multiply-adds of its vectors a cycle, at less than 7 GHz.
    gflops, _ = module._peak(1)
    assert 0 < gflops < 2 * 4 * 7 * machine.describe().lanes


@pytest.mark.parametrize("threads", [0, machine.usable_cores() + 1])
def test_threads_that_this_machine_does_not_have_are_refused(threads: int) -> None:
    with pytest.raises(UsageError):
        measure_roofs(threads)


DAMAGED = [
    {"gflops": "fast"},
    {"gflops": None},
    {"gflops": 0},
    {"gflops": float("nan")},
    {"gbytes_per_s": 1e300},
    {"gbytes_per_s": -5.0},
    {"spreads": ["a", "b"]},
    {"spreads": [0.01]},
    {"spreads": [0.5, 0.5]},  # noisy: kept before noisy ones were not
    {"caches": 3},
    {"taken": None, "caches": [1.0]},
]


@pytest.mark.parametrize("change", DAMAGED, ids=str)
def test_a_damaged_entry_is_measured_again_and_the_others_stay(
    change: dict[str, Any], measured: Measured, tmp_path: Path
) -> None:
    file = tmp_path / "roofs.json"
    good = asdict(roofs(cache=file))
    (key,) = json.loads(file.read_text())
    file.write_text(json.dumps({"another": good, key: {**good, **change}}))
    assert roofs(cache=file).gflops == 100.0
    assert measured.asked == [1, 1]
    assert set(json.loads(file.read_text())) == {"another", key}
    assert list(tmp_path.iterdir()) == [file]


def test_what_another_process_writes_meanwhile_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "roofs.json"
    other = Roofs(1, 300.0, 30.0, (), (0.01, 0.01), "now")

    def measured_beside_another(threads: int = 1) -> Roofs:
        file.write_text(json.dumps({key: asdict(other), "another": asdict(other)}))
        return Roofs(threads, 100.0, 10.0, (), (0.01, 0.01), "now")

    key = module._key(1)
    monkeypatch.setattr(module, "measure_roofs", measured_beside_another)
    roofs(cache=file)
    kept = json.loads(file.read_text())
    assert set(kept) == {key, "another"}
    assert kept[key]["gflops"] == 300.0

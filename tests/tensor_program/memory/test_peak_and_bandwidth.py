from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.tensor_program.memory import peak_and_bandwidth as module
from mlc_course.tensor_program.memory.peak_and_bandwidth import Roofs, higher, measure_roofs, roofs

pytestmark = [pytest.mark.measures, pytest.mark.slow]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thread counts that were measured, by a machine that gets faster every time."""
    asked: list[int] = []

    def instead(threads: int = 1) -> Roofs:
        asked.append(threads)
        return Roofs(threads, 100.0 * len(asked), 10.0)

    monkeypatch.setattr(module, "measure_roofs", instead)
    return asked


# --- a roof ---------------------------------------------------------------------------------------


def test_no_program_is_faster_than_its_slower_half() -> None:
    machine = Roofs(threads=1, gflops=100.0, gbytes_per_s=10.0)
    assert machine.seconds(flops=200e9, bytes_moved=1e9) == pytest.approx(2.0)
    assert machine.seconds(flops=1e9, bytes_moved=30e9) == pytest.approx(3.0)
    assert machine.seconds(flops=100e9, bytes_moved=10e9) == pytest.approx(1.0)


def test_of_two_measurements_each_roof_is_the_higher_one() -> None:
    first, second = Roofs(2, 90.0, 30.0, (200.0, 80.0)), Roofs(2, 100.0, 20.0, (180.0, 90.0))
    assert higher(first, second) == Roofs(2, 100.0, 30.0, (200.0, 90.0))


def test_each_cache_is_filled_by_the_next_one_and_the_last_by_memory() -> None:
    assert Roofs(1, 90.0, 30.0, (200.0, 80.0)).sources == {"L2": 200, "L3": 80, "memory": 30}
    assert Roofs(1, 90.0, 30.0).sources == {"memory": 30}


# --- the cache ------------------------------------------------------------------------------------


def test_roofs_are_measured_once(measured: list[int], tmp_path: Path) -> None:
    cache = tmp_path / "new" / "roofs.json"
    assert roofs(cache=cache) == roofs(cache=cache) == Roofs(1, 100.0, 10.0)
    assert measured == [1]


def test_roofs_are_measured_again_on_request(measured: list[int], tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    roofs(cache=cache)
    assert roofs(remeasure=True, cache=cache).gflops == 200.0
    assert roofs(cache=cache).gflops == 200.0
    assert measured == [1, 1]


def test_each_number_of_threads_has_roofs_of_its_own(measured: list[int], tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    assert [roofs(n, cache=cache).threads for n in (1, 2, 1, 2)] == [1, 2, 1, 2]
    assert measured == [1, 2]


def test_another_machine_s_roofs_are_kept_and_not_used(measured: list[int], tmp_path: Path) -> None:
    cache = tmp_path / "roofs.json"
    figures = {"threads": 1, "gflops": 7, "gbytes_per_s": 8, "caches": [90]}
    other = {"another CPU | NEON | 1 of 8 threads": figures}
    cache.write_text(json.dumps(other))
    assert roofs(cache=cache).gflops == 100.0
    kept = json.loads(cache.read_text())
    assert kept.keys() > other.keys()
    assert any(machine.describe().cpu in key for key in kept)


@pytest.mark.parametrize(
    "text", ["", "not JSON", "[]", "3", '{"x": 3}', '{"x": {"gflops": 1}}', '{"x": {"speed": 1}}']
)
def test_a_broken_cache_is_ignored_and_replaced(
    text: str, measured: list[int], tmp_path: Path
) -> None:
    cache = tmp_path / "roofs.json"
    cache.write_text(text)
    assert roofs(cache=cache) == roofs(cache=cache)
    assert measured == [1]


def test_a_cache_that_cannot_be_written_is_no_error(measured: list[int], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert roofs(cache=tmp_path / "file" / "roofs.json").gflops == 100.0


# --- the kernels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", sorted({1, machine.usable_cores()}))
def test_the_kernels_do_the_work_that_is_counted(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[int] = []

    def once(call: Callable[[], object]) -> float:
        call()
        ran.append(threads)
        return 1.0

    monkeypatch.setattr(module, "_best_seconds", once)
    monkeypatch.setattr(module, "STREAM_BYTES", 1 << 20)
    found = measure_roofs(threads)
    lanes = machine.describe().lanes
    assert found.gflops * 1e9 == 2 * module.STEPS * module.CHAINS * lanes * threads
    assert found.gbytes_per_s * 1e9 >= 4 * machine.describe().l3_bytes - 12 * 1024
    assert all(speed > 0 for speed in found.caches)
    assert len(ran) == 2 + len(found.caches)


def test_the_peak_is_not_that_of_a_kernel_optimized_away() -> None:
    # No core does more than four multiply-adds of its vectors a cycle, at less than 7 GHz.
    assert 0 < module._peak(1) < 2 * 4 * 7 * machine.describe().lanes


@pytest.mark.parametrize("threads", [0, machine.usable_cores() + 1])
def test_threads_that_this_machine_does_not_have_are_refused(threads: int) -> None:
    with pytest.raises(UsageError):
        measure_roofs(threads)

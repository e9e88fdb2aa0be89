from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import UsageError
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.memory import probes as module
from mlc_course.tensor_program.memory.probes import (
    Probe,
    Ring,
    chase,
    measure_hierarchy,
    per_level,
    probe,
    ring,
    stream,
    working_sets,
)

KIB, MIB = 1 << 10, 1 << 20


def visited(way: Ring) -> list[int]:
    """Places in the order of the cycle, from place 0 until it comes round."""
    found, at = [0], int(way.memory[0])
    while at:
        found.append(at)
        at = int(way.memory[at])
        assert len(found) <= way.places
    return found


# --- the chase ------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(
    places=st.integers(2, 300),
    spacing=st.sampled_from((8, 16, 64, 128)),
    shuffled=st.booleans(),
    seed=st.integers(0, 5),
)
def test_a_ring_is_one_cycle_through_every_place(
    places: int, spacing: int, shuffled: bool, seed: int
) -> None:
    way = ring(places * spacing, spacing=spacing, shuffled=shuffled, seed=seed)
    found = visited(way)
    assert (way.places, way.spacing) == (places, spacing)
    assert sorted(found) == [place * spacing // 8 for place in range(places)]
    if not shuffled:
        assert found == sorted(found)


def test_a_shuffled_ring_does_not_go_from_neighbour_to_neighbour() -> None:
    steps = np.diff(visited(ring(64 * KIB)))
    assert np.mean(np.abs(steps) == 8) < 0.05


@pytest.mark.parametrize("chains", [1, 2, 8])
def test_a_chase_goes_where_the_ring_leads_and_goes_on_there(
    chains: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = ring(16 * KIB)
    order = visited(way)
    kept: list[object] = []
    share = module.shared_tensor

    def keep(array: object) -> object:
        kept.append(array)
        return share(array)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "shared_tensor", keep)
    call = chase(way, 16 * chains, chains=chains)
    (at,) = (each for each in kept if each is not way.memory)
    assert isinstance(at, np.ndarray)
    places = [order.index(place) for place in at]
    assert len(set(places)) == chains
    for walked in (16, 32):
        call()
        assert [order[(place + walked) % way.places] for place in places] == list(at)


def test_a_stream_reads_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[object] = []
    share = module.shared_tensor

    def keep(array: object) -> object:
        kept.append(array)
        return share(array)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "shared_tensor", keep)
    memory = ring(4 * KIB).memory
    memory[:] = np.arange(memory.size)
    stream(memory, passes=3)()
    sums = kept[-1]
    assert isinstance(sums, np.ndarray)
    assert sums.sum() == 3 * memory.sum()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ring(-1000),
        lambda: ring(64),
        lambda: ring(4 * KIB, spacing=12),
        lambda: ring(4 * KIB, spacing=0),
        lambda: chase(ring(4 * KIB), 0),
        lambda: chase(ring(4 * KIB), 100, chains=0),
        lambda: chase(ring(4 * KIB), 100, chains=65),
        lambda: chase(ring(4 * KIB), 100, chains=3),
        lambda: stream(np.zeros(63, np.int64)),
        lambda: stream(ring(4 * KIB).memory, passes=0),
        lambda: measure_hierarchy([512]),
        lambda: measure_hierarchy([4 * KIB], readings=0),
        lambda: list(probe([])),
    ],
)
def test_what_cannot_be_probed_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        wrong()


# --- measuring ------------------------------------------------------------------------------------


def clock() -> Callable[[], float]:
    """A clock that goes a millisecond at each look, two at every fifth."""
    ticks = [0]

    def now() -> float:
        ticks[0] += 1
        return 1e-3 * (ticks[0] + ticks[0] // 5)

    return now


def test_a_probe_has_every_reading_in_its_units() -> None:
    (found,) = measure_hierarchy([MIB], readings=3, clock=clock())
    loads = 8 * module.LOADS
    assert found.bytes == MIB
    assert len(found.ns_per_load) == len(found.gb_per_s) == 3
    assert found.latency_ns == pytest.approx(1e6 / loads)
    assert found.bandwidth_gb_per_s == pytest.approx(module.STREAM_BYTES / 1e6)
    low, high = found.latency_iqr_ns
    assert low <= found.latency_ns <= high


def test_an_interrupt_keeps_what_is_done() -> None:
    looks = [0]

    def interrupted() -> float:
        looks[0] += 1
        if looks[0] > 10:
            raise KeyboardInterrupt
        return float(looks[0])

    found = measure_hierarchy([4 * KIB, 8 * KIB, 16 * KIB], readings=2, clock=interrupted)
    assert [each.bytes for each in found] == [4 * KIB]
    looks[0] = 10
    with pytest.raises(KeyboardInterrupt):
        measure_hierarchy([4 * KIB], clock=interrupted)


def machine(l1: int, l2: int, l3: int, memory: int = 1 << 34) -> Machine:
    return replace(describe(), l1d_bytes=l1, l2_bytes=l2, l3_bytes=l3, memory_bytes=memory)


@pytest.mark.parametrize(
    ("here", "largest"),
    [
        (machine(32 * KIB, MIB, 32 * MIB), 128 * MIB),
        (machine(32 * KIB, MIB, 256 * MIB), 512 * MIB),
        (machine(0, 0, 0), 64 * MIB),
        (machine(32 * KIB, MIB, 32 * MIB, memory=1 << 29), 64 * MIB),
    ],
)
def test_working_sets_go_past_the_last_cache_where_memory_allows(
    here: Machine, largest: int
) -> None:
    sizes = working_sets(here)
    assert sizes[:4] == (4 * KIB, 6 * KIB, 8 * KIB, 12 * KIB)
    assert sizes[-1] == largest
    assert list(sizes) == sorted(sizes)


def test_each_level_is_shown_by_a_size_that_it_is_the_first_to_hold() -> None:
    found = tuple(Probe(size, (1.0,), (1.0,)) for size in working_sets(machine(0, 0, 32 * MIB)))
    levels = per_level(found, machine(32 * KIB, MIB, 32 * MIB))
    assert {name: each.bytes for name, each in levels.items()} == {
        "L1": 12 * KIB,
        "L2": 192 * KIB,
        "L3": 6 * MIB,
        "memory": 128 * MIB,
    }
    assert list(per_level(found, machine(0, 0, 0))) == ["memory"]
    assert list(per_level(found[:3], machine(32 * KIB, MIB, 32 * MIB))) == ["L1", "memory"]
    assert per_level(()) == {}

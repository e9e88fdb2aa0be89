"""Latency and bandwidth of memory on this machine, measured for working sets of many sizes.

Latency is measured by a pointer chase: each load gives the address of the next, so none can start
early, and a random order leaves prefetchers nothing to guess. Bandwidth is measured by reading
everything in order, in vectors. Both are TensorIR, compiled by TVM. Source:
L. McVoy, C. Staelin, lmbench: Portable Tools for Performance Analysis, USENIX 1996.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.machine import Machine, describe
from mlc_course.measure import Call, Clock, quartiles
from mlc_course.measure import readings as timed
from mlc_course.tensor_program.memory.cache import int64_array
from mlc_course.tensor_program.tir import T, compile_program, shared_tensor

Memory = NDArray[np.int64]

PLACE_BYTES = 8
LINE_BYTES = 64  # a chase has one place in each line
SMALLEST_BYTES, LARGEST_BYTES = 4 << 10, 512 << 20
LOADS = 1 << 15  # of one reading; eight times as many where they are fast
FAST_BYTES = 1 << 20
# Working sets begin where a large page does. Some cores find a line by a hash of its virtual
# address (M. Lipp et al., Take A Way, AsiaCCS 2020): across such a border, lines that
# had room threw each other out, and 8 KiB took 6 ns a load in place of 1.4 (Zen 4, 2026-11-21).
LARGE_PAGE = 2 << 20
STREAM_BYTES = 64 << 20  # of one reading, at least
SUMS, LANES = 8, 16  # of the stream: 16 int32 fill the widest registers
READINGS = 11
WARM_UPS = 8  # calls of that many loads: as many as 16 MiB have lines


@dataclass(frozen=True)
class Probe:
    """A working set of ``bytes``, with its latency and its bandwidth in each reading."""

    bytes: int
    ns_per_load: tuple[float, ...]
    gb_per_s: tuple[float, ...]

    @property
    def latency_ns(self) -> float:
        return statistics.median(self.ns_per_load)

    @property
    def latency_iqr_ns(self) -> tuple[float, float]:
        return quartiles(self.ns_per_load)

    @property
    def bandwidth_gb_per_s(self) -> float:
        return statistics.median(self.gb_per_s)

    @property
    def bandwidth_iqr_gb_per_s(self) -> tuple[float, float]:
        return quartiles(self.gb_per_s)


@dataclass(frozen=True, eq=False)
class Ring:
    """A cycle of ``places``, where ``memory[i]`` is the place after place i; made by ``ring``.

    The places are ``spacing`` bytes apart; a chase never reads what lies between them.
    """

    memory: Memory
    places: int
    spacing: int


# --- the two programs -----------------------------------------------------------------------------


def ring(size: int, *, spacing: int = LINE_BYTES, shuffled: bool = True, seed: int = 0) -> Ring:
    """Make one cycle of places in ``size`` bytes, one place every ``spacing`` bytes.

    It goes in the order of the addresses or, shuffled, is drawn evenly among all cycles.
    Raises ``UsageError`` for a spacing that is no multiple of 8 bytes, and where less than two
    places fit.
    """
    return _ring_in(_room(size), size, spacing, shuffled, seed)


def chase(way: Ring, loads: int, *, chains: int = 1) -> Call:
    """A call that makes ``loads`` loads, each from the address that the load before it has read.

    Chains start at different places, and each call goes on where the last one stopped. Raises
    ``UsageError`` for more chains than places, or chains that do not divide the loads.
    """
    if loads < 1 or not 1 <= chains <= way.places or loads % chains:
        raise UsageError(
            "chase: loads and chains do not fit",
            expected=f"1 to {way.places} chains, and a multiple of them as loads",
            got=f"{loads} loads, {chains} chains",
        )
    at = int64_array(chains, 0)
    at[:] = np.arange(chains) * (way.places // chains) * (way.spacing // PLACE_BYTES)
    run, shared, places = _follow(chains), shared_tensor(way.memory), shared_tensor(at)
    steps = loads // chains
    return lambda: run(shared, places, steps)


def stream(memory: Memory, passes: int = 1) -> Call:
    """A call that reads all of ``memory`` in order, ``passes`` times.

    Raises ``UsageError`` for less than 512 bytes of memory, and for less than one pass.
    """
    words = memory.view(np.int32)
    whole = words[: words.size // (SUMS * LANES) * SUMS * LANES]
    if not whole.size or passes < 1:
        raise UsageError(
            "stream: nothing to read",
            expected=f"{SUMS * LANES * 4} bytes or more, one pass or more",
            got=f"{memory.nbytes} bytes, {passes} passes",
        )
    sums = int64_array(SUMS * LANES // 2, 0).view(np.int32)
    run, blocks = _read(), shared_tensor(whole.reshape(-1, SUMS, LANES))
    total = shared_tensor(sums.reshape(SUMS, LANES))
    return lambda: run(blocks, total, passes)


@functools.cache
def _follow(chains: int) -> Callable[..., None]:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def follow(ways: T.handle, starts: T.handle, steps: T.int32):  # type: ignore[no-untyped-def]
        T.func_attr({"tirx.noalias": True, "global_symbol": "main"})
        size = T.int64()
        way = T.match_buffer(ways, (size,), "int64")
        place = T.match_buffer(starts, (chains,), "int64")
        at = T.sblock_alloc_buffer((chains,), "int64", scope="local")
        for c in T.unroll(chains):
            at[c] = place[c]
        for _ in range(steps):
            for c in T.unroll(chains):
                at[c] = way[at[c]]
        for c in T.unroll(chains):
            place[c] = at[c]

    return compile_program(follow)


@functools.cache
def _read() -> Callable[..., None]:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def read(memory: T.handle, total: T.handle, passes: T.int32):  # type: ignore[no-untyped-def]
        T.func_attr({"tirx.noalias": True, "global_symbol": "main"})
        blocks = T.int64()
        x = T.match_buffer(memory, (blocks, SUMS, LANES), "int32")
        sums = T.match_buffer(total, (SUMS, LANES), "int32")
        held = T.sblock_alloc_buffer((SUMS, LANES), "int32", scope="local")
        for s in T.unroll(SUMS):
            for lane in T.vectorized(LANES):
                held[s, lane] = sums[s, lane]
        for _ in range(passes):
            for b in range(blocks):
                for s in T.unroll(SUMS):
                    for lane in T.vectorized(LANES):
                        held[s, lane] = held[s, lane] + x[b, s, lane]
        for s in T.unroll(SUMS):
            for lane in T.vectorized(LANES):
                sums[s, lane] = held[s, lane]

    return compile_program(read)


# --- measuring ------------------------------------------------------------------------------------


def working_sets(machine: Machine | None = None) -> tuple[int, ...]:
    """Sizes in bytes from 4 KiB to well past the last cache: 4 K, 6 K, 8 K, 12 K, 16 K, ..."""
    here = machine or describe()
    last = max(here.l1d_bytes, here.l2_bytes, here.l3_bytes, LARGEST_BYTES // 32)
    largest = min(4 * last, LARGEST_BYTES, here.memory_bytes // 8 or LARGEST_BYTES)
    doubled = [SMALLEST_BYTES]
    while doubled[-1] < largest:
        doubled.append(2 * doubled[-1])
    between = [low + low // 2 for low in doubled[:-1]]
    return tuple(sorted(doubled + between))


def measure_hierarchy(
    sizes: Sequence[int] = (), *, readings: int = READINGS, clock: Clock = time.perf_counter
) -> tuple[Probe, ...]:
    """Probe working sets of these sizes (``working_sets`` by default), a few seconds in all.

    Ctrl-C ends it early and keeps the probes that are done, unless there are none. Raises
    ``UsageError`` for sizes that ``probe`` cannot measure.
    """
    done: list[Probe] = []
    try:
        for each in probe(sizes or working_sets(), readings=readings, clock=clock):
            done.append(each)
    except KeyboardInterrupt:
        if not done:
            raise
    return tuple(done)


def probe(
    sizes: Sequence[int], *, readings: int = READINGS, clock: Clock = time.perf_counter
) -> Iterator[Probe]:
    """Measure each working set, given its size in bytes, and yield its probe.

    Raises ``UsageError`` for a size below 1 KiB, and without readings.
    """
    if min(sizes, default=0) < 1 << 10 or readings < 1:
        raise UsageError(
            "nothing to probe",
            expected="sizes of 1024 bytes or more, and one reading or more",
            got=f"sizes {list(sizes)}, {readings} readings",
        )
    room = _room(max(sizes))  # the same pages for all, each asked for once
    for size in sizes:
        way = _ring_in(room, size, LINE_BYTES, shuffled=True, seed=0)
        passes = -(-STREAM_BYTES // size)
        loads = 8 * LOADS if size <= FAST_BYTES else LOADS
        rounds = min(way.places // loads + 1, WARM_UPS)
        chased = timed(chase(way, loads), readings, warm_ups=rounds, clock=clock)
        streamed = timed(stream(way.memory, passes), readings, clock=clock)
        yield Probe(
            size,
            tuple(1e9 * s / loads for s in chased.seconds),
            tuple(1e-9 * passes * size / s for s in streamed.seconds),
        )


def per_level(probes: Sequence[Probe], machine: Machine | None = None) -> dict[str, Probe]:
    """The probe that stands for each cache: the middle one, by ratio, of the sizes that it holds.

    The last entry, "memory", is the largest probe. A cache that the operating system does not
    tell of, or that no probe fits, is left out.
    """
    here = machine or describe()
    known = {"L1": here.l1d_bytes, "L2": here.l2_bytes, "L3": here.l3_bytes}
    sizes = [("", SMALLEST_BYTES), *((name, size) for name, size in known.items() if size)]
    found = {}
    for (_, below), (name, size) in pairwise(sizes):
        inside = [each for each in probes if below <= each.bytes <= size]
        if inside:
            middle = (below * size) ** 0.5
            found[name] = min(inside, key=lambda p: max(p.bytes / middle, middle / p.bytes))
    if probes:
        found["memory"] = max(probes, key=lambda each: each.bytes)
    return found


# --- memory ---------------------------------------------------------------------------------------


def _room(size: int) -> Memory:
    places, page = max(size, 0) // PLACE_BYTES, LARGE_PAGE // PLACE_BYTES
    room = np.empty(places + page, np.int64)
    skip = -(room.ctypes.data // PLACE_BYTES) % page
    room[:] = 0  # or the first reading would wait for pages from the operating system
    return room[skip : skip + places]


def _ring_in(room: Memory, size: int, spacing: int, shuffled: bool, seed: int) -> Ring:
    step, rest = divmod(spacing, PLACE_BYTES)
    if step < 1 or rest or size < 2 * spacing:
        raise UsageError(
            "ring: no cycle of places fits",
            expected="a spacing of 8, 16, ... bytes, and room for two places or more",
            got=f"{size} bytes, one place every {spacing}",
        )
    places = np.arange(0, size // spacing * step, step)
    if shuffled:
        np.random.default_rng(seed).shuffle(places)
    memory = room[: size // PLACE_BYTES]
    memory[places] = np.roll(places, -1)
    return Ring(memory, places.size, spacing)

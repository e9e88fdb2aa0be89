"""Peak arithmetic and bandwidths of this machine, measured: the roofs of its roofline.

The peak is measured with a kernel that does nothing but multiply-adds in registers, the bandwidths
with one that does nothing but stream arrays: far larger than the last cache for memory, and small
enough to stay in it for each cache. Both are TensorIR, compiled by the same TVM as
everything else. A neighbour makes a roof too low, never too high, so the best of several readings
counts, and only roofs whose readings agree are kept.

Source: S. Williams et al., Roofline, CACM 2009.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_path

from mlc_course import machine
from mlc_course.measure import NOISY_SPREAD, Call, Timing, limited_threads, mark, readings
from mlc_course.tensor_program.problems import aligned
from mlc_course.tensor_program.tir import T, compile_program, shared_tensor

CHAINS = 12  # independent sums: more than the 8 to 10 multiply-adds that can be under way
STEPS = 1 << 16
STREAM_BYTES = 64 << 20  # at least; and at least four times the last cache
READINGS = 7
FASTEST = 1e6  # GFLOP/s or GB/s: more than any machine of the next years


@dataclass(frozen=True)
class Roofs:
    """Rates that ``threads`` threads reached: 1e9 float32 operations, and 1e9 bytes, per second.

    ``gbytes_per_s`` is the bandwidth of memory; ``caches`` are those of the second cache, the
    third, and so on, each to the cache before it. ``spreads`` are interquartile range / median of
    the readings behind each rate, in this order, and ``taken`` is when they ended, in UTC; records
    made before these were kept lack both.
    """

    threads: int
    gflops: float
    gbytes_per_s: float
    caches: tuple[float, ...] = ()
    spreads: tuple[float, ...] = ()
    taken: str = ""

    def __str__(self) -> str:
        return f"{self.gflops:.0f} GFLOP/s, {self.gbytes_per_s:.1f} GB/s{mark(self.warning)}"

    @property
    def warning(self) -> str | None:
        """The reason why these roofs may be too low, or None."""
        names = ("arithmetic", "memory", *list(self.sources)[:-1])
        spread, name = max(zip(self.spreads, names, strict=False), default=(0.0, ""))
        if spread <= NOISY_SPREAD:
            return None
        return f"noisy: the middle half of the readings of {name} spans {spread:.0%} of the median"

    def seconds(self, flops: float, bytes_moved: float) -> float:
        """The least time that a program with these counts can take."""
        return max(flops / self.gflops, bytes_moved / self.gbytes_per_s) / 1e9

    @property
    def sources(self) -> dict[str, float]:
        """Bandwidth in GB/s by its source: the second cache, the third, and so on, then memory."""
        nearer = {f"L{level}": speed for level, speed in enumerate(self.caches, start=2)}
        return {**nearer, "memory": self.gbytes_per_s}


def higher(first: Roofs, second: Roofs) -> Roofs:
    """The higher of two measurements of each rate, because a neighbour never makes a roof too high.

    Every rate keeps the spread of its own readings.
    """
    best = map(max, _rates(first), _rates(second))
    (gflops, gbytes_per_s, *caches), spreads = zip(*best, strict=True)
    taken = max(first.taken, second.taken)
    return Roofs(first.threads, gflops, gbytes_per_s, tuple(caches), spreads, taken)


def _rates(roofs: Roofs) -> Iterator[tuple[float, float]]:
    """Each rate with the spread of its readings, 0 where that was not kept."""
    rates = (roofs.gflops, roofs.gbytes_per_s, *roofs.caches)
    return zip(rates, roofs.spreads or (0.0,) * len(rates), strict=True)


def measure_roofs(threads: int = 1) -> Roofs:
    """Measure the roofs now, about two seconds; the best of several readings each."""
    here = machine.describe()
    sizes = [size for size in (here.l1d_bytes, here.l2_bytes, here.l3_bytes) if size]
    middles = (int((near * far) ** 0.5) for near, far in itertools.pairwise(sizes))
    with limited_threads(threads):
        caches = [_bandwidth(threads, size) for size in middles]
        memory = _bandwidth(threads, max(STREAM_BYTES, 4 * here.l3_bytes) // threads)
        (gflops, gbytes_per_s, *nearer), spreads = zip(_peak(threads), memory, *caches, strict=True)
    taken = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Roofs(threads, gflops, gbytes_per_s, tuple(nearer), spreads, taken)


def roofs(threads: int = 1, *, remeasure: bool = False, cache: Path | None = None) -> Roofs:
    """The roofs of this machine: measured once, and kept in the user's cache folder if not noisy.

    With ``remeasure`` they are measured now; of what is kept, each rate is then the higher one.
    """
    path = cache or user_cache_path("mlc-course") / "roofs.json"
    kept, key = _read(path), _key(threads)
    if key in kept and not remeasure:
        return kept[key]
    fresh = measure_roofs(threads)
    if fresh.warning is None:
        kept = _read(path)  # again: another process may have measured meanwhile
        kept[key] = higher(kept[key], fresh) if key in kept else fresh
        with contextlib.suppress(OSError):  # a home that cannot be written to: measured next time
            _write(path, kept)
    return fresh


def _write(path: Path, kept: Mapping[str, Roofs]) -> None:
    """Write the file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        draft.write_text(json.dumps({name: asdict(each) for name, each in kept.items()}, indent=2))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _key(threads: int) -> str:
    """This machine, told apart by more than the name of its CPU, which many virtual ones share."""
    here = machine.describe()
    caches = "+".join(f"{size >> 10}" for size in (here.l1d_bytes, here.l2_bytes, here.l3_bytes))
    return f"{here.cpu} | {here.isa} | {caches} KiB | {threads} of {here.cores} threads"


def _read(path: Path) -> dict[str, Roofs]:
    """The roofs that are kept, without those that are damaged or noisy."""
    try:
        entries = dict(json.loads(path.read_text()))
    except (OSError, ValueError, TypeError, RecursionError):
        return {}
    found = {str(key): _kept(entry) for key, entry in entries.items()}
    return {key: roofs for key, roofs in found.items() if roofs}


def _kept(entry: Any) -> Roofs | None:
    """The roofs of one entry; None unless they are numbers that a machine can reach."""
    try:
        lists = {name: tuple(map(float, entry[name])) for name in ("caches", "spreads")}
        found = Roofs(**{**entry, **lists, "taken": str(entry["taken"])})
        rates = [rate for rate, _ in _rates(found)]
        good = all(0 < float(rate) < FASTEST for rate in rates) and found.warning is None
    except (TypeError, ValueError, KeyError):
        return None
    return found if good else None


def _readings(call: Call, threads: int) -> Timing:
    return readings(call, READINGS, cpu_clock=time.process_time if threads == 1 else None)


def _peak(threads: int) -> tuple[float, float]:
    """GFLOP/s of multiply-adds in registers, and the spread of the readings."""
    lanes = machine.describe().lanes

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def multiply_adds(  # type: ignore[no-untyped-def]
        factors: T.Buffer((lanes,), "float32"),  # type: ignore[valid-type]
        sums: T.Buffer((threads, CHAINS, lanes), "float32"),  # type: ignore[valid-type]
    ):
        T.func_attr({"tirx.noalias": True})  # else every product is stored and loaded again
        for t in T.parallel(threads):
            with T.sblock("thread"):
                v = T.axis.spatial(threads, t)
                held = T.sblock_alloc_buffer((CHAINS, lanes), "float32", scope="local")
                for c in T.unroll(CHAINS):
                    for lane in T.vectorized(lanes):
                        held[c, lane] = sums[v, c, lane]
                for _ in range(STEPS):
                    for c in T.unroll(CHAINS):
                        for lane in T.vectorized(lanes):
                            held[c, lane] = held[c, lane] * factors[lane] + factors[lane]
                for c in T.unroll(CHAINS):
                    for lane in T.vectorized(lanes):
                        sums[v, c, lane] = held[c, lane]

    run = compile_program(multiply_adds, threads=threads)
    factors = shared_tensor(aligned(np.full(lanes, 0.5)))
    sums = shared_tensor(aligned(np.zeros((threads, CHAINS, lanes))))
    flops = 2 * STEPS * CHAINS * lanes * threads
    timing = _readings(lambda: run(factors, sums), threads)
    return flops / timing.best_s / 1e9, timing.spread


def _bandwidth(threads: int, bytes_each: int) -> tuple[float, float]:
    """GB/s of x = x / 2 + y, and the spread of the readings; 12 bytes are moved an element.

    It is repeated in ``bytes_each`` bytes for each thread. Every line that is written was read
    before, so every byte that is moved is counted.
    """
    lanes = 4 * machine.describe().lanes
    rows = max(bytes_each // 8 // lanes, 1)
    rounds = max(STREAM_BYTES // bytes_each, 1)

    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def stream(  # type: ignore[no-untyped-def]
        x: T.Buffer((threads, rows, lanes), "float32"),  # type: ignore[valid-type]
        y: T.Buffer((threads, rows, lanes), "float32"),  # type: ignore[valid-type]
    ):
        T.func_attr({"tirx.noalias": True})
        for t in T.parallel(threads):
            for _, row in T.grid(rounds, rows):
                for lane in T.vectorized(lanes):
                    x[t, row, lane] = x[t, row, lane] * T.float32(0.5) + y[t, row, lane]

    run = compile_program(stream, threads=threads)
    # No copy in float64 beside them: on a virtual machine, a fresh gigabyte takes seconds.
    ones = np.broadcast_to(np.float32(1), (threads, rows, lanes))
    x, y = (shared_tensor(aligned(ones)) for _ in range(2))
    moved = 12 * threads * rows * lanes * rounds
    timing = _readings(lambda: run(x, y), threads)
    return moved / timing.best_s / 1e9, timing.spread

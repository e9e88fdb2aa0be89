"""Walks through far more memory than the caches hold, and the misses that they have."""

from __future__ import annotations

from collections import OrderedDict

from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.memory import Cache, probes

LEAST, MOST = 64 << 20, 256 << 20


def far_bytes(machine: Machine | None = None) -> int:
    """Return the size of an array that the last cache cannot hold: twice that cache, or 64 MiB."""
    here = machine or describe()
    last = max(here.l1d_bytes, here.l2_bytes, here.l3_bytes)
    return min(max(LEAST, 2 * last), MOST)


def walk_misses(way: probes.Ring, loads: int, cache: Cache, *, chains: int = 1) -> int:
    """Count the misses of the first ``loads`` loads of a chase, in a cache that is empty at first.

    Chains start where those of ``chase`` start, and take turns.
    """
    step = way.spacing // probes.PLACE_BYTES
    at = [n * (way.places // chains) * step for n in range(chains)]
    held: list[OrderedDict[int, None]] = [OrderedDict() for _ in range(cache.sets)]
    missed = 0
    for load in range(loads):
        chain = load % chains
        line = at[chain] * probes.PLACE_BYTES // cache.line
        lines = held[line % cache.sets]
        if line in lines:
            lines.move_to_end(line)
        else:
            missed += 1
            lines[line] = None
            if len(lines) > cache.ways:
                lines.popitem(last=False)
        at[chain] = int(way.memory[at[chain]])
    return missed

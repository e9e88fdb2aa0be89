"""The least time that bytes and operations leave a program, level by level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlc_course.tensor_program.memory import Cache, Reuse, Roofs

ARITHMETIC = "arithmetic"


def bytes_into(found: Reuse, caches: Sequence[Cache]) -> list[int]:
    """Bytes that each cache fetches in a call, by distance, when the call is made again and again.

    What fits into a cache as a whole stays there from call to call, and is not fetched again.
    """
    fetched = []
    for cache in caches:
        held = cache.bytes // found.line
        fetched.append(found.misses(held) * found.line if found.lines > held else 0)
    return fetched


def least_seconds(flops: float, fetched: Sequence[int], roofs: Roofs) -> Mapping[str, float]:
    """The least time by source of the bytes, nearest first, and by arithmetic."""
    least = {
        source: moved / (1e9 * speed)
        for (source, speed), moved in zip(roofs.sources.items(), fetched, strict=False)
    }
    least[ARITHMETIC] = flops / (1e9 * roofs.gflops)
    return least

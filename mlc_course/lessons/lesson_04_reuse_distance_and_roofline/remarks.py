"""Sentences about the lesson's numbers, each made from the values that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mlc_course.measure import Comparison
from mlc_course.tensor_program.ladders import Point
from mlc_course.tensor_program.memory import Cache, Reuse, Roofs
from mlc_course.units import milliseconds, size_text


def grown(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Compare the lines and the misses of two vectors, each ``(lines, misses)``."""
    longer, more = after[0] / before[0], after[1] / before[1]
    return f"The vector is {longer:.3g} times as long, and misses {more:.3g} times as often."


def by_distance_and_counted(pairs: Mapping[int, tuple[int, int]]) -> str:
    """Misses by distance and as the simulator counts them, by the lines of the cache."""
    rows = [
        f"{lines:>5} lines: {distance:>9,} by distance, {counted:>9,} counted"
        for lines, (distance, counted) in pairs.items()
    ]
    different = [lines for lines, (distance, counted) in pairs.items() if distance != counted]
    last = f"Different for {different} lines." if different else "Equal, to the last miss."
    return "\n".join((*rows, last))


def farthest(found: Mapping[str, Reuse], buffer: str, caches: Sequence[Cache]) -> str:
    """For each program, how far apart the most distant uses of a buffer's lines are."""
    rows = []
    for name, each in found.items():
        most = int(np.flatnonzero(each.again[buffer]).max())
        holds = [f"L{n}" for n, c in enumerate(caches, start=1) if most < c.bytes // each.line]
        enough = f"{holds[0]} is large enough" if holds else "no cache here is large enough"
        rows.append(f"{name}: {buffer} comes back after at most {most:,} other lines; {enough}")
    return "\n".join(rows)


def under_their_roofs(points: Mapping[str, Point], roofs: Roofs) -> str:
    """A line for each program: its intensity, what limits it, and how near it comes."""
    rows = []
    for name, each in points.items():
        flat = each.intensity * roofs.gbytes_per_s > roofs.gflops
        limit = "peak" if flat else "memory"
        share = each.gflops / each.attainable(roofs)
        rows.append(
            f"{name:<26} {each.intensity:7.2f} operations a byte, roof: {limit:<6} "
            f"{each.gflops:7.2f} GFLOP/s, {share:4.0%} of the roof"
        )
    return "\n".join(rows)


def above(points: Mapping[str, Point], roofs: Roofs) -> str:
    """Name the programs that are above their roof, and why that can be; empty for none."""
    high = [n for n, each in points.items() if each.gflops > 1.05 * each.attainable(roofs)]
    if not high:
        return "No program is above its roof."
    return (
        f"Above the roof: {' and '.join(high)}. Either part of the data was still in the last "
        "cache from the call before, or the roof was measured while a neighbour was busy."
    )


def how_much_longer(points: Mapping[str, Point], slow: str, fast: str) -> str:
    """Operations, bytes and best times of two programs, as ratios."""
    one, other = points[slow], points[fast]
    moved = one.bytes / other.bytes
    data = "the same bytes" if abs(moved - 1) < 0.005 else f"{moved:.3g} times the bytes"
    return (
        f"{slow} does {one.flops / other.flops:.3g} times the operations of {fast} with "
        f"{data}, and takes "
        f"{one.seconds / other.seconds:.2f} times as long."
    )


def what_fewer_bytes_gave(
    points: Mapping[str, Point], found: Mapping[str, Comparison], before: str, after: str
) -> str:
    """Bytes from memory and times of two orders of one problem, and who beats NumPy."""
    one, other = points[before], points[after]
    fewer = one.bytes / other.bytes
    if abs(fewer - 1) < 0.005:
        moved = (
            f"From memory both orders fetch the same, {size_text(int(one.bytes))}: A fits in the "
            "last cache.\nThe shorter distance saves bytes only between the caches."
        )
    else:
        moved = (
            f"{before}: {size_text(int(one.bytes))}; {after}: {size_text(int(other.bytes))}, "
            f"{fewer:.2f} times fewer."
        )
    faster = found[before].timing.median_s / found[after].timing.median_s
    numpy = found[after]
    verdict = "faster" if numpy.ratio > 1 else "slower"
    return (
        f"{moved}\n"
        f"{after} is {faster:.2f} times as fast{numpy.mark}, and {verdict} than NumPy "
        f"({numpy.ratio:.2f} x)."
    )


def level_by_level(name: str, seconds: float, least: Mapping[str, float]) -> str:
    """The share of a program's time that each limit accounts for."""
    rows = [
        f"{name}, {source:<10} at least {milliseconds(each) if each else '0 ms':>9}, "
        f"{each / seconds:4.0%} of its time"
        for source, each in least.items()
    ]
    nearest = max(least, key=lambda source: least[source])
    share = least[nearest] / seconds
    if share > 0.7:
        last = f"{nearest} accounts for most of its time."
    else:
        last = (
            f"The nearest limit, {nearest}, accounts for {share:.0%}, so neither bandwidth nor "
            "the peak explains its time."
        )
    return "\n".join((*rows, last))


def conflicts(rows: Mapping[str, Sequence[tuple[int, int]]]) -> str:
    """By program and cache: misses by distance, misses counted in sets, and their difference."""
    lines = []
    for name, pairs in rows.items():
        for number, (distance, counted) in enumerate(pairs, start=1):
            extra = counted - distance
            word = f"{extra:,} more" if extra > 0 else f"{-extra:,} fewer" if extra else "equal"
            lines.append(
                f"{name:<18} L{number}: {distance:>10,} by distance, {counted:>10,} counted, {word}"
            )
    return "\n".join(lines)


def end(found: Mapping[str, Reuse], points: Mapping[str, Point], roofs: Roofs, size: int) -> str:
    """The last sentence of the lesson, with this machine's numbers."""
    rows = [
        f"A cache of {size >> 10} KiB that may hold any line anywhere misses "
        f"{each.misses(size // each.line) / each.uses:.2%} of the uses of {name}."
        for name, each in found.items()
    ]
    ridge = roofs.gflops / roofs.gbytes_per_s
    slow = [name for name, each in points.items() if each.intensity < ridge]
    rows.append(
        f"This core needs {ridge:.1f} operations for each byte to be limited by its peak; "
        f"programs that do fewer: {'; '.join(slow) or 'none'}."
    )
    return "\n".join(rows)

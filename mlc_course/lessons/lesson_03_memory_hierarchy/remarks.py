"""Sentences about the lesson's numbers, each made from the values that it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from mlc_course.machine import Machine, describe
from mlc_course.measure import Comparison
from mlc_course.tensor_program.memory import Cache, Probe

MANY = 64  # lines under way at once: more than any core keeps waiting


def staircase(probes: Sequence[Probe], machine: Machine | None = None) -> str:
    """Say, for each cache, the latency of what fits well and of what is too large for it."""
    here = machine or describe()
    sizes = {"L1": here.l1d_bytes, "L2": here.l2_bytes, "L3": here.l3_bytes}
    lines = []
    for name, size in sizes.items():
        inside = [each for each in probes if each.bytes <= size // 2]
        beyond = [each for each in probes if each.bytes >= 2 * size]
        if size and inside and beyond:
            near, far = inside[-1], beyond[0]
            lines.append(
                f"{name} holds {_size(size)}: a load takes {near.latency_ns:.1f} ns in "
                f"{_size(near.bytes)} and {far.latency_ns:.1f} ns in {_size(far.bytes)}"
            )
    return "\n".join(lines)


def under_way(level: Mapping[str, Probe], lines: Mapping[str, float]) -> str:
    """Say, for each level, how many lines must be under way at once, and what is impossible."""
    said = [
        f"{name:<7} {lines[name]:6.1f} lines at once, to read {each.bandwidth_gb_per_s:.1f} GB/s "
        f"at {each.latency_ns:.1f} ns a line"
        for name, each in level.items()
    ]
    odd = [name for name, number in lines.items() if number > MANY]
    if odd:
        said.append(
            f"No core keeps more than {MANY} lines waiting, so the two figures of "
            f"{' and '.join(odd)} do not belong together. The likely reason: during the slow "
            "chase, other programs that use the same cache pushed its lines out."
        )
    return "\n".join(said)


def what_padding_saved(misses: Mapping[str, Sequence[int]]) -> str:
    """Say which caches miss less often with the longer rows."""
    pairs = list(zip(misses["columns"], misses["columns, padded"], strict=True))
    saved = [
        f"L{number} misses {before / after:.3g} times less often"
        for number, (before, after) in enumerate(pairs, start=1)
        if after < 0.9 * before
    ]
    same = [f"L{n}" for n, (before, after) in enumerate(pairs, start=1) if after >= 0.9 * before]
    if not saved:
        return "With the longer rows, no cache misses less often."
    rest = f" {' and '.join(same)} gained nothing." if same else ""
    return f"With the longer rows, {' and '.join(saved)}.{rest}"


def room_for_a_column(columns: Mapping[str, Iterable[int]], caches: Sequence[Cache]) -> str:
    """A line for each cache and row length: the sets that a column reaches, and whether it fits."""
    lines = []
    for name, addresses in columns.items():
        column = list(addresses)
        for number, cache in enumerate(caches, start=1):
            crowd = Counter(address // cache.line % cache.sets for address in column)
            fits = max(crowd.values()) <= cache.ways
            lines.append(
                f"{name:<16} L{number}: {len(crowd):>6,} of {cache.sets:>6,} sets, up to "
                f"{max(crowd.values()):>5,} lines in a set of {cache.ways:>2} ways: "
                f"{'fits' if fits else 'does not fit'}"
            )
    return "\n".join(lines)


def same_misses(counted: Mapping[str, Sequence[int]], loads: int) -> str:
    """The misses of several walks, cache by cache, and whether they are the same."""
    lines = [
        f"{name:<14}" + "".join(f"  L{n} {each:>8,}" for n, each in enumerate(numbers, start=1))
        for name, numbers in counted.items()
    ]
    same = len({tuple(each) for each in counted.values()}) == 1
    verdict = "The counts are the same." if same else "The counts are not the same."
    return "\n".join((f"misses in {loads:,} loads", *lines, verdict))


def which_is_longest(found: Mapping[str, Comparison]) -> str:
    """Name the slowest and the fastest of a race, and their ratio."""
    by_time = sorted(found, key=lambda name: found[name].timing.median_s)
    fast, slow = by_time[0], by_time[-1]
    ratio = found[slow].timing.median_s / found[fast].timing.median_s
    return f"{slow} takes {ratio:.1f} times as long as {fast}{found[slow].mark}."


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 and not size % (1 << 20) else f"{size >> 10} KiB"

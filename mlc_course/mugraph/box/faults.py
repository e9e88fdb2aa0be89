"""Faults of kernels: races, found in a log of accesses, and the words for every fault.

Two threads *race* if they access one element, at least one of them writes it, and no barrier is
between them. A barrier is for the threads of one block; nothing orders threads of different blocks.
So a race is found in whatever order the threads have run, whether its result was right or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from mlc_course.errors import CourseError
from mlc_course.mugraph.box.access_log import Memory, Place, Table
from mlc_course.mugraph.ir import Array

MOST_RACES = 10_000  # elements that are looked at one by one; more tell nothing new
FaultKind = Literal["race", "bounds", "unwritten", "barrier", "alignment", "copy"]


class KernelFault(CourseError):
    """A kernel that has been run in the box does something wrong with memory or barriers."""


@dataclass(frozen=True)
class Fault:
    """Something that a kernel does wrong: who, where, and how often.

    ``threads`` are pairs of block and thread; ``element`` is the first one that it happened to.
    """

    kind: FaultKind
    says: str
    threads: tuple[tuple[int, int], ...]
    array: str = ""
    element: tuple[int, ...] = ()
    places: tuple[Place, ...] = ()
    times: int = 1

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.says}"]
        lines += [f"  {each}" for each in dict.fromkeys(self.places)]
        if self.times > 1:
            lines.append(f"  and {self.times - 1:,} more like it")
        return "\n".join(lines)


# ---- races


def races(table: Table) -> list[Fault]:
    """Return the races of a run, those of the same two places of the source as one fault."""
    if not len(table.rows):
        return []
    found: dict[tuple[int, int, int], list[Race]] = {}
    for race in _races(table):
        memory = int(table["memory"][race.first])
        places = sorted(int(table["place"][n]) for n in (race.first, race.second))
        found.setdefault((memory, places[0], places[1]), []).append(race)
    return [_fault(table, same[0], len(same)) for same in found.values()]


@dataclass(frozen=True)
class Race:
    """Two accesses, by their lines in the table, and the byte at which they meet."""

    first: int
    second: int
    address: int


def _races(table: Table) -> Iterator[Race]:
    """Yield a race for each element that has one: where possible between a write and a read."""
    line, address = _elements(table)
    block, thread, writes = (table[name][line] for name in ("block", "thread", "writes"))
    shared = table.is_shared[line]
    # Equal numbers: the same element, at a time at which nothing orders the threads.
    space = np.where(shared, -1 - block, table["memory"][line])
    epoch = np.where(shared, table["epoch"][line], 0)
    step = table["epoch"][line]
    order = np.lexsort((step, block, epoch, address, space))

    def begins(*keys: Array) -> Array:
        new = np.arange(len(order)) == 0
        for key in keys:
            new[1:] |= key[order][1:] != key[order][:-1]
        return np.flatnonzero(new)

    def race(who: Array, at: Array) -> Array:
        """Tell of each group whether several access it and one writes it."""
        lowest, highest = (f.reduceat(who[order], at) for f in (np.minimum, np.maximum))
        return np.asarray((highest > lowest) & (np.maximum.reduceat(writes[order], at) > 0))

    starts = begins(space, address, epoch)
    ends = np.append(starts[1:], len(order))
    steps = begins(space, address, epoch, block, step)  # of a block, between two barriers
    within = np.logical_or.reduceat(race(thread, steps), np.searchsorted(steps, starts))
    chosen = np.flatnonzero(within | race(block, starts))[:MOST_RACES]
    for start, end in zip(starts[chosen], ends[chosen], strict=True):
        group = np.sort(order[start:end])
        pair = _pair(group, block, thread, writes, step)
        if pair:
            yield Race(int(line[pair[0]]), int(line[pair[1]]), int(address[pair[0]]))


def _pair(
    group: Array, block: Array, thread: Array, writes: Array, epoch: Array
) -> tuple[int, int] | None:
    """Return two accesses of a group that race: threads of one block only in one epoch."""
    writers = [n for n in group if writes[n]]
    seen: set[tuple[int, int, int]] = set()
    for writer in writers:
        who = (int(block[writer]), int(thread[writer]), int(epoch[writer]))
        if who in seen:
            continue
        seen.add(who)
        other = block[group] != block[writer]
        other |= (thread[group] != thread[writer]) & (epoch[group] == epoch[writer])
        if other.any():
            among = group[other]
            readers = among[writes[among] == 0]
            return int(writer), int(readers[0] if len(readers) else among[0])
    return None


def _elements(table: Table) -> tuple[Array, Array]:
    """Return a line of the table and an address for each element that is accessed.

    Elements of shared arrays of several sizes may lie in one place: the smallest size counts.
    """
    sizes = np.array([memory.itemsize for memory in table.memories])
    shared = np.array([memory.scope == "shared" for memory in table.memories])
    if shared.any():
        sizes[shared] = sizes[shared].min()
    step = sizes[table["memory"]]
    counts = table["size"] // step
    line = np.repeat(np.arange(len(counts)), counts)
    within = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
    return line, table["address"][line] + within * step[line]


def _fault(table: Table, race: Race, times: int) -> Fault:
    memory = table.memories[int(table["memory"][race.first])]
    threads = tuple(
        (int(table["block"][n]), int(table["thread"][n])) for n in (race.first, race.second)
    )
    kinds = [bool(table["writes"][n]) for n in (race.first, race.second)]
    one, other = (thread_text(each, threads) for each in threads)
    element = memory.element(race.address)
    if threads[0][0] != threads[1][0]:
        why = "no barrier orders threads of different blocks"
    else:
        why = "no barrier is between them"
    if all(kinds):
        says = f"{one} and {other} both write {element}, and {why}"
    else:
        says = f"{one} writes {element}, {other} reads it, and {why}"
    places = tuple(table.places[int(table["place"][n])] for n in (race.first, race.second))
    return Fault("race", says, threads, memory.name, memory.index(race.address), places, times)


def thread_text(who: tuple[int, int], among: tuple[tuple[int, int], ...] = ()) -> str:
    """Return a thread in words; its block too, where those it is named with are of several."""
    block, thread = who
    blocks = {each for each, _ in among}
    return f"thread {thread}" if len(blocks) == 1 else f"thread {thread} of block {block}"


# ---- the words of the other faults


def out_of_bounds(
    memory: Memory, index: tuple[int, ...], writes: bool, who: tuple[int, int], place: Place
) -> Fault:
    """Return the fault of an index that an array does not have."""
    shape = memory.shape
    axis = next(n for n, (i, extent) in enumerate(zip(index, shape, strict=True))
                if not 0 <= i < extent)  # fmt: skip
    along = f" along dimension {axis}" if len(shape) > 1 else ""
    least = "has no negative indices" if index[axis] < 0 else f"ends at {shape[axis] - 1}{along}"
    at = ", ".join(map(str, index))
    verb = "writes" if writes else "reads"
    of = ", ".join(map(str, shape))
    says = f"{thread_text(who)} {verb} {memory.name}[{at}], and {memory.name}[{of}] {least}"
    return Fault("bounds", says, (who,), memory.name, index, (place,))


def unwritten(
    memory: Memory, index: tuple[int, ...], who: tuple[int, int], place: Place, held: str = ""
) -> Fault:
    """Return the fault of a read from shared memory that nobody wrote, or another array's."""
    at = ", ".join(map(str, index))
    why = f"the memory holds {held}" if held else "nobody has written it"
    says = f"{thread_text(who)} reads {memory.name}[{at}], and {why}"
    return Fault("unwritten", says, (who,), memory.name, index, (place,))


def misaligned(
    memory: Memory, index: tuple[int, ...], size: int, who: tuple[int, int], place: Place
) -> Fault:
    """Return the fault of a wide access that does not begin at a multiple of its size."""
    at = ", ".join(map(str, index))
    says = (
        f"{thread_text(who)} accesses {size} bytes at once from {memory.name}[{at}] on, "
        f"and that is not a multiple of {size} bytes"
    )
    return Fault("alignment", says, (who,), memory.name, index, (place,))


def under_way(
    memory: Memory, index: tuple[int, ...], who: tuple[int, int], owner: int, place: Place
) -> Fault:
    """Return the fault of an access to what a copy has not delivered yet."""
    at = ", ".join(map(str, index))
    says = (
        f"{thread_text(who)} accesses {memory.name}[{at}] while a copy by thread {owner} "
        "to it is under way"
    )
    return Fault("copy", says, (who, (who[0], owner)), memory.name, index, (place,))


def diverged(block: int, waiting: dict[int, Place], ended: list[int]) -> Fault:
    """Return the fault of a barrier that some threads of a block do not reach."""
    places = dict.fromkeys(waiting.values())
    if ended:
        place = next(iter(places))
        there = ranges([t for t, at in waiting.items() if at == place])
        waits = "wait" if there.startswith("threads") else "waits"
        reach = "reach" if len(ended) > 1 else "reaches"
        says = f"in block {block}, {there} {waits} at a barrier that {ranges(ended)} never {reach}"
    else:
        parts = [f"{ranges([t for t, at in waiting.items() if at == p])} at {p}" for p in places]
        says = f"in block {block}, threads wait at different barriers: {'; '.join(parts)}"
    threads = tuple((block, each) for each in (next(iter(waiting)), *ended[:1]))
    return Fault("barrier", says, threads, places=tuple(places))


def ranges(threads: list[int]) -> str:
    """Return numbers of threads in words, neighbours as a range."""
    parts: list[list[int]] = []
    for each in sorted(threads):
        if parts and each == parts[-1][1] + 1:
            parts[-1][1] = each
        else:
            parts.append([each, each])
    said = [f"{a}" if a == b else f"{a} to {b}" for a, b in parts[:4]]
    if len(parts) > 4:
        said.append(f"{len(parts) - 4} more ranges")
    head = "thread" if len(threads) == 1 else "threads"
    return (
        f"{head} {said[0]}" if len(said) == 1 else f"{head} {', '.join(said[:-1])} and {said[-1]}"
    )

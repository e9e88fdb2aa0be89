"""Where do a block's buffers lie in its shared memory? Those not alive together share a place.

Time is counted in *barrier intervals*: between two barriers some threads may be ahead of others, so
all that is accessed in one interval is alive together. What a loop writes behind its last barrier
may meet what the last iteration still reads; buffers of a pipeline are alive from the moment a copy
sets out. A buffer is alive from a write to the last read of what it wrote, and dead until the next
write: a loop's tile may lie where another lies at another time of every iteration.

The least memory is found by branch and bound, which is small at these sizes. ``first_fit``,
``best_fit`` and ``worst_fit`` are what Mirage's transpiler chooses from, for comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.mugraph.kernels import Body, Buffer
from mlc_course.mugraph.thread_kernels.thread_accesses import (
    Accesses,
    Event,
    Gap,
    Step,
    touched,
    walked,
)

# A copy moves up to 16 bytes, and so does a thread's widest access: both need addresses that their
# size divides. A whole row of banks (128 bytes) is not needed: what a buffer's place adds to all
# addresses moves all banks alike.
ALIGNMENT = 16


@dataclass(frozen=True)
class Need:
    """A buffer of so many bytes that is alive in some intervals."""

    name: str
    size: int
    alive: frozenset[int]


@dataclass(frozen=True)
class Plan:
    """The places of all buffers, in bytes, and the size of the whole."""

    offsets: tuple[tuple[str, int], ...]
    total: int


def needs(
    body: Body, buffers: Iterable[Buffer], size_of: Callable[[Buffer], int]
) -> tuple[Need, ...]:
    """Return in which barrier intervals each buffer is alive, for a body with its barriers."""
    found = lifetimes(walked(body))
    return tuple(
        Need(each.name, rounded(size_of(each)), found[each.name])
        for each in buffers
        if each.name in found
    )


def rounded(size: int) -> int:
    """Return a size in bytes up to the next possible place."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def lifetimes(events: Sequence[Event]) -> dict[str, frozenset[int]]:
    """Return the barrier intervals in which each buffer is alive."""
    interval = 0
    written: dict[str, np.ndarray] = {}  # the interval in which each element was written last
    alive: dict[str, set[int]] = {}

    def access(each: Accesses, *, begins: bool) -> None:
        name = each.buffer.name
        least, greatest = touched(each)
        chosen = least <= greatest
        if not chosen.any():
            return
        last = written.setdefault(name, np.full(len(chosen), interval))
        begun = interval if begins else int(last[chosen].min())
        alive.setdefault(name, set()).update(range(begun, interval + 1))
        if begins:
            last[chosen] = interval

    for event in events:
        match event:
            case Gap():
                interval += event.is_barrier
            case Step(_, accesses, landed):
                started = accesses[: len(accesses) - len(landed)]
                for each in started:
                    access(each, begins=each.writes)
                for each in landed:
                    access(each, begins=False)
    return {name: frozenset(each) for name, each in alive.items()}


def most_alive(wanted: Sequence[Need]) -> int:
    """Return the largest sum of sizes alive in one interval: no plan needs less."""
    intervals = frozenset[int]().union(*(each.alive for each in wanted))
    return max((sum(n.size for n in wanted if i in n.alive) for i in intervals), default=0)


def least_memory(wanted: Sequence[Need]) -> Plan:
    """Return a plan that needs as few bytes as any.

    Buffers are placed in the order of their places, each on top of those that it meets. Some order
    gives the least memory: in any plan, buffers may sink in turn, the lowest first, until each lies
    on another that it meets. Not followed are orders in which a buffer would lie below one placed
    before it, and those that cannot get below the best plan known: all that are not placed yet lie
    above the last place, and those alive together above each other. The search ends where the
    largest sum of sizes alive together is reached.
    """
    floor = most_alive(wanted)
    best = min((fit(wanted) for fit in HEURISTICS.values()), key=lambda each: each.total)
    meets = _meetings(wanted)
    order = sorted(wanted, key=lambda each: -each.size)
    seen = set[tuple[tuple[int, int], ...]]()

    def place(placed: Mapping[str, int], last: tuple[int, int], total: int) -> None:
        nonlocal best
        left = [(number, each) for number, each in enumerate(order) if each.name not in placed]
        on_top = {
            number: max((placed[n.name] + n.size for n in meets[each.name] if n.name in placed),
                        default=0)
            for number, each in left
        }  # fmt: skip
        lowest = [(each, max(last[0], on_top[number])) for number, each in left]
        if max(total, _least_above(lowest)) >= best.total:
            return
        if not left:
            best = Plan(tuple((each.name, placed[each.name]) for each in wanted), total)
            return
        state = (last, (total, total), *sorted(on_top.items()))
        if state in seen:
            return
        seen.add(state)
        for number, each in left:
            at = on_top[number]
            if (at, number) > last and best.total > floor:
                place({**placed, each.name: at}, (at, number), max(total, at + each.size))

    place({}, (0, -1), 0)
    return best


def _least_above(lowest: Sequence[tuple[Need, int]]) -> int:
    """The least memory for buffers none of which may lie below its place."""
    intervals = frozenset[int]().union(*(each.alive for each, _ in lowest))
    found = 0
    for interval in intervals:
        alive = [(each, at) for each, at in lowest if interval in each.alive]
        found = max(found, min(at for _, at in alive) + sum(each.size for each, _ in alive))
    return found


# ---- heuristics: buffers are placed one after the other, in the order in which they come alive


def first_fit(wanted: Sequence[Need]) -> Plan:
    """Place each buffer in the lowest hole that it fits."""
    return _one_by_one(wanted, lambda holes: holes[0])


def best_fit(wanted: Sequence[Need]) -> Plan:
    """Place each buffer in the smallest hole that it fits."""
    return _one_by_one(wanted, lambda holes: min(holes, key=lambda hole: hole[1]))


def worst_fit(wanted: Sequence[Need]) -> Plan:
    """Place each buffer in the largest hole that it fits; above all others only if none does."""
    return _one_by_one(wanted, lambda holes: max(holes[:-1] or holes, key=lambda hole: hole[1]))


HEURISTICS: Mapping[str, Callable[[Sequence[Need]], Plan]] = {
    "first fit": first_fit,
    "best fit": best_fit,
    "worst fit": worst_fit,
}
Hole = tuple[int, int]  # its place and its size
ABOVE_ALL = 1 << 60


def _one_by_one(wanted: Sequence[Need], choose: Callable[[list[Hole]], Hole]) -> Plan:
    meets = _meetings(wanted)
    placed: dict[str, int] = {}
    total = 0
    for each in sorted(wanted, key=lambda need: min(need.alive, default=0)):
        at, _ = choose(_holes(each, placed, meets))
        placed[each.name] = at
        total = max(total, at + each.size)
    return Plan(tuple((each.name, placed[each.name]) for each in wanted), total)


def _meetings(wanted: Sequence[Need]) -> dict[str, list[Need]]:
    return {
        one.name: [other for other in wanted if other is not one and one.alive & other.alive]
        for one in wanted
    }


def _holes(
    need: Need, placed: Mapping[str, int], meets: Mapping[str, Sequence[Need]]
) -> list[Hole]:
    """The holes that are large enough, from the lowest to the one above all."""
    taken = sorted(
        (placed[each.name], placed[each.name] + each.size)
        for each in meets[need.name]
        if each.name in placed
    )
    found, begin = list[Hole](), 0
    for low, high in taken:
        if low - begin >= need.size:
            found.append((begin, low - begin))
        begin = max(begin, high)
    return [*found, (begin, ABOVE_ALL)]

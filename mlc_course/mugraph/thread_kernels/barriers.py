"""Where do the threads of a block wait for each other? At as few places as the accesses allow.

A value that crosses from one thread to another needs a barrier on its way: between a write and a
read, a read and the next write, or two writes. What a thread does with its own elements needs none.
So each crossing is a set of gaps between statements, of which one has to hold a barrier: those that
the walk passes from the one access to the other, around a loop's end too. The fewest barriers that
hit all of these sets are found exactly, counted as often as they are run.

Before that, statements are ``ordered`` so that as much as possible happens between two barriers: a
statement moves up to the first interval in which all it needs is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeAlias

from mlc_course.mugraph.kernels import (
    Allocate,
    Barrier,
    Body,
    Guard,
    Loop,
    Remark,
    Statement,
    Threads,
    walk,
)
from mlc_course.mugraph.thread_kernels.thread_accesses import (
    Accesses,
    Event,
    Gap,
    Path,
    Step,
    accesses_of,
    cross,
    meet,
    registers_of,
    self_crossings,
    walked,
)

Gaps: TypeAlias = frozenset[Path]


def with_barriers(body: Body) -> Body:
    """Return a body, which has none, with the fewest barriers that keep its threads from racing."""
    events = walked(body)
    for step, accesses in self_crossings(events):
        raise AssertionError(f"threads race inside one statement: {step.path}, {accesses}")
    runs = Counter(each.path for each in events if isinstance(each, Gap))
    chosen = fewest(crossings(events), runs)
    return _inserted(body, frozenset(chosen), ())


def crossings(events: Sequence[Event]) -> list[Gaps]:
    """Return, for each crossing without a barrier on its way, the gaps that may get one.

    Only the last crossing before each step counts: to those further back there are more gaps.
    """
    found = dict[Gaps, None]()
    number_of = dict[Step, int]()
    numbers = [  # equal steps have one number, which is compared faster
        number_of.setdefault(each, len(number_of)) if isinstance(each, Step) else -1
        for each in events
    ]
    known = dict[tuple[int, int], bool]()
    for later, step in enumerate(events):
        if isinstance(step, Gap):
            continue
        between = set[Path]()
        for place in range(later - 1, -1, -1):
            event = events[place]
            if isinstance(event, Gap):
                if event.is_barrier:
                    break
                between.add(event.path)
                continue
            pair = numbers[place], numbers[later]
            if pair not in known:
                known[pair] = steps_cross(event, step)
            if known[pair]:
                found[frozenset(between)] = None
                break
    return list(found)


def steps_cross(one: Step, other: Step) -> bool:
    """Tell whether a value crosses threads from one step to another."""
    return any(cross(a, b) for a in one.accesses for b in other.accesses)


def fewest(sets: Iterable[Gaps], runs: Mapping[Path, int]) -> list[Path]:
    """Return gaps that hit every set and are run least often together, the later ones if equal.

    Branch and bound: some gap of the smallest set has to be taken. Sets that contain another, and
    gaps that hit no more than another that is run no more often, are left out before.
    """
    wanted = _smallest(sets)
    candidates = _candidates(wanted, runs)
    wanted = _smallest(each & candidates for each in wanted)
    best: list[list[Path]] = [sorted(candidates)]

    def cost(chosen: Iterable[Path]) -> tuple[int, int]:
        taken = list(chosen)
        return sum(runs[each] for each in taken), len(taken)

    def least(missing: Sequence[Gaps]) -> int:
        """A bound: sets without a common gap need one each."""
        total, used = 0, set[Path]()
        for each in missing:
            if not each & used:
                used |= each
                total += min(runs[gap] for gap in each)
        return total

    def go(chosen: list[Path], missing: Sequence[Gaps]) -> None:
        if not missing:
            if cost(chosen) < cost(best[0]):
                best[0] = list(chosen)
            return
        if cost(chosen)[0] + least(missing) > cost(best[0])[0]:
            return
        tightest = min(missing, key=len)
        for gap in sorted(tightest, key=lambda each: (runs[each], [-n for n in each])):
            go([*chosen, gap], [each for each in missing if gap not in each])

    go([], wanted)
    return sorted(best[0])


def _smallest(sets: Iterable[Gaps]) -> list[Gaps]:
    """The sets that contain no other."""
    kept = list[Gaps]()
    for each in sorted(dict.fromkeys(sets), key=lambda s: (len(s), sorted(s))):
        if not any(other <= each for other in kept):
            kept.append(each)
    return kept


def _candidates(sets: Sequence[Gaps], runs: Mapping[Path, int]) -> Gaps:
    """The gaps that no other gap replaces."""
    hit: dict[Path, frozenset[int]] = {}
    for gap in frozenset[Path]().union(*sets):
        hit[gap] = frozenset(n for n, each in enumerate(sets) if gap in each)
    kept = list[Path]()
    for gap in sorted(hit, key=lambda g: (-len(hit[g]), runs[g], [-n for n in g])):
        if not any(hit[gap] <= hit[other] and runs[other] <= runs[gap] for other in kept):
            kept.append(gap)
    return frozenset(kept)


def _inserted(body: Body, gaps: Collection[Path], path: Path) -> Body:
    found: list[Statement] = []
    for place, each in enumerate(body):
        here = (*path, place)
        if here in gaps:
            found.append(Barrier())
        match each:
            case Loop():
                each = replace(each, body=_inserted(each.body, gaps, (*here, 0)))
            case Guard():
                each = replace(
                    each,
                    body=_inserted(each.body, gaps, (*here, 0)),
                    otherwise=_inserted(each.otherwise, gaps, (*here, 1)),
                )
        found.append(each)
    if (*path, len(body)) in gaps:
        found.append(Barrier())
    return tuple(found)


# ---- what a test asks


def barrier_count(body: Body) -> int:
    """Return how many barriers the text has."""
    return sum(isinstance(each, Barrier) for each in walk(body))


def without_barrier(body: Body, number: int) -> Body:
    """Return a body without one of its barriers, by its number in the text."""
    counter = iter(range(barrier_count(body)))

    def go(body: Body) -> Body:
        found: list[Statement] = []
        for each in body:
            match each:
                case Barrier():
                    if next(counter) == number:
                        continue
                case Loop():
                    each = replace(each, body=go(each.body))
                case Guard():
                    each = replace(each, body=go(each.body), otherwise=go(each.otherwise))
            found.append(each)
        return tuple(found)

    return go(body)


def races(body: Body) -> list[Gaps]:
    """Return the crossings of a body that have no barrier on their way; none: it does not race."""
    return crossings(walked(body))


def fewest_by_trial(body: Body, most: int) -> int | None:
    """Return the least number of barriers of a body without any, all choices tried up to ``most``.

    Counted are the places in the text, not how often they are run.
    """
    gaps = sorted({each.path for each in walked(body) if isinstance(each, Gap)})
    for count in range(most + 1):
        for chosen in combinations(gaps, count):
            if not races(_inserted(body, chosen, ())):
                return count
    return None


# ---- the order of statements


def ordered(body: Body) -> Body:
    """Return a body whose statements are moved up to the first interval that they can be in.

    before  sums of scores | weights | product, scale of the sums so far | ...
    after   sums of scores | weights, scale | product | ...
    needs   every statement stays behind those whose values it reads or overwrites
    why     what is made early does not need one more barrier later
    """
    found: list[Statement] = []
    pending: list[tuple[tuple[Statement, ...], Threads]] = []
    notes: list[Statement] = []
    for each in body:
        match each:
            case Remark() | Allocate():
                notes.append(each)
            case Threads():
                pending.append((tuple(notes), each))
                notes = []
            case _:
                found += _by_depth(pending)
                pending = []
                if isinstance(each, Loop):
                    each = replace(each, body=ordered(each.body))
                found += [*notes, each]
                notes = []
    return (*found, *_by_depth(pending), *notes)


def _by_depth(run: Sequence[tuple[tuple[Statement, ...], Threads]]) -> Iterator[Statement]:
    steps = [_Ordered(statement) for _, statement in run]
    for number, step in enumerate(steps):
        for before in steps[:number]:
            if step.stays_behind(before):
                step.depth = max(step.depth, before.depth + step.crosses(before))
    for notes, statement in (run[n] for n in sorted(range(len(run)), key=lambda n: steps[n].depth)):
        yield from notes
        yield statement


class _Ordered:
    """A statement with the number of barriers before it, as far as this run of statements tells."""

    def __init__(self, statement: Threads) -> None:
        self.depth = 0
        found = accesses_of(statement)
        self.accesses = tuple(
            each.in_some_iteration() for each in found if isinstance(each, Accesses)
        )
        self.is_copying = len(self.accesses) < len(found)
        self.registers = registers_of(statement)

    def stays_behind(self, other: _Ordered) -> bool:
        (read, written), (read_before, written_before) = self.registers, other.registers
        return bool(
            self.is_copying
            or other.is_copying
            or written & (read_before | written_before)
            or read & written_before
            or any(meet(a, b) for a in other.accesses for b in self.accesses)
        )

    def crosses(self, other: _Ordered) -> bool:
        return any(cross(a, b) for a in other.accesses for b in self.accesses)


# ---- the text


def inward(body: Body) -> Body:
    """Return a body in which all threads ask what is the same for all, where none has to wait.

    before  if first: threads: A   else: threads: B
    after   threads: if first: A else: B
    why     statements can be ordered across it
    """
    found: list[Statement] = []
    for each in body:
        match each:
            case Loop():
                each = replace(each, body=inward(each.body))
            case Guard():
                each = _asked_by_threads(each)
        found.append(each)
    return tuple(found)


def _asked_by_threads(guard: Guard) -> Statement:
    parts = merged(guard.body), merged(guard.otherwise)
    statements = [each for part in parts for each in part]
    one_each = all(len(part) <= 1 for part in parts)
    threads = [each for each in statements if isinstance(each, Threads)]
    if not one_each or len(threads) != len(statements):
        return replace(guard, body=inward(guard.body), otherwise=inward(guard.otherwise))
    (name, count), *_ = {(each.name, each.count) for each in threads}
    inside = [next((each.body for each in part if isinstance(each, Threads)), ()) for part in parts]
    made = Threads(name, count, (Guard(guard.when, inside[0], inside[1]),))
    race = next(self_crossings(_steps_alone(made)), None)
    return guard if race else made


def _steps_alone(statement: Threads) -> list[Event]:
    """The step of one statement, whatever the numbers of the loops around it."""
    found = (each for each in accesses_of(statement) if isinstance(each, Accesses))
    return [Step((), tuple(each.in_some_iteration() for each in found))]


def merged(body: Body) -> Body:
    """Return a body in which neighbouring ``Threads`` statements are one."""
    found: list[Statement] = []
    for each in body:
        match each:
            case Loop():
                each = replace(each, body=merged(each.body))
            case Guard():
                each = replace(each, body=merged(each.body), otherwise=merged(each.otherwise))
            case Threads(name, count, inner):
                remarks = list[Statement]()
                while found and isinstance(found[-1], Remark):
                    remarks.insert(0, found.pop())
                if found and isinstance(found[-1], Threads):
                    last = found.pop()
                    assert isinstance(last, Threads)
                    each = Threads(name, count, (*last.body, *remarks, *inner))
                else:
                    each = Threads(name, count, (*remarks, *inner))
        found.append(each)
    return tuple(found)

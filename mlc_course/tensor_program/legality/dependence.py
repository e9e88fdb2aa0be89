"""Legality of a transformation by dependences: a proof, or the two iterations that conflict.

Both programs are executed on paper: every statement instance of a small program, with the elements
that it touches. A change is legal when each instance is still run once, and no two instances that
touch the same element, one of them writing, have changed their order. Source: A. Aho et al.,
Compilers, 2nd edition, sections 10.2 and 11.6.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import verdicts
from mlc_course.tensor_program.legality.instances import Ints
from mlc_course.tensor_program.legality.runs import READ, UPDATE, WRITE, Run, match, outside
from mlc_course.tensor_program.legality.statements import TOGETHER
from mlc_course.tensor_program.legality.verdicts import Illegal, Kind, Legal, Unknown, Verdict
from mlc_course.tensor_program.tir import Schedule, TensorProgram


def compare(before: TensorProgram, after: TensorProgram) -> Verdict:
    """Decide whether ``after`` does the same as ``before`` in an order that is allowed.

    The programs must be small (``instances.MOST``), and use the same buffers: a step that adds or
    drops one gives ``Unknown``. Instances are the same if they do the same arithmetic on the same
    elements. Terms of one sum may change their order. Loops that run in parallel must not race.
    """
    try:
        old, new = Run(before), Run(after)
        old.check_same_buffers(new)
        new.check_own_buffers()
        if wrong := outside(old):
            return Unknown(f"the program leaves its buffers before any change: {wrong.sentence}")
        places = outside(new) or match(old, new)
        if isinstance(places, Illegal):
            return places
        legal = Legal(len(old), _reordered_sums(old, places), len(new) - len(old))
        return _dependence(old, places) or _race(new) or legal
    except UsageError as error:
        return verdicts.unknown(error)


def tried(program: TensorProgram, change: Callable[[Schedule], object]) -> Verdict:
    """Decide whether a schedule is legal; ``change`` gets a new schedule of the program.

    Raises what ``change`` raises, when TVM or a step refuses.
    """
    sch = Schedule(program.mod if isinstance(program, Schedule) else program)
    change(sch)
    return compare(program, sch)


def races(program: TensorProgram) -> Verdict:
    """Decide whether the iterations of each parallel or vectorized loop are independent."""
    return _alone(program, _separate, "those that run together share nothing that is written")


def axis_kinds(program: TensorProgram) -> Verdict:
    """Decide whether the axes that a block declares spatial are independent, as TVM assumes.

    Two instances of a block with different values of its spatial axes must not touch the same
    element if one of them writes it.
    """
    return _alone(program, _axes, "spatial axes are independent")


def _alone(
    program: TensorProgram,
    conflict: Callable[[Run], Illegal | None],
    because: str,
) -> Verdict:
    try:
        run = Run(program)
        return outside(run) or conflict(run) or Legal(len(run), because=because)
    except UsageError as error:
        return verdicts.unknown(error)


# --- dependence -------------------------------------------------------------------------------


def _dependence(old: Run, places: Ints) -> Illegal | None:
    """The first instance that now runs before one that it depends on.

    Each touch of an element depends on the touches of it that came before; a read, on the writes
    among them. It is late if the latest of these, in the new order, runs after it.
    """
    touches = old.touches()
    modes, now = touches.modes, places[touches.instances]  # now: the place in the new order
    group = np.cumsum(touches.starts, dtype=np.int64)  # numbers the elements
    latest = _largest_so_far(now, group)
    latest_write = _largest_so_far(np.where(modes == READ, -1, now), group)
    # Consecutive updates of one family may change their order: all depend on what came before them.
    goes_on = (modes >= UPDATE) & (modes == np.roll(modes, 1)) & ~touches.starts
    before = np.maximum.accumulate(np.where(goes_on, 0, np.arange(now.size))) - 1
    depends = (before >= 0) & (group[before] == group)
    earlier = np.where(modes == READ, latest_write[before], latest[before])
    late = np.nonzero(depends & (earlier > now))[0]
    if not late.size:
        return None
    second = late[touches.instances[late].argmin()]
    same = touches.elements[: before[second] + 1] == touches.elements[second]
    conflict = (modes[: same.size] != READ) | (modes[second] != READ)
    first = np.nonzero(same & conflict & (now[: same.size] > now[second]))[0][-1]
    buffer, element = old.element(int(touches.elements[second]))
    pair = [old.iteration(touches.instances[t], int(modes[t])) for t in (first, second)]
    return verdicts.broken_dependence(_kind(modes[first], modes[second]), buffer, element, *pair)


def _largest_so_far(values: Ints, group: Ints) -> Ints:
    """The running maximum within each group, for values from -1 on and groups in ascending order.

    Each group is lifted above the ones before, so that the maximum over all starts anew in it.
    """
    lift: Ints = group * (values.max(initial=0) + 2)
    largest: Ints = np.maximum.accumulate(values + lift)
    return largest - lift


def _kind(first: int, second: int) -> Kind:
    if first != READ and second != WRITE:
        return "flow"
    return "anti" if first == READ else "output"


def _reordered_sums(old: Run, places: Ints) -> int:
    """The number of elements whose updates are in another order than before."""
    touches = old.touches()
    updates = touches.modes >= UPDATE
    elements, now = touches.elements[updates], places[touches.instances[updates]]
    back = (np.diff(now) < 0) & (np.diff(elements) == 0)
    return int(np.unique(elements[1:][back]).size)


# --- iterations that must be independent --------------------------------------------------------


def _separate(run: Run) -> Illegal | None:
    run.check_own_buffers()
    return _race(run)


def _race(run: Run) -> Illegal | None:
    """Two iterations of a parallel or vectorized loop that touch the same element."""
    loops = {loop: None for part in run.parts for loop in part.statement.loops}
    for loop in [loop for loop in loops if loop.kind in TOGETHER]:
        lanes: list[Lanes | None] = []
        for part in run.parts:
            around = part.statement.loops
            depth = around.index(loop) if loop in around else 0
            here = Lanes(part.points[:, :depth], part.points[:, depth : depth + 1])
            lanes.append(here if loop in around else None)
        if found := _conflict(run, lanes, run.private_to(loop)):
            first, second, number = found
            pair = (run.iteration(*first), run.iteration(*second))
            return verdicts.race(str(loop.var.name), loop.kind, *run.element(number), pair)
    return None


def _axes(run: Run) -> Illegal | None:
    """Two instances of a block that differ in axes declared spatial, over one element."""
    blocks = {axis.block: None for part in run.parts for axis in part.statement.axes}
    for block in blocks:
        lanes: list[Lanes | None] = []
        spatial: list[str] = []
        for part in run.parts:
            axes = part.statement.axes
            own = [i for i, axis in enumerate(axes) if axis.block == block and not axis.reduces]
            spatial = [str(axes[i].var.name) for i in own] or spatial
            lanes.append(Lanes(part.axes[:, :0], part.axes[:, own]) if own else None)
        if found := _conflict(run, lanes):
            first, second, number = found
            pair = (run.iteration(*first, axes=True), run.iteration(*second, axes=True))
            return verdicts.axis_kind(block, ", ".join(spatial), *run.element(number), pair)
    return None


@dataclass(frozen=True, eq=False)
class Lanes:
    """The round and the lane of each instance of a statement.

    Lanes of one round must be independent.
    """

    rounds: Ints
    lanes: Ints


Touched = tuple[int, int]  # an instance, and what it does


def _conflict(
    run: Run, lanes: Sequence[Lanes | None], private: Collection[str] = ()
) -> tuple[Touched, Touched, int] | None:
    """Two lanes of a round that touch one element, which one of them writes, and that element.

    Buffers that each lane has for itself are left out.
    """
    rounds, own, elements, instances, modes = [], [], [], [], []
    for place, lane in enumerate(lanes):
        if lane is None:
            continue
        for rows, numbers, does in run.touches_of(place, private):
            rounds.append(np.column_stack([lane.rounds[rows], numbers]))
            own.append(lane.lanes[rows])
            elements.append(numbers)
            instances.append(run.places[place][rows])
            modes.append(does)
    if not rounds:
        return None
    group, lane_of = (_numbered(np.concatenate(rows)) for rows in (rounds, own))
    element, instance, mode = map(np.concatenate, (elements, instances, modes))
    lowest, highest = np.full(group.size, group.size), np.full(group.size, -1)
    np.minimum.at(lowest, group, lane_of)
    np.maximum.at(highest, group, lane_of)
    writes = np.nonzero((mode != READ) & (lowest != highest)[group])[0]
    if not writes.size:
        return None
    first = writes[instance[writes].argmin()]
    others = np.nonzero((group == group[first]) & (lane_of != lane_of[first]))[0]
    second = others[instance[others].argmin()]
    pair = sorted((int(instance[t]), int(mode[t])) for t in (first, second))
    return pair[0], pair[1], int(element[first])


def _numbered(rows: Ints) -> Ints:
    """A number for each row, equal for equal rows."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)

"""Merge operators into kernels, and say of each merge what allowed it, of each refusal what lacks.

First with loop and input kernels, then with stitch kernels: readers are merged with what they read,
the last ones first, and then kernels beside each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tqdm import tqdm

from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.fusion.kernel_forms import Kernel, Obstacle, form, sums_rows
from mlc_course.dynamic_shape.fusion.knowledge import Knowledge, Level
from mlc_course.dynamic_shape.fusion.order import Order
from mlc_course.dynamic_shape.ir import Constraint, Module

Side = Literal["reader", "beside"]
TRIED_BESIDE = 4  # kernels with which one is tried, of those that are alike


@dataclass(frozen=True)
class Merge:
    """Two groups of operators that became one; ``facts`` are those that neither needed before."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    side: Side
    facts: tuple[Constraint, ...]


@dataclass(frozen=True)
class Refusal:
    """Two kernels, by number, that are not one, and why.

    With ``missing`` known, they would be; ``Knowledge.is_possible`` says whether that can be.
    """

    first: int
    second: int
    side: Side
    reason: str
    missing: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Kernels in the order in which they run, and how they came to be."""

    module: Module
    level: Level
    kernels: tuple[Kernel, ...]
    merges: tuple[Merge, ...]
    refusals: tuple[Refusal, ...]
    calls: int
    op_by_op: int


def plan(
    module: Module,
    facts: Level = "all",
    *,
    stitch: bool = True,
    fuses: bool = True,
    progress: bool = False,
) -> Plan:
    """Plan the kernels of a program with the facts of a level; see ``Knowledge``.

    Without ``stitch``, only loop and input kernels are made; without ``fuses`` each operator has
    one of its own. Raises ``UsageError`` for another level, and ``Contradiction`` where no sizes
    keep the facts.
    """
    planner = _Planner(module, Knowledge(module, facts), progress=progress)
    return planner.plan(stitch=stitch, fuses=fuses)


class _Planner:
    def __init__(self, module: Module, knowledge: Knowledge, *, progress: bool) -> None:
        self.module, self.knowledge, self.progress = module, knowledge, progress
        self.flow = Flow(module.function)
        self.order = Order(self.flow.readers, self.flow.equations)
        self.group = {value: value for value in self.flow.equations}
        self.kernels: dict[int, Kernel] = {}
        for value in self.flow.equations:
            alone = form(self.flow, [value], knowledge)
            if isinstance(alone, Kernel):
                self.kernels[value] = alone
        self.obstacles: dict[tuple[int, int, int, int, bool], Obstacle] = {}
        self.merges: list[Merge] = []

    def plan(self, *, stitch: bool, fuses: bool) -> Plan:
        rounds = ((False, True) if stitch else (False,)) if fuses else ()
        for with_stitch in rounds:
            while self._merge_readers(stitch=with_stitch) or self._merge_beside(stitch=with_stitch):
                pass
        names = sorted(self.kernels, key=self.order.place.__getitem__)
        number = {name: at for at, name in enumerate(names)}
        return Plan(
            self.module,
            self.knowledge.level,
            tuple(self.kernels[name] for name in names),
            tuple(self.merges),
            tuple(self._refusals(number, stitch=stitch) if fuses else ()),
            calls=sum(self.flow.is_call(value) for value in self.flow.equations),
            op_by_op=self.flow.kernels_op_by_op,
        )

    def _merge_readers(self, *, stitch: bool) -> bool:
        """Merge each operator with its readers, the nearest first."""
        has_merged = False
        values = tqdm(
            reversed(self.flow.equations),
            total=len(self.flow.equations),
            unit="operator",
            leave=False,
            delay=1,
            disable=not self.progress,
        )
        for value in values:
            readers = {self.group[each] for each in self.flow.readers[value]}
            for name in sorted(readers, key=self.order.place.__getitem__):
                one, other = self.group[value], self.group[name]
                if one != other:
                    has_merged |= self._merge(one, other, "reader", stitch=stitch)
        return has_merged

    def _merge_beside(self, *, stitch: bool) -> bool:
        """Merge kernels that do not wait for each other: of one size first, then of one form.

        Those for which equally many kernels wait come together, so that of two chains the first
        kernels are merged, then the second ones.
        """
        has_merged = False
        for alike in (self._size, self._form):
            depths = self.order.depths()
            names = sorted(self.kernels, key=lambda each: (depths[each], self.order.place[each]))
            buckets: defaultdict[Hashable, list[int]] = defaultdict(list)
            for name in names:
                buckets[alike(self.kernels[name])].append(name)
            for bucket in buckets.values():
                has_merged |= self._merge_bucket(bucket, stitch=stitch)
        return has_merged

    def _merge_bucket(self, names: Sequence[int], *, stitch: bool) -> bool:
        """Merge each kernel with one of the last few before it."""
        kept: list[int] = []
        for name in names:
            for other in kept[-TRIED_BESIDE:]:
                if self._merge(other, name, "beside", stitch=stitch):
                    kept[kept.index(other)] = self.group[other]
                    break
            else:
                kept.append(name)
        return len(kept) < len(names)

    def _size(self, kernel: Kernel) -> Hashable:
        key, sizes = self.knowledge.key, self.knowledge.sizes
        if kernel.form == "loop":
            return "loop", key(sizes[(kernel.outputs or kernel.values)[0]])
        are_rows = sums_rows(self.flow, kernel, self.knowledge)
        return kernel.form, are_rows, key(kernel.rows), key(kernel.columns)

    def _form(self, kernel: Kernel) -> Hashable:
        return kernel.form, sums_rows(self.flow, kernel, self.knowledge)

    def _joined(self, one: int, other: int, *, stitch: bool) -> Kernel | Obstacle:
        """Return what two groups are together; an obstacle stays as long as both do."""
        if one not in self.kernels or other not in self.kernels:
            return Obstacle("a matrix product is a call of a library")
        ours, theirs = self.kernels[one], self.kernels[other]
        at = (one, len(ours.values), other, len(theirs.values), stitch)
        if at in self.obstacles:
            return self.obstacles[at]
        found = form(self.flow, (*ours.values, *theirs.values), self.knowledge, stitch=stitch)
        if isinstance(found, Obstacle):
            self.obstacles[at] = found
        return found

    def _merge(self, one: int, other: int, side: Side, *, stitch: bool) -> bool:
        if self.order.is_between(one, other):
            return False
        found = self._joined(one, other, stitch=stitch)
        if isinstance(found, Obstacle):
            return False
        ours, theirs = self.kernels[one], self.kernels[other]
        small, large = sorted((one, other), key=lambda each: len(self.kernels[each].values))
        self.order.merge(large, small)
        known = {*ours.facts, *theirs.facts}
        new = tuple(fact for fact in found.facts if fact not in known)
        self.merges.append(Merge(ours.values, theirs.values, side, new))
        for value in self.kernels.pop(small).values:
            self.group[value] = large
        self.kernels[large] = found
        return True

    def _refusals(self, number: dict[int, int], *, stitch: bool) -> Iterator[Refusal]:
        """Yield why kernels that read each other, or follow each other, are not one."""
        names: Sequence[int] = list(number)
        pairs: dict[tuple[int, int], Side] = {
            (name, later): "reader"
            for name in names
            for later in sorted(self.order.after[name], key=self.order.place.__getitem__)
            if later in number
        }
        for name, later in zip(names, names[1:], strict=False):
            if self.kernels[name].form == self.kernels[later].form:
                pairs.setdefault((name, later), "beside")
        for (name, later), side in pairs.items():
            if self.order.is_between(name, later):
                found: Kernel | Obstacle = Obstacle("another kernel or call runs between them")
            else:
                found = self._joined(name, later, stitch=stitch)
            if isinstance(found, Kernel):
                found = Obstacle("they fit one kernel, but were not tried together")
            yield Refusal(number[name], number[later], side, found.reason, found.missing)

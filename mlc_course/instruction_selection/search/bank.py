"""A bank of values, told apart by their bytes on all tests.

A value is what a program on one cell computes: its bytes on every test. Two programs with equal
bytes are one value, and the one with fewest instructions, the lightest of them, stands for both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.instruction_selection.integers import compiled
from mlc_course.instruction_selection.isa import CellOp, Equation, Instruction

Bytes: TypeAlias = "npt.NDArray[np.uint8]"  # rows of values, each with its bytes on all tests
Words: TypeAlias = "npt.NDArray[np.uint64]"
Numbers: TypeAlias = "npt.NDArray[np.int64]"

TEST_STEP = 8  # the number of tests is a multiple, so that the bytes of a value are whole words
_CHUNK = 1 << 15  # candidates computed together; their bytes fit in a second-level cache
_FILTER_BITS = (20, 26)  # of the table that says which fingerprints are surely new
_MOST_OPERANDS = 3
_MIX = np.random.default_rng(7).integers(1, 2**63, 4096, dtype=np.uint64) | np.uint64(1)


class Shape(NamedTuple):
    """Values of the same size: bytes in one cell, and bits of a lane."""

    bytes: int
    bits: int


class Place(NamedTuple):
    """Where the bank keeps a value."""

    shape: Shape
    row: int


class Span(NamedTuple):
    """Rows of one shape that programs of the same number of instructions make."""

    shape: Shape
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first


@dataclass(frozen=True)
class Plan:
    """One instruction on all combinations of rows of its operands' spans."""

    instruction: Instruction
    spans: tuple[Span, ...]
    lanes: int
    halved: bool  # both operands are from one span, and the instruction commutes

    @property
    def shape(self) -> Shape:
        return Shape(self.lanes * self.instruction.result.bytes, self.instruction.result.bits)

    @property
    def size(self) -> int:
        return prod(span.size for span in self.spans) // (2 if self.halved else 1)


@dataclass
class Group:
    """All values of one shape, with fewest instructions first."""

    raw: Bytes
    made_by: Numbers  # number of the plan, or -1 - number of a leaf
    operands: Numbers  # rows of the operands
    weights: Numbers
    levels: dict[int, tuple[int, int]] = field(default_factory=dict)


class _Pending(NamedTuple):
    """New values of one plan, or one leaf, before they are known."""

    made_by: int
    raw: Bytes
    operands: Numbers
    weights: Numbers
    hashes: Words


class Batch(NamedTuple):
    """Candidates computed together: their bytes, and the rows that each operand runs over."""

    raw: Bytes
    ranges: tuple[Numbers, ...]

    def rows(self, numbers: Numbers) -> list[Numbers]:
        """Return the rows of each operand of some of the candidates."""
        sizes = tuple(map(len, self.ranges))
        return [r[at] for r, at in zip(self.ranges, np.unravel_index(numbers, sizes), strict=True)]


class Bank:
    """Values on ``tests`` tests.

    In a cell of several lanes, instructions on lanes of less than ``reread_to`` bits read any value
    as lanes of their width; otherwise each reads only values made as lanes of its width.
    """

    def __init__(self, tests: int, *, reread_to: int | None, unit: int) -> None:
        self.tests, self.reread_to, self.unit = tests, reread_to or 0, unit
        self.groups: dict[Shape, Group] = {}
        self.leaves: list[Equation] = []
        self.plans: list[Plan] = []
        self.kept = 0
        self._shapes: list[Shape] = []
        self._filter = np.zeros(1 << _FILTER_BITS[0], np.bool_)
        self._known: Words = np.zeros(0, np.uint64)
        self._places: Numbers = np.zeros(0, np.int64)
        self._pending: list[_Pending] = []

    # --- values that are there --------------------------------------------------------------------

    def equations(self, place: Place, into: list[Equation]) -> int:
        """Append the program of a value to a list of equations, and return its number there."""
        group = self.groups[place.shape]
        made_by = int(group.made_by[place.row])
        if made_by < 0:
            into.append(self.leaves[-1 - made_by])
            return len(into) - 1
        plan = self.plans[made_by]
        rows = group.operands[place.row]
        return self.applied(plan, [int(x) for x in rows[: len(plan.spans)]], into)

    def applied(self, plan: Plan, rows: Sequence[int], into: list[Equation]) -> int:
        """Append a plan's instruction on these rows, with the programs of its operands."""
        operands = [
            self.equations(Place(span.shape, row), into)
            for span, row in zip(plan.spans, rows, strict=True)
        ]
        into.append(
            Equation(plan.instruction, tuple(operands), plan.instruction.result, plan.lanes)
        )
        return len(into) - 1

    def weights(self, plan: Plan, rows: Sequence[Numbers]) -> Numbers:
        """Return the instructions on registers of candidates, with those of their operands."""
        found = np.full(len(rows[0]), self.own_weight(plan), np.int64)
        for span, chosen in zip(plan.spans, rows, strict=True):
            found += self.groups[span.shape].weights[chosen]
        return found

    def least_weight(self, plan: Plan) -> int:
        """Return a weight that no candidate of a plan is below."""
        below = sum(
            int(self.groups[span.shape].weights[span.first : span.last].min())
            for span in plan.spans
        )
        return below + self.own_weight(plan)

    def own_weight(self, plan: Plan) -> int:
        """Return the instructions on registers that a plan's own instruction takes."""
        registers = max(1, plan.shape.bytes // self.unit)
        return plan.instruction.weight * registers

    # --- adding values ----------------------------------------------------------------------------

    def add_leaf(self, op: CellOp, like: Equation, lanes: npt.NDArray[np.generic]) -> None:
        """Add an input or a constant; ``lanes`` has one row a test and one column a lane."""
        typed = np.ascontiguousarray(lanes.astype(like.type.numpy))
        self.leaves.append(Equation(op, (), like.type, like.lanes))
        raw = typed.view(np.uint8).reshape(1, -1)
        self._pending.append(
            _Pending(
                -len(self.leaves),
                raw,
                np.zeros((1, _MOST_OPERANDS), np.int64),
                np.zeros(1, np.int64),
                self.fingerprints(raw, Shape(like.bytes, like.type.bits)),
            )
        )

    def keep(self, plan: Plan, batch: Batch) -> None:
        """Keep the values of a batch that are not known yet; ``seal`` makes them known."""
        hashes = self.fingerprints(batch.raw, plan.shape)
        unknown = np.flatnonzero(~self.knows(hashes))
        if not len(unknown):
            return
        rows = unknown[_lightest(hashes[unknown], self.weights(plan, batch.rows(unknown)))]
        if not self.plans or self.plans[-1] is not plan:
            self.plans.append(plan)
        operands = np.zeros((len(rows), _MOST_OPERANDS), np.int64)
        chosen = batch.rows(rows)
        operands[:, : len(chosen)] = np.stack(chosen, 1)
        weights = self.weights(plan, chosen)
        number = len(self.plans) - 1
        self._pending.append(_Pending(number, batch.raw[rows], operands, weights, hashes[rows]))

    def seal(self, instructions: int) -> None:
        """Make what was kept known: the values of programs of so many instructions."""
        if not self._pending:
            return
        hashes = np.concatenate([each.hashes for each in self._pending])
        sizes = [len(each.hashes) for each in self._pending]
        source = np.repeat(np.arange(len(sizes)), sizes)
        row = np.concatenate([np.arange(size) for size in sizes])
        first = _lightest(hashes, np.concatenate([each.weights for each in self._pending]))
        hashes, source, row = hashes[first], source[first], row[first]
        places = np.zeros(len(hashes), np.int64)
        by_shape: dict[Shape, list[int]] = {}
        for number, each in enumerate(self._pending):
            by_shape.setdefault(self._shape_made_by(each.made_by), []).append(number)
        order = np.argsort(source, kind="stable")
        ends = np.searchsorted(source[order], np.arange(len(self._pending) + 1))
        for shape, members in by_shape.items():
            chosen = [(number, order[ends[number] : ends[number + 1]]) for number in members]
            mine = np.concatenate([at for _, at in chosen])
            if not len(mine):
                continue
            parts = [(self._pending[number], at) for number, at in chosen]
            made_by = np.repeat([each.made_by for each, _ in parts], [len(at) for _, at in parts])
            raw = np.concatenate([each.raw[row[at]] for each, at in parts])
            operands = np.concatenate([each.operands[row[at]] for each, at in parts])
            weights = np.concatenate([each.weights[row[at]] for each, at in parts])
            start = self._extend(shape, instructions, raw, made_by, operands, weights)
            places[mine] = (self._shapes.index(shape) << 40) + start + np.arange(len(mine))
        self._pending.clear()
        order = np.argsort(np.concatenate([self._known, hashes]), kind="stable")
        self._known = np.concatenate([self._known, hashes])[order]
        self._places = np.concatenate([self._places, places])[order]
        self._mark_known()
        self.kept += len(hashes)

    def _mark_known(self) -> None:
        """Make the table of fingerprints large enough that most new ones are seen to be new."""
        bits = min(max(_FILTER_BITS[0], (16 * len(self._known)).bit_length()), _FILTER_BITS[1])
        self._filter = np.zeros(1 << bits, np.bool_)
        self._filter[self._known >> np.uint64(64 - bits)] = True

    def _shape_made_by(self, made_by: int) -> Shape:
        return self._leaf_shape(-1 - made_by) if made_by < 0 else self.plans[made_by].shape

    def _leaf_shape(self, number: int) -> Shape:
        leaf = self.leaves[number]
        return Shape(leaf.bytes, leaf.type.bits)

    def _extend(
        self,
        shape: Shape,
        instructions: int,
        raw: Bytes,
        made_by: Numbers,
        operands: Numbers,
        weights: Numbers,
    ) -> int:
        group = self.groups.get(shape)
        if group is None:
            group = self.groups[shape] = Group(raw, made_by, operands, weights)
            self._shapes.append(shape)
            group.levels[instructions] = (0, len(raw))
            return 0
        start = len(group.raw)
        first, _ = group.levels.get(instructions, (start, start))
        group.levels[instructions] = (first, start + len(raw))
        group.raw = np.concatenate([group.raw, raw])
        group.made_by = np.concatenate([group.made_by, made_by])
        group.operands = np.concatenate([group.operands, operands])
        group.weights = np.concatenate([group.weights, weights])
        return start

    # --- finding values ---------------------------------------------------------------------------

    def fingerprints(self, raw: Bytes, shape: Shape) -> Words:
        """Return 64 bits for each row; they depend on the shape where widths are not mixed."""
        words = raw.view(np.uint64)
        mixed = shape.bits < self.reread_to
        salt = 1 if mixed else shape.bytes * 64 + shape.bits
        found = np.full(len(words), salt, np.uint64)
        for at in range(words.shape[1]):
            found = (found ^ words[:, at]) * _MIX[at]
            found ^= found >> np.uint64(29)
        return found

    def knows(self, hashes: Words) -> npt.NDArray[np.bool_]:
        """Return which fingerprints are those of values that were made known."""
        bits = len(self._filter).bit_length() - 1
        known: npt.NDArray[np.bool_] = self._filter[hashes >> np.uint64(64 - bits)]
        if len(self._known):
            maybe = np.flatnonzero(known)
            at = np.searchsorted(self._known, hashes[maybe])
            known[maybe] = self._known[np.minimum(at, len(self._known) - 1)] == hashes[maybe]
        return known

    def places_of(self, hashes: Words) -> list[tuple[int, Place]]:
        """Return (number in ``hashes``, place) of those that are known."""
        found = np.flatnonzero(self.knows(hashes))
        at = np.searchsorted(self._known, hashes[found])
        return [
            (int(number), Place(self._shapes[place >> 40], place & ((1 << 40) - 1)))
            for number, place in zip(found, self._places[at].tolist(), strict=True)
        ]

    # --- computing candidates ---------------------------------------------------------------------

    def plans_for(self, rows: Sequence[Instruction], instructions: int) -> Iterator[Plan]:
        """Yield what to compute to have all programs of so many instructions, given the smaller."""
        for row in rows:
            shapes = [
                [s for s in self.groups if s.bytes % r.bytes == 0 and self._reads(s, r.type.bits)]
                for r in row.reads
            ]
            for chosen in product(*shapes):
                if row.commutes and chosen[0] > chosen[1]:
                    continue
                counts = {s.bytes // r.bytes for s, r in zip(chosen, row.reads, strict=True)}
                if len(counts) != 1:
                    continue
                lanes = counts.pop() * (2 if row.kind == "interleave" else 1)
                for parts in _partitions(instructions - 1, len(chosen)):
                    spans = [
                        Span(s, *self.groups[s].levels.get(part, (0, 0)))
                        for s, part in zip(chosen, parts, strict=True)
                    ]
                    twins = row.commutes and chosen[0] == chosen[1]
                    if any(not span.size for span in spans) or (twins and parts[0] > parts[1]):
                        continue
                    yield Plan(row, tuple(spans), lanes, twins and parts[0] == parts[1])

    def _reads(self, shape: Shape, bits: int) -> bool:
        return shape.bits == bits or (bits < self.reread_to and shape.bits < self.reread_to)

    def batches(self, plan: Plan, tests: int | None = None) -> Iterator[Batch]:
        """Yield all candidates of a plan in turn, computed on the first ``tests`` tests."""
        tests = tests or self.tests
        sizes = [span.size for span in plan.spans]
        steps = _steps(sizes, _CHUNK * 16 // max(1, tests))
        for starts in product(
            *(range(0, size, step) for size, step in zip(sizes, steps, strict=True))
        ):
            ends = [min(a + k, n) for a, k, n in zip(starts, steps, sizes, strict=True)]
            if plan.halved and ends[1] <= starts[0]:
                continue
            ranges = [
                np.arange(span.first + a, span.first + b)
                for span, a, b in zip(plan.spans, starts, ends, strict=True)
            ]
            yield self.computed(plan, ranges, tests)

    def computed(self, plan: Plan, ranges: Sequence[Numbers], tests: int) -> Batch:
        """Return all combinations of these ranges of rows, computed on the first tests."""
        count = len(ranges)
        shaped = []
        for at, (span, chosen) in enumerate(zip(plan.spans, ranges, strict=True)):
            raw = self.groups[span.shape].raw[
                chosen[0] : chosen[-1] + 1, : tests * span.shape.bytes
            ]
            shaped.append(raw.reshape(*(len(chosen) if at == i else 1 for i in range(count)), -1))
        return Batch(_applied(plan, shaped, tests * plan.lanes), tuple(ranges))

    def computed_together(self, plan: Plan, rows: Sequence[Numbers]) -> Bytes:
        """Return the bytes of the candidates of which ``rows`` lists each operand's rows."""
        operands = [
            self.groups[span.shape].raw[chosen]
            for span, chosen in zip(plan.spans, rows, strict=True)
        ]
        return _applied(plan, operands, self.tests * plan.lanes)


def _applied(plan: Plan, operands: Sequence[Bytes], lanes: int) -> Bytes:
    """Return an instruction's results on operands whose last axis is bytes; others broadcast."""
    row = plan.instruction
    typed: list[npt.NDArray[np.generic]] = []
    for raw, read in zip(operands, row.reads, strict=True):
        numbers = np.ascontiguousarray(raw).view(read.type.numpy)
        if read.lanes == 1:
            typed.append(numbers)
        else:
            grouped = numbers.reshape(*numbers.shape[:-1], -1, read.lanes)
            typed += [grouped[..., i] for i in range(read.lanes)]
    outer = np.broadcast_shapes(*(raw.shape[:-1] for raw in operands))
    if row.kind == "interleave":
        result = np.stack(np.broadcast_arrays(*typed), -1).reshape(*outer, -1)
    else:
        inputs = tuple(x for part in row.variables for x in part)
        (result,) = compiled((row.formula,), inputs)(*typed)
    wide = np.broadcast_to(result.astype(row.result.numpy, copy=False), (*outer, lanes))
    return np.ascontiguousarray(wide).view(np.uint8).reshape(prod(outer), -1)


def _lightest(hashes: Words, weights: Numbers) -> Numbers:
    """Return where each fingerprint is, with the least of its weights, in the order of them."""
    order = np.argsort(weights, kind="stable")
    _, first = np.unique(hashes[order], return_index=True)
    found: Numbers = order[first]
    return found


def _steps(sizes: Sequence[int], most: int) -> list[int]:
    """Return how many rows of each operand to take at once, so that there are ``most`` together."""
    steps = list(sizes)
    for at in range(len(steps)):
        rest = prod(steps[at + 1 :])
        steps[at] = max(1, min(sizes[at], most // rest))
    return steps


def _partitions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to write a number as a sum of so many numbers from 0 on."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _partitions(total - first, parts - 1):
            yield (first, *rest)

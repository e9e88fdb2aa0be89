"""Which operators fit one kernel, and what must be known of their sizes for that.

BladeDISC (``fusion_utils.h``) has three forms. A *loop* kernel visits each element once. An *input*
kernel has reductions at its end. A *stitch* kernel works row by row, so that later operators read
what a reduction has found for the same row. A value that no reduction has a part in can be computed
again wherever it is read, so it is only its stores that ask for facts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.fusion.knowledge import Knowledge
from mlc_course.dynamic_shape.ir import Constraint, Dim, Equation
from mlc_course.dynamic_shape.solve import equal_products, products_apart

Form = Literal["loop", "input", "stitch"]
Dims = tuple[Dim, ...]
LARGEST_KERNEL = 256  # operators; a compiler takes longer than a kernel can save


@dataclass(frozen=True)
class Kernel:
    """Operators that run as one kernel, by the numbers of their values.

    ``rows`` and ``columns`` are those of its reductions' operands; a column reduction has
    ``columns`` to keep and ``rows`` to reduce. ``facts`` are what its stores and rows rest on.
    """

    form: Form
    values: tuple[int, ...]
    outputs: tuple[int, ...]
    rows: Dims = ()
    columns: Dims = ()
    facts: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class Obstacle:
    """Why operators do not fit one kernel: they never do, or would if ``missing`` were known."""

    reason: str
    missing: tuple[Constraint, ...] = ()


@dataclass
class _Claims:
    """Claims that a kernel needs: those that are known, and those that are not."""

    knowledge: Knowledge
    used: dict[Constraint, None] = field(default_factory=dict)
    missing: dict[Constraint, None] = field(default_factory=dict)

    def need(self, left: Dims, right: Dims) -> None:
        """Note that two products must be equal, unless they are the same."""
        if left != right and any(products_apart(left, right)):
            are_equal = self.knowledge.are_equal(left, right)
            (self.used if are_equal else self.missing)[equal_products(left, right)] = None


def form(
    flow: Flow, values: Iterable[int], knowledge: Knowledge, *, stitch: bool = True
) -> Kernel | Obstacle:
    """Return the kernel of some operators, or why they do not fit one.

    Without ``stitch``, nothing in a kernel reads what is reduced in it.
    """
    group = sorted(values)
    inside = set(group)
    if any(flow.is_call(value) for value in group):
        return Obstacle("a matrix product is a call of a library")
    if len(group) > LARGEST_KERNEL:
        return Obstacle(f"a kernel has at most {LARGEST_KERNEL} operators")
    for value in group:
        if flow.equations[value].op.name == "gather" and inside & {o for o, _ in flow.reads[value]}:
            return Obstacle("a gather reads rows that data names, so they are in memory before")
    outputs = [
        value
        for value in group
        if value in flow.returned or not inside.issuperset(flow.readers[value])
    ]
    reductions = [value for value in group if flow.equations[value].op.kind == "reduction"]
    claims = _Claims(knowledge)
    if not reductions:
        first, *others = (knowledge.sizes[value] for value in outputs or group[-1:])
        for dims in others:
            claims.need(first, dims)
        return _result(claims, "loop", group, outputs)
    reduced = _reduced(flow, group, inside)
    late = [value for value in reduced if any(who in reduced for who, _ in flow.reads[value])]
    if late and not stitch:
        return Obstacle("what is reduced is read in the same kernel")
    parts = [_parts(flow.equations[value], knowledge) for value in reductions]
    if len({part.is_row for part in parts}) > 1:
        return Obstacle("rows are reduced, and columns")
    if not parts[0].is_row:
        if late:
            return Obstacle("what is reduced over columns is read in the same kernel")
        return _columns(flow, group, outputs, reductions, parts, claims)
    return _rows(flow, group, outputs, reduced, parts, claims, is_late=bool(late), stitch=stitch)


def _result(
    claims: _Claims,
    form: Form,
    group: Sequence[int],
    outputs: Sequence[int],
    rows: Dims = (),
    columns: Dims = (),
) -> Kernel | Obstacle:
    if claims.missing:
        return Obstacle("not all sizes are known to agree", tuple(claims.missing))
    return Kernel(form, tuple(group), tuple(outputs), rows, columns, tuple(claims.used))


def _reduced(flow: Flow, group: Sequence[int], inside: set[int]) -> set[int]:
    """The values in which a reduction of the group has a part."""
    found: set[int] = set()
    for value in group:
        if flow.equations[value].op.kind == "reduction" or any(
            who in found for who, _ in flow.reads[value] if who in inside
        ):
            found.add(value)
    return found


@dataclass(frozen=True)
class _Parts:
    """A reduction's operand, seen as a matrix."""

    rows: Dims
    columns: Dims
    is_row: bool


def _parts(equation: Equation, knowledge: Knowledge) -> _Parts:
    dims = knowledge.sizes[equation.operands[0]]
    given: dict[str, Any] = dict(equation.attributes)
    axes = sorted(given["axes"])
    is_row = axes == list(range(len(dims) - len(axes), len(dims)))
    reduced = tuple(dims[axis] for axis in axes)
    kept = tuple(dim for axis, dim in enumerate(dims) if axis not in axes)
    return _Parts(kept, reduced, True) if is_row else _Parts(reduced, kept, False)


def sums_rows(flow: Flow, kernel: Kernel, knowledge: Knowledge) -> bool:
    """Tell whether the reductions of a kernel, if any, are over the last axes."""
    equations = (flow.equations[value] for value in kernel.values)
    first = next((each for each in equations if each.op.kind == "reduction"), None)
    return first is not None and _parts(first, knowledge).is_row


def _rows(
    flow: Flow,
    group: Sequence[int],
    outputs: Sequence[int],
    reduced: set[int],
    parts: Sequence[_Parts],
    claims: _Claims,
    *,
    is_late: bool,
    stitch: bool,
) -> Kernel | Obstacle:
    """Sums over the last axes: an input kernel if all are alike, and a stitch kernel otherwise."""
    knowledge = claims.knowledge
    rows, columns = parts[0].rows, parts[0].columns
    stored = [knowledge.sizes[value] for value in outputs if value not in reduced]
    is_input = not is_late
    for ours, theirs in (
        *((columns, part.columns) for part in parts[1:]),
        *(((*rows, *columns), dims) for dims in stored),
    ):
        if stitch:
            is_input &= knowledge.are_equal(ours, theirs)
        else:
            claims.need(ours, theirs)
    for part in parts[1:]:
        claims.need(rows, part.rows)
    sizes = knowledge.sizes
    sums = {sizes[value] for value in group if flow.equations[value].op.kind == "reduction"}
    aligned = _Rows(rows, columns, sums, claims)
    for dims in stored if stitch else ():
        aligned.of(dims)
    for value in group:
        for who, operand in flow.reads[value] if value in reduced else ():
            if who in reduced:
                aligned.of(sizes[value])
                aligned.of_reshaped(sizes[operand], sizes[who])
                if not aligned.are_kept(flow.equations[value], sizes[operand], sizes[value]):
                    name = flow.function.name_of(value)
                    return Obstacle(f"{name} reads other rows of what is reduced")
    return _result(claims, "input" if is_input else "stitch", group, outputs, rows, columns)


def _columns(
    flow: Flow,
    group: Sequence[int],
    outputs: Sequence[int],
    reductions: Sequence[int],
    parts: Sequence[_Parts],
    claims: _Claims,
) -> Kernel | Obstacle:
    """Sums over other axes than the last ones: all of equal sizes, and all over the same axes."""
    first = flow.equations[reductions[0]]
    sizes = claims.knowledge.sizes
    for value in reductions[1:]:
        equation = flow.equations[value]
        ours, theirs = sizes[first.operands[0]], sizes[equation.operands[0]]
        if equation.attributes != first.attributes or len(ours) != len(theirs):
            return Obstacle("other axes are reduced")
        for one, other in zip(ours, theirs, strict=True):
            claims.need((one,), (other,))
    for value in outputs:
        if value not in reductions:
            claims.need(sizes[first.operands[0]], sizes[value])
    return _result(claims, "input", group, outputs, parts[0].rows, parts[0].columns)


class _Rows:
    """Divides tensors into the rows of a kernel; its sums have one element for each."""

    def __init__(self, rows: Dims, columns: Dims, sums: set[Dims], claims: _Claims) -> None:
        self.rows, self.columns, self.sums, self.claims = rows, columns, sums, claims
        self.found: dict[Dims, list[int]] = {}
        self.kept: dict[Hashable, bool] = {}

    def of(self, dims: Dims, meant: int | None = None) -> list[int]:
        """Return how many axes count rows: each number that fits; none for a flat division.

        Notes what must be known; where nothing is, asks for what is meant, or most likely is.
        """
        if dims not in self.found:
            self.found[dims] = self._of(dims, meant)
        return self.found[dims]

    def _of(self, dims: Dims, meant: int | None) -> list[int]:
        known = self.claims.knowledge
        fitting = [
            at
            for at in range(len(dims) + 1)
            if dims[:at] in self.sums or known.are_equal(dims[:at], self.rows)
        ]
        if fitting:
            self._need(dims[: fitting[0]])
            return fitting
        whole = (*self.rows, *self.columns)
        if known.are_equal(dims, whole):
            self.claims.need(dims, whole)
            return []
        at = self._likely(dims) if meant is None else meant
        self._need(dims[:at])
        return [at]

    def _need(self, counting: Dims) -> None:
        """Note that axes count rows; those of a sum do, whether or not that is known."""
        if counting not in self.sums or self.claims.knowledge.are_equal(counting, self.rows):
            self.claims.need(counting, self.rows)

    def _likely(self, dims: Dims) -> int:
        width = len(self.columns)
        if dims[len(dims) - width :] == self.columns or len(dims) > width:
            return len(dims) - width
        return min(len(self.rows), len(dims))

    def of_reshaped(self, dims: Dims, before: Dims) -> list[int]:
        """Return how many axes count rows; all do if all did before."""
        return self.of(dims, len(dims) if len(before) in self.of(before) else None)

    def are_kept(self, equation: Equation, operand: Dims, result: Dims) -> bool:
        """Tell whether each row of a result needs no other row of an operand.

        Axes that count rows must be the same in both, and in the same order; one of size 1 counts
        nothing. An axis of equal size along which an operand is cut or joined is the whole of it.
        """
        if equation.op.kind == "elementwise":
            return True
        at = (equation.op.name, equation.attributes, operand, result)
        if at not in self.kept:
            self.kept[at] = self._are_kept(equation, operand, result)
        return self.kept[at]

    def _are_kept(self, equation: Equation, operand: Dims, result: Dims) -> bool:
        sources = _sources(equation, operand, result)
        for ones_are_known in (False, True):
            for theirs in self.of(operand):
                for ours in self.of(result):
                    counting = self._counting(operand[:theirs], knows=ones_are_known)
                    own = self._counting(result[:ours], knows=ones_are_known)
                    if counting == [sources[axis] for axis in own]:
                        self._note(operand[:theirs], result[:ours], knows=ones_are_known)
                        return True
        return False

    def _counting(self, dims: Dims, *, knows: bool) -> list[int]:
        """Return the axes that are not of size 1, as it is written or as it is known."""
        one = self.claims.knowledge.key(())
        return [
            axis
            for axis, dim in enumerate(dims)
            if dim != 1 and not (knows and self.claims.knowledge.key((dim,)) == one)
        ]

    def _note(self, theirs: Dims, ours: Dims, *, knows: bool) -> None:
        """Note what two divisions rest on."""
        for dims in (theirs, ours):
            self._need(dims)
            for axis in self._counting(dims, knows=False) if knows else ():
                if axis not in self._counting(dims, knows=True):
                    self.claims.need((dims[axis],), (1,))


def _sources(equation: Equation, operand: Dims, result: Dims) -> list[int | None]:
    """Return the operand's axis that each axis of a result is, or None where it is none."""
    given: dict[str, Any] = dict(equation.attributes)
    match equation.op.name, equation.op.kind:
        case "broadcast", _:
            source = {axis: at for at, axis in enumerate(given["dims"])}
            return [source.get(axis) for axis in range(len(result))]
        case _, "reduction":
            return [axis for axis in range(len(operand)) if axis not in given["axes"]]
        case "transpose", _:
            return list(given["perm"])
        case "slice" | "split" | "pad" | "concat", _:
            return list(range(len(result)))
    return [None] * len(result)

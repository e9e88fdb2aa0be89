"""Which operators fit one kernel, and what must be known of their sizes for that.

BladeDISC (``fusion_utils.h``) has three forms. A *loop* kernel visits each element once. An *input*
kernel has reductions at its end. A *stitch* kernel works row by row, so that later operators read
what a reduction has found for the same row. A value that no reduction has a part in can be computed
again wherever it is read, so it is only its stores that ask for facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.fusion.knowledge import Knowledge
from mlc_course.dynamic_shape.ir import Constraint, Dim, Equation
from mlc_course.dynamic_shape.solve import equal_products

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
        """Note that two products must be equal."""
        if left != right:
            claim = equal_products(left, right)
            are_equal = self.knowledge.are_equal(left, right)
            if not are_equal or sorted(map(str, left)) != sorted(map(str, right)):
                (self.used if are_equal else self.missing)[claim] = None


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
    aligned = _Rows(rows, columns, claims)
    for dims in stored if stitch else ():
        aligned.of(dims)
    for value in group:
        if value not in reduced:
            continue
        equation = flow.equations[value]
        is_reduction = equation.op.kind == "reduction"
        own = [len(rows)] if is_reduction else aligned.of(knowledge.sizes[value])
        for who, operand in flow.reads[value]:
            if who in reduced:
                dims = knowledge.sizes[operand]
                if not _keeps_rows(equation, dims, aligned.of(dims), own):
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
    """Divides tensors into the rows of a kernel."""

    def __init__(self, rows: Dims, columns: Dims, claims: _Claims) -> None:
        self.rows, self.columns, self.claims = rows, columns, claims
        self.found: dict[Dims, list[int]] = {}

    def of(self, dims: Dims) -> list[int]:
        """Return how many axes count rows: each number that fits; none for a flat division.

        Notes what must be known; where nothing is, asks for what is most likely meant.
        """
        if dims not in self.found:
            self.found[dims] = self._of(dims)
        return self.found[dims]

    def _of(self, dims: Dims) -> list[int]:
        known = self.claims.knowledge
        fitting = [at for at in range(len(dims) + 1) if known.are_equal(dims[:at], self.rows)]
        if fitting:
            self.claims.need(dims[: fitting[0]], self.rows)
            return fitting
        whole = (*self.rows, *self.columns)
        if known.are_equal(dims, whole):
            self.claims.need(dims, whole)
            return []
        at = self._meant(dims)
        self.claims.need(dims[:at], self.rows)
        return [at]

    def _meant(self, dims: Dims) -> int:
        width = len(self.columns)
        if dims[len(dims) - width :] == self.columns or len(dims) > width:
            return len(dims) - width
        return min(len(self.rows), len(dims))


def _keeps_rows(equation: Equation, dims: Dims, theirs: Sequence[int], ours: Sequence[int]) -> bool:
    """Tell whether each row of a result needs no other row of an operand with these sizes.

    ``theirs`` and ``ours`` are the numbers of axes that may count rows, of operand and result.
    """
    given: dict[str, Any] = dict(equation.attributes)
    common = [at for at in theirs if at in ours]
    match equation.op.name, equation.op.kind:
        case _, "elementwise":
            return True
        case "broadcast", _:
            return any(_stay(given["dims"], at) and 1 not in dims[:at] for at in common)
        case _, "reduction":
            return any(at <= min(given["axes"], default=at) for at in common)
        case "transpose", _:
            return any(_stay(given["perm"], at) for at in common)
        case "slice" | "split" | "pad" | "concat", _:
            return any(at <= given["axis"] for at in common)
    return False


def _stay(axes: Sequence[int], count: int) -> bool:
    """Tell whether the first axes stay where they are."""
    return tuple(axes[:count]) == tuple(range(count))

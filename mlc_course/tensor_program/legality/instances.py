"""The statement instances of a small program: what each iteration reads and writes, and when.

A *statement* is one store with the loads of its value; an *instance* is one execution of it.
Two instances, of one program or of two, are the same when they write the same element, read the
same ones, and do the same arithmetic: loops and blocks may have other names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality.statements import (
    Statement,
    check_buffers_are_shared,
    check_kinds,
    slots,
    statements,
    update_family,
)
from mlc_course.tensor_program.tir import (
    LIMITS,
    MEANINGS,
    Call,
    Expr,
    Fact,
    StringImm,
    TensorLoad,
    TensorProgram,
    Touch,
    Var,
    kind_of,
    operands,
    tirx,
    walk,
)


def evaluate(expr: Expr, at: Mapping[Var, Any], values: Mapping[Var, Expr]) -> Any:
    """The values of an integer expression in many iterations at once.

    ``at`` holds the loops' values, ``values`` the expressions of the other variables. Raises
    ``UsageError`` where it depends on data.
    """
    match expr:
        case tirx.IntImm():
            return np.int64(int(expr.value))
        case tirx.Let():
            return evaluate(expr.body, at, {**values, expr.var: expr.value})
        case tirx.Var() if expr in at:
            return at[expr]
        case tirx.Var() if expr in values:
            return evaluate(values[expr], at, values)
    if kind_of(expr) not in MEANINGS:
        raise UsageError(
            "an index, a condition or a variable depends on data",
            expected="indices and conditions made of loop variables and constants",
            got=expr,
        )
    found = MEANINGS[kind_of(expr)].values(*(evaluate(x, at, values) for x in operands(expr)))
    low, high = LIMITS.get(str(expr.ty.dtype), NO_INTEGER)
    if np.any((found < low) | (found > high)):
        raise UsageError(
            "an integer does not fit its type",
            expected=f"values of {expr.ty.dtype}, from {low} to {high}",
            got=expr,
        )
    return found


def form_of(value: Expr, scalars: list[Expr], lets: tuple[Var, ...] = ()) -> str:
    """The arithmetic of a store as text, for any operands: ``Add[float32](#, Mul[float32](#, #))``.

    # is a load, i an integer without loads, $0 the outermost of the ``lets`` around; the integers
    are appended to ``scalars``, in order. Raises ``UsageError`` for a variable that holds data and
    is not bound in the expression itself.
    """
    kind = str(value.ty.dtype) if not isinstance(value, StringImm) else ""
    match value:
        case TensorLoad():
            return "#"
        case tirx.FloatImm() | StringImm():
            return f"{value.value!r}{kind}"
        case tirx.Var() if value in lets:
            return f"${lets.index(value)}"
        case tirx.Let():
            bound = form_of(value.value, scalars, lets)
            return f"Let({bound}, {form_of(value.body, scalars, (*lets, value.var))})"
    if kind.startswith(("int", "uint", "bool")) and not _depends(value, lets):
        scalars.append(value)
        return f"i{kind}"
    if isinstance(value, tirx.Var):
        raise UsageError(
            f"variable {value.name} holds data",
            expected="the expression itself where its value is stored",
            got=f"a let of {value.name}",
        )
    inner = ", ".join(form_of(each, scalars, lets) for each in operands(value))
    name = str(value.op.name) if isinstance(value, Call) else type(value).__name__
    return f"{name}[{kind}]({inner})"


def _depends(expr: Expr, lets: tuple[Var, ...]) -> bool:
    """Tell whether an expression loads, computes with floats, or uses one of these variables."""
    if isinstance(expr, TensorLoad) or (isinstance(expr, tirx.Var) and expr in lets):
        return True
    return any(_depends(each, lets) for each in operands(expr))


# --- statements and their instances ---------------------------------------------------------------

MOST = 100_000  # instances that are looked at; one takes about 5 microseconds
SMALLER = "make the program with small sizes, such as matmul(6, 5, 4)"
NOT_READ = -1  # the element of a load that is not executed
OUTSIDE = -2  # the element of an access that leaves its buffer

Ints = NDArray[np.int64]
NO_INTEGER = (1, 0)  # the limits of a type of which nothing is known: no value fits


@dataclass(frozen=True, eq=False)
class Executed:
    """The instances of one statement, one row each.

    ``elements`` has a column for the store and one for each load: places in their flat buffers,
    ``NOT_READ`` or ``OUTSIDE``. ``scalars`` are the integers that the value depends on, ``points``
    the values of the loops, ``axes`` those of the block's iterators.
    """

    statement: Statement
    form: str
    times: Ints
    points: Ints
    elements: Ints
    scalars: Ints
    axes: Ints
    values: Mapping[Var, Expr]

    @property
    def touches(self) -> tuple[Touch, ...]:
        """The store and the loads, in the order of the columns."""
        return self.statement.touches

    @property
    def tags(self) -> Ints:
        """The values of the block's axes (an init's spatial ones), or of bare loops by name."""
        axes, loops = self.statement.axes, self.statement.loops
        if axes:
            init = self.statement.block.endswith("_init")
            return self.axes[:, [i for i, axis in enumerate(axes) if not (init and axis.reduces)]]
        names = [str(loop.var.name) for loop in loops]
        return self.points[:, sorted(range(len(names)), key=names.__getitem__)]

    def indices(self, row: int, column: int) -> tuple[int, ...]:
        """The indices of one access, also of one that leaves its buffer."""
        loops = self.statement.loops
        at = {loop.var: x for loop, x in zip(loops, self.points[row], strict=True)}
        return tuple(int(evaluate(i, at, self.values)) for i in self.touches[column].indices)

    def updates(self) -> tuple[str, NDArray[np.bool_]]:
        """The family if this is ``x = x + ...``, and the instances in which x occurs only once."""
        write = self.statement.write
        family = update_family(write)
        same = [read.buffer.same_as(write.buffer) for read in self.touches[1:]]
        loads = self.elements[:, 1:][:, same]
        once = (loads == self.elements[:, :1]).sum(axis=1) == 1
        return family, once & bool(family)


def executed(program: TensorProgram) -> list[Executed]:
    """Every statement of a program with its instances.

    Raises ``UsageError`` for programs that ``walk`` cannot follow, for more than ``MOST``
    instances, where an index or a condition depends on data, for buffers that each iteration of a
    loop has for itself, and for kinds of loops that TVM does not compile.
    """
    steps = walk(program)
    if (size := slots(steps)) > MOST:
        raise UsageError(
            "too many instances to look at",
            expected=f"at most {MOST:,}",
            got=f"{size:,}",
            hint=SMALLER,
        )
    check_buffers_are_shared(program)
    found, values = statements(steps)
    for each in found:
        check_kinds(each)
    return [_execute(each, values) for each in found]


def _execute(statement: Statement, values: Mapping[Var, Expr]) -> Executed:
    shape = [loop.extent for loop in statement.loops]
    flat = np.arange(prod(shape), dtype=np.int64)
    steps = np.array(np.unravel_index(flat, shape) if shape else np.empty((0, flat.size)), np.int64)
    points = steps + np.array([[loop.start] for loop in statement.loops], np.int64).reshape(-1, 1)
    at = {loop.var: points[i] for i, loop in enumerate(statement.loops)}

    def value(expr: Expr) -> Ints:
        return np.broadcast_to(evaluate(expr, at, values), flat.shape).astype(np.int64)

    def holds(facts: Sequence[Fact]) -> NDArray[np.bool_]:
        all_hold = np.ones(flat.shape, np.bool_)
        for condition, wanted in facts:
            all_hold &= value(condition).astype(np.bool_) == wanted
        return all_hold

    def element(touch: Touch) -> Ints:
        extents = [int(extent) for extent in touch.buffer.shape]
        indices = [value(index) for index in touch.indices]
        found = np.zeros(flat.shape, np.int64)
        for index, extent in zip(indices, extents, strict=True):
            found = found * extent + index
        for index, extent in zip(indices, extents, strict=True):
            found[(index < 0) | (index >= extent)] = OUTSIDE
        return found

    columns = [element(statement.write)]
    columns += [np.where(holds(facts), element(read), NOT_READ) for read, facts in statement.reads]
    scalars: list[Expr] = []
    form = form_of(statement.write.value, scalars)
    run = holds(statement.facts)
    times = statement.start + np.array(statement.strides, np.int64) @ steps

    def table(rows: Sequence[Ints]) -> Ints:
        return np.array(rows, np.int64).reshape(len(rows), flat.size).T[run]

    return Executed(
        statement,
        form,
        times=times[run],
        points=table(list(points)),
        elements=table(columns),
        scalars=table([value(each) for each in scalars]),
        axes=table([value(axis.var) for axis in statement.axes]),
        values=values,
    )

"""The statements of a program: each store, with its loads, its loops, its conditions, its block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir import (
    LIMITS,
    Begin,
    Bound,
    Expr,
    Fact,
    Guard,
    Repeat,
    SBlockRealize,
    Step,
    TensorLoad,
    TensorProgram,
    Touch,
    Var,
    addresses,
    buffers,
    main_function,
    operands,
    same_structure,
    tirx,
    undefined_vars,
)

# Sums, products and extremes may take their terms in any order; a difference is a sum, too.
FAMILIES: dict[type, str] = {
    tirx.Add: "sum",
    tirx.Sub: "sum",
    tirx.Mul: "product",
    tirx.Max: "maximum",
    tirx.Min: "minimum",
}
TOGETHER = ("parallel", "vectorized")  # kinds of loops whose iterations have no order


@dataclass(frozen=True, eq=False)
class Statement:
    """A store, with the loops around it.

    ``strides[i]`` is the number of instances between two iterations of ``loops[i]``, ``start`` the
    number before the first. It runs where all ``facts`` hold. The first ``outside[0]`` loops and
    ``outside[1]`` facts are around its block, the others inside.
    """

    write: Touch
    reads: tuple[tuple[Touch, tuple[Fact, ...]], ...]
    loops: tuple[Repeat, ...]
    strides: tuple[int, ...]
    start: int
    facts: tuple[Fact, ...]
    outside: tuple[int, int]
    axes: tuple[Bound, ...]

    @property
    def touches(self) -> tuple[Touch, ...]:
        """The store and the loads."""
        return (self.write, *(read for read, _ in self.reads))

    @property
    def block(self) -> str:
        """The name of its block, ``C_init`` for the init of C; empty for bare loops."""
        return "" if self.write.block == "root" else self.write.block


def statements(steps: Sequence[Step]) -> tuple[list[Statement], dict[Var, Expr]]:
    """The statements in program order, and the values of all variables except the loops'.

    Raises ``UsageError`` for what cannot be followed: a buffer whose elements share places, a load
    that a let keeps for later, a condition on data, a variable with two values.
    """
    for buffer in dict.fromkeys(buffers(steps)):
        addresses.check_plain(buffer)
    collector = _Collector()
    collector.collect(steps, (), (), 0, ())
    return collector.statements, collector.values


def shared(a: Statement, b: Statement) -> int:
    """The number of loops around both."""
    pairs = zip(a.loops, b.loops, strict=False)
    fewest = min(len(a.loops), len(b.loops))
    return next((n for n, (x, y) in enumerate(pairs) if x is not y), fewest)


def own_loops(found: Sequence[Statement], buffer: Var) -> tuple[Repeat, ...]:
    """The loops each iteration of which has a buffer of its own, once TVM has placed it.

    They are around all uses of the buffer, and no sum in it goes on from one iteration to the
    next. A parameter, which the caller places, has no such loops.
    """
    users = [each for each in found if any(t.buffer.same_as(buffer) for t in each.touches)]
    summed = [
        place
        for each in users
        if each.write.buffer.same_as(buffer)
        for axis in each.axes
        if axis.reduces
        for place, loop in enumerate(each.loops)
        if any(loop.var.same_as(var) for var in undefined_vars(axis.value))
    ]
    return users[0].loops[: min([*(shared(users[0], each) for each in users), *summed])]


def check_lanes(buffer: str, own: Sequence[Repeat]) -> None:
    """Raise ``UsageError`` for a buffer with its ``own_loops`` of which one is vectorized."""
    for loop in own:
        if loop.kind == "vectorized":
            raise UsageError(
                f"{buffer} is used inside the vectorized loop {loop.var.name} only, where TVM "
                "makes one buffer for all lanes",
                hint="vectorize the loops of each block for themselves",
            )


def check_kinds(statement: Statement) -> None:
    """Raise ``UsageError`` for kinds of loops around a statement that TVM does not compile."""
    together = [loop for loop in statement.loops if loop.kind in TOGETHER]
    for outer, inner in combinations(together, 2):
        if outer.kind == "vectorized" or inner.kind == "parallel":
            raise UsageError(
                f"the {inner.kind} loop {inner.var.name} is inside the {outer.kind} loop "
                f"{outer.var.name}, which TVM does not compile",
                hint="make one of them serial",
            )
    for loop in together:
        if loop.kind == "vectorized" and loop.extent < 1:
            raise UsageError(
                f"the vectorized loop {loop.var.name} has no iteration, which TVM does not compile",
                hint="make it serial",
            )


def update_family(write: Touch) -> str:
    """The family of an update, such as ``sum`` for ``x = x + ...``; empty for any other store."""
    family = FAMILIES.get(type(write.value), "")
    old = any(_is_old_value(term, write) for term in _terms(write.value, family))
    return family if old else ""


def _terms(expr: Expr, family: str) -> Iterator[Expr]:
    """The operands of a chain of one family, without those that are subtracted."""
    if not family or FAMILIES.get(type(expr)) != family:
        yield expr
        return
    yield from _terms(expr.a, family)
    if not isinstance(expr, tirx.Sub):
        yield from _terms(expr.b, family)


def _is_old_value(expr: Expr, write: Touch) -> bool:
    return (
        isinstance(expr, TensorLoad)
        and bool(expr.source.same_as(write.buffer))
        and all(same_structure(a, b) for a, b in zip(expr.indices, write.indices, strict=True))
    )


def slots(steps: Sequence[Step]) -> int:
    """The number of instances of these steps if all conditions are true."""
    total = 0
    for step in steps:
        match step:
            case Touch():
                total += step.writes
            case Guard():
                total += slots(step.then) + slots(step.otherwise)
            case Repeat():
                total += step.extent * slots(step.body)
    return total


def check_buffers_are_shared(program: TensorProgram) -> None:
    """Raise ``UsageError`` for a buffer that is made inside a loop."""
    _check_buffers_are_shared(main_function(program).body, inside=False)


def _check_buffers_are_shared(stmt: Any, *, inside: bool) -> None:
    found: Sequence[Any] = ()
    match stmt:
        case tirx.For():
            _check_buffers_are_shared(stmt.body, inside=True)
        case SBlockRealize():
            found = stmt.block.alloc_buffers
            _check_buffers_are_shared(stmt.block.body, inside=inside)
        case tirx.SeqStmt():
            for each in stmt.seq:
                _check_buffers_are_shared(each, inside=inside)
        case tirx.AllocBuffer():
            found = [stmt.buffer]
    if inside and found:
        raise UsageError(
            f"buffer {found[0].name} is made inside a loop",
            expected="buffers that all iterations share",
            got="one for each iteration",
        )


def block_buffers(stmt: Any) -> set[str]:
    """The names of the buffers that blocks allocate: TVM places these anew."""
    match stmt:
        case tirx.For():
            return block_buffers(stmt.body)
        case SBlockRealize():
            own = {str(buffer.name) for buffer in stmt.block.alloc_buffers}
            return own | block_buffers(stmt.block.body)
        case tirx.SeqStmt():
            return set().union(*map(block_buffers, stmt.seq))
    return set()


class _Collector:
    """Statements in program order, and the ``values`` of all variables except the loops'."""

    def __init__(self) -> None:
        self.statements: list[Statement] = []
        self.values: dict[Var, Expr] = {}
        self.lets: dict[Var, Expr] = {}  # of the statement that is being collected
        self.outside: dict[str, tuple[int, int]] = {}  # by block, loops and facts around it

    def collect(
        self,
        steps: Sequence[Step],
        loops: tuple[Repeat, ...],
        facts: tuple[Fact, ...],
        start: int,
        axes: tuple[Bound, ...],
    ) -> int:
        """Collect the statements of these steps, from slot ``start`` on; returns the slot after."""
        reads: list[tuple[Touch, tuple[Fact, ...]]] = []
        for step in steps:
            match step:
                case Touch(writes=False):
                    reads.append((step, ()))
                case Touch():
                    strides = tuple(slots(loop.body) for loop in loops)
                    own = tuple(a for a in axes if step.block in (a.block, f"{a.block}_init"))
                    outside = self.outside.get(own[0].block if own else step.block, (0, 0))
                    self.statements.append(
                        Statement(step, tuple(reads), loops, strides, start, facts, outside, own)
                    )
                    reads, start = [], start + 1
                    self.lets.clear()
                case Begin():
                    self.outside.setdefault(step.block, (len(loops), len(facts)))
                case Bound():
                    self.bind(step)
                    if step.extent is not None:
                        axes = (*axes, step)
                        self.outside[step.block] = len(loops), len(facts)
                case Guard() if not slots((step,)):
                    reads += _lazy(step, ())
                case Guard():
                    _check_condition(step.condition)
                    _check_used(reads)
                    for side, holds in ((step.then, True), (step.otherwise, False)):
                        known = (*facts, (step.condition, holds))
                        start = self.collect(side, loops, known, start, axes)
                case Repeat():
                    _check_used(reads)
                    # Inside, slots are counted from the loop's first iteration.
                    self.collect(step.body, (*loops, step), facts, start, axes)
                    start += slots((step,))
        _check_used(reads)
        return start

    def bind(self, bound: Bound) -> None:
        """Note the value of a variable.

        Raises ``UsageError`` if it has another value in the same statement, or is an integer and
        has another one anywhere.
        """
        whole = str(bound.var.ty.dtype) in LIMITS
        known = (self.values if whole else self.lets).setdefault(bound.var, bound.value)
        self.values[bound.var] = bound.value
        if not same_structure(known, bound.value):
            raise UsageError(
                f"variable {bound.var.name} has two values",
                expected="a variable of its own for each block iterator and let",
                got=f"{known} and {bound.value}",
            )


def _check_condition(condition: Expr) -> None:
    """Raise ``UsageError`` for a condition that loads, as nobody can tell which side runs."""
    waiting = [condition]
    while waiting:
        expr = waiting.pop()
        if isinstance(expr, TensorLoad):
            raise UsageError(
                "a condition depends on data", expected="loop variables", got=condition
            )
        waiting += operands(expr)


def _check_used(reads: Sequence[tuple[Touch, tuple[Fact, ...]]]) -> None:
    """Raise ``UsageError`` for loads that no store right behind them uses."""
    if reads:
        name = reads[0][0].buffer.name
        raise UsageError(
            f"{name} is loaded before a condition or a loop that may use it",
            expected="loads in the value that is stored, or just before it",
            got=f"a let of {name}",
            hint="write the load where its value is stored",
        )


def _lazy(guard: Guard, facts: tuple[Fact, ...]) -> Iterator[tuple[Touch, tuple[Fact, ...]]]:
    """The loads inside an ``if_then_else``, each with the conditions under which it happens."""
    for side, holds in ((guard.then, True), (guard.otherwise, False)):
        known = (*facts, (guard.condition, holds))
        for step in side:
            if isinstance(step, Touch):
                yield step, known
            elif isinstance(step, Guard):
                yield from _lazy(step, known)

"""Strides of memory accesses: how far each moves in memory per iteration of each loop.

An address is followed as a sum of loops times constants. ``x // c`` and ``x % c`` stay such sums
where the loops fit them: with j = 64 j_0 + j_1 and j_1 in [0, 64), ``j // 64`` is j_0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from mlc_course.tensor_program.tir.traversal import (
    Bound,
    Expr,
    Guard,
    Repeat,
    Step,
    Touch,
    Var,
    operands,
    walk,
)
from mlc_course.tensor_program.tir.tvm import (
    TensorLoad,
    TensorProgram,
    tirx,
)


@dataclass(frozen=True)
class Loop:
    """A loop around an access; ``kind`` is "serial", "parallel", "vectorized" or "unrolled"."""

    name: str
    extent: int
    kind: str


@dataclass(frozen=True)
class Access:
    """A place in the program where elements are read or written.

    ``strides[i]`` is by how many elements of the buffer the address moves per iteration of
    ``loops[i]`` (outermost first); None where that is not one number. The init of a reduction
    block ``C`` has the block name ``C_init``.
    """

    block: str
    buffer: str
    writes: bool
    loops: tuple[Loop, ...]
    strides: tuple[int | None, ...]

    @property
    def turning(self) -> tuple[tuple[Loop, int | None], ...]:
        """The loops of more than one turn, outermost first, each with its stride."""
        pairs = zip(self.loops, self.strides, strict=True)
        return tuple((loop, stride) for loop, stride in pairs if loop.extent > 1)


def accesses(program: TensorProgram) -> tuple[Access, ...]:
    """The accesses in program order; a statement's loads come before its store.

    Buffers are taken as the program declares them, row-major; when TVM compiles a program, it
    shrinks a local buffer to the part that is in use at a time. Raises ``UsageError`` for programs
    that ``walk`` cannot follow.
    """
    return tuple(_found(walk(program), (), {}))


@dataclass(frozen=True)
class Affine:
    """constant + sum of coefficient * loop + an unknown function of the ``rough`` loops."""

    constant: int = 0
    terms: Mapping[Repeat, int] = field(default_factory=dict)
    rough: frozenset[Repeat] = frozenset()

    @property
    def loops(self) -> frozenset[Repeat]:
        return self.rough | frozenset(self.terms)

    @property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest value, if there are no rough loops."""
        ends = [(c * l.start, c * (l.start + l.extent - 1)) for l, c in self.terms.items()]  # noqa: E741
        low, high = sum(map(min, ends)), sum(map(max, ends))
        return self.constant + low, self.constant + high

    def stride(self, loop: Repeat) -> int | None:
        return None if loop in self.rough else self.terms.get(loop, 0)


Scope = dict[Var, Affine | None]  # None: the value depends on data


def _found(steps: tuple[Step, ...], around: tuple[Repeat, ...], scope: Scope) -> Iterator[Access]:
    for step in steps:
        match step:
            case Touch():
                address = _address(step, scope)
                yield Access(
                    step.block,
                    str(step.buffer.name),
                    step.writes,
                    tuple(Loop(str(each.var.name), each.extent, each.kind) for each in around),
                    tuple(address.stride(each) if address else None for each in around),
                )
            case Bound():
                scope[step.var] = affine(step.value, scope)
            case Guard():
                yield from _found(step.then, around, scope)
                yield from _found(step.otherwise, around, scope)
            case Repeat():
                scope[step.var] = Affine(terms={step: 1})
                yield from _found(step.body, (*around, step), scope)


def _address(touch: Touch, scope: Scope) -> Affine | None:
    address = Affine()
    for index, extent in zip(touch.indices, touch.buffer.shape, strict=True):
        part = affine(index, scope)
        if part is None:
            return None
        address = _add(_scale(address, int(extent)), part)
    return address


def affine(expr: Expr, scope: Scope) -> Affine | None:
    """The affine form of an integer expression; None when it depends on data."""
    match expr:
        case tirx.IntImm():
            return Affine(int(expr.value))
        case tirx.Var():
            return scope.get(expr)
        case tirx.Let():
            scope[expr.var] = affine(expr.value, scope)
            return affine(expr.body, scope)
        case TensorLoad():
            return None
    parts = [affine(each, scope) for each in operands(expr)]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if type(expr) in RULES:
        return RULES[type(expr)](*known)
    return _other(*known)


def _other(*parts: Affine) -> Affine:
    """An unknown function of these values."""
    return Affine(rough=frozenset().union(*(part.loops for part in parts)))


def _add(a: Affine, b: Affine) -> Affine:
    terms = {each: a.terms.get(each, 0) + b.terms.get(each, 0) for each in {**a.terms, **b.terms}}
    return Affine(a.constant + b.constant, terms, a.rough | b.rough)


def _scale(a: Affine, factor: int) -> Affine:
    terms = {each: c * factor for each, c in a.terms.items()}
    return Affine(a.constant * factor, terms, a.rough)


def _multiply(a: Affine, b: Affine) -> Affine:
    if not a.loops:
        return _scale(b, a.constant)
    return _scale(a, b.constant) if not b.loops else _other(a, b)


def _divide(a: Affine, b: Affine) -> tuple[Affine, Affine]:
    """Quotient and remainder, rounded down; terms that are multiples of b are divided exactly."""
    if b.loops or b.constant < 1:
        return _other(a, b), _other(a, b)
    c = b.constant
    whole = {each: k // c for each, k in a.terms.items() if k % c == 0}
    rest = Affine(a.constant % c, {x: k for x, k in a.terms.items() if k % c}, a.rough)
    quotient = Affine(a.constant // c, whole)
    low, high = rest.bounds
    if not rest.rough and low >= 0 and high < c:
        return quotient, rest
    return _add(quotient, _other(rest)), _other(rest)


RULES: dict[type, Callable[..., Affine]] = {
    tirx.Add: _add,
    tirx.Sub: lambda a, b: _add(a, _scale(b, -1)),
    tirx.Mul: _multiply,
    tirx.FloorDiv: lambda a, b: _divide(a, b)[0],
    tirx.FloorMod: lambda a, b: _divide(a, b)[1],
    tirx.Cast: lambda a: a,
}

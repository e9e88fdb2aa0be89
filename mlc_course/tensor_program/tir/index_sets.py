"""Index-set splitting: where a tile is inside an array, its loops run without a condition.

Padding and cropping put a condition on each element, such as ``n_0 * 32 + n_1 < 301``, and LLVM
makes no vectors of it. Almost all tiles are inside, so the loops are written twice: once without
the condition, where it holds for all of their iterations, and once for the tiles at the edge,
where loops end at it. TVM has nothing that does so for constant sizes.

    before  for j in range(32):  if n * 32 + j < 301:  F[n * 32 + j] = tile[j]
    after   if n * 32 + 31 < 301:  for j in range(32):            F[n * 32 + j] = tile[j]
            else:                  for j in range(301 - n * 32):  F[n * 32 + j] = tile[j]

Source: R. Allen, K. Kennedy, Optimizing Compilers for Modern Architectures, 2001, sections 5.7
(index-set splitting) and 13.3 (loop unswitching).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_course.tensor_program.tir.traversal import is_lazy, operands
from mlc_course.tensor_program.tir.tvm import (
    Analyzer,
    IRModule,
    PrimFunc,
    Range,
    TensorLoad,
    detect_linear_equation,
    every_node,
    rewrite,
    substitute,
    tirx,
    unique_variables,
)

QUOTIENTS = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod)
INTEGERS = ("int32", "int64")
SMALL = 1 << 30
MOST_COPIES = 16  # of the store of one nest
PLAIN = (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED)


@dataclass(frozen=True, eq=False)
class _Guarded:
    """A store under conditions, and the store that is done where one of them fails, if any.

    ``bounds`` are the conditions, as integers that must be below zero.
    """

    store: Any
    bounds: tuple[Any, ...]
    otherwise: Any = None


def split_index_sets(module: IRModule) -> IRModule:
    """The same program, with its guarded nests of loops split; without blocks, before flattening.

    A nest is taken where its body is one store, and its conditions are linear in its loops.
    """
    functions = {
        name: _split(f) if isinstance(f, PrimFunc) else f for name, f in module.functions.items()
    }
    return unique_variables(IRModule(functions, attrs=module.attrs))


def _split(function: PrimFunc) -> PrimFunc:
    around: list[Any] = []

    def loop(each: Any, mutator: Any) -> Any:
        if any(outer.kind == tirx.ForKind.VECTORIZED for outer in around):
            return each  # its iterations are lanes, which take no different ways
        nest = _nest(each)
        if nest is not None and _is_small(nest[1], [*around, *nest[0]]):
            try:
                return _Splitter(around).emit(*nest)
            except _TooMany:
                return each
        around.append(each)
        try:
            return mutator.default_mutate(each)
        finally:
            around.pop()

    return function.with_body(rewrite(function.body, tirx.For, loop))


def _nest(loop: Any) -> tuple[list[Any], _Guarded] | None:
    """The loops of a nest, outermost first, and the guarded store inside; None for another one."""
    loops, here, conditions = [], loop, []
    while isinstance(here, tirx.For):
        loops.append(here)
        here = here.body
    while isinstance(here, tirx.IfThenElse) and here.else_case is None:
        conditions.append(here.condition)
        here = here.then_case
    *outer, innermost = loops
    plain = all(each.kind in PLAIN for each in outer) and innermost.kind in (
        *PLAIN,
        tirx.ForKind.VECTORIZED,
    )
    if not plain or not isinstance(here, tirx.BufferStore):
        return None
    if any(not isinstance(each.extent, tirx.IntImm) or each.annotations for each in loops):
        return None
    guarded = _guarded(here, conditions)
    if guarded is None or any(not _linear(b, loops) for b in guarded.bounds):
        return None
    return (loops, guarded) if _lanes_are_independent(innermost, guarded) else None


def _lanes_are_independent(innermost: Any, guarded: _Guarded) -> bool:
    """Tell whether lanes with a condition of their own, which run in turn, may run together."""
    if innermost.kind != tirx.ForKind.VECTORIZED:
        return True
    if not any((_linear(bound, [innermost]) or [1])[0] for bound in guarded.bounds):
        return True  # they run together as it is
    values = [each.value for each in (guarded.store, guarded.otherwise) if each is not None]
    return not any(
        isinstance(each, TensorLoad) and each.source.same_as(guarded.store.buffer)
        for value in values
        for each in every_node(value)
    )


def _guarded(store: Any, conditions: Sequence[Any]) -> _Guarded | None:
    value, otherwise = store.value, None
    if not conditions and is_lazy(value):
        condition, value, other = value.args
        conditions = [condition]
        otherwise = tirx.BufferStore(store.buffer, other, store.indices)
        store = tirx.BufferStore(store.buffer, value, store.indices)
    bounds = [_below_zero(atom) for each in conditions for atom in _atoms(each)]
    if not bounds or None in bounds:
        return None
    return _Guarded(store, tuple(bounds), otherwise)


def _is_small(guarded: _Guarded, loops: Sequence[Any]) -> bool:
    """Tell whether conditions, as differences, are far from the ends of 32 bits."""
    analyzer = _analyzer(loops)
    limits = [analyzer.const_int_bound(each) for bound in guarded.bounds for each in _terms(bound)]
    return all(each.min_value > -SMALL and each.max_value < SMALL for each in limits)


def _terms(bound: Any) -> Iterator[Any]:
    """An integer expression and all expressions in it."""
    yield bound
    for each in operands(bound):
        yield from _terms(each)


def _analyzer(loops: Sequence[Any]) -> Analyzer:
    analyzer = Analyzer()
    for each in loops:
        analyzer.bind(each.loop_var, Range.from_min_extent(each.min, each.extent))
    return analyzer


def _divides(store: Any) -> bool:
    """Tell whether a store's indices have quotients; TVM keeps few of them in a varying loop."""
    return any(isinstance(each, QUOTIENTS) for each in every_node(store))


def _may_fail(each: Any) -> bool:
    """Tell whether a node is a quotient by what may be zero, where a condition before it fails."""
    return isinstance(each, QUOTIENTS) and not isinstance(each.b, tirx.IntImm)


def _atoms(condition: Any) -> Iterator[Any]:
    if isinstance(condition, tirx.And):
        yield from _atoms(condition.a)
        yield from _atoms(condition.b)
    else:
        yield condition


def _below_zero(atom: Any) -> Any:
    """An expression that is below zero where a comparison of integers holds; None for others."""
    sides = [getattr(atom, side, None) for side in "ab"]
    if not all(each is not None and str(each.ty.dtype) in INTEGERS for each in sides):
        return None
    match atom:
        case tirx.LT():
            return atom.a - atom.b
        case tirx.LE():
            return atom.a - atom.b - 1
        case tirx.GT():
            return atom.b - atom.a
        case tirx.GE():
            return atom.b - atom.a - 1
    return None


def _linear(bound: Any, loops: Sequence[Any]) -> list[int] | None:
    """The whole coefficients of the loops in an expression; None where it is not linear."""
    if any(isinstance(each, TensorLoad) or _may_fail(each) for each in every_node(bound)):
        return None
    found = detect_linear_equation(bound, [each.loop_var for each in loops])
    if not found or not all(isinstance(each, tirx.IntImm) for each in found[:-1]):
        return None
    return [int(each) for each in found[:-1]]


class _TooMany(Exception):
    """A nest with many conditions would be written out too many times."""


class _Splitter:
    """Write a nest anew, split, inside the loops ``around`` it."""

    def __init__(self, around: Sequence[Any]) -> None:
        self.analyzer = _analyzer(around)
        self.copies = 0

    def emit(self, loops: Sequence[Any], guarded: _Guarded) -> Any:
        """The nest, split by one condition after the other."""
        if not guarded.bounds:
            chosen = _guarded(guarded.store, ()) if loops else None
            if chosen is not None and all(_linear(b, loops) for b in chosen.bounds):
                return self.emit(loops, chosen)  # the store's value has a condition of its own
            return self._built(loops, guarded.store)
        bound, *others = guarded.bounds
        kept = replace(guarded, bounds=tuple(others))
        always = self._greatest(bound, loops)
        if self.analyzer.can_prove(always < 0):
            return self.emit(loops, kept)
        if not any(_linear(bound, loops) or []):
            other = None if guarded.otherwise is None else self._built(loops, guarded.otherwise)
            return tirx.IfThenElse(always < 0, self.emit(loops, kept), other)
        with self.analyzer.constraint_scope(always >= 0):
            edge = self._edge(loops, bound, kept)
        if self.analyzer.can_prove(always >= 0):
            return edge
        with self.analyzer.constraint_scope(always < 0):
            return tirx.IfThenElse(always < 0, self.emit(loops, kept), edge)

    def _greatest(self, bound: Any, loops: Sequence[Any]) -> Any:
        """The greatest value of an expression over all iterations of the loops."""
        factors = _linear(bound, loops) or []
        ends = {
            each.loop_var: tirx.const(
                int(each.extent) - 1 if factor > 0 else 0, each.loop_var.ty.dtype
            )
            for each, factor in zip(loops, factors, strict=True)
        }
        return self.analyzer.simplify(substitute(bound, ends))

    def _edge(self, loops: Sequence[Any], bound: Any, kept: _Guarded) -> Any:
        """The nest where one condition does not hold for all of its iterations."""
        first, *rest = loops
        self.analyzer.bind(first.loop_var, Range.from_min_extent(first.min, first.extent), True)
        factor, *others = _linear(bound, loops) or [0]
        if factor != 1 or any(others) or _divides(kept.store):
            guarded = replace(kept, bounds=(*kept.bounds, bound))
            return self._built([first], self.emit(rest, guarded))
        # The loop ends where the condition does; the rest of its iterations follow, in their order.
        zero = tirx.const(0, first.loop_var.ty.dtype)
        end = tirx.min(-substitute(bound, {first.loop_var: zero}), first.extent)
        end = self.analyzer.simplify(tirx.max(zero, end))
        serial = tirx.ForKind.SERIAL
        part = tirx.For(first.loop_var, zero, end, serial, self.emit(rest, kept))
        if kept.otherwise is None:
            return part
        others = self._built(rest, kept.otherwise)
        moved = substitute(others, {first.loop_var: first.loop_var + end})
        left = self.analyzer.simplify(first.extent - end)
        return tirx.SeqStmt([part, tirx.For(first.loop_var, zero, left, serial, moved)])

    def _built(self, loops: Sequence[Any], body: Any) -> Any:
        if isinstance(body, tirx.BufferStore):
            self.copies += 1
            if self.copies > MOST_COPIES:
                raise _TooMany
        for each in reversed(loops):
            body = tirx.For(each.loop_var, each.min, each.extent, each.kind, body)
        return body

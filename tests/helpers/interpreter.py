"""A slow interpreter of TensorIR, the oracle of tests: other orders, and nothing left from before.

It shares no code with the library's analyses. Iterations of parallel and vectorized loops are mixed
at random, before and after each store. A buffer begins as NaN; one that is used inside a loop only
begins anew in each iteration, as TVM allocates it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from mlc_course.tensor_program.tir import Call, SBlockRealize, TensorLoad, tirx

TOGETHER = (tirx.ForKind.PARALLEL, tirx.ForKind.VECTORIZED)
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.Div: lambda a, b: float(np.divide(a, b)),
    tirx.FloorDiv: lambda a, b: a // b,
    tirx.FloorMod: lambda a, b: a % b,
    tirx.Min: lambda a, b: a if a < b else b,
    tirx.Max: lambda a, b: a if a > b else b,
    tirx.EQ: lambda a, b: a == b,
    tirx.NE: lambda a, b: a != b,
    tirx.LT: lambda a, b: a < b,
    tirx.LE: lambda a, b: a <= b,
    tirx.GT: lambda a, b: a > b,
    tirx.GE: lambda a, b: a >= b,
    tirx.And: lambda a, b: bool(a) and bool(b),
    tirx.Or: lambda a, b: bool(a) or bool(b),
    tirx.LShift: lambda a, b: int(a) << int(b) if math.isfinite(a) else 0,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "tirx.exp": lambda a: float(np.exp(a)),
    "tirx.floor": lambda a: float(np.floor(a)),
    "prim.likely": lambda a: a,
}
Env = dict[Any, Any]


class OutOfBounds(AssertionError):
    """An access that leaves its buffer."""


class Interpreter:
    """Runs a function on float64 arrays, one for each parameter, in one of its orders."""

    def __init__(self, function: Any, arrays: list[Any], rng: random.Random) -> None:
        self.rng = rng
        self.memory: dict[Any, Any] = dict(zip(function.params, arrays, strict=True))
        self.private = _private(function)
        with np.errstate(all="ignore"):
            for _ in self.statement(function.body, {}, {}):
                pass

    def statement(self, stmt: Any, env: Env, own: Mapping[Any, Any]) -> Iterator[None]:
        """Run a statement; it stops before and after each store, for others to go on."""
        match stmt:
            case tirx.SeqStmt():
                for each in stmt.seq:
                    yield from self.statement(each, env, own)
            case tirx.For():
                yield from self.loop(stmt, env, own)
            case SBlockRealize():
                yield from self.block(stmt, env, own)
            case tirx.IfThenElse():
                side = stmt.then_case if self.value(stmt.condition, env, own) else stmt.else_case
                if side is not None:
                    yield from self.statement(side, env, own)
            case tirx.BufferStore():
                value = self.value(stmt.value, env, own)
                yield
                self.array(stmt.buffer, own)[self.at(stmt.buffer, stmt.indices, env, own)] = value
                yield
            case tirx.Evaluate(value=tirx.IntImm()):
                pass
            case _:
                raise NotImplementedError(type(stmt))

    def loop(self, stmt: Any, env: Env, own: Mapping[Any, Any]) -> Iterator[None]:
        begin, extent = (int(self.value(each, env, own)) for each in (stmt.min, stmt.extent))
        rounds = []
        for i in range(begin, begin + extent):
            made = {b: np.full(_shape(b), np.nan) for b in self.private.get(stmt, ())}
            rounds.append(self.statement(stmt.body, {**env, stmt.loop_var: i}, {**own, **made}))
        if stmt.kind not in TOGETHER:
            for each in rounds:
                yield from each
            return
        while rounds:
            chosen = self.rng.choice(rounds)
            for _ in range(self.rng.randint(1, 8)):
                if next(chosen, self) is self:
                    rounds.remove(chosen)
                    break
                yield

    def block(self, stmt: Any, env: Env, own: Mapping[Any, Any]) -> Iterator[None]:
        block = stmt.block
        for buffer in block.alloc_buffers:
            if not any(buffer.same_as(b) for bs in self.private.values() for b in bs):
                self.memory[buffer] = np.full(_shape(buffer), np.nan)
        if not self.value(stmt.predicate, env, own):
            return
        values = [self.value(each, env, own) for each in stmt.iter_values]
        axes = [each.var for each in block.iter_vars]
        env = {**env, **dict(zip(axes, values, strict=True))}
        reduced = [
            v for v, axis in zip(values, block.iter_vars, strict=True) if axis.iter_type == 2
        ]
        if block.init is not None and not any(reduced):
            yield from self.statement(block.init, env, own)
        yield from self.statement(block.body, env, own)

    def array(self, buffer: Any, own: Mapping[Any, Any]) -> Any:
        return own[buffer] if buffer in own else self.memory[buffer]

    def at(self, buffer: Any, indices: Any, env: Env, own: Mapping[Any, Any]) -> tuple[int, ...]:
        at = tuple(int(self.value(each, env, own)) for each in indices)
        if not all(0 <= i < n for i, n in zip(at, _shape(buffer), strict=True)):
            raise OutOfBounds(f"{buffer.name}{list(at)}")
        return at

    def value(self, expr: Any, env: Env, own: Mapping[Any, Any]) -> Any:
        match expr:
            case tirx.IntImm():
                return int(expr.value)
            case tirx.FloatImm():
                return float(expr.value)
            case tirx.Var():
                return env[expr]
            case TensorLoad():
                at = self.at(expr.source, expr.indices, env, own)
                return float(self.array(expr.source, own)[at])
            case tirx.Let():
                return self.value(
                    expr.body, {**env, expr.var: self.value(expr.value, env, own)}, own
                )
            case tirx.Cast():
                value = self.value(expr.value, env, own)
                whole = "int" in str(expr.ty.dtype) and math.isfinite(value)
                return int(value) if whole else float(value)
            case tirx.Select():
                then = self.value(expr.true_value, env, own)
                other = self.value(expr.false_value, env, own)
                return then if self.value(expr.condition, env, own) else other
            case tirx.Not():
                return not self.value(expr.a, env, own)
            case Call():
                return self.call(expr, env, own)
        return BINARY[type(expr)](self.value(expr.a, env, own), self.value(expr.b, env, own))

    def call(self, expr: Any, env: Env, own: Mapping[Any, Any]) -> Any:
        name = str(expr.op.name)
        if name == "prim.if_then_else":
            condition, then, other = expr.args
            return self.value(then if self.value(condition, env, own) else other, env, own)
        if name == "tirx.reinterpret":
            (bits,) = (self.value(each, env, own) for each in expr.args)
            return float(np.int32(bits).view(np.float32))
        return FUNCTIONS[name](*(self.value(each, env, own) for each in expr.args))


def _shape(buffer: Any) -> tuple[int, ...]:
    return tuple(int(extent) for extent in buffer.shape)


def _private(function: Any) -> dict[Any, list[Any]]:
    """The buffers that are used inside a loop only, by the innermost such loop."""
    uses: dict[Any, list[list[Any]]] = {}

    def visit(node: Any, loops: list[Any]) -> None:
        match node:
            case tirx.For():
                visit(node.body, [*loops, node])
            case tirx.SeqStmt():
                for each in node.seq:
                    visit(each, loops)
            case SBlockRealize():
                for part in (node.predicate, node.block.init, node.block.body):
                    if part is not None:
                        visit(part, loops)
            case tirx.IfThenElse():
                for part in (node.condition, node.then_case, node.else_case):
                    if part is not None:
                        visit(part, loops)
            case tirx.BufferStore():
                uses.setdefault(node.buffer, []).append(loops)
                for part in (node.value, *node.indices):
                    visit(part, loops)
            case TensorLoad():
                uses.setdefault(node.source, []).append(loops)
                for part in node.indices:
                    visit(part, loops)
            case Call():
                for part in node.args:
                    visit(part, loops)
            case tirx.Let():
                visit(node.value, loops)
                visit(node.body, loops)
            case tirx.Select():
                for part in (node.condition, node.true_value, node.false_value):
                    visit(part, loops)
            case tirx.Cast():
                visit(node.value, loops)
            case tirx.Not():
                visit(node.a, loops)
            case _ if type(node) in BINARY:
                visit(node.a, loops)
                visit(node.b, loops)

    visit(function.body, [])
    found: dict[Any, list[Any]] = {}
    for buffer, around in uses.items():
        if any(buffer.same_as(each) for each in function.params):
            continue
        common = around[0]
        for loops in around[1:]:
            both = min(len(common), len(loops))
            same = next((i for i in range(both) if not common[i].same_as(loops[i])), both)
            common = common[:same]
        if common:
            found.setdefault(common[-1], []).append(buffer)
    return found

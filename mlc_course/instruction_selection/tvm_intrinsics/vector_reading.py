"""Straight-line vector code in TensorIR, run on formulas: what an intrinsic computes, exactly.

A vector is a list of lanes, and a call of an LLVM intrinsic means what ``llvm_meanings`` says of
it. Arithmetic wraps at its type. TVM tells LLVM that sums, differences and products of 32 and 64
bits never overflow; where one does, this is only one of the values that compiled code may have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NoReturn, TypeAlias

from mlc_course.errors import UsageError, check_known
from mlc_course.instruction_selection.integers import (
    BOOL,
    Formula,
    IntType,
    const,
    equals,
    greater,
    int_type,
    maximum,
    minimum,
    reread,
    var,
    where,
    wrap,
)
from mlc_course.instruction_selection.tvm_intrinsics.llvm_meanings import meaning_of
from mlc_course.tensor_program.tir import (
    Call,
    PrimFunc,
    SBlockRealize,
    TensorLoad,
    name_of,
    tirx,
    tvm,
)

Lanes: TypeAlias = "list[Formula]"
Memory: TypeAlias = "dict[str, Lanes]"

_LANEWISE: dict[type, Callable[[Formula, Formula], Formula]] = {
    tirx.Add: lambda a, b: a + b,
    tirx.Sub: lambda a, b: a - b,
    tirx.Mul: lambda a, b: a * b,
    tirx.Min: minimum,
    tirx.Max: maximum,
    tirx.BitwiseAnd: lambda a, b: a & b,
    tirx.BitwiseOr: lambda a, b: a | b,
    tirx.BitwiseXor: lambda a, b: a ^ b,
    tirx.EQ: equals,
    tirx.GT: greater,
    tirx.RShift: lambda a, b: a >> _constant(b),
    tirx.LShift: lambda a, b: a << _constant(b),
}
_LLVM_CALLS = ("tirx.call_llvm_pure_intrin", "tirx.call_llvm_intrin")
_PREDICATED = "llvm.vp."  # takes a mask and a number of lanes after the operands
_HALVES = ("tirx.vectorlow", "tirx.vectorhigh")


def memory_of(
    function: PrimFunc, ranges: Mapping[str, tuple[int, int]] | None = None
) -> dict[str, Lanes]:
    """Return a variable for each element of each parameter, named ``A[0]``, ``A[1]``, ...

    A parameter in ``ranges`` has values from the first to the second of these numbers.

    Raises:
        UsageError: ``ranges`` names no parameter, or a range does not fit the type.
    """
    held = {str(each.name): each for each in function.params}
    found = {}
    for name in ranges or {}:
        check_known("no parameter of the function", name, held)
    for name, buffer in held.items():
        of = int_type(str(buffer.dtype))
        lo, hi = (ranges or {}).get(name, (of.lo, of.hi))
        if lo > hi or not of.holds(lo, hi):
            raise UsageError(
                f"the range of {name} does not fit its type",
                expected=f"lo..hi with {of.lo} <= lo <= hi <= {of.hi}",
                got=f"{lo}..{hi}",
            )
        count = prod(map(int, buffer.shape))
        found[name] = [var(f"{name}[{i}]", lo, hi) for i in range(count)]
    return found


def run(function: PrimFunc, memory: Memory) -> Memory:
    """Run a function on the lanes of its buffers, in the order of memory; return them after it.

    Blocks and loops with constant extents run as they do in TensorIR, so that the function may be
    a description as well as an implementation.

    Raises:
        UsageError: the function has a statement, an expression or an intrinsic with no meaning.
    """
    runner = _Runner({name: list(lanes) for name, lanes in memory.items()})
    runner.statement(function.body)
    return {name: runner.memory[name] for name in memory}


class _Runner:
    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.loops: dict[Any, int] = {}
        self.values: dict[Any, Lanes] = {}

    def statement(self, stmt: Any) -> None:
        match stmt:
            case tirx.SeqStmt():
                for each in stmt.seq:
                    self.statement(each)
            case tirx.For():
                (first,), (extent,) = self.indices(stmt.min), self.indices(stmt.extent)
                for i in range(first, first + extent):
                    self.loops[stmt.loop_var] = i
                    self.statement(stmt.body)
            case SBlockRealize():
                for each, value in zip(stmt.block.iter_vars, stmt.iter_values, strict=True):
                    (self.loops[each.var],) = self.indices(value)
                self.statement(stmt.block.body)
            case tirx.Bind():
                self.values[stmt.var] = self.value(stmt.value)
            case tirx.AllocBuffer():
                pass  # the variable gets its lanes when it is stored to
            case tirx.BufferStore():
                self.store(stmt)
            case _:
                _refuse(stmt)

    def store(self, stmt: Any) -> None:
        name, value = str(stmt.buffer.name), self.value(stmt.value)
        if _is_vector(stmt.buffer) or name not in self.memory:  # a variable of its own
            self.memory[name] = value
            return
        for place, lane in zip(self.places(stmt.buffer, stmt.indices), value, strict=True):
            self.memory[name][place] = lane

    def places(self, buffer: Any, indices: Sequence[Any]) -> list[int]:
        """Return the places of a vector in the flat memory of a buffer."""
        flat, stride = [0], 1
        for index, extent in zip(reversed(indices), reversed(buffer.shape), strict=True):
            own = self.indices(index)
            lanes = max(len(flat), len(own))
            pairs = zip(_repeated(flat, lanes), _repeated(own, lanes), strict=True)
            flat = [place + stride * i for place, i in pairs]
            stride *= int(extent)
        return flat

    def indices(self, expr: Any) -> list[int]:
        match expr:
            case tirx.IntImm():
                return [int(expr.value)]
            case tirx.Var() if expr in self.loops:
                return [self.loops[expr]]
            case tirx.Ramp():
                (base,), (stride,) = self.indices(expr.base), self.indices(expr.stride)
                return [base + i * stride for i in range(int(expr.lanes))]
        _refuse(expr)

    def value(self, expr: Any) -> Lanes:
        of = _lane_type(expr)
        if type(expr) in _LANEWISE:
            pairs = zip(self.value(expr.a), self.value(expr.b), strict=True)
            return [wrap(of, _LANEWISE[type(expr)](a, b)) for a, b in pairs]
        match expr:
            case tirx.IntImm():
                return [const(int(expr.value))]
            case tirx.Var() if expr in self.values:
                return self.values[expr]
            case TensorLoad():
                held = self.memory[str(expr.source.name)]
                if _is_vector(expr.source):
                    return held
                return [held[place] for place in self.places(expr.source, expr.indices)]
            case tirx.Cast():
                return [wrap(of, x) for x in self.value(expr.value)]
            case tirx.Broadcast():
                return self.value(expr.value) * int(expr.lanes)
            case tirx.Shuffle():
                lanes = [x for each in expr.vectors for x in self.value(each)]
                return [lanes[int(each.value)] for each in expr.indices]
            case tirx.Select():
                parts = map(self.value, (expr.condition, expr.true_value, expr.false_value))
                return [where(*lane) for lane in zip(*parts, strict=True)]
            case Call():
                return self.call(expr, of)
        _refuse(expr)

    def call(self, expr: Any, of: IntType) -> Lanes:
        name = name_of(expr)
        if name == "tirx.reinterpret":
            return reread(self.value(expr.args[0]), _lane_type(expr.args[0]), of)
        if name in _HALVES:
            lanes = self.value(expr.args[0])
            half = len(lanes) // 2
            return lanes[:half] if name == _HALVES[0] else lanes[half:]
        if name not in _LLVM_CALLS:
            _refuse(expr)
        intrinsic, arguments = tvm.intrinsic_name(int(expr.args[0].value)), list(expr.args[1:])
        if intrinsic.startswith(_PREDICATED):
            *arguments, mask, count = arguments
            lanes = self.value(mask)
            if not all(each.value for each in lanes) or int(count.value) != len(lanes):
                _refuse(expr)
        immediates = [int(each.value) for each in arguments if _is_immediate(each)]
        given = [each for each in arguments if not _is_immediate(each)]
        types = [_lane_type(each) for each in given]
        meaning = meaning_of(intrinsic, types)
        registers = [
            reread(self.value(each), has, read)
            for each, has, read in zip(given, types, meaning.reads, strict=True)
        ]
        return reread(meaning.lanes(registers, immediates), meaning.result, of)


def _repeated(lanes: list[int], count: int) -> list[int]:
    return lanes * count if len(lanes) == 1 else lanes


def _is_vector(buffer: Any) -> bool:
    return "x" in str(buffer.dtype)


def _is_immediate(expr: Any) -> bool:
    return isinstance(expr, tirx.IntImm)


def _lane_type(expr: Any) -> IntType:
    name = str(expr.ty.dtype).partition("x")[0]
    return BOOL if name == "bool" else int_type(name)


def _constant(lane: Formula) -> int:
    if lane.value is None:
        _refuse(lane)
    return lane.value


def _refuse(node: Any) -> NoReturn:
    raise UsageError(
        "no part of straight-line vector code",
        expected="loads, stores, lane-wise arithmetic, reinterpret, broadcast, LLVM intrinsics",
        got=f"{type(node).__name__}: {node}",
    )

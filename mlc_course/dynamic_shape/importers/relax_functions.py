"""A function of Relax as a module; its symbolic sizes become dimensions, and what it writes of them
constraints."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from mlc_course.extras import brought_by

with brought_by():
    from tvm.ir.prim import expr as prim

from mlc_course.dynamic_shape.importers.building import Building
from mlc_course.dynamic_shape.ir import (
    DTYPES,
    AffineEq,
    Constraint,
    Dim,
    Module,
    MulEq,
    Type,
    is_name,
)
from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir import MAIN, Constant, relax

SHORT = {np.dtype(kind).name: name for name, kind in DTYPES.items()}
UNARY = {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "rsqrt": "rsqrt",
    "tanh": "tanh",
    "erf": "erf",
    "negative": "neg",
    "abs": "abs",
    "square": "square",
    "sigmoid": "sigmoid",
    "sin": "sin",
    "cos": "cos",
    "round": "round",
}
BINARY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "maximum": "max",
    "minimum": "min",
    "power": "pow",
}
REDUCTIONS = {"sum": "reduce_sum", "max": "reduce_max", "min": "reduce_min", "mean": "reduce_mean"}


def from_relax(module: Any, name: str = MAIN) -> Module:
    """Return a function of a Relax module, with the size of each symbolic variable unknown.

    Raises ``UsageError`` for an operator that is not among ``OPERATORS``, a weight that is not a
    parameter, and a size whose value depends on rounding.
    """
    return _Reader(module[name], name).read()


class _Reader(Building):
    def __init__(self, function: Any, name: str) -> None:
        super().__init__(name)
        self.function = function
        self.names: dict[Hashable, str] = {}  # of the expressions of sizes
        self.constraints: list[Constraint] = []
        self.values: dict[Any, int | tuple[int, ...]] = {}

    def read(self) -> Module:
        for each in self.function.params:
            self.values[each] = self.input(str(each.name), self.type(each.ty))
        for block in self.function.body.blocks:
            for binding in block.bindings:
                self.values[binding.var] = self.bound(binding)
        results = self.numbers(self.function.body.body)
        return self.module(results, list(self.names.values()), self.constraints)

    # Sizes and types.

    def type(self, found: Any) -> Type:
        if not isinstance(found, relax.TensorType) or found.shape is None:
            raise UsageError("a value of Relax", expected="a tensor of known rank", got=found)
        dtype = str(found.dtype)
        if dtype not in SHORT:
            raise UsageError("an element type", expected=" | ".join(SHORT), got=dtype)
        return Type(SHORT[dtype], tuple(map(self.size, found.shape.values)))

    def size(self, found: Any) -> Dim:
        """Return a size; a sum or a product is a dimension of its own, and a constraint."""
        match found:
            case prim.IntImm():
                return int(found.value)
            case prim.Max() if isinstance(found.b, prim.IntImm) and found.b.value <= 0:
                return self.size(found.a)  # a size is at least 1 here, so it is not the other
            case prim.Cast():
                return self.size(found.value)
        key = _key(found)
        if key in self.names:
            return self.names[key]
        match found:
            case prim.Mul():
                factors = tuple(map(self.size, _factors(found)))
                name = self.named(found)
                self.constraints.append(MulEq(name, factors))
                return name
            case prim.Add() | prim.Sub():
                terms, constant = self.terms(found, 1)
                name = self.named(found)
                self.constraints.append(AffineEq(name, tuple(terms), constant))
                return name
            case prim.BinaryOpExpr():
                raise UsageError(
                    "a size that depends on rounding",
                    expected="sums and products",
                    got=found,
                    hint="write the size as a multiple, such as 2*n",
                )
        return self.named(found)

    def terms(self, found: Any, sign: int) -> tuple[list[tuple[int, Dim]], int]:
        if isinstance(found, prim.IntImm):
            return [], sign * int(found.value)
        if isinstance(found, prim.Add | prim.Sub):
            left, first = self.terms(found.a, sign)
            right, second = self.terms(found.b, sign if isinstance(found, prim.Add) else -sign)
            return left + right, first + second
        if isinstance(found, prim.Mul) and isinstance(found.b, prim.IntImm):
            return [(sign * int(found.b.value), self.size(found.a))], 0
        return [(sign, self.size(found))], 0

    def named(self, found: Any) -> str:
        text = str(found)
        taken = set(self.names.values())
        name = text if is_name(text) and text not in taken else ""
        count = len(self.names)
        while not name or name in taken:
            name, count = f"S{count}", count + 1
        self.names[_key(found)] = name
        return name

    # Values.

    def number(self, found: Any) -> int:
        (value,) = self.numbers(found)
        return value

    def numbers(self, found: Any) -> tuple[int, ...]:
        if isinstance(found, relax.Tuple):
            return tuple(map(self.number, found.fields))
        if isinstance(found, Constant):
            array = found.value.numpy()
            if array.ndim:
                raise UsageError(
                    "a weight inside a function",
                    expected="numbers alone",
                    got=f"an array of shape {array.shape}",
                    hint="make it a parameter",
                )
            dtype, number = SHORT[array.dtype.name], array.item()
            return (self.emit("constant", (), (), dtype, value=number + 0),)  # True is 1
        value = self.values[found]
        return value if isinstance(value, tuple) else (value,)

    def bound(self, binding: Any) -> int | tuple[int, ...]:
        found = binding.value
        if isinstance(found, relax.TupleGetItem):
            return self.numbers(found.tuple_value)[int(found.index)]
        if isinstance(found, relax.Call):
            name = str(getattr(found.op, "name", found.op)).removeprefix("relax.")
            if name not in OPERATORS:
                raise UsageError(
                    f"{binding.var.name}: no operator {name}", expected=" | ".join(OPERATORS)
                )
            made: int | tuple[int, ...] = OPERATORS[name](self, found, binding.var.ty)
            return made
        return self.numbers(found) if isinstance(found, relax.Tuple) else self.values[found]

    def fit(self, value: int, dims: Sequence[Dim]) -> int:
        """Broadcast a value as NumPy does: axes are matched from the last one on."""
        own = self.types(value).dims
        if not own or own == tuple(dims):
            return value
        first = len(dims) - len(own)
        return self.emit("broadcast", (value,), dims, dims=tuple(range(first, len(dims))))


def _key(found: Any) -> Hashable:
    """Return the same for expressions of the same variables, of which two may have one name."""
    if isinstance(found, prim.BinaryOpExpr):
        return type(found).__name__, _key(found.a), _key(found.b)
    return found if isinstance(found, prim.Var) else str(found)


def _factors(found: Any) -> list[Any]:
    return _factors(found.a) + _factors(found.b) if isinstance(found, prim.Mul) else [found]


def _axes(found: Any, rank: int) -> tuple[int, ...]:
    if found is None:
        return tuple(range(rank))
    several = found if isinstance(found, Sequence) or hasattr(found, "__len__") else [found]
    return tuple(sorted(int(axis) % rank for axis in several))


# What becomes of each operator of Relax.

Reading = Callable[[_Reader, Any, Any], "int | tuple[int, ...]"]


def _unary(op: str) -> Reading:
    def read(to: _Reader, call: Any, type_: Any) -> int:
        value = to.number(call.args[0])
        return to.emit(op, (value,), to.types(value).dims)

    return read


def _binary(op: str) -> Reading:
    def read(to: _Reader, call: Any, type_: Any) -> int:
        result = to.type(type_)
        operands = [to.fit(to.number(each), result.dims) for each in call.args]
        return to.emit(op, operands, result.dims, result.dtype)

    return read


def _reduction(op: str) -> Reading:
    def read(to: _Reader, call: Any, type_: Any) -> int:
        value = to.number(call.args[0])
        result = to.reduced(op, value, _axes(call.attrs.axis, len(to.types(value).dims)))
        if not call.attrs.keepdims:
            return result
        return to.emit("reshape", (result,), to.type(type_).dims)

    return read


def _reshape(to: _Reader, call: Any, type_: Any) -> int:
    return to.emit("reshape", (to.number(call.args[0]),), to.type(type_).dims)


def _broadcast(to: _Reader, call: Any, type_: Any) -> int:
    value, dims = to.number(call.args[0]), to.type(type_).dims
    if dims and not to.types(value).dims:
        return to.emit("broadcast", (value,), dims, dims=())
    return to.fit(value, dims)


def _permute(to: _Reader, call: Any, type_: Any) -> int:
    dims = to.type(type_).dims
    axes = call.attrs.axes
    perm = tuple(reversed(range(len(dims)))) if axes is None else tuple(int(a) for a in axes)
    perm = tuple(axis % len(dims) for axis in perm)
    return to.emit("transpose", (to.number(call.args[0]),), dims, perm=perm)


def _concat(to: _Reader, call: Any, type_: Any) -> int:
    dims, values = to.type(type_).dims, to.numbers(call.args[0])
    return to.emit("concat", values, dims, axis=int(call.attrs.axis or 0) % len(dims))


def _split(to: _Reader, call: Any, type_: Any) -> tuple[int, ...]:
    value, parts = to.number(call.args[0]), call.attrs.indices_or_sections
    if not isinstance(parts, prim.IntImm):
        raise UsageError("split", expected="a number of equal parts", got=parts)
    axis, count = int(call.attrs.axis) % len(to.types(value).dims), int(parts.value)
    whole = to.types(value).dims[axis]
    if isinstance(whole, int) and whole % count:
        raise UsageError("split", expected=f"a multiple of {count}", got=whole)
    return tuple(
        to.emit("split", (value,), to.type(each).dims, axis=axis, parts=count, part=part)
        for part, each in enumerate(type_.fields)
    )


def _take(to: _Reader, call: Any, type_: Any) -> int:
    table, indices = map(to.number, call.args)
    if call.attrs.axis not in (0, None) or len(to.types(table).dims) != 2:
        raise UsageError("take", expected="rows of a matrix: axis=0", got=call.attrs.axis)
    return to.emit("gather", (table, indices), to.type(type_).dims)


def _matmul(to: _Reader, call: Any, type_: Any) -> int:
    dims = to.type(type_).dims
    operands = []
    for each in call.args:
        value = to.number(each)
        operands.append(to.fit(value, (*dims[:-2], *to.types(value).dims[-2:])))
    return to.emit("matmul", operands, dims)


def _astype(to: _Reader, call: Any, type_: Any) -> int:
    result = to.type(type_)
    return to.emit("convert", (to.number(call.args[0]),), result.dims, result.dtype)


def _where(to: _Reader, call: Any, type_: Any) -> int:
    result = to.type(type_)
    operands = [to.fit(to.number(each), result.dims) for each in call.args]
    return to.emit("select", operands, result.dims, result.dtype)


def _softmax(to: _Reader, call: Any, type_: Any) -> int:
    value = to.number(call.args[0])
    return to.softmax(value, _axes(call.attrs.axis, len(to.types(value).dims)))


def _weight(to: _Reader, weight: int, dims: Sequence[Dim], axes: tuple[int, ...]) -> int:
    """Give each element of the normalized axes its weight."""
    if to.types(weight).dims == tuple(dims):
        return weight
    return to.emit("broadcast", (weight,), dims, dims=axes)


def _rms_norm(to: _Reader, call: Any, type_: Any) -> int:
    value, weight = map(to.number, call.args)
    dims = to.types(value).dims
    axes = _axes(call.attrs.axes, len(dims))
    scaled = to.normalized(value, axes, float(call.attrs.epsilon))
    return to.emit("mul", (scaled, _weight(to, weight, dims, axes)), dims)


def _layer_norm(to: _Reader, call: Any, type_: Any) -> int:
    value, gamma, beta = map(to.number, call.args)
    dims = to.types(value).dims
    axes = _axes(call.attrs.axes, len(dims))
    found = to.normalized(to.centred(value, axes), axes, float(call.attrs.epsilon))
    if call.attrs.scale:
        found = to.emit("mul", (found, _weight(to, gamma, dims, axes)), dims)
    if not call.attrs.center:
        return found
    return to.emit("add", (found, _weight(to, beta, dims, axes)), dims)


def _gelu(to: _Reader, call: Any, type_: Any) -> int:
    return to.gelu(to.number(call.args[0]))


def _silu(to: _Reader, call: Any, type_: Any) -> int:
    value = to.number(call.args[0])
    dims = to.types(value).dims
    return to.emit("mul", (value, to.emit("sigmoid", (value,), dims)), dims)


def _relu(to: _Reader, call: Any, type_: Any) -> int:
    return to.relu(to.number(call.args[0]))


OPERATORS: Mapping[str, Reading] = {
    **{name: _unary(op) for name, op in UNARY.items()},
    **{name: _binary(op) for name, op in BINARY.items()},
    **{name: _reduction(op) for name, op in REDUCTIONS.items()},
    "reshape": _reshape,
    "flatten": _reshape,
    "expand_dims": _reshape,
    "squeeze": _reshape,
    "broadcast_to": _broadcast,
    "permute_dims": _permute,
    "concat": _concat,
    "split": _split,
    "take": _take,
    "matmul": _matmul,
    "astype": _astype,
    "where": _where,
    "nn.softmax": _softmax,
    "nn.rms_norm": _rms_norm,
    "nn.layer_norm": _layer_norm,
    "nn.gelu": _gelu,
    "nn.silu": _silu,
    "nn.relu": _relu,
}

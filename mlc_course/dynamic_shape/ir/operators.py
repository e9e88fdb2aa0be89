"""The operators: what each asserts of the sizes that it is given and returns, and what it computes.

One place for each. They are the memory-bound part of a transformer, matrix multiplication, and what
moves or renames elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mlc_course.dynamic_shape.ir.constraints import (
    AffineEq,
    Constraint,
    Eq,
    MulEq,
    ProductEq,
)
from mlc_course.dynamic_shape.ir.dims import LARGEST, Dim
from mlc_course.errors import ShapeError

Value = int | float | str | tuple[int, ...]
Attributes = tuple[tuple[str, Value], ...]
Given = Mapping[str, Any]
Array = np.ndarray[Any, Any]
Facts = Callable[[Sequence["Type"], "Type", Given], Iterator[Constraint]]
DTYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "f64": np.float64,
    "i64": np.int64,
    "i32": np.int32,
    "i8": np.int8,
    "i1": np.bool_,
}
Kind = Literal["elementwise", "reduction", "broadcast", "reshape", "move", "product", "source"]


@dataclass(frozen=True)
class Type:
    """The element type and the sizes of a tensor, or of a buffer that holds one."""

    dtype: str
    dims: tuple[Dim, ...] = ()
    is_buffer: bool = False


@dataclass(frozen=True)
class Op:
    """An operator; ``run`` takes arrays, then attributes by name, and ``shape``: the result's.

    ``kind`` is what fusion asks: how an element of the result depends on those of operands.
    """

    name: str
    kind: Kind
    facts: Facts
    run: Callable[..., Any] = field(compare=False)
    count: int | None = None  # of operands; None: one or more
    attributes: tuple[str, ...] = ()

    def asserted(
        self, operands: Sequence[Type], result: Type, given: Given
    ) -> Iterator[Constraint]:
        """Yield the facts on sizes; raise ``ShapeError`` for what the operator cannot take."""
        need(
            sorted(given) == sorted(self.attributes),
            f"{self.name}: attributes",
            expected=", ".join(self.attributes) or "none",
            got=", ".join(given) or "none",
        )
        for name, value in given.items():
            need(_fits(name, value), f"{self.name}: {name}", expected=_KINDS[name], got=value)
        _check_dtypes(self, operands, result)
        yield from self.facts(operands, result, given)


def need(is_met: bool, what: str, *, expected: object, got: object) -> None:
    """Raise ``ShapeError`` unless something holds."""
    if not is_met:
        raise ShapeError(what, expected=expected, got=got)


def same(a: Dim, b: Dim) -> Iterator[Constraint]:
    """Yield that two sizes are equal, unless they are the same."""
    if a != b:
        yield Eq(a, b)


def same_all(a: Sequence[Dim], b: Sequence[Dim], what: str) -> Iterator[Constraint]:
    """Yield that two lists of sizes are equal, one by one."""
    need(len(a) == len(b), f"{what}: ranks", expected=len(a), got=len(b))
    for one, other in zip(a, b, strict=True):
        yield from same(one, other)


# What attributes and element types may be.

_LISTS = ("axes", "dims", "perm")
_KINDS = dict.fromkeys(_LISTS, "a list of axes") | {
    "value": "a number",
    "axis": "an axis",
    **dict.fromkeys(("start", "drop", "low", "high", "part"), "a whole number, 0 or more"),
    "parts": "a whole number, 1 or more",
}


def _fits(name: str, value: Value) -> bool:
    if name in _LISTS:
        return isinstance(value, tuple) and all(type(axis) is int for axis in value)
    if name == "value":
        return type(value) in (int, float)
    return type(value) is int and value >= (1 if name == "parts" else 0)


def _check_dtypes(op: Op, operands: Sequence[Type], result: Type) -> None:
    """Raise ``ShapeError`` unless element types are those that an operator takes and returns."""
    if op.name == "shape_of":
        need(result.dtype == "i64", "shape_of: type", expected="i64", got=result.dtype)
        return
    for each in operands:
        need(
            each.is_buffer == result.is_buffer,
            f"{op.name}: operands and result",
            expected="all tensors, or all buffers",
            got="both",
        )
    dtypes = [each.dtype for each in operands]
    if op.name in ("less", "equal"):
        wanted, expected = [dtypes[0]] * 2, "i1"
    elif op.name == "select":
        wanted, expected = ["i1", result.dtype, result.dtype], result.dtype
    elif op.name == "gather":
        indices = dtypes[1] if dtypes[1] in ("i32", "i64") else "i64"
        wanted, expected = [result.dtype, indices], result.dtype
    elif op.name == "not":
        wanted, expected = ["i1"], "i1"
    elif op.name == "convert":
        return
    else:
        wanted, expected = [result.dtype] * len(dtypes), result.dtype
    need(
        (dtypes, result.dtype) == (wanted, expected),
        f"{op.name}: element types",
        expected=f"({', '.join(wanted)}) -> {expected}",
        got=f"({', '.join(dtypes)}) -> {result.dtype}",
    )
    is_wrong = op.name in ("neg", "sub") and result.dtype == "i1"
    need(not is_wrong, f"{op.name}: element type", expected="a number's", got="i1")


# What each kind of operator asserts.


def elementwise(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Operands and result have equal sizes; an operand without axes goes with every element."""
    need(
        not result.dims or any(each.dims for each in operands),
        "an elementwise operator: rank",
        expected=0,
        got=len(result.dims),
    )
    for each in operands:
        if each.dims:
            yield from same_all(each.dims, result.dims, "an elementwise operator")


def reduction(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Reduced axes are left out; all others keep their sizes."""
    dims, axes = operands[0].dims, given["axes"]
    need(
        len(set(axes)) == len(axes) and all(0 <= axis < len(dims) for axis in axes),
        "a reduction: axes",
        expected=f"different ones of 0 to {len(dims) - 1}",
        got=list(axes),
    )
    kept = [dim for axis, dim in enumerate(dims) if axis not in axes]
    yield from same_all(kept, result.dims, "a reduction")


def broadcast(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Each axis of the operand becomes the axis that ``dims`` names; a size of 1 is repeated.

    An unknown size is not repeated: what may be 1 is reshaped first.
    """
    dims, to = operands[0].dims, given["dims"]
    need(
        len(to) == len(dims)
        and list(to) == sorted(set(to))
        and set(to) <= set(range(len(result.dims))),
        "broadcast: dims",
        expected=f"{len(dims)} rising axes of 0 to {len(result.dims) - 1}",
        got=list(to),
    )
    for dim, axis in zip(dims, to, strict=True):
        if dim != 1:
            yield from same(dim, result.dims[axis])


def reshape(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """The elements are as many as before."""
    if operands[0].dims != result.dims:
        yield ProductEq(operands[0].dims or (1,), result.dims or (1,))


def transpose(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Axis i of the result is axis ``perm[i]`` of the operand."""
    dims, perm = operands[0].dims, given["perm"]
    need(
        sorted(perm) == list(range(len(dims))),
        "transpose: perm",
        expected=f"an order of 0 to {len(dims) - 1}",
        got=list(perm),
    )
    yield from same_all([dims[axis] for axis in perm], result.dims, "transpose")


def concat(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Sizes add up along ``axis``, and are equal along all others."""
    axis = _axis(given["axis"], result.dims, "concat")
    for each in operands:
        need(
            len(each.dims) == len(result.dims),
            "concat: ranks",
            expected=len(result.dims),
            got=len(each.dims),
        )
        for at, dim in enumerate(each.dims):
            if at != axis:
                yield from same(dim, result.dims[at])
    parts = [each.dims[axis] for each in operands]
    if len(parts) == 1:
        yield from same(parts[0], result.dims[axis])
    else:
        yield _sum(result.dims[axis], [(1, dim) for dim in parts], 0)


def _same_rank(operand: Type, result: Type, what: str) -> None:
    ranks = len(operand.dims), len(result.dims)
    need(ranks[0] == ranks[1], f"{what}: rank", expected=ranks[0], got=ranks[1])


def _axis(axis: int, dims: Sequence[Dim], what: str) -> int:
    need(0 <= axis < len(dims), f"{what}: axis", expected=f"0 to {len(dims) - 1}", got=axis)
    return axis


def _sum(size: Dim, terms: Sequence[tuple[int, Dim]], constant: int) -> Constraint:
    """A sum of sizes, of which those that are known are added up, as far as a number may be."""
    left: dict[Dim, int] = {}
    for by, dim in terms:
        if isinstance(dim, str) or abs(constant + by * dim) > LARGEST:
            left[dim] = left.get(dim, 0) + by
        else:
            constant += by * dim
    return AffineEq(size, tuple((by, dim) for dim, by in left.items() if by), constant)


def slice_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """``start`` elements are left out at the front of ``axis``, and ``drop`` at its end."""
    _same_rank(operands[0], result, "slice")
    axis = _axis(given["axis"], result.dims, "slice")
    dims, start, drop = operands[0].dims, given["start"], given["drop"]
    need(start >= 0 and drop >= 0, "slice", expected="start, drop >= 0", got=(start, drop))
    for at, dim in enumerate(dims):
        if at != axis:
            yield from same(dim, result.dims[at])
    if start + drop:
        yield _sum(result.dims[axis], [(1, dims[axis])], -start - drop)
    else:
        yield from same(dims[axis], result.dims[axis])


def pad_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """``low`` and ``high`` elements are added at the ends of ``axis``."""
    _same_rank(operands[0], result, "pad")
    axis = _axis(given["axis"], result.dims, "pad")
    for at, dim in enumerate(operands[0].dims):
        if at != axis:
            yield from same(dim, result.dims[at])
    yield _sum(result.dims[axis], [(1, operands[0].dims[axis])], given["low"] + given["high"])


def split_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Part ``part`` of ``parts`` equal ones along ``axis``; so ``parts`` divides the size."""
    _same_rank(operands[0], result, "split")
    axis, parts = _axis(given["axis"], result.dims, "split"), given["parts"]
    need(0 <= given["part"] < parts, "split: part", expected=f"0 to {parts - 1}", got=given["part"])
    for at, dim in enumerate(operands[0].dims):
        if at != axis:
            yield from same(dim, result.dims[at])
    whole = operands[0].dims[axis]
    if isinstance(whole, int):
        yield ProductEq((whole,), (parts, result.dims[axis]))
    else:
        yield MulEq(whole, (parts, result.dims[axis]))


def gather_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Rows of a table, by index: the axes of the indices, then those of a row."""
    table, indices = operands
    need(len(table.dims) >= 1, "gather: the table's rank", expected="at least 1", got=0)
    yield from same_all((*indices.dims, *table.dims[1:]), result.dims, "gather")


def matmul_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Matrices on the last two axes; all axes before are equal."""
    left, right = (each.dims for each in operands)
    need(
        len(left) == len(right) >= 2,
        "matmul: ranks",
        expected="equal, at least 2",
        got=(len(left), len(right)),
    )
    yield from same_all(left[:-2], right[:-2], "matmul")
    yield from same(left[-1], right[-2])
    yield from same_all((*left[:-1], right[-1]), result.dims, "matmul")


def shape_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """One number for each axis."""
    yield from same_all((len(operands[0].dims),), result.dims, "shape_of")


def iota_facts(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Assert nothing; the axis is one of the result's."""
    _axis(given["axis"], result.dims, "iota")
    yield from ()


def nothing(operands: Sequence[Type], result: Type, given: Given) -> Iterator[Constraint]:
    """Assert nothing."""
    yield from ()


# The operators.


def _erf(x: Array) -> Array:
    found: Array = np.vectorize(math.erf, otypes=[x.dtype])(x)
    return found


def _broadcast(x: Array, shape: tuple[int, ...], dims: tuple[int, ...]) -> Array:
    sizes = [1] * len(shape)
    for axis, to in enumerate(dims):
        sizes[to] = x.shape[axis]
    return np.broadcast_to(x.reshape(sizes), shape)


def _pad(x: Array, axis: int, low: int, high: int, value: float) -> Array:
    widths = [(low, high) if at == axis else (0, 0) for at in range(x.ndim)]
    return np.pad(x, widths, constant_values=value)


def _along(x: Array, axis: int, low: int, high: int) -> Array:
    return x[tuple(slice(low, high) if at == axis else slice(None) for at in range(x.ndim))]


_UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "tanh": np.tanh,
    "erf": _erf,
    "neg": np.negative,
    "abs": np.abs,
    "square": np.square,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "cos": np.cos,
    "round": np.round,
    "not": np.logical_not,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "pow": np.power,
    "less": np.less,
    "equal": np.equal,
}
_REDUCTIONS: dict[str, Callable[..., Any]] = {
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_mean": np.mean,
}


def _table() -> Iterator[Op]:
    for name, run in _UNARY.items():
        yield Op(name, "elementwise", elementwise, lambda x, shape, run=run: run(x), 1)
    for name, run in _BINARY.items():
        yield Op(name, "elementwise", elementwise, lambda x, y, shape, run=run: run(x, y), 2)
    for name, run in _REDUCTIONS.items():
        yield Op(
            name,
            "reduction",
            reduction,
            lambda x, shape, axes, run=run: run(x, axis=axes),
            1,
            ("axes",),
        )
    yield Op("select", "elementwise", elementwise, lambda c, x, y, shape: np.where(c, x, y), 3)
    yield Op("clamp", "elementwise", elementwise, lambda a, x, b, shape: np.clip(x, a, b), 3)
    yield Op("convert", "elementwise", elementwise, lambda x, shape: x, 1)
    yield Op(
        "constant", "source", nothing, lambda shape, value: np.full(shape, value), 0, ("value",)
    )
    yield Op(
        "iota",
        "source",
        iota_facts,
        lambda shape, axis: np.broadcast_to(
            np.arange(shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(shape))]),
            shape,
        ),
        0,
        ("axis",),
    )
    yield Op("broadcast", "broadcast", broadcast, _broadcast, 1, ("dims",))
    yield Op("reshape", "reshape", reshape, lambda x, shape: x.reshape(shape), 1)
    yield Op("transpose", "move", transpose, lambda x, shape, perm: x.transpose(perm), 1, ("perm",))
    yield Op(
        "concat", "move", concat, lambda *xs, shape, axis: np.concatenate(xs, axis), None, ("axis",)
    )
    yield Op(
        "slice",
        "move",
        slice_facts,
        lambda x, shape, axis, start, drop: _along(x, axis, start, x.shape[axis] - drop),
        1,
        ("axis", "start", "drop"),
    )
    yield Op(
        "split",
        "move",
        split_facts,
        lambda x, shape, axis, parts, part: np.split(x, parts, axis)[part],
        1,
        ("axis", "parts", "part"),
    )
    yield Op(
        "pad",
        "move",
        pad_facts,
        lambda x, shape, **given: _pad(x, **given),
        1,
        ("axis", "low", "high", "value"),
    )
    yield Op("gather", "move", gather_facts, lambda table, at, shape: table[at], 2)
    yield Op("matmul", "product", matmul_facts, lambda a, b, shape: a @ b, 2)
    yield Op("shape_of", "source", shape_facts, lambda x, shape: np.array(x.shape), 1)


BY_NAME = {op.name: op for op in _table()}

"""Run a module with NumPy: the reference for what is generated, at any sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mlc_course.dynamic_shape.ir.constraints import dims_of, forced_size, holds, said
from mlc_course.dynamic_shape.ir.dims import Dim
from mlc_course.dynamic_shape.ir.module import Equation, Module
from mlc_course.dynamic_shape.ir.operators import DTYPES, Array
from mlc_course.errors import ShapeError


def bind(
    module: Module, shapes: Mapping[str, Sequence[int]], *, may_be_empty: bool = False
) -> dict[str, int]:
    """Return the sizes of all dimensions, for inputs of given shapes.

    What is proved of sizes holds for sizes from 1 on, so 0 is refused, unless it ``may_be_empty``.
    Raises ``ShapeError`` for shapes that do not fit each other or break a constraint, and where a
    dimension follows from none.
    """
    sizes: dict[str, int] = {}
    names = [each.name for each in module.function.inputs]
    if sorted(names) != sorted(shapes):
        raise ShapeError("the inputs", expected=", ".join(names), got=", ".join(shapes) or "none")
    for each in module.function.inputs:
        shape = shapes[each.name]
        if len(shape) != len(each.type.dims):
            raise ShapeError(f"%{each.name}: rank", expected=len(each.type.dims), got=len(shape))
        for dim, size in zip(each.type.dims, shape, strict=True):
            known = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
            if known != size:
                raise ShapeError(f"%{each.name}: the size of {dim}", expected=known, got=size)
    facts = module.facts()
    while True:
        new = {}
        for fact in facts:
            missing = {dim for dim in dims_of(fact) if isinstance(dim, str)} - sizes.keys()
            if len(missing) == 1:
                (name,) = missing
                if (forced := forced_size(fact, name, sizes)) is not None:
                    new[name] = forced
        if not new:
            break
        sizes |= new
    for own in module.dims:
        if own.name not in sizes:
            raise ShapeError(f"@{own.name} follows from no input", got=sizes)
        is_empty = may_be_empty and sizes[own.name] == 0
        if not is_empty and not own.may_be(sizes[own.name]):
            raise ShapeError(f"@{own.name}", expected=list(own.ranges), got=sizes[own.name])
    for fact in facts:
        if not holds(fact, sizes):
            named = dict.fromkeys(dim for dim in dims_of(fact) if isinstance(dim, str))
            got = ", ".join(f"{name} = {sizes[name]}" for name in named)
            raise ShapeError("a constraint does not hold", expected=said(fact), got=got)
    return sizes


def run(module: Module, inputs: Mapping[str, Array], *, exact: bool = False) -> list[Array]:
    """Return the results for given inputs; ``exact`` computes in float64 whatever the types say.

    Values are stored row by row, and an elementwise operator reads operands of equal shapes: in
    NumPy, the order of a sum, the sign of ``nan + -nan`` and the last bit of a power depend on how
    operands lie in memory. So equal operands have equal results, bit by bit. Tensors may be empty.
    Raises what ``bind`` does, and ``ShapeError`` for the largest or the smallest of no elements.
    """
    function = module.function
    arrays = {name: np.asarray(array) for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in arrays.items()}
    sizes = bind(module, shapes, may_be_empty=True)

    def size(dim: Dim) -> int:
        return dim if isinstance(dim, int) else sizes[dim]

    def typed(array: Array, dtype: str) -> Array:
        floats = exact and dtype.startswith("f")
        return array.astype(np.float64 if floats else DTYPES[dtype], order="C", copy=False)

    values: list[Any] = [typed(arrays[each.name], each.type.dtype) for each in function.inputs]
    for equation in function.equations:
        operands = [values[at] for at in equation.operands]
        shape = tuple(map(size, equation.type.dims))
        if equation.op.kind == "elementwise":
            operands = [np.asarray(np.broadcast_to(each, shape), order="C") for each in operands]
        if equation.op.kind == "reduction" and operands[0].size == 0:
            found = _reduced_nothing(equation, operands[0], shape)
        else:
            found = equation.op.run(*operands, shape=shape, **dict(equation.attributes))
        values.append(typed(np.asarray(found), equation.type.dtype))
    return [values[at] for at in function.results]


def _reduced_nothing(equation: Equation, operand: Array, shape: tuple[int, ...]) -> Array:
    """The result of a reduction of an empty tensor, which may have elements all the same."""
    name = equation.op.name
    if 0 not in shape and name in ("reduce_max", "reduce_min"):
        raise ShapeError(f"{name} of no elements", got=operand.shape)
    return np.full(shape, np.nan if name == "reduce_mean" else 0, operand.dtype)

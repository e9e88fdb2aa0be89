"""A program at some known sizes: their dimensions become numbers in types and constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from mlc_course.dynamic_shape.ir.constraints import dims_of, holds, said
from mlc_course.dynamic_shape.ir.dims import Dim
from mlc_course.dynamic_shape.ir.module import Module
from mlc_course.dynamic_shape.ir.operators import Type
from mlc_course.errors import ShapeError, check_known


def specialized(module: Module, sizes: Mapping[str, int]) -> Module:
    """Return a module in which some dimensions have given sizes.

    Constraints between numbers alone are left out. Raises ``ShapeError`` where one of them, or a
    range, does not hold, and ``UsageError`` for a dimension that there is not.
    """
    for name, size in sizes.items():
        check_known("no symbolic dimension", name, [dim.name for dim in module.dims])
        own = next(dim for dim in module.dims if dim.name == name)
        if not own.may_be(size):
            raise ShapeError(f"@{name}", expected=list(own.ranges), got=size)

    def known(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(known, x))
        return sizes.get(x, x) if isinstance(x, str) else x

    constraints = []
    for each in module.constraints:
        made = replace(each, **{f.name: known(getattr(each, f.name)) for f in fields(each)})
        if any(isinstance(dim, str) for dim in dims_of(made)):
            constraints.append(made)
        elif not holds(made, {}):
            raise ShapeError("a constraint does not hold", expected=said(each), got=dict(sizes))

    def typed(type_: Type) -> Type:
        dims: tuple[Dim, ...] = known(type_.dims)
        return replace(type_, dims=dims)

    function = module.function
    return Module(
        replace(
            function,
            inputs=tuple(replace(each, type=typed(each.type)) for each in function.inputs),
            equations=tuple(replace(each, type=typed(each.type)) for each in function.equations),
        ),
        tuple(dim for dim in module.dims if dim.name not in sizes),
        tuple(constraints),
    )

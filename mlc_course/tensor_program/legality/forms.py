"""What a store computes, apart from where its operands stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mlc_course.errors import UsageError
from mlc_course.tensor_program.admission.integers import MEANINGS, kind_of
from mlc_course.tensor_program.reading.walk import Expr, Touch, Var, operands
from mlc_course.tensor_program.tvm_names import Call, StringImm, TensorLoad, same_structure, tirx

# Sums, products and extremes may take their terms in any order; a difference is a sum, too.
FAMILIES: dict[type, str] = {
    tirx.Add: "sum",
    tirx.Sub: "sum",
    tirx.Mul: "product",
    tirx.Max: "maximum",
    tirx.Min: "minimum",
}


def evaluate(expr: Expr, at: Mapping[Var, Any], values: Mapping[Var, Expr]) -> Any:
    """An integer expression over many iterations at once.

    ``at`` holds the loops' values, ``values`` what the other variables stand for. Raises
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
    return MEANINGS[kind_of(expr)].values(*(evaluate(x, at, values) for x in operands(expr)))


def form_of(value: Expr, scalars: list[Expr]) -> str:
    """The arithmetic of a store as text: ``Add[float32](#, Mul[float32](#, #))``.

    # is a load, i an integer without loads; the latter are put into ``scalars``, in order.
    """
    match value:
        case TensorLoad():
            return "#"
        case tirx.FloatImm() | StringImm():
            return repr(value.value)
    kind = str(value.ty.dtype)
    if kind.startswith(("int", "uint", "bool")) and not _loads(value):
        scalars.append(value)
        return "i"
    if isinstance(value, tirx.Var):
        return str(value.name)
    inner = ", ".join(form_of(each, scalars) for each in operands(value))
    name = str(value.op.name) if isinstance(value, Call) else type(value).__name__
    return f"{name}[{kind}]({inner})"


def _loads(expr: Expr) -> bool:
    return isinstance(expr, TensorLoad) or any(map(_loads, operands(expr)))


def update_family(write: Touch) -> str:
    """``sum`` for ``x = x + ...``, and so on for what may be taken in any order; else empty."""
    family = FAMILIES.get(type(write.value), "")
    old = any(_is_old_value(term, write) for term in _terms(write.value, family))
    return family if old else ""


def _terms(expr: Expr, family: str) -> Iterator[Expr]:
    """The operands of a chain of one family, but for what is subtracted."""
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

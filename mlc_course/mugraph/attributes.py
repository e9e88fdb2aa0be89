"""Attributes of operators: as they are given, as a graph keeps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from mlc_course.errors import GraphError
from mlc_course.mugraph.constants import Constant, constant
from mlc_course.mugraph.ir import AxisMap
from mlc_course.mugraph.ops import Op

EXPECTED = {
    "constant": "a number such as 2, 1/3 or 1/d",
    "size": "a size such as 4*d",
    "sizes": "sizes such as [2, 4*d]",
    "axis": "a whole number",
    "count": "a whole number",
    "axes": "whole numbers such as [1, 0]",
    "map": "a map such as {k: 1}",
}


def kept(op: Op, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Attributes as a graph keeps them: constants exact, axes and maps as tuples.

    Raises ``GraphError`` for one that the operator does not have, or that is of another kind.
    """
    for name in given:
        if name not in op.attributes:
            raise GraphError(
                f"{op.name}: no attribute {name!r}",
                expected=", ".join(op.attributes) or "none",
                got=name,
            )
    found = {}
    for name, value in given.items():
        try:
            found[name] = _kept(op.attributes[name], value)
        except GraphError as error:
            error.add_note(f"in {op.name}({name}={value})")
            raise
    return tuple(
        (name, found[name])
        for name in op.attributes
        if name in found and found[name] != op.defaults.get(name)
    )


def _kept(kind: str, value: Any) -> Any:
    match kind, value:
        case _, bool():
            pass
        case "constant" | "size", str() | int() | float() | Fraction() | Constant():
            return constant(value)
        case "sizes", [*sizes]:
            return tuple(constant(each) for each in sizes)
        case "axis" | "count", int():
            return value
        case "axes", [*axes] if all(isinstance(each, int) for each in axes):
            return tuple(axes)
        case "map", Mapping():
            return axis_map(value)
    raise GraphError("not such an attribute", expected=EXPECTED[kind], got=repr(value))


def axis_map(cuts: Mapping[str, int] | None, order: Sequence[str] = ()) -> AxisMap:
    """``{"k": 1}`` as a graph keeps it: axes in their ``order``, those that are not in it last."""
    for axis, dim in (cuts or {}).items():
        if not isinstance(axis, str) or not isinstance(dim, int):
            raise GraphError("a map", expected=EXPECTED["map"], got=cuts)
    rank = {axis: place for place, axis in enumerate(order)}
    return tuple(sorted((cuts or {}).items(), key=lambda cut: rank.get(cut[0], len(rank))))

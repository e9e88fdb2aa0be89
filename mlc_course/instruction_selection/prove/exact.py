"""Formulas on Python's own integers: slow, and right whatever the sizes."""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.instruction_selection.integers import Formula, IntType, walk


def exact_value(root: Formula, values: Mapping[Formula, int]) -> int:
    """Return the value of a formula for values of its variables, which must lie in their ranges."""
    found: dict[Formula, int] = {}
    for each in walk(root):
        found[each] = _value(each, [found[x] for x in each.operands], values)
    return found[root]


def _value(each: Formula, a: list[int], values: Mapping[Formula, int]) -> int:
    match each.op:
        case "var":
            assert each.lo <= values[each] <= each.hi
            return values[each]
        case "const":
            return each.lo
        case "add":
            return a[0] + a[1]
        case "sub":
            return a[0] - a[1]
        case "mul":
            return a[0] * a[1]
        case "shr":
            return a[0] >> _number(each, 0)
        case "and":
            return a[0] & a[1]
        case "or":
            return a[0] | a[1]
        case "xor":
            return a[0] ^ a[1]
        case "min":
            return min(a)
        case "max":
            return max(a)
        case "eq":
            return int(a[0] == a[1])
        case "gt":
            return int(a[0] > a[1])
        case "where":
            return a[1] if a[0] else a[2]
        case "wrap":
            return type_of(each).wrapped(a[0])
        case "slice":
            index, bits = _number(each, 0), _number(each, 1)
            return (a[0] >> (index * bits)) & ((1 << bits) - 1)
        case "concat":
            bits = type_of(each).bits // len(a)
            return type_of(each).wrapped(sum(x << (bits * i) for i, x in enumerate(a)))


def type_of(each: Formula) -> IntType:
    """Return the type that a ``wrap`` or a ``concat`` names."""
    of = each.params[0]
    assert isinstance(of, IntType)
    return of


def _number(each: Formula, at: int) -> int:
    value = each.params[at]
    assert isinstance(value, int)
    return value

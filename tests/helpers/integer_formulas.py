"""Random formulas over small integers, and their values by Python's own integers."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    U8,
    U16,
    U32,
    Formula,
    const,
    equals,
    greater,
    lift,
    maximum,
    minimum,
    reread,
    saturate,
    shift_right,
    variable,
    walk,
    where,
    wrap,
)

TYPES = (U8, S8, U16, S16, U32, S32)
CONSTANTS = (0, 1, -1, 2, 37, 127, 128, -128, 255, 256, 2048, 32768)


@st.composite
def formulas(draw: st.DrawFn, names: str = "abc", most: int = 8) -> Formula:
    """Formulas of a few operators over variables of 8 and 16 bits."""
    values = [variable(name, draw(st.sampled_from(TYPES[:4]))) for name in names]
    values += [const(draw(st.sampled_from(CONSTANTS)))]
    for _ in range(draw(st.integers(1, most))):
        x, y, z = (draw(st.sampled_from(values)) for _ in range(3))
        to, old = draw(st.sampled_from(TYPES)), draw(st.sampled_from(TYPES))
        amount = draw(st.sampled_from([1, 3, 8, 15, 40]))
        made = draw(
            st.sampled_from(
                (
                    lambda x, y, z: x + y,
                    lambda x, y, z: x - y,
                    lambda x, y, z: x * y,
                    lambda x, y, z, to=to: wrap(to, x + y),
                    lambda x, y, z, to=to: wrap(to, x * y - z),
                    lambda x, y, z, to=to: saturate(to, x + y),
                    lambda x, y, z, k=amount: shift_right(x, k),
                    lambda x, y, z: minimum(x, y),
                    lambda x, y, z: maximum(x, y),
                    lambda x, y, z: where(greater(x, y), y, z),
                    lambda x, y, z: equals(x, y),
                    lambda x, y, z: x ^ y,
                    lambda x, y, z: x & y,
                    lambda x, y, z: x | y,
                    lambda x, y, z, to=to, old=old: reread(
                        [wrap(old, v) for v in (x, y, z, x)[: max(1, to.bits // old.bits)]], old, to
                    )[-1],
                )
            )
        )(x, y, z)
        values.append(lift(made))
    return values[-1]


def value_by_python(root: Formula, row: Mapping[Formula, int]) -> int:
    """Return the value of a formula, found without NumPy."""
    found: dict[Formula, int] = {}
    for each in walk(root):
        a, p = [found[x] for x in each.operands], each.params
        match each.op:
            case "var":
                found[each] = row[each]
            case "const":
                found[each] = each.lo
            case "add":
                found[each] = a[0] + a[1]
            case "sub":
                found[each] = a[0] - a[1]
            case "mul":
                found[each] = a[0] * a[1]
            case "shr":
                found[each] = a[0] // 2 ** int(str(p[0]))
            case "and":
                found[each] = a[0] & a[1]
            case "or":
                found[each] = a[0] | a[1]
            case "xor":
                found[each] = a[0] ^ a[1]
            case "min":
                found[each] = min(a)
            case "max":
                found[each] = max(a)
            case "eq":
                found[each] = int(a[0] == a[1])
            case "gt":
                found[each] = int(a[0] > a[1])
            case "where":
                found[each] = a[1] if a[0] else a[2]
            case "wrap":
                found[each] = p[0].wrapped(a[0])  # type: ignore[union-attr]
            case "slice":
                index, bits = (int(str(x)) for x in p)
                found[each] = a[0] // 2 ** (index * bits) % 2**bits
            case "concat":
                bits = p[0].bits // len(a)  # type: ignore[union-attr]
                joined = sum(x << (bits * i) for i, x in enumerate(a))
                found[each] = p[0].wrapped(joined)  # type: ignore[union-attr]
    return found[root]

"""Operators on elements as formulas of a kernel program, and the types that kernels compute with.

Floats are computed in float32: float16 is rounded where it is stored, a sigmoid below e**-88 is 0,
and a sum of a million elements has 3 to 4 right digits, since each lane adds them one by one. Of 0
and -0, max and min give the one or the other. Whole numbers are added, multiplied, compared, chosen
and converted, and wrap around; but those of 64 bits must stay in their range on a CPU, since LLVM
takes them to. A truth value is 1 or 0 in a kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import copysign, isinf, isnan

import numpy as np

from mlc_course.dynamic_shape.ir import DTYPES, Equation, Type
from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.kernels import Apply, Combine, Constant, Count, Role, Value, const

ROLES: Mapping[str, Role] = {
    "f32": "sum",
    "f16": "float16",
    "i64": "int64",
    "i32": "int32",
    "i8": "int8",
    "i1": "bool",
}
COMPUTED: Mapping[str, Role] = {**ROLES, "f16": "sum", "i1": "sum"}  # in registers
FLOATS = ("f16", "f32")
TRUTHS = ("less", "equal", "not", "select")  # which give 1 or 0 already
ON_WHOLE_NUMBERS = ("add", "sub", "mul", "less", "equal", "select", "convert")


def number(value: float | Fraction) -> Constant:
    """Return a constant; one beyond the range of float32 is infinite there."""
    if isinstance(value, float) and isinf(value):
        value = Fraction(10**400 if value > 0 else -(10**400))
    return Constant(Number(Fraction(value)))


ZERO_VALUE, ONE_VALUE = number(0), number(1)
NOT_A_NUMBER = Apply("div", (ZERO_VALUE, ZERO_VALUE))
NEGATIVE_ZERO = Apply("div", (ZERO_VALUE, number(-1)))


def constant(value: float, dtype: str) -> Value:
    """Return the value of an operator ``constant``: a ``Count`` of whole numbers, as NumPy cuts."""
    if dtype == "i1":
        return number(bool(value))
    if dtype not in FLOATS:
        return Count(const(int(np.asarray(value).astype(DTYPES[dtype]))))
    if isnan(value):
        return NOT_A_NUMBER
    return NEGATIVE_ZERO if value == 0 and copysign(1, value) < 0 else number(value)


def of_type(equation: Equation, found: Value) -> Value:
    """Return a result in its type: a truth value is 1 for anything but 0, NaN too."""
    if equation.type.dtype != "i1" or equation.op.name in TRUTHS:
        return found
    return Apply("choose", (found, ONE_VALUE, ZERO_VALUE))


def _named(name: str) -> Callable[..., Value]:
    return lambda *args: Apply(name, args)


def _over(above: Value, below: Value) -> Value:
    return Apply("div", (above, below))


ELEMENTWISE: Mapping[str, Callable[..., Value]] = {
    **{
        name: _named(name)
        for name in (
            *("exp", "log", "sqrt", "tanh", "erf", "abs", "sin", "cos", "round", "not"),
            *("add", "sub", "mul", "div", "max", "min", "pow", "less", "equal"),
        )
    },
    "rsqrt": lambda x: _over(ONE_VALUE, Apply("sqrt", (x,))),
    "neg": lambda x: Apply("mul", (x, number(-1))),
    "square": lambda x: Apply("mul", (x, x)),
    "sigmoid": lambda x: _over(
        ONE_VALUE, Apply("add", (ONE_VALUE, Apply("exp", (Apply("mul", (x, number(-1))),))))
    ),
    "select": _named("choose"),
    "clamp": lambda low, x, high: Apply("min", (Apply("max", (x, low)), high)),
    "convert": lambda x: x,
}
# How a reduction combines elements, and what it begins with.
COMBINES: Mapping[str, tuple[Combine, Value]] = {
    "reduce_sum": ("add", ZERO_VALUE),
    "reduce_mean": ("add", ZERO_VALUE),
    "reduce_max": ("max", number(float("-inf"))),
    "reduce_min": ("min", number(float("inf"))),
}


def check_types(equation: Equation, operands: Sequence[Type], where: str) -> None:
    """Raise ``GraphError`` for an operator on element types that kernels do not compute with."""
    dtypes = {each.dtype for each in (*operands, equation.type)}
    is_known = dtypes <= set(ROLES)
    if is_known and equation.op.kind in ("elementwise", "reduction"):
        whole = dtypes - {*FLOATS, "i1"}
        is_known = not whole or equation.op.name in ON_WHOLE_NUMBERS
    if not is_known:
        raise GraphError(
            f"no code for {where} = {equation.op.name} on {', '.join(sorted(dtypes))}",
            expected=f"elements of {', '.join(FLOATS)}; whole numbers in "
            + ", ".join(ON_WHOLE_NUMBERS),
            got=", ".join(sorted(dtypes)),
            hint="convert them first, or run the program with the interpreter",
        )

"""Elementary functions as vector arithmetic: a schedule step that replaces a C library's call."""

from __future__ import annotations

from typing import Any

from mlc_course.errors import BlockError
from mlc_course.tensor_program import names
from mlc_course.tensor_program.step import step
from mlc_course.tensor_program.tvm_names import SBlock, Schedule, tirx

# exp(x) = 2^n * exp(f), where n is the whole number next to x / ln 2 and |f| <= ln(2) / 2. The
# polynomial is Cephes' expf (S. Moshier); ln 2 is split in two so that n * ln 2 loses no bits.
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4
_EXP_TERMS = (
    1.9875691500e-4,
    1.3981999507e-3,
    8.3334519073e-3,
    4.1665795894e-2,
    1.6666665459e-1,
    5.0000001201e-1,
)
_EXP_LIMIT = 87.3  # exp of more than 88.7 is infinite in float32, of less than -87.3 subnormal


@step
def polynomial_exp(sch: Schedule, block: str) -> None:
    """Compute exp by multiplications, not by a call into the C library.

    before  D[i, j] = exp(C[i, j])                           a call per element
    after   D[i, j] = 2^n * polynomial(C[i, j] - n * ln 2)   vector instructions only
    needs   a block whose whole body is one exp of a float32; arguments within +-87.3
    why     a vector of 16 elements costs about 12 instructions in place of 16 calls
    tvm     ScheduleState.replace: a new body, which the trace does not record
    """
    target = names.block(sch, block)
    old = sch.get(target)
    if not names.is_exp(sch, block) or old.writes[0].source.dtype != "float32":
        raise BlockError(
            f"polynomial_exp({block}): the block is not one exp",
            expected="a body D[...] = exp(...), of float32",
            got=str(old.body).splitlines()[-1],
            hint="name the block whose body is the exp",
        )
    body = tirx.BufferStore(old.body.buffer, _exp(old.body.value.args[0]), old.body.indices)
    new = SBlock(old.iter_vars, old.reads, old.writes, old.name_hint, body)
    sch.state.replace(sch.get_sref(target), new, {old: new})


def _exp(value: Any) -> Any:
    def number(constant: float) -> Any:
        return tirx.const(constant, "float32")

    x, n, f = (tirx.Var(name, "float32") for name in "xnf")
    total = number(_EXP_TERMS[0])
    for term in _EXP_TERMS[1:]:
        total = total * f + number(term)
    # A float32's exponent field holds n + 127, above 23 bits of mantissa.
    bits = tirx.shift_left(tirx.Cast("int32", n) + 127, tirx.const(23, "int32"))
    result = (total * f * f + f + number(1.0)) * tirx.reinterpret("float32", bits)
    reduced = tirx.Let(f, x - n * number(_LN2_HIGH) - n * number(_LN2_LOW), result)
    rounded = tirx.Let(n, tirx.floor(x * number(1.4426950408889634) + number(0.5)), reduced)
    # In this order NaN stays NaN: TVM's min(a, b) is a if a < b, else b.
    limited = tirx.max(number(-_EXP_LIMIT), tirx.min(number(_EXP_LIMIT), value))
    return tirx.Let(x, limited, rounded)

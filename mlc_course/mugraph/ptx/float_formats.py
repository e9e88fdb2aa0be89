"""Floats as the hardware rounds them: each result once, from its exact value.

A sum or a product of float32 is computed in float64 together with its error, so that it is rounded
once, to nearest or in a direction. What PTX calls approximate is computed in float64 and rounded;
the hardware may differ from that in the last bits.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array

BITS: dict[str, Any] = {"f16": np.uint16, "bf16": np.uint16, "f32": np.uint32, "f64": np.uint64}
SMALLEST_NORMAL = {"f16": 2.0**-14, "bf16": 2.0**-126, "f32": 2.0**-126, "f64": 2.0**-1022}
HALFWAY = {"f32": 29, "f16": 42, "bf16": 45}  # bits of float64 that the format does not have
BF16_NAN, F16_NAN = 0x7FFF, 0x7FFF


def widened(bits: Array, kind: str) -> Array:
    """Return the numbers of a format as float64, or float32 where these are as good."""
    if kind == "f32":
        return bits.view(np.float32)
    if kind == "f64":
        return bits.view(np.float64)
    if kind == "f16":
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bits(values: Array, kind: str, mode: str = "rn", error: Array | None = None) -> Array:
    """Return the bits of numbers in a format, rounded once.

    ``values`` are float64, or float32; ``error`` is what they lack of the exact value. The mode is
    ``rn`` (to nearest, ties to even), ``rz`` (to zero), ``rm`` (down) or ``rp`` (up).
    """
    if kind == "f64":
        return np.asarray(values, np.float64).view(np.uint64)
    exact = np.asarray(values, np.float64)
    if mode == "rn":
        if error is not None:
            exact = _to_odd(exact, error)
        return _nearest(exact, kind)
    found = _nearest(exact, kind)
    back = widened(found, kind).astype(np.float64)
    over = back > exact
    under = back < exact
    if error is not None:
        over |= (back == exact) & (error < 0)
        under |= (back == exact) & (error > 0)
    negative = exact < 0
    down = over & ((mode == "rm") | ((mode == "rz") & ~negative))
    up = under & ((mode == "rp") | ((mode == "rz") & negative))
    return _stepped(_stepped(found, back, down, -1), back, up, 1)


def _stepped(bits: Array, values: Array, where: Array, direction: int) -> Array:
    """The next number of the format in a direction: bits count away from zero."""
    one = bits.dtype.type(1)
    away = (values > 0) if direction > 0 else (values < 0)
    zero = values == 0
    sign = bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    smallest = np.where(direction > 0, one, sign | one)
    moved = np.where(zero, smallest, np.where(away, bits + one, bits - one))
    return np.where(where, moved, bits)


def _nearest(exact: Array, kind: str) -> Array:
    if kind == "f32":
        return exact.astype(np.float32).view(np.uint32)
    if kind == "f16":
        return np.where(
            np.isnan(exact), np.uint16(F16_NAN), exact.astype(np.float16).view(np.uint16)
        )
    narrow = exact.astype(np.float32)
    error = exact - narrow
    with_odd = narrow.view(np.uint32)
    # To odd: what float32 cannot hold is remembered in its last bit, which bfloat16 does not have.
    lower = (error != 0) & ((with_odd & np.uint32(1)) == 0) & np.isfinite(narrow)
    outward = (error > 0) == (narrow > 0)
    with_odd = np.where(lower, np.where(outward, with_odd + 1, with_odd - 1), with_odd)
    with_odd = with_odd.astype(np.uint32)
    up = np.uint32(0x7FFF) + ((with_odd >> np.uint32(16)) & np.uint32(1))
    found = ((with_odd + up) >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(exact), np.uint16(BF16_NAN), found)


def _to_odd(exact: Array, error: Array) -> Array:
    """Remember an error in the last bit of float64, so that rounding once more is right."""
    bits = exact.view(np.int64)
    wrong = (error != 0) & ((bits & 1) == 0) & np.isfinite(exact)
    if not wrong.any():
        return exact
    outward = (error > 0) == (exact > 0)
    moved: Array = np.where(wrong, np.where(outward, bits + 1, bits - 1), bits)
    return moved.view(np.float64)


def sum_with_error(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a sum in float64, and what it lacks of the exact one (Knuth's two-sum)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, np.where(np.isfinite(total), error, 0.0)


def fused(a: Array, b: Array, c: Array, kind: str, mode: str = "rn") -> Array:
    """Return the bits of ``a * b + c``, rounded once."""
    if kind == "f64":
        return np.asarray(_fused_double(a, b, c)).view(np.uint64)
    product = np.multiply(a, b, dtype=np.float64)  # exact: 48 bits at most
    total = product + c
    if kind == "f32" and mode == "rn":
        # Rounding twice is wrong only from halfway between two float32, and for the smallest.
        halfway = (total.view(np.uint64) & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)
        small = np.abs(total) < SMALLEST_NORMAL["f32"]
        if not (halfway | small).any():
            return total.astype(np.float32).view(np.uint32)
    wide_c = np.asarray(c, np.float64)
    total, error = sum_with_error(product, np.broadcast_to(wide_c, product.shape))
    return to_bits(total, kind, mode, error)


def _fused_double(a: Array, b: Array, c: Array) -> Array:
    """float64 has nothing wider in NumPy everywhere: fractions, one number at a time."""

    def one(x: float, y: float, z: float) -> float:
        if not all(np.isfinite((x, y, z))):
            return x * y + z
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        try:
            return float(exact) if exact else x * y + z
        except OverflowError:
            return float("inf") if exact > 0 else float("-inf")

    found: Array = np.vectorize(one, otypes=[np.float64])(a, b, c)
    return found


def flushed(bits: Array, kind: str) -> Array:
    """Return numbers of which those below the smallest normal one are zero, with their sign."""
    values = widened(bits, kind)
    sign = bits & bits.dtype.type(1 << (8 * bits.dtype.itemsize - 1))
    return np.where(np.abs(values) < SMALLEST_NORMAL[kind], sign, bits)


def saturated(bits: Array, kind: str) -> Array:
    """Return numbers put between 0 and 1; what is no number is 0."""
    values = widened(bits, kind)
    one = to_bits(np.ones(1), kind)[0]
    clear = np.where(values > 0, bits, bits.dtype.type(0))
    return np.where(values > 1, one, clear)


APPROXIMATE: dict[str, Callable[[Array], Array]] = {
    "rcp": lambda x: 1.0 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
}

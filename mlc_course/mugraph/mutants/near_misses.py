"""Near misses: pairs of graphs that differ by little, to test a verifier with; and equal pairs.

They are as small as possible, so that a single entry has to show the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent

from mlc_course.errors import check_known
from mlc_course.mugraph.ir import KernelGraph, parse


@dataclass(frozen=True)
class Pair:
    """Two graphs in the text form; ``said`` is what they compute, as a formula."""

    name: str
    said: str
    left_text: str
    right_text: str
    equal: bool = False

    @property
    def left(self) -> KernelGraph:
        return parse(self.left_text)

    @property
    def right(self) -> KernelGraph:
        return parse(self.right_text)


def _pair(name: str, said: str, inputs: str, left: str, right: str, *, equal: bool = False) -> Pair:
    """Make a pair from equations that are separated by semicolons."""
    ours, theirs = (
        f"{side}({inputs}):\n" + indent(body.replace("; ", "\n"), "  ") + "\n  return F\n"
        for side, body in (("left", left), ("right", right))
    )
    return Pair(name, said, ours, theirs, equal)


ONE, TWO = "X[n=1]", "X[n=1], Y[n]"
FOUR = "A[n=1], B[n], C[n], D[n]"
SHARES = "e = exp(X); s = sum(e, axis=0); F = div(e, s)"

NEAR_MISSES = (
    _pair("cube", "x·x·x  and  x", ONE, "s = mul(X, X); F = mul(s, X)", "F = scale(X, by=1)"),
    _pair(
        "matrices swapped", "A B  and  B A", "A[n=2, n], B[n, n]",
        "F = matmul(A, B)", "F = matmul(B, A)",
    ),
    _pair(
        "mean forgotten", "x / √mean  and  x / √sum", "X[1, d=2]",
        "s = square(X); m = mean(s, axis=1); q = sqrt(m); F = div(X, q)",
        "s = square(X); m = sum(s, axis=1); q = sqrt(m); F = div(X, q)",
    ),
    _pair(
        "exponent off by y", "exp(x + y)  and  exp(x + 2y)", TWO,
        "s = add(X, Y); F = exp(s)", "t = add(Y, Y); s = add(X, t); F = exp(s)",
    ),
    _pair(
        "product for a sum", "exp(x) exp(y)  and  exp(x y)", TWO,
        "a = exp(X); b = exp(Y); F = mul(a, b)", "s = mul(X, Y); F = exp(s)",
    ),
    _pair(
        "factors swapped", "x exp(y)  and  y exp(x)", TWO,
        "e = exp(Y); F = mul(X, e)", "e = exp(X); F = mul(Y, e)",
    ),
    _pair(
        "other summands", "exp(a) + exp(b)  and  exp(c) + exp(d)", FOUR,
        "a = exp(A); b = exp(B); F = add(a, b)", "c = exp(C); d = exp(D); F = add(c, d)",
    ),
    _pair(
        "gates swapped", "silu(x) y  and  silu(y) x", TWO,
        "g = silu(X); F = mul(g, Y)", "g = silu(Y); F = mul(g, X)",
    ),
    _pair(
        "shares of 2x", "softmax(x)  and  softmax(2x)", "X[n=2]",
        SHARES, SHARES.replace("exp(X)", "exp(t)").replace("e =", "t = add(X, X); e =", 1),
    ),
    _pair(
        "exp of exp", "exp(exp(x)) y  and  exp(exp(2x)) y", TWO,
        "a = exp(X); e = exp(a); F = mul(e, Y)",
        "t = add(X, X); a = exp(t); e = exp(a); F = mul(e, Y)",
    ),
    _pair(
        "last one forgotten", "max(x, y, z)  and  max(x, y)", "X[n=1], Y[n], Z[n]",
        "m = maximum(X, Y); F = maximum(m, Z)", "F = maximum(X, Y)",
    ),
    _pair(
        "not rescaled", "exp(x − m) + exp(y − m)  and  1 + exp(y − m),  m = max(x, y)", TWO,
        "m = maximum(X, Y); u = sub(X, m); v = sub(Y, m); "
        "a = exp(u); b = exp(v); F = add(a, b)",
        "m = maximum(X, Y); v = sub(Y, m); b = exp(v); F = shift(b, by=1)",
    ),
)  # fmt: skip
EQUALS = (
    _pair(
        "sum of exponents", "exp(x) exp(y)  and  exp(x + y)", TWO,
        "a = exp(X); b = exp(Y); F = mul(a, b)", "s = add(X, Y); F = exp(s)", equal=True,
    ),
    _pair(
        "two squares", "(x + y)(x − y)  and  x² − y²", TWO,
        "s = add(X, Y); d = sub(X, Y); F = mul(s, d)",
        "a = square(X); b = square(Y); F = sub(a, b)", equal=True,
    ),
    _pair(
        "stable softmax", "softmax(x)  and  softmax(x − max)", "X[n=2]",
        "F = softmax(X, axis=0)", "F = stable_softmax(X, axis=0)", equal=True,
    ),
)  # fmt: skip
# On sizes on which floats are usually compared.
IN_FLOATS = (
    _pair(
        "eps moved", "x / √(mean + eps)  and  x / (√mean + eps)", "X[b=64, d=512]",
        "s = square(X); m = mean(s, axis=1); e = shift(m, by=0.00001); q = sqrt(e); F = div(X, q)",
        "s = square(X); m = mean(s, axis=1); q = sqrt(m); e = shift(q, by=0.00001); F = div(X, e)",
    ),
    _pair(
        "variance", "mean of (x − mean)²  and  mean of x² − mean²", "X[b=64, d=512]",
        "m = mean(X, axis=1); c = sub(X, m); s = square(c); F = mean(s, axis=1)",
        "m = mean(X, axis=1); p = square(m); s = square(X); q = mean(s, axis=1); F = sub(q, p)",
        equal=True,
    ),
)  # fmt: skip
# Whose difference can be seen on a square of points.
ON_A_GRID = (
    _pair(
        "degree 1", "x + y  and  3y + 5", TWO,
        "F = add(X, Y)", "t = scale(Y, by=3); F = shift(t, by=5)",
    ),
    _pair(
        "degree 2", "x² + y²  and  1", TWO,
        "a = square(X); b = square(Y); F = add(a, b)", "z = sub(X, X); F = shift(z, by=1)",
    ),
    _pair(
        "degree 3", "x²y + x y²  and  0", TWO,
        "a = mul(X, Y); t = add(X, Y); F = mul(a, t)", "F = sub(X, X)",
    ),
)  # fmt: skip
# That a tester with fixed primes, the root 3, the same inputs and 1/0 = 1 takes for equal.
EIGHT = "X[n=8], Y[n]"
IF_NOTHING_IS_DRAWN = (
    _pair("quotient", "x / y  and  y / x", EIGHT, "F = div(X, Y)", "F = div(Y, X)"),
    _pair(
        "gates", "silu(x) y  and  silu(y) x", EIGHT,
        "g = silu(X); F = mul(g, Y)", "g = silu(Y); F = mul(g, X)",
    ),
    _pair(
        "two exps", "exp(exp(x)) y  and  exp(exp(2x)) y", EIGHT,
        "a = exp(X); e = exp(a); F = mul(e, Y)",
        "t = add(X, X); a = exp(t); e = exp(a); F = mul(e, Y)",
    ),
    _pair(
        "e is 3", "exp(x + 1) y  and  3 exp(x) y", EIGHT,
        "s = shift(X, by=1); e = exp(s); F = mul(e, Y)",
        "a = exp(X); e = scale(a, by=3); F = mul(e, Y)",
    ),
    _pair(
        "by nothing", "y / (x − x)  and  y", EIGHT,
        "z = sub(X, X); F = div(Y, z)", "F = scale(Y, by=1)",
    ),
)  # fmt: skip
# Equal, by what the verifier does not know: where x may be negative, and that exp(x) >= 1 + x.
BEYOND = (
    _pair(
        "roots", "√x √y  and  √(x y)", EIGHT,
        "a = sqrt(X); b = sqrt(Y); F = mul(a, b)", "a = mul(X, Y); F = sqrt(a)", equal=True,
    ),
    _pair(
        "elu", "max(x, exp(min(x, 0)) − 1)  and  relu(x) + exp(min(x, 0)) − 1", EIGHT,
        "n = neg(X); r = relu(n); m = neg(r); e = exp(m); f = shift(e, by=-1); F = maximum(X, f)",
        "n = neg(X); r = relu(n); m = neg(r); e = exp(m); f = shift(e, by=-1); p = relu(X); "
        "F = add(p, f)", equal=True,
    ),
)  # fmt: skip
# Alike on every row of two elements: the third elementary symmetric polynomial, by power sums.
SUMS = "p = sum(X, axis=1); a = square(X); q = sum(a, axis=1); c = mul(a, X); r = sum(c, axis=1); "
LONGER_ROWS = _pair(
    "power sums", "p³ + 2r  and  3 p q,  sums of x, x², x³ for p, q, r", "X[1, d=4096]",
    SUMS + "s = square(p); t = mul(s, p); u = scale(r, by=2); F = add(t, u)",
    SUMS + "m = mul(p, q); F = scale(m, by=3)",
)  # fmt: skip
NAMES = tuple(pair.name for pair in (*EQUALS, *NEAR_MISSES))
_BY_NAME = {
    pair.name: pair
    for pair in (
        *EQUALS, *NEAR_MISSES, *IN_FLOATS, *ON_A_GRID, *IF_NOTHING_IS_DRAWN, *BEYOND, LONGER_ROWS
    )
}  # fmt: skip


def pair(name: str) -> Pair:
    """Return a pair of this module by its name; raise ``UsageError`` for another name."""
    check_known("no pair", name, _BY_NAME)
    return _BY_NAME[name]

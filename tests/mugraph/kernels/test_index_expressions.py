"""Index expressions are made simpler, and stay what they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mlc_course.mugraph.kernels.index_expressions import Expr, const, evaluate, interval, var

NAMES = "tik"
RANGES = {"t": (0, 31), "i": (0, 3), "k": (0, 6)}


def raw(op: str, a: Expr, b: Expr) -> Expr:
    """An expression as it was written."""
    return Expr(op, (a, b))


@st.composite
def pairs(draw: st.DrawFn, depth: int = 4) -> tuple[Expr, Expr]:
    """The same expression, simplified and not."""
    if depth == 0 or draw(st.booleans()):
        leaf = draw(st.one_of(st.sampled_from([var(n) for n in NAMES]), st.integers(-9, 40)))
        made = leaf if isinstance(leaf, Expr) else const(leaf)
        return made, made
    (a, c), (b, d) = draw(pairs(depth=depth - 1)), draw(pairs(depth=depth - 1))
    op = draw(st.sampled_from("+*/%"))
    if op == "+":
        return a + b, raw("+", c, d)
    number = draw(st.sampled_from([1, 2, 3, 4, 8, 12, 32]))
    if op == "*":
        return a * number, raw("*", c, const(number))
    if op == "/":
        return a // number, raw("//", c, const(number))
    return a % number, raw("%", c, const(number))


@given(pairs(), st.integers(0, 31), st.integers(0, 3), st.integers(0, 6))
def test_a_simpler_expression_has_the_same_value(
    both: tuple[Expr, Expr], t: int, i: int, k: int
) -> None:
    values = {"t": t, "i": i, "k": k}
    simple, written = both
    assert evaluate(simple, values) == evaluate(written, values)
    low, high = interval(simple, RANGES)
    assert low <= evaluate(simple, values) <= high


def rounded_as_in_c(e: Expr, values: dict[str, int]) -> int:
    """The value in C, whose division rounds towards zero."""
    if e.op == "const":
        return int(e.args[0])
    if e.op == "var":
        return values[e.args[0]]
    a, b = (rounded_as_in_c(each, values) for each in e.args)
    if e.op in ("//", "%"):
        quotient = abs(a) // b * (1 if a >= 0 else -1)
        return quotient if e.op == "//" else a - quotient * b
    return a + b if e.op == "+" else a * b


def has_only_parts_from_zero_on(e: Expr, values: dict[str, int]) -> bool:
    """Whether nothing that is divided is below zero."""
    if e.op in ("const", "var"):
        return True
    if e.op in ("//", "%") and evaluate(e.args[0], values) < 0:
        return False
    return all(has_only_parts_from_zero_on(each, values) for each in e.args)


@given(pairs(), st.integers(0, 31), st.integers(0, 3), st.integers(0, 6))
def test_a_simpler_expression_divides_nothing_below_zero_that_was_not(
    both: tuple[Expr, Expr], t: int, i: int, k: int
) -> None:
    values = {"t": t, "i": i, "k": k}
    simple, written = both
    if has_only_parts_from_zero_on(written, values):
        assert rounded_as_in_c(simple, values) == evaluate(written, values)


def test_multiples_are_taken_out_of_a_division() -> None:
    t, i = var("t"), var("i")
    assert str((t // 32 * 32 + t % 8) % 32) == "t % 8"
    assert str((i * 8 + t % 8) // 8) == "i"
    assert str(t * 4 // 32) == "t // 8"
    assert str(t * 4 % 32) == "4*(t % 8)"
    assert str(t % 32 % 8) == "t % 8"
    assert str(t // 4 // 8) == "t // 32"
    assert str((t * 8 + i + -1) // 8) == "(8*t + i - 1) // 8"  # C rounds -1 // 8 to 0

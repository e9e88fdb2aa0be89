"""The referee of mutants: it tells what float64 cannot, and is not misled by rounding."""

from __future__ import annotations

import decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlc_course.mugraph.ir import KernelGraph, evaluate, ops, parse, run
from mlc_course.mugraph.mutants.mutations import Mutant
from mlc_course.mugraph.mutants.refusals import REFUSED, UNDECIDED, Base, differ, judged
from mlc_course.mugraph.programs import NAMES, workload
from mlc_course.mugraph.verify.counterexample import counterexample
from mlc_course.mugraph.verify.digits import Referee, differ_in_digits, precisely

MORE = Referee(digits=True)  # in a context of more digits


def graph(body: str, inputs: str = "X[b=2, d=4], Y[b, d]", returns: str = "F") -> KernelGraph:
    lines = "\n".join(f"  {line}" for line in body.split("; "))
    return parse(f"f({inputs}):\n{lines}\n  return {returns}")


NORM = "s = square(X); m = mean(s, axis=1); e = shift(m, by={}); r = sqrt(e); F = div(X, r)"


@pytest.mark.parametrize("eps", ["1/1000000000000", "1/100000000000000000000"])
def test_it_tells_what_float64_does_not(eps: str) -> None:
    left, right = graph(NORM.format(eps)), graph(NORM.format(0))
    assert not differ(left, right)
    assert differ(left, right, exactly=True)
    mutant = judged(Mutant("another constant", left, "eps"), Base(right, right))
    assert mutant.said in (REFUSED, UNDECIDED) and mutant.differs and not mutant.wrong


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("s = sub(X, Y); t = sub(s, X); F = add(t, Y); G = exp(F)", "z = sub(X, X); G = exp(z)"),
        ("e = exp(X); q = div(e, e); G = mul(q, Y)", "G = scale(Y, by=1)"),
        ("a = scale(X, by=1/3); b = scale(a, by=3); G = sqrt(b)", "G = sqrt(X)"),
        ("m = max(X, axis=1); s = sub(X, m); G = softmax(s, axis=1)", "G = softmax(X, axis=1)"),
        ("n = neg(X); c = clamp(n, low=-1, high=2); G = neg(c)", "G = clamp(X, low=-2, high=1)"),
    ],
)
def test_rounding_in_the_sixtieth_digit_is_no_difference(left: str, right: str) -> None:
    assert not differ(graph(left, returns="G"), graph(right, returns="G"), exactly=True)


@pytest.mark.parametrize(
    "body",
    [
        "z = sub(X, X); q = div(Y, z); F = maximum(q, Y)",
        "z = sub(X, X); q = div(Y, z); F = sigmoid(q)",
        "n = square(X); m = neg(n); l = log(m); F = maximum(Y, l)",
        "z = sub(X, X); q = div(z, z); p = max(q, axis=1); F = add(p, Y)",
    ],
)
def test_what_is_made_of_no_number_is_none(body: str) -> None:
    """An entry without a value differs from no other entry."""
    assert not differ(graph(body), graph("F = add(X, Y)"), exactly=True)


@pytest.mark.parametrize("name", NAMES)
def test_its_first_digits_are_those_of_float64(name: str) -> None:
    program = workload(name)
    small = program.resized({name: min(size, 4) for name, size in program.sizes})
    rng = np.random.default_rng(1)
    inputs = {name: rng.standard_normal(shape) for name, shape in small.input_shapes.items()}
    (found,) = precisely(inputs, small)
    for got, wanted in zip(found, run(small, inputs), strict=True):
        assert np.allclose(got.value.astype(float), wanted, rtol=1e-9, atol=1e-12)
        assert (got.error < 1e-50).all()


def test_outputs_are_compared_in_the_orders_that_are_given() -> None:
    left = graph("F = exp(X); G = exp(Y)", returns="F, G")
    right = graph("F = exp(X); G = exp(Y)", returns="G, F")
    inputs = {"X": np.ones((2, 4)), "Y": np.zeros((2, 4))}
    assert differ_in_digits(left, right, inputs, [(0, 1)])
    assert not differ_in_digits(left, right, inputs, [(0, 1), (1, 0)])


def test_every_operator_has_digits() -> None:
    """Operators with attributes are in the programs of the test above."""
    for op in ops.OPERATORS:
        if not op.attributes and not op.carried and op is not ops.matmul:
            call = "X" if op.operands == 1 else "X, Y"
            assert not differ(
                graph(f"F = {op.name}({call})"), graph(f"F = {op.name}({call})"), exactly=True
            )


ZEROS = [
    "e = exp(X); l = log(e); a = sub(l, X)",
    "q = square(X); p = shift(q, by=1); r = sqrt(p); t = mul(r, r); a = sub(t, p)",
    "q = div(X, Y); b = mul(q, Y); a = sub(b, X)",
    "e = exp(X); f = exp(Y); p = mul(e, f); t = add(X, Y); g = exp(t); a = sub(p, g)",
]


@pytest.mark.parametrize("zero", ZEROS)
@pytest.mark.parametrize(
    ("after", "instead"),
    [
        ("s = scale(a, by={}); F = clamp(s, low=0, high=1)", "F = scale(X, by=0)"),
        ("s = scale(a, by={}); F = sigmoid(s)", "z = scale(X, by=0); F = sigmoid(z)"),
        ("w = relu(a); F = div(w, a)", "z = scale(X, by=0); F = shift(z, by=0.5)"),
        (
            "n = neg(a); m = maximum(a, n); u = shift(m, by=1e-70); w = div(a, u); F = relu(w)",
            "F = scale(X, by=0)",
        ),
    ],
)
@pytest.mark.parametrize("size", [4, 20_000])
def test_a_rounded_zero_that_is_made_large_is_no_difference(
    zero: str, after: str, instead: str, size: int
) -> None:
    """In 60 digits, and in the 80 bits of large graphs."""
    inputs = f"X[b=2, d={size}], Y[b, d]"
    left = graph(f"{zero}; {after.format('1e70')}", inputs)
    assert counterexample(left, graph(instead, inputs), (0,)) is None


@pytest.mark.parametrize("size", [4, 20_000])
def test_the_rounding_of_numbers_near_the_least_float_is_no_difference(size: int) -> None:
    """A bound on its error is less than any float."""
    inputs = f"X[b=2, d={size}], Y[b, d]"
    body = "t = scale(X, by=1e-300); q = shift(X, by=3); u = mul(t, Y); v = mul(u, q); "
    body += "w = mul(Y, q); k = mul(t, w); d = sub(v, k); e = scale(d, by=1e300); "
    left = graph(f"{body}F = scale(e, by=1e300)", inputs)
    right = graph("F = sub(X, X)", inputs)
    rng = np.random.default_rng(0)
    drawn = {name: rng.standard_normal(shape) for name, shape in left.input_shapes.items()}
    assert not differ_in_digits(left, right, drawn, [(0,)])


@pytest.mark.parametrize("size", [4, 20_000])
def test_a_large_difference_is_one_whatever_cuts_it_off(size: int) -> None:
    inputs = f"X[b=2, d={size}], Y[b, d]"
    left = graph("a = sub(X, Y); s = scale(a, by=1e70); F = clamp(s, low=0, high=1)", inputs)
    right = graph("a = sub(Y, X); s = scale(a, by=1e70); F = clamp(s, low=0, high=1)", inputs)
    found = counterexample(left, right, (0,))
    assert found and {found.left_value, found.right_value} == {0, 1}


FUNCTIONS = st.sampled_from(
    ["exp", "neg", "relu", "square", "sqrt", "log", "sigmoid"]
    + ["add", "sub", "mul", "div", "maximum"]
)


@given(st.lists(st.tuples(FUNCTIONS, st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_the_errors_of_60_digits_are_within_their_bounds(
    steps: list[tuple[str, int, int]],
) -> None:
    """Judged with 120 digits, also where nearly all of the 60 cancel."""
    names, lines = ["X", "Y"], []
    for number, (name, first, second) in enumerate(steps):
        operands = [names[first % len(names)], names[second % len(names)]]
        count = 2 if name in ("add", "sub", "mul", "div", "maximum") else 1
        lines.append(f"v{number} = {name}({', '.join(operands[:count])})")
        names.append(f"v{number}")
    tried = graph("; ".join([*lines, "F = add(X, Y)"]), returns=", ".join([*names[2:], "F"]))
    rng = np.random.default_rng(0)
    inputs = {name: rng.standard_normal(shape) for name, shape in tried.input_shapes.items()}
    (few,) = precisely(inputs, tried)
    with decimal.localcontext(decimal.Context(prec=120, traps=[])), np.errstate(all="ignore"):
        entered = [MORE.entered(inputs[each.name]) for each in tried.inputs]
        many = evaluate(tried, entered, MORE)
        for short, long in zip(few, many, strict=True):
            known = np.isfinite(short.error)
            apart = np.abs((short.value - long.value)[known]).astype(float)
            assert (apart <= short.error[known]).all()

"""The referee of mutants: it tells what float64 cannot, and is not misled by rounding."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.mugraph.ir import KernelGraph, ops, parse, run
from mlc_course.mugraph.mutants.mutations import Mutant
from mlc_course.mugraph.mutants.refusals import REFUSED, UNDECIDED, Base, differ, judged
from mlc_course.mugraph.programs import NAMES, workload
from mlc_course.mugraph.verify.digits import Digits, differ_in_digits


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
    for got, wanted in zip(run(small, inputs, Digits()), run(small, inputs), strict=True):
        assert np.allclose(got.astype(float), wanted, rtol=1e-9, atol=1e-12)


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

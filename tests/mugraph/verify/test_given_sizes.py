"""Verdicts on graphs at the sizes that they have: pairs that small sizes get wrong."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import Undecided
from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.mutants import differ
from mlc_course.mugraph.verify import screen, verify


def graph(inputs: str, body: str, name: str = "f", returns: str = "F") -> KernelGraph:
    """Equations separated by semicolons."""
    lines = [line for part in body.split("; ") for line in part.split("\n")]
    text = "\n".join(f"  {line}" for line in lines)
    return parse(f"{name}({inputs}):\n{text}\n  return {returns}")


NORM = "s = square(X); m = mean(s, axis=1); e = shift(m, by=1e-6); r = sqrt(e); F = div(X, r)"


def norm_in_a_loop(eps: str, steps: int) -> str:
    """RMSNorm whose loop adds ``eps`` in each of its steps."""
    return f"""block grid(x=16) loop(k={steps}):
  x = load(X, imap={{x: 0}}, fmap={{k: 1}})
  s = square(x)
  t = sum(s, axis=1)
  m = scale(t, by=1/d)
  e = shift(m, by={eps})
  a = accumulate(e)
  A = store(a, omap={{x: 0}})
r = sqrt(A)
F = div(X, r)"""


@pytest.mark.parametrize(("steps", "width"), [(2, 64), (8, 1024), (32, 4096)])
def test_eps_in_a_loop_is_added_as_often_as_the_loop_runs(steps: int, width: int) -> None:
    """The bug that a verifier on loops of two steps accepts: 5e-7, twice, is 1e-6."""
    inputs = f"X[b=16, d={width}]"
    program = graph(inputs, NORM, "program")
    right = graph(inputs, norm_in_a_loop(f"1e-6/{steps}", steps), "right")
    wrong = graph(inputs, norm_in_a_loop("1e-6", steps), "wrong")
    found = verify(right, program, seed=1)
    assert found.equal and not found.sizes and found.batch == ("b",)
    refused = verify(wrong, program, seed=1)
    assert not refused.equal and refused.counterexample
    example = refused.counterexample
    ours, theirs = (run(g, example.spread(g))[0] for g in (wrong, program))
    assert np.abs(ours - theirs).max() > 1e-6 * np.abs(theirs).max()
    two = graph(inputs, norm_in_a_loop("5e-7", steps), "two")
    assert verify(two, program, seed=1).equal == (steps == 2)
    assert screen(two, program, seed=1)  # on small sizes


ROW = "q = square(X); n = mul(X, q); u = reshape(n, shape=[s, 64, e/64]); "
STALE = {
    "in a reshape": (ROW + "F = scale(u, by=1/e)", ROW + "F = scale(u, by=1/{})"),
    "in a split": (
        "a = split(X, axis=1, parts=64, part=3); F = scale(a, by=1/e)",
        "a = split(X, axis=1, parts=64, part=3); F = scale(a, by=1/{})",
    ),
    "in a fold": (
        "a = fold(X, axis=1, to=64); F = scale(a, by=1/e)",
        "a = fold(X, axis=1, to=64); F = scale(a, by=1/{})",
    ),
    "in a mean": ("F = mean(X, axis=1)", "t = sum(X, axis=1); F = scale(t, by=1/{})"),
    "under a root": (
        "t = scale(X, by=1/sqrt(e)); F = exp(t)",
        "t = scale(X, by=1/sqrt(e)); u = scale(t, by=e/{}); F = exp(u)",
    ),
}


@pytest.mark.parametrize("where", STALE)
@pytest.mark.parametrize("size", [256, 8192])
def test_a_number_means_what_it_is(where: str, size: int) -> None:
    """Equal to the size it was written for, different from any other."""
    inputs = f"X[s=16, e={size}]"
    named, numbered = STALE[where]
    left = graph(inputs, named)
    for number in (size, 2, 64, 128, size // 2, size + 1):
        verdict = verify(left, graph(inputs, numbered.format(number)), seed=1)
        assert verdict.equal == (number == size), number


ROOTS = {
    "a root that is a number": ("F = scale(X, by=1/sqrt(d))", "F = scale(X, by=0.125)", 64),
    "a root twice": (
        "a = scale(X, by=1/sqrt(d)); F = scale(a, by=1/sqrt(d))",
        "F = scale(X, by=1/d)",
        48,
    ),
    "roots of roots' sizes": (
        "F = scale(X, by=1/sqrt(d))",
        "a = scale(X, by=1/4); b = scale(a, by=1/3); F = scale(b, by=sqrt(h))",
        48,  # h is 3
    ),
    "a root in an exponent": (
        "a = scale(X, by=1/sqrt(d)); b = scale(a, by=sqrt(d)); F = exp(b)",
        "F = exp(X)",
        128,
    ),
}


@pytest.mark.parametrize("case", ROOTS)
def test_roots_of_sizes_are_numbers(case: str) -> None:
    left, right, size = ROOTS[case]
    inputs = f"X[b=4, d={size}], Y[h=3]"
    assert verify(graph(inputs, left), graph(inputs, right), seed=1).equal
    other = right.replace("by=1/", "by=2/", 1) if "by=1/" in right else "a = exp(X); F = neg(a)"
    assert not verify(graph(inputs, left), graph(inputs, other), seed=1).equal


def shuffles(count: int) -> str:
    """``count`` perfect shuffles of 4096 places: twelve are none."""
    body = "t0 = scale(X, by=1)"
    for i in range(count):
        body += f"; r{i} = reshape(t{i}, shape=[2, 2048]); u{i} = transpose(r{i}, axes=[1, 0])"
        body += f"; t{i + 1} = reshape(u{i}, shape=[n])"
    return body + f"; F = scale(t{count}, by=1)"


def test_index_maps_that_agree_on_small_sizes_are_told_apart() -> None:
    inputs = "X[n=4096]"
    for count, equal in ((6, False), (11, False), (12, True)):
        said = verify(graph(inputs, shuffles(count)), graph(inputs, shuffles(0)), seed=1)
        assert said.equal == equal
        assert said.batch == ()


def test_heads_of_one_matrix() -> None:
    """Sizes that follow from no dimension of an input could not be made small."""
    for heads in (8, 32, 128):
        text = f"""heads(X[s=16, e=512], W[e, f=512]):
  q = matmul(X, W)
  a = reshape(q, shape=[s, {heads}, f/{heads}])
  b = transpose(a, axes=[1, 0, 2])
  c = transpose(a, axes=[1, 2, 0])
  p = matmul(b, c)
  P = softmax(p, axis=2)
  o = matmul(P, b)
  t = transpose(o, axes=[1, 0, 2])
  F = reshape(t, shape=[s, f])
  return F"""
        left = parse(text)
        spelled = "e = exp(p)\n  z = sum(e, axis=2)\n  P = div(e, z)"
        right = parse(text.replace("P = softmax(p, axis=2)", spelled))
        assert verify(left, right, seed=1).equal
        assert not verify(left, parse(text.replace("matmul(P, b)", "matmul(p, b)")), seed=1).equal


# Domains.


def test_a_quotient_by_what_only_rounding_keeps_from_zero_is_no_value() -> None:
    """0.1 x + 0.2 x - 0.3 y is 0 for x = y, and 5e-17 in float64."""
    inputs = "X[n=2], Y[n]"
    left = graph(inputs, "d = sub(X, Y); F = div(X, d)")
    right = graph(
        inputs,
        "a = scale(X, by=0.1); b = scale(X, by=0.2); c = scale(Y, by=0.3); s = add(a, b); "
        "d = sub(s, c); x = scale(X, by=0.3); F = div(x, d)",
    )
    for pair in ((left, right), (right, left)):
        verdict = verify(*pair, seed=1)
        assert verdict.equal and not verdict.domain


DOMAINS = {
    "sigmoid(x / relu(t))": (
        "r = relu(T); q = div(X, r); F = sigmoid(q)",
        "q = div(X, T); F = sigmoid(q)",
    ),
    "exp(-1 / relu(x))": (
        "r = relu(X); n = neg(r); o = div(n, n); j = div(o, n); F = exp(j)",
        "n = neg(X); o = div(n, n); j = div(o, n); F = exp(j)",
    ),
    "x / x": ("q = div(X, X); F = mul(q, T)", "F = scale(T, by=1)"),
    "a log of what is negative": (
        "n = neg(T); l = log(n); k = sub(l, l); F = add(X, k)",
        "F = scale(X, by=1)",
    ),
}


@pytest.mark.parametrize("case", DOMAINS)
def test_graphs_that_are_defined_on_different_inputs_are_not_equal_without_a_word(
    case: str,
) -> None:
    left, right = (graph("X[n=8], T[n]", body, f"g{i}") for i, body in enumerate(DOMAINS[case]))
    for pair in ((left, right), (right, left)):
        verdict = verify(*pair, seed=1)
        assert verdict.equal and verdict.domain
        assert verdict.domain.without is not verdict.domain.other
        assert "equal where both are defined: g0 has no value" in str(verdict)
        shown = verdict.domain
        assert run(shown.other, shown.inputs)[0][shown.place] == pytest.approx(shown.value)


@pytest.mark.parametrize("name", ["softmax", "stable_softmax"])
def test_no_domain_is_narrowed_by_rounding(name: str) -> None:
    left = graph("X[b=4, d=8]", f"a = {name}(X, axis=1); b = sqrt(a); F = log(b)")
    assert verify(left, left, seed=1).domain is None
    variance = graph(
        "X[b=4, d=8]",
        "m = mean(X, axis=1); p = square(m); s = square(X); q = mean(s, axis=1); v = sub(q, p); "
        "F = sqrt(v)",
    )
    centred = graph(
        "X[b=4, d=8]",
        "m = mean(X, axis=1); c = sub(X, m); s = square(c); v = mean(s, axis=1); F = sqrt(v)",
    )
    assert verify(variance, centred, seed=1).domain is None


# Numbers that somebody who knows the verifier would choose.

NUMBERS = [2**k - 1 for k in (17, 31, 61, 127)] + [2**17, 2**31, 2**127, 10**300]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_number_is_another_because_it_is_one_modulo_a_prime(number: int) -> None:
    inputs = "X[n=8]"
    scaled = f"s = scale(X, by={number}); "
    for left, right in (
        (scaled + "F = relu(s)", scaled + "F = add(s, X)"),
        (scaled + "F = sqrt(s)", f"s = scale(X, by={number + 1}); F = sqrt(s)"),
        (scaled + "F = exp(s)", "F = exp(X)"),
        (f"F = scale(X, by=1/{number})", f"F = scale(X, by=1/{number + 2})"),
    ):
        try:
            assert not verify(graph(inputs, left), graph(inputs, right), seed=1).equal
        except Undecided:  # roots of numbers that float64 cannot tell apart
            assert "sqrt" in left and number > 2**30


def test_what_is_too_large_to_be_tested_is_undecided() -> None:
    inputs = "X[a=65536, b=65536], Y[b]"  # 32 GiB
    left = graph(inputs, "t = reshape(X, shape=[b, a]); F = exp(t)")
    with pytest.raises(Undecided, match="too large to be tested"):
        verify(left, left, seed=1)


LONG_SOFTMAX = """g = square(Y); r = sqrt(g); s = sigmoid(r); m = max(s, axis=1); c = sub(s, m)
  e = exp(c); t = sum(e, axis=1); p = matmul(e, W); F = div(p, t)"""
ONLINE = parse("""online(X[b=2, d=4], Y[b, d], W[d, n=2]):
  block grid(x=2) loop(k=4):
    y = load(Y, imap={x: 0}, fmap={k: 1})
    w = load(W, fmap={k: 0})
    g = square(y)
    r = sqrt(g)
    n = neg(r)
    s = sigmoid(n)
    c = neg(s)
    up = shift(c, by=1)
    m = max(up, axis=1)
    most = running_max(m)
    less = sub(up, most)
    e = exp(less)
    t = sum(e, axis=1)
    p = matmul(e, w)
    Total = accumulate_rescaled(t, most)
    Product = accumulate_rescaled(p, most)
    f = div(Product, Total)
    F = store(f, omap={x: 0})
  return F""")


def test_exponentials_of_exponentials_are_decided_without_searching_for_large_primes() -> None:
    """A sigmoid in a softmax, step by step: 15 towers of primes of 521 bits took minutes."""
    at_once = graph("X[b=2, d=4], Y[b, d], W[d, n=2]", LONG_SOFTMAX.replace("\n  ", "; "))
    assert verify(ONLINE, at_once, seed=1).equal


def test_float64_agrees_with_what_is_said_of_these_pairs() -> None:
    """An oracle for the tables above, which are about formulas."""
    for where, (named, numbered) in STALE.items():
        inputs = "X[s=16, e=256]"
        left = graph(inputs, named)
        assert not differ(left, graph(inputs, numbered.format(256))), where
        assert differ(left, graph(inputs, numbered.format(128))), where
    for left_body, right_body, size in ROOTS.values():
        inputs = f"X[b=4, d={size}], Y[h=3]"
        assert not differ(graph(inputs, left_body), graph(inputs, right_body))

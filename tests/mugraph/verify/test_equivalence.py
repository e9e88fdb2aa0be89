"""What is accepted, what is refused, and what is said of it."""

from __future__ import annotations

import contextlib
import re

import numpy as np
import pytest
from cases import Tried
from small_graphs import FILES, saved_graphs, saved_program

from mlc_course.errors import GraphError, Undecided, UsageError
from mlc_course.mugraph.ir import KernelGraph, parse, run
from mlc_course.mugraph.mutants import differ
from mlc_course.mugraph.programs import PROGRAM_OF, published, workload
from mlc_course.mugraph.verify.equivalence import Verdict, screen, verify

pytestmark = pytest.mark.slow

TWO = "X[b=16, d=64], Y[b, d]"


def graph(body: str, inputs: str = TWO, returns: str = "F") -> KernelGraph:
    """Equations separated by semicolons."""
    lines = [line for part in body.split("; ") for line in part.split("\n")]
    return parse(
        f"f({inputs}):\n" + "\n".join(f"  {line}" for line in lines) + f"\n  return {returns}"
    )


def assert_shown(verdict: Verdict) -> None:
    """Different, and the counterexample really is one when it is run again."""
    assert not verdict.equal and verdict.error_bound == 0 and verdict.outputs == ()
    example = verdict.counterexample
    assert example is not None
    ours = run(example.left, example.inputs)[example.output][example.place]
    assert ours == example.left_value
    assert any(
        each.shape > example.place and each[example.place] == example.right_value
        for each in run(example.right, example.inputs)
        if each.ndim == len(example.place)
    )
    assert abs(ours - example.right_value) > 1e-6 * abs(ours)
    assert str(example) in str(verdict)


# Equal, and accepted.


@pytest.mark.fuzz
@pytest.mark.parametrize("name", PROGRAM_OF)
def test_each_published_graph_is_its_program(name: str, seed: int, tried: Tried) -> None:
    verdict = verify(published(name), workload(PROGRAM_OF[name]), seed=seed)
    tried("published graphs verified", 1)
    assert verdict.equal and verdict.error_bound <= 1e-9 and verdict.outputs == (0,)


@pytest.mark.fuzz
@pytest.mark.parametrize("file", FILES)
def test_each_graph_that_mirage_saved_is_its_program(
    file: str, full: bool, seed: int, tried: Tried
) -> None:
    """Every third one, but with ``--full``."""
    program = saved_program(file)
    for each in list(dict.fromkeys(saved_graphs(file)))[:: 1 if full else 3]:
        verdict = verify(each, program, seed=seed)
        tried("graphs of Mirage's verified", 1)
        assert verdict.equal and verdict.error_bound <= 1e-9


STABLE = "t = stable_softmax(X, axis=1); F = mul(t, Y)"
PLAIN = "t = softmax(X, axis=1); F = mul(t, Y)"
ONLINE = """block grid(x=4) loop(k=8):
  x = load(X, imap={x: 0}, fmap={k: 1})
  largest = max(x, axis=1)
  so_far = running_max(largest)
  below = sub(x, so_far)
  e = exp(below)
  s = sum(e, axis=1)
  total = accumulate_rescaled(s, so_far)
  top = accumulate_max(largest)
  Total = store(total, omap={x: 0})
  Top = store(top, omap={x: 0})
u = sub(X, Top)
w = exp(u)
t = div(w, Total)
F = mul(t, Y)"""


@pytest.mark.parametrize(("left", "right"), [(STABLE, PLAIN), (ONLINE, STABLE), (ONLINE, PLAIN)])
def test_online_stable_and_plain_softmax_are_one_function(left: str, right: str) -> None:
    assert verify(graph(left), graph(right), seed=3).equal


@pytest.mark.parametrize("name", ["attention_split_kv", "online_softmax_attention"])
def test_attention_over_split_keys_is_attention_without_a_maximum(name: str) -> None:
    assert verify(published(name), workload("attention"), seed=3).equal


EQUAL = {
    "exponents add up": ("a = exp(X); b = exp(Y); F = mul(a, b)", "s = add(X, Y); F = exp(s)"),
    "a quotient by exp": (
        "a = exp(X); b = exp(Y); F = div(a, b)",
        "s = sub(X, Y); F = exp(s)",
    ),
    "silu": ("F = silu(X)", "s = sigmoid(X); F = mul(X, s)"),
    "tanh": (
        "F = tanh(X)",
        "a = exp(X); n = neg(X); b = exp(n); c = sub(a, b); d = add(a, b); F = div(c, d)",
    ),
    "gelu": (
        "F = gelu(X)",
        "g = gelu(X); h = add(g, g); i = sub(h, g); F = scale(i, by=1)",
    ),
    "1/d of a sum": ("F = mean(X, axis=1)", "s = sum(X, axis=1); F = scale(s, by=1/d)"),
    "variance": (
        "m = mean(X, axis=1); c = sub(X, m); s = square(c); F = mean(s, axis=1)",
        "m = mean(X, axis=1); p = square(m); s = square(X); q = mean(s, axis=1); F = sub(q, p)",
    ),
    "max of parts": (
        "F = max(X, axis=1)",
        "a = split(X, axis=1, parts=2, part=0); b = split(X, axis=1, parts=2, part=1); "
        "c = max(a, axis=1); e = max(b, axis=1); F = maximum(e, c)",
    ),
    "rms_norm": (
        "F = rms_norm(X, axis=1, eps=1/1000)",
        "s = square(X); m = mean(s, axis=1); e = shift(m, by=1/1000); q = sqrt(e); F = div(X, q)",
    ),
}


@pytest.mark.parametrize("case", EQUAL)
def test_equal_by_the_laws_of_arithmetic_and_of_exp(case: str) -> None:
    left, right = map(graph, EQUAL[case])
    verdict = verify(left, right, seed=4)
    assert verdict.equal and verdict.error_bound <= 1e-9
    assert verify(right, left, seed=5).equal


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_exp_in_exp_under_refactoring(depth: int) -> None:
    """exp(..exp(X) * exp(Y)..) = exp(..exp(X + Y)..), and not with 2Y in the place of Y."""
    nest = "".join(f"; n{i + 1} = exp(n{i})" for i in range(depth - 1))
    apart = graph("a = exp(X); b = exp(Y); n0 = mul(a, b)" + nest, returns=f"n{depth - 1}")
    joint = graph("s = add(X, Y); n0 = exp(s)" + nest, returns=f"n{depth - 1}")
    other = graph("y = add(Y, Y); s = add(X, y); n0 = exp(s)" + nest, returns=f"n{depth - 1}")
    assert verify(apart, joint, seed=6).equal
    assert not verify(apart, other, seed=6).equal


def test_a_smaller_error_takes_more_tests() -> None:
    left, right = graph(STABLE), graph(PLAIN)
    some, more = verify(left, right, error=1e-3, seed=1), verify(left, right, error=1e-40, seed=1)
    assert more.trials > some.trials and more.error_bound <= 1e-40 < some.error_bound <= 1e-3


# Several outputs.


def test_outputs_in_another_order_are_matched_and_the_order_reported() -> None:
    left = graph("a = add(X, Y); b = mul(X, Y); c = sub(X, Y)", returns="a, b, c")
    right = graph("a = add(Y, X); b = mul(X, Y); c = sub(X, Y)", returns="c, a, b")
    verdict = verify(left, right, seed=1)
    assert verdict.equal and verdict.outputs == (1, 2, 0)


def test_an_output_twice_is_not_two_outputs() -> None:
    left = graph("a = add(X, Y); b = mul(X, Y)", returns="a, a")
    assert_shown(verify(left, graph("a = add(X, Y); b = mul(X, Y)", returns="a, b"), seed=1))
    assert verify(left, graph("a = add(Y, X)", returns="a, a"), seed=1).outputs == (0, 1)


def test_the_error_is_that_of_all_pairs_of_outputs() -> None:
    body = "s = add(X, Y); a = exp(s); b = exp(Y)"
    one, two = graph(body, returns="a"), graph(body, returns="a, b")
    assert verify(two, two, seed=1).error_bound >= 4 * verify(one, one, seed=1).error_bound


def test_outputs_that_may_be_equal_in_another_order_are_undecided() -> None:
    """By a law of sqrt, the first is the second of the other graph, and the second the first."""
    left = graph("a = sqrt(X); b = sqrt(Y); c = mul(a, b); d = mul(a, a)", returns="c, d")
    right = graph("m = mul(X, Y); c = sqrt(m); s = square(X); d = sqrt(s)", returns="d, c")
    with pytest.raises(Undecided, match="different as formulas"):
        verify(left, right, seed=1)


# Different, and refused.

DIFFERENT = {
    "X/Y and Y/X": ("F = div(X, Y)", "F = div(Y, X)"),
    "exp of exp": (
        "a = exp(X); e = exp(a); F = mul(e, Y)",
        "t = add(X, X); a = exp(t); e = exp(a); F = mul(e, Y)",
    ),
    "a sum and a product": ("F = add(X, Y)", "F = mul(X, Y)"),
    "the other axis": (
        "t = softmax(X, axis=0); F = mul(t, Y)",
        "t = softmax(X, axis=1); F = mul(t, Y)",
    ),
    "eps outside the root": (
        "s = square(X); m = mean(s, axis=1); e = shift(m, by=1/1000); F = sqrt(e)",
        "s = square(X); m = mean(s, axis=1); e = sqrt(m); F = shift(e, by=1/1000)",
    ),
    "1/d and 1/b": ("F = scale(X, by=1/d)", "F = scale(X, by=1/b)"),
    "1/d and the 1/2 that it is on small sizes": ("F = scale(X, by=1/d)", "F = scale(X, by=1/2)"),
    "a sum of ones": (
        "a = shift(X, by=1); F = sum(a, axis=1)",
        "a = sum(X, axis=1); F = shift(a, by=2)",
    ),
    "relu": ("F = relu(X)", "F = scale(X, by=1)"),
    "clamp, its bounds exchanged": (
        "F = clamp(X, low=-1, high=1)",
        "F = clamp(X, low=1, high=-1)",
    ),
    "max of one part": (
        "F = max(X, axis=1)",
        "a = split(X, axis=1, parts=2, part=0); F = max(a, axis=1)",
    ),
}


@pytest.mark.parametrize("case", DIFFERENT)
def test_different_graphs_are_refused_with_an_input_that_shows_it(case: str) -> None:
    left, right = map(graph, DIFFERENT[case])
    assert differ(left, right)
    assert_shown(verify(left, right, seed=7))


def test_mirages_known_false_accepts() -> None:
    """Its tester, without a GPU, accepts these three and refuses the fourth, which is right."""
    mlp = workload("gated_mlp")
    swapped = parse(
        re.sub(r"gate = matmul\(X, W1\)", "gate = matmul(X, W2)", str(mlp)).replace(
            "up = matmul(X, W2)", "up = matmul(X, W1)"
        )
    )
    assert swapped != mlp
    assert_shown(verify(mlp, swapped, seed=1))
    for case in ("X/Y and Y/X", "exp of exp"):
        assert_shown(verify(*map(graph, DIFFERENT[case]), seed=1))
    assert verify(*map(graph, EQUAL["exponents add up"]), seed=1).equal


def test_a_loop_of_32_is_not_a_factor_of_2() -> None:
    """On small sizes the loop has two iterations, each of which adds the same."""
    looped = graph(
        "block grid(x=4) loop(k=32):\n  x = load(X, imap={x: 1})\n  s = accumulate(x)\n"
        "  F = store(s, omap={x: 1})"
    )
    assert not verify(looped, graph("F = add(X, X)"), seed=1).equal


def test_a_size_is_not_taken_for_another_because_it_has_its_name() -> None:
    left = graph("F = scale(X, by=1/sqrt(d))", "X[b=16, d=64]")
    right = graph("F = scale(X, by=1/sqrt(d))", "X[d=16, b=64]")
    assert_shown(verify(left, right, seed=1))


def test_another_shape_is_another_function() -> None:
    verdict = verify(graph("F = sum(X, axis=0)"), graph("F = sum(X, axis=1)"))
    assert not verdict.equal and verdict.counterexample is None and verdict.trials == 0
    assert str(verdict) == "different: outputs of shapes (1, 64) and of (16, 1)"
    two = graph("F = exp(X); G = exp(Y)", returns="F, G")
    said = str(verify(two, graph("F = exp(X)")))
    assert said == "different: outputs of shapes (16, 64), (16, 64) and of (16, 64)"


@pytest.mark.parametrize("seed", range(5))
def test_what_divides_by_zero_elsewhere_hides_no_difference(seed: int) -> None:
    """Where relu(X) is not X, X / relu(X) is a division by zero: in another output, or unused."""
    relu = "r = relu(X); u = div(X, r)"
    for left, right in (("r, u", "X, u"), ("r", "X")):
        verdict = verify(graph(relu, returns=left), graph(relu, returns=right), seed=seed)
        assert_shown(verdict)


def test_unused_values_do_not_matter() -> None:
    unused = graph("a = exp(X); b = exp(a); c = stable_softmax(b, axis=1); F = add(X, Y)")
    assert verify(unused, graph("F = add(Y, X)"), seed=1).equal


# Neither.


def test_quotients_by_zero_are_drawn_again() -> None:
    """relu(X) / relu(X) is 1 where it is anything: about half of its entries in each test."""
    left = graph("r = relu(X); q = div(r, r); F = mul(q, Y)")
    assert verify(left, graph("F = add(Y, Y); G = sub(F, Y)", returns="G"), seed=1).equal
    assert_shown(verify(left, graph("F = add(Y, Y)"), seed=1))


def test_zero_everywhere_below_the_line_is_undecided() -> None:
    left = graph("z = sub(X, X); F = div(Y, z)")
    with pytest.raises(Undecided, match="division by zero in every test"):
        verify(left, left, seed=1)


# exp(x) - 1 is never less than x: an inequality that the verifier does not know.
ELU = "n = neg(X); r = relu(n); m = neg(r); e = exp(m); f = shift(e, by=-1); "


def test_equal_by_a_law_that_it_does_not_know_is_undecided() -> None:
    """Never different: there is no input to show."""
    left, right = graph(ELU + "F = maximum(X, f)"), graph(ELU + "p = relu(X); F = add(p, f)")
    assert not differ(left, right)
    with pytest.raises(Undecided, match="different as formulas"):
        verify(left, right, seed=1)


def test_rounding_is_no_counterexample() -> None:
    """exp(x*x) swallows the digits of what is added to it, in one of the two only."""
    swallow = "q = square(X); g = exp(q); s = add(g, {}); F = sub(s, g)"
    absolute = "a = square(X); b = square(Y); c = sqrt(a); d = sqrt(b); m = mul(c, d); "
    plain = graph("m = mul(X, Y); s = square(m); F = sqrt(s)")
    assert verify(graph(absolute + swallow.format("m")), plain, seed=1).equal
    left = graph(ELU + "t = maximum(X, f); " + swallow.format("t"))
    right = graph(ELU + "p = relu(X); F = add(p, f)")
    with pytest.raises(Undecided):
        verify(left, right, seed=1)


ABSOLUTE = "n = neg(X); m = maximum(X, n); q = square(X); h = sqrt(q); "


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a = scale(X, by=1e-200); b = square(a); c = sqrt(b); F = scale(c, by=1e200)",
         "F = scale(m, by=1)"),
        ("s = scale(m, by=-200); e = exp(s); F = sqrt(e)", "s = scale(h, by=-100); F = exp(s)"),
        ("s = scale(m, by=-200); e = exp(s); a = sqrt(e); b = scale(m, by=100); c = exp(b); "
         "F = mul(a, c)", "i = sub(h, h); F = exp(i)"),
        ("u = shift(X, by=1e12); r = relu(u); v = shift(r, by=-1e12); l = clamp(v, low=-1, high=5);"
         " F = exp(l)", "l = clamp(X, low=-1, high=5); F = exp(l)"),
        ("u = shift(X, by=1e16); r = relu(u); v = shift(r, by=-1e16); F = clamp(v, low=-1, high=5)",
         "F = clamp(X, low=-1, high=5)"),
    ],
)  # fmt: skip
def test_what_is_too_small_for_a_float_or_lost_in_a_larger_one_is_no_difference(
    left: str, right: str
) -> None:
    """Equal, or undecided."""
    sides = [graph(ABSOLUTE + body, "X[n=1]") for body in (left, right)]
    for seed in range(4):
        for pair in (sides, sides[::-1]):
            with contextlib.suppress(Undecided):
                assert verify(*pair, seed=seed).equal


@pytest.mark.parametrize("count", [2, 4, 5, 6])
def test_outputs_in_another_order_are_not_different(count: int) -> None:
    """exp(x) - x - 1 is never negative; 24 of the ways to pair five outputs do not tell."""
    body = "; ".join(
        f"x{i} = scale(X, by={i + 1}); e{i} = exp(x{i}); s{i} = sub(e{i}, x{i}); "
        f"t{i} = shift(s{i}, by=-1); o{i} = relu(t{i})"
        for i in range(count)
    )
    left = graph(body, "X[n=3]", ", ".join(f"o{i}" for i in range(count)))
    right = graph(body, "X[n=3]", ", ".join(f"t{i}" for i in reversed(range(count))))
    with contextlib.suppress(Undecided):
        assert verify(left, right, seed=1).equal


def test_many_maxima_are_no_trouble() -> None:
    eight = [f"X{i}" for i in range(9)]
    inputs = ", ".join([f"{eight[0]}[n=4]", *(f"{name}[n]" for name in eight[1:])])
    clamps = "; ".join(f"c{i} = clamp({name}, low=-1, high=1)" for i, name in enumerate(eight))
    sums = "; ".join(f"s{i + 1} = add(s{i}, c{i + 1})" for i in range(8))
    left = graph(f"{clamps}; s0 = scale(c0, by=1); {sums}", inputs, "s8")
    assert verify(left, left, seed=1).equal
    twice = graph(f"{clamps}; s0 = maximum(c0, c0); {sums}", inputs, "s8")
    assert verify(left, twice, seed=1).equal
    mapped = "n{0} = neg({1}); r{0} = relu(n{0}); m{0} = neg(r{0}); e{0} = exp(m{0}); "
    mapped += "f{0} = shift(e{0}, by=-1); "  # as in ELU, by a law that is not known
    stable, plain = (
        "; ".join(f"{mapped.format(i, name)}{last.format(i, name)}" for i, name in enumerate(eight))
        for last in ("c{0} = maximum({1}, f{0})", "p{0} = relu({1}); c{0} = add(p{0}, f{0})")
    )
    scaled = "s0 = scale(c0, by=1)"
    with pytest.raises(Undecided):
        verify(
            graph(f"{stable}; {scaled}; {sums}", inputs, "s8"),
            graph(f"{plain}; {scaled}; {sums}", inputs, "s8"),
            seed=1,
        )
    right = graph(f"{clamps}; s0 = scale(c0, by=2); {sums}", inputs, "s8")
    assert_shown(verify(left, right, seed=1))


# What it is told.


def test_inputs_of_other_names_or_shapes_are_refused() -> None:
    left = graph("F = add(X, Y)")
    for inputs in ("X[b=16, d=64], Z[b, d]", "X[b=16, d=32], Y[b, d]", "X[b=16, d=64]"):
        body = "F = exp(X)" if "Y" not in inputs else "F = add(X, Y)"
        with pytest.raises(GraphError, match="inputs differ"):
            verify(left, graph(body, inputs))


def test_inputs_in_another_order_are_the_same_inputs() -> None:
    left, right = graph("F = sub(X, Y)"), graph("F = sub(X, Y)", "Y[b=16, d=64], X[b, d]")
    assert verify(left, right, seed=1).equal


@pytest.mark.parametrize("wrong", [0, 1, -1e-9, 2, float("nan")])
def test_an_error_that_is_no_probability_is_refused(wrong: float) -> None:
    with pytest.raises(UsageError, match="verify: error"):
        verify(graph("F = exp(X)"), graph("F = exp(X)"), error=wrong)


@pytest.mark.parametrize("wrong", [1, 0, -2])
def test_an_extent_that_hides_sums_is_refused(wrong: int) -> None:
    with pytest.raises(UsageError, match="verify: extent"):
        verify(graph("F = exp(X)"), graph("F = exp(X)"), extent=wrong)


def test_a_seed_repeats_the_verdict() -> None:
    left, right = map(graph, DIFFERENT["exp of exp"])
    one, same, other = (verify(left, right, seed=seed) for seed in (1, 1, 2))
    assert str(one) == str(same) != str(other)
    assert one.counterexample is not None and same.counterexample is not None
    for name, array in one.counterexample.inputs.items():
        assert np.array_equal(array, same.counterexample.inputs[name])


# The sizes that are tested.


def symmetric(order: int, power_sums: str) -> KernelGraph:
    """An elementary symmetric polynomial of a row of 64, written with the sums p1, p2, .. ."""
    sums = ["x1 = scale(X, by=1)", *(f"x{i} = mul(x{i - 1}, X)" for i in range(2, order + 1))]
    sums += [f"p{i} = sum(x{i}, axis=1)" for i in range(1, order + 1)]
    return graph("; ".join([*sums, power_sums]), "X[1, d=64]")


THIRD = symmetric(
    3,
    "a = mul(p1, p1); b = mul(a, p1); c = mul(p1, p2); e = scale(c, by=-3); f = scale(p3, by=2); "
    "g = add(b, e); h = add(g, f); F = scale(h, by=1/6)",
)
# (p1^5 - 10 p1^3 p2 + 15 p1 p2^2 + 20 p1^2 p3 - 20 p2 p3 - 30 p1 p4 + 24 p5) / 120
FIFTH = symmetric(
    5,
    "a2 = mul(p1, p1); a3 = mul(a2, p1); a5 = mul(a3, a2); t1 = mul(a3, p2); t2 = mul(p2, p2); "
    "t3 = mul(p1, t2); t4 = mul(a2, p3); t5 = mul(p2, p3); t6 = mul(p1, p4); "
    "u1 = scale(t1, by=-10); u3 = scale(t3, by=15); u4 = scale(t4, by=20); u5 = scale(t5, by=-20); "
    "u6 = scale(t6, by=-30); u7 = scale(p5, by=24); v1 = add(a5, u1); v2 = add(v1, u3); "
    "v3 = add(v2, u4); v4 = add(v3, u5); v5 = add(v4, u6); v6 = add(v5, u7); "
    "F = scale(v6, by=1/120)",
)
NOUGHT = graph("p = sum(X, axis=1); F = sub(p, p)", "X[1, d=64]")


def test_the_polynomials_are_what_they_say() -> None:
    row = np.arange(1.0, 65.0).reshape(1, 64) / 64
    for polynomial, order in ((THIRD, 3), (FIFTH, 5)):
        # The coefficients of (1 + x t)(1 + y t)... are the elementary symmetric polynomials.
        product = np.ones(1)
        for x in row[0]:
            product = np.convolve(product, [1, x])
        assert run(polynomial, {"X": row})[0][0, 0] == pytest.approx(product[order])


@pytest.mark.parametrize("polynomial", [THIRD, FIFTH])
def test_what_takes_many_indices_of_one_axis_shows_at_the_given_sizes(
    polynomial: KernelGraph,
) -> None:
    """On rows of two both are 0, and the fifth on rows of three."""
    assert screen(polynomial, NOUGHT, seed=1) == (polynomial is FIFTH)
    assert_shown(verify(polynomial, NOUGHT, seed=1))


def test_a_size_as_a_number_is_no_difference() -> None:
    left, right = graph("F = scale(X, by=1/64)"), graph("F = scale(X, by=1/d)")
    verdict = verify(left, right, seed=1)
    assert verdict.equal and not verdict.sizes and verdict.batch == ("b",)
    assert not screen(left, right, seed=1)


def test_what_cannot_be_made_small_is_tested_as_it_is() -> None:
    left = graph("t = reshape(X, shape=[512, 512]); F = exp(t)", "X[b=512, d=512]")
    assert verify(left, left, seed=1).equal


@pytest.mark.parametrize("literal", [2, 4, 5, 6, 9])
@pytest.mark.parametrize(
    "after",
    [
        "F = clamp(r, low=0, high=1)",
        "F = sigmoid(r)",
        "q = square(r); n = neg(q); F = exp(n)",
    ],
)
def test_a_quotient_by_a_rounded_zero_is_no_value_that_the_other_graph_lacks(
    literal: int, after: str
) -> None:
    """The root of 5, squared, is 5 but for rounding; what is cut off at 1 does not show it."""
    ends = f"x = square(X); m = scale(x, by={literal + 1}); d = sub(p, m); r = div(Y, d); {after}"
    body = f"y = square(Y); p = shift(y, by={literal}); {ends}"
    other = f"y = square(Y); z = shift(y, by={literal}); w = sqrt(z); p = mul(w, w); {ends}"
    left, right = (
        parse("f(X[b=1, d=1], Y[b, d]):\n  " + text.replace("; ", "\n  ") + "\n  return F")
        for text in (body, other)
    )
    for seed in range(3):
        found = verify(left, right, seed=seed)
        assert found.equal and found.domain is None

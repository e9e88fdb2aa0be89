"""Attacks on graphs of all sizes: what is wrong above a few sizes only is refused, nevertheless."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlc_course.errors import (
    CourseError,
    GraphError,
    ShapeError,
    SizeError,
    Undecided,
    UsageError,
)
from mlc_course.mugraph.cpu_kernels import Cpu, lower_sized
from mlc_course.mugraph.ir import Floats, evaluate, parse, run
from mlc_course.mugraph.kernel_checks import first_fault, values
from mlc_course.mugraph.kernels import SizedKernel
from mlc_course.mugraph.programs import free_sized
from mlc_course.mugraph.runtime import empty
from mlc_course.mugraph.symbolic import (
    AllSizes,
    SymbolicGraph,
    compile_symbolic,
    symbolic_graph,
    variants,
    verify_all_sizes,
)

FOUR_LANES = Cpu(lanes=4, registers=16)
EXACT = Floats(np.float64, np.float64)


def lower(symbolic: SymbolicGraph, place: int, *, exact: bool) -> SizedKernel:
    tiling, sized = symbolic.lowered(place, exact=exact)
    return lower_sized(symbolic.graph, place, tiling, FOUR_LANES, sized)


def verdict(graph: str, free: dict[str, int], program: str | None = None) -> AllSizes:
    symbolic = symbolic_graph(parse(graph), free)
    kernels = variants(symbolic, lower)
    return verify_all_sizes(symbolic, kernels, parse(program) if program else None, seed=0)


def in_blocks(*lines: str) -> str:
    """A graph that does these lines with a tile x of X, in blocks of its rows and columns."""
    inside = "".join(f"    {line}\n" for line in lines)
    return (
        "g(X[b=8, n=8]):\n  block grid(x=2, y=2):\n    x = load(X, imap={x: 0, y: 1})\n"
        f"{inside}    Y = store(y, omap={{x: 0, y: 1}})\n  return Y\n"
    )


def in_rows(*lines: str) -> str:
    """A graph that does these lines with a tile x of X, in a loop along its rows."""
    inside = "".join(f"    {line}\n" for line in lines)
    return (
        "g(X[b=8, n=8]):\n  block grid(x=2) loop(k=2):\n"
        f"    x = load(X, imap={{x: 0}}, fmap={{k: 1}})\n{inside}"
        "    Y = store(y, omap={x: 0})\n  return Y\n"
    )


def plain(*lines: str) -> str:
    return "p(X[b=8, n=8]):\n" + "".join(f"  {line}\n" for line in lines) + "  return Y\n"


NOTHING = plain("total = sum(X, axis=1)", "Y = sub(total, total)")
NOWHERE = plain("Y = sub(X, X)")


def power_sums(count: int, *, even: bool = False) -> list[str]:
    """Sums p1, p2, ... of the powers of each row, or of those of its squares."""
    lines = ["z = square(x)" if even else "z = scale(x, by=1)"]
    for power in range(1, count + 1):
        before = "z" if power == 1 else f"z{power - 1}"
        lines += [f"z{power} = mul({before}, z)"] if power > 1 else ["z1 = scale(z, by=1)"]
        lines += [f"a{power} = sum(z{power}, axis=1)", f"p{power} = accumulate(a{power})"]
    return lines


# ---- polynomials in a size


def vanishing(size: str, at: list[int], of: str, made: str) -> list[str]:
    """``made`` is ``of`` times (size - i) for each i of ``at``."""
    lines, now = [], of
    for i in at:
        name = f"{made}{i}"
        lines += [f"{name}s = scale({now}, by={size})", f"{name}c = scale({now}, by={i})"]
        lines += [f"{name} = sub({name}s, {name}c)"]
        now = name
    return [*lines, f"{made} = scale({now}, by=1)"]


@pytest.mark.parametrize("roots", [[1, 2], [1, 2, 3], [2, 3, 4, 5]])
def test_a_polynomial_in_a_size_is_looked_at_beyond_its_roots(roots: list[int]) -> None:
    """(n - 1)(n - 2) X is 0 on one element and on two."""
    assert not verdict(in_blocks(*vanishing("n", roots, "x", "y")), {"b": 2, "n": 1}, NOWHERE).equal


def test_a_polynomial_in_the_root_of_a_size_is_looked_at_beyond_its_roots() -> None:
    """n - 3 sqrt(n) + 2 is 0 at 1 and at 4."""
    lines = ["s = scale(x, by=n)", "r = scale(x, by=3*n/sqrt(n))", "t = scale(x, by=2)"]
    graph = in_blocks(*lines, "u = sub(s, r)", "y = add(u, t)")
    assert not verdict(graph, {"b": 1, "n": 1}, NOWHERE).equal


def test_a_product_that_vanishes_at_few_of_one_size_or_of_the_other_is_refused() -> None:
    lines = vanishing("b", [1, 2], "x", "v") + vanishing("n", [1, 2], "v", "y")
    assert not verdict(in_blocks(*lines), {"b": 1, "n": 1}, NOWHERE).equal


# ---- a program that adds up what the graph takes block by block

THIRD = [
    "squares = square(X)",
    "cubes = mul(squares, X)",
    "s1 = sum(X, axis=0)",
    "s2 = sum(squares, axis=0)",
    "s3 = sum(cubes, axis=0)",
    "s11 = square(s1)",
    "s111 = mul(s11, s1)",
    "s12 = mul(s1, s2)",
    "three = scale(s12, by=3)",
    "two = scale(s3, by=2)",
    "part = sub(s111, three)",
    "e3 = add(part, two)",
]


def test_a_program_may_add_up_over_a_size_of_the_grid() -> None:
    """The third elementary symmetric polynomial of a column is 0 on one row and on two."""
    program = plain(*THIRD, "twice = scale(X, by=2)", "Y = add(twice, e3)")
    found = verdict(in_blocks("y = scale(x, by=2)"), {"b": 1, "n": 4}, program)
    assert not found.equal
    assert "b=3" in found.wrong


# ---- sums that are multiplied without a product

FOURTH = [  # p1 to the 4th - 6 p1 p1 p2 + 3 p2 p2 + 8 p1 p3 - 6 p4
    "b = scale(p112, by=6)",
    "c = scale(p22, by=3)",
    "d = scale(p13, by=8)",
    "e = scale(p4, by=6)",
    "f = sub(p1111, b)",
    "g = add(f, c)",
    "h = add(g, d)",
    "y = sub(h, e)",
]
BY_ROOTS = [
    "r1 = sqrt(p1)",
    "r2 = sqrt(p2)",
    "q1 = square(r1)",
    "q2 = square(r2)",
    "p11 = square(q1)",
    "p1111 = square(p11)",
    "p112 = mul(p11, q2)",
    "p22 = square(q2)",
    "p13 = mul(q1, p3)",
]
BY_LOGS = [
    "l1 = log(p1)",
    "l2 = log(p2)",
    "l3 = log(p3)",
    "l1111 = scale(l1, by=4)",
    "p1111 = exp(l1111)",
    "l11 = scale(l1, by=2)",
    "l112 = add(l11, l2)",
    "p112 = exp(l112)",
    "l22 = add(l2, l2)",
    "p22 = exp(l22)",
    "l13 = add(l1, l3)",
    "p13 = exp(l13)",
]
BY_DIVISORS = [  # a product is a quotient by an inverse
    "one1 = div(p1, p1)",
    "i1 = div(one1, p1)",
    "i2 = div(one1, p2)",
    "p11 = div(p1, i1)",
    "i11 = div(i1, p1)",
    "p1111 = div(p11, i11)",
    "p112 = div(p11, i2)",
    "p22 = div(p2, i2)",
    "p13 = div(p3, i1)",
]


@pytest.mark.parametrize("how", [BY_ROOTS, BY_LOGS, BY_DIVISORS], ids=["roots", "logs", "divisors"])
def test_sums_are_counted_that_roots_logarithms_and_divisors_multiply(how: list[str]) -> None:
    """The fourth elementary symmetric polynomial is 0 on three elements."""
    graph = in_rows(*power_sums(4, even=True), *how, *FOURTH)
    found = verdict(graph, {"b": 2, "n": 1}, NOTHING)
    assert not found.equal
    assert "n=4" in found.wrong


def partitions(n: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    if n == 0:
        yield ()
    for first in range(min(n, most or n), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def elementary(degree: int) -> dict[tuple[int, ...], Fraction]:
    """The elementary symmetric polynomial in power sums, by I. Newton's identities."""
    found = {}
    for parts in partitions(degree):
        below = math.prod(i ** parts.count(i) * math.factorial(parts.count(i)) for i in set(parts))
        found[parts] = Fraction((-1) ** (degree - len(parts)) * math.factorial(degree), below)
    return found


def times(x: list[Fraction], y: list[Fraction]) -> list[Fraction]:
    found = [Fraction()] * (len(x) + len(y) - 1)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            found[i + j] += a * b
    return found


def divided(x: list[Fraction], y: list[Fraction]) -> list[Fraction]:
    """The whole part of a quotient of polynomials, the lowest power first."""
    left, found = list(x), [Fraction()] * max(0, len(x) - len(y) + 1)
    for place in reversed(range(len(found))):
        found[place] = left[place + len(y) - 1] / y[-1]
        for i, b in enumerate(y):
            left[place + i] -= found[place] * b
    return found


def in_partial_fractions(degree: int, shifts: int) -> str:
    """An elementary symmetric polynomial over (p1 + 1)(p1 + 2)..., one divisor at a time."""
    lines = power_sums(degree)
    lines += [f"d{i} = shift(p1, by={i})" for i in range(1, shifts + 1)]
    lines += ["zero = sub(p1, p1)", "one = shift(zero, by=1)"]
    below = [Fraction(1)]
    for i in range(1, shifts + 1):
        below = times(below, [Fraction(i), Fraction(1)])
    terms: list[str] = []

    def add(value: str, by: Fraction) -> None:
        terms.append(f"s{len(terms)}")
        lines.append(f"{terms[-1]} = scale({value}, by={by})")

    for parts, coefficient in elementary(degree).items():
        ones, others = parts.count(1), [part for part in parts if part > 1]
        base = "one"
        for part in others:
            lines.append(f"m{len(lines)} = mul({base}, p{part})")
            base = f"m{len(lines) - 1}"
        for i in range(1, shifts + 1):
            share = math.prod(Fraction(1, j - i) for j in range(1, shifts + 1) if j != i)
            lines.append(f"f{len(lines)} = div({base}, d{i})")
            add(f"f{len(lines) - 1}", coefficient * share * Fraction(-i) ** ones)
        for power, by in enumerate(divided([Fraction()] * ones + [Fraction(1)], below)):
            if power:
                lines.append(f"m{len(lines)} = mul({base}, p1)")
                base = f"m{len(lines) - 1}"
            if by:
                add(base, coefficient * by)
    total = terms[0]
    for number, term in enumerate(terms[1:]):
        lines.append(f"t{number} = add({total}, {term})")
        total = f"t{number}"
    return in_rows(*lines, f"y = scale({total}, by=1)")


def test_quotients_by_different_sums_have_the_product_of_all_as_their_denominator() -> None:
    """Each is a product of four sums over one, and all together are of the sixth degree."""
    graph = in_partial_fractions(6, 5)
    symbolic = symbolic_graph(parse(graph), {"b": 2, "n": 1})
    for n, is_zero in ((5, True), (6, False)):
        given = {"X": 2 + np.random.default_rng(0).standard_normal((2, n))}
        (found,) = run(symbolic.at({"b": 2, "n": n}).graph, given)
        assert (np.abs(found).max() < 1e-9) == is_zero
    assert not verdict(graph, {"b": 2, "n": 1}, NOTHING).equal


DIVIDED = """
divided(X[b=8, n=8]):
  block grid(x=2) loop(k=2):
    x = load(X, imap={x: 0}, fmap={k: 1})
    part = sum(x, axis=1)
    total = accumulate(part)
    T = store(total, omap={x: 0})
  block grid(x=2) loop(k=2):
    x = load(X, imap={x: 0}, fmap={k: 1})
    t = load(T, imap={x: 0})
    both = add(x, t)
    q = div(x, both)
    part = sum(q, axis=1)
    y = accumulate(part)
    Y = store(y, omap={x: 0})
  return Y
"""


def test_terms_of_a_sum_with_sums_below_the_line_are_not_decided() -> None:
    """Its numerator has as many factors as there are elements: no number of steps stands for all.

    Below the line there may be what is no sum over a free size, and one sum for all terms.
    """
    with pytest.raises(Undecided, match="one for each term"):
        verdict(DIVIDED, {"b": 2, "n": 2})
    for fine in ("both = add(t, t)", "both = square(x)"):
        assert verdict(DIVIDED.replace("both = add(x, t)", fine), {"b": 2, "n": 2}).equal


# ---- what is compared


def test_a_program_has_the_known_sizes_of_the_graph() -> None:
    graph = in_rows("e = exp(x)", "part = sum(e, axis=1)", "y = accumulate(part)")
    program = plain("e = exp(X)", "Y = sum(e, axis=1)")
    assert verdict(graph, {"n": 2}, program).equal
    with pytest.raises(GraphError, match=r"X\[10, n\]"):
        verdict(graph, {"n": 2}, program.replace("b=8", "b=10"))


@pytest.mark.parametrize("error", [0.0, 1.0, 5, -1, math.nan, math.inf])
def test_an_error_is_a_probability(error: float) -> None:
    symbolic = symbolic_graph(free_sized("softmax_in_two_passes"), {"b": 2, "n": 4})
    with pytest.raises(UsageError, match="verify_all_sizes: error"):
        verify_all_sizes(symbolic, variants(symbolic, lower), error=error)


# ---- what is free


@pytest.mark.parametrize("tile", [0, -3, 2.5, True, "4", None, math.nan, 1 << 25, 1 << 70])
def test_a_tile_is_a_whole_number(tile: object) -> None:
    with pytest.raises(SizeError, match="elements of a tile"):
        symbolic_graph(parse(in_blocks("y = exp(x)")), {"b": tile})  # type: ignore[dict-item]


def test_a_tile_may_be_a_number_of_numpy() -> None:
    symbolic = symbolic_graph(parse(in_blocks("y = exp(x)")), {"b": np.int64(3)})  # type: ignore[dict-item]
    assert type(symbolic.tiles["b"]) is int


def test_a_number_is_no_name_of_a_size() -> None:
    """Otherwise 64 rows might be some, and ``times=64`` still be 64."""
    text = """
repeated(X[64, n=4]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    t = sum(x, axis=1)
    y = repeat(t, axis=1, times=64)
    Y = store(y, omap={x: 0})
  return Y
"""
    with pytest.raises(UsageError, match="without a name"):
        symbolic_graph(parse(text), {"64": 4})


AS_LARGE = """
added(X[b=8, n=4], Z[c=4, n]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    z = load(Z)
    y = add(x, z)
    Y = store(y, omap={x: 0})
  return Y
"""


def test_an_operand_as_large_as_a_tile_does_not_fit_a_short_one() -> None:
    with pytest.raises(GraphError, match="as large as a known size"):
        symbolic_graph(parse(AS_LARGE), {"b": 4})
    assert verdict(AS_LARGE.replace("c=4", "1"), {"b": 4}).equal
    with pytest.raises(CourseError):
        symbolic_graph(parse(AS_LARGE), {"b": 2})


# ---- graphs that are drawn, beside NumPy


@st.composite
def rows(draw: st.DrawFn) -> str:
    """A graph that adds up some formulas along rows, in a loop, and goes on with these sums."""
    tiles = {"x": "x", "v": "x", "g": "g", "c": "c"}  # by name: those of one kind, or rows of one
    lines = ["v = load(V, imap={x: 0}, fmap={k: 1})", "g = load(G, fmap={k: 1})"]
    lines += ["c = load(C, imap={x: 0})"]
    maps = st.sampled_from(["exp", "neg", "square", "relu", "silu", "tanh", "sigmoid"])
    numbers = st.sampled_from(["2", "-1/3", "1/n", "3*b/n", "1/sqrt(n)", "1/n/sqrt(b)"])

    def new(line: str, kind: str, among: dict[str, str]) -> str:
        name = f"t{len(lines)}"
        lines.append(f"{name} = {line}")
        among[name] = kind
        return name

    def formula(among: dict[str, str]) -> None:
        one, other = draw(st.sampled_from([*among])), draw(st.sampled_from([*among]))
        joint = among[one] if among[one] == among[other] else "x"
        choices = [
            lambda: new(f"{draw(maps)}({one})", among[one], among),
            lambda: new(f"scale({one}, by={draw(numbers)})", among[one], among),
            lambda: new(f"clamp({one}, low=-1, high={draw(numbers)})", among[one], among),
            lambda: new(
                f"{draw(st.sampled_from(['add', 'sub', 'mul', 'maximum']))}({one}, {other})",
                joint,
                among,
            ),
        ]
        draw(st.sampled_from(choices))()

    for _ in range(draw(st.integers(0, 4))):
        formula(tiles)
    sums = dict[str, str]()
    for _ in range(draw(st.integers(1, 3))):
        x = draw(st.sampled_from([name for name, kind in tiles.items() if kind == "x"]))
        match draw(st.sampled_from(["sum", "max", "online"])):
            case "sum":
                new(f"accumulate({new(f'sum({x}, axis=1)', '', {})})", "c", sums)
            case "max":
                new(f"accumulate_max({new(f'max({x}, axis=1)', '', {})})", "c", sums)
            case _:
                top = new(f"running_max({new(f'max({x}, axis=1)', '', {})})", "", {})
                weights = new(f"exp({new(f'sub({x}, {top})', '', {})})", "", {})
                part = new(f"sum({weights}, axis=1)", "", {})
                new(f"accumulate_rescaled({part}, {top})", "c", sums)
    for _ in range(draw(st.integers(0, 3))):
        formula(sums)
    lines += ["xv = add(x, v)", "xvg = add(xv, g)", "xvgc = add(xvg, c)"]  # all cut alike
    lines += ["part = sum(xvgc, axis=1)", "all = accumulate(part)"]
    outputs = draw(st.lists(st.sampled_from([*sums]), min_size=1, max_size=2))
    for n, each in enumerate(outputs):
        lines += [f"y{n} = add({each}, all)", f"Y{n} = store(y{n}, omap={{x: 0}})"]
    head = "g(X[b=8, n=8], V[b, n], G[1, n], C[b, 1]):\n  block grid(x=2) loop(k=2):\n"
    inside = "".join(f"    {each}\n" for each in ["x = load(X, imap={x: 0}, fmap={k: 1})", *lines])
    return f"{head}{inside}  return {', '.join(f'Y{n}' for n in range(len(outputs)))}\n"


extents = st.integers(1, 9)


@settings(max_examples=30, deadline=None)
@given(rows(), extents, extents, st.integers(1, 20), st.integers(1, 30), st.integers(0, 99))
def test_drawn_graphs_are_right_at_drawn_sizes(
    text: str, tile_b: int, tile_n: int, b: int, n: int, seed: int
) -> None:
    """Both variants of their kernels, beside one block and one step on the whole tensors."""
    symbolic = symbolic_graph(parse(text), {"b": tile_b, "n": tile_n})
    whole = parse(text.replace("grid(x=2) loop(k=2)", "grid(x=1) loop(k=1)"))
    whole = whole.resized({"b": b, "n": n})
    rng = np.random.default_rng(seed)
    inputs = {name: rng.standard_normal(shape) for name, shape in whole.input_shapes.items()}
    with np.errstate(all="ignore"):
        wanted = evaluate(whole, [*inputs.values()], EXACT)
    for choices in variants(symbolic, lower).values():
        for each in choices:
            if not each.admits({"b": b, "n": n}):
                continue
            kernel = each.at({"b": b, "n": n})
            assert first_fault(kernel) is None
            with np.errstate(all="ignore"):
                found = values(kernel, [inputs[each.name] for each in kernel.inputs], EXACT)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


@settings(max_examples=3, deadline=None)
@given(rows())
def test_drawn_graphs_are_decided_to_be_right(text: str) -> None:
    found = verdict(text, {"b": 2, "n": 3})
    assert found.equal, found


@pytest.mark.parametrize("operator", ["clamp(x, low=-1, high=2)", "clamp(x, low=-1, high=1/n)"])
def test_a_largest_of_least_is_masked_as_a_maximum(operator: str) -> None:
    """Padding is minus infinity: a maximum of no numbers, and no minimum of some."""
    lines = [f"t = {operator}", "top = max(t, axis=1)", "y = accumulate_max(top)"]
    assert verdict(in_rows(*lines), {"b": 2, "n": 4}).equal


# ---- calls


def of_ones(*shape: int) -> Any:
    array = empty(shape, "float32")
    array[...] = 1
    return array


def test_outputs_are_arrays_of_their_own_that_every_call_overwrites() -> None:
    text = in_blocks("y = exp(x)").replace("return Y", "return Y, X, Y, X")
    x = of_ones(5, 3)
    bound = compile_symbolic(parse(text), {"b": 4, "n": 4}, threads=1).bind(x)
    for number in (1, 2):
        x[...] = number
        outputs = bound()
        for found, wanted in zip(outputs, [np.exp(x), x] * 2, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
    arrays = [x, *outputs]
    assert not any(
        np.may_share_memory(one, other) for k, one in enumerate(arrays) for other in arrays[:k]
    )


def test_a_size_along_both_dimensions_of_an_input_is_one_number() -> None:
    text = in_blocks("y = exp(x)").replace("n=8", "b")
    square = compile_symbolic(parse(text), {"b": 4}, threads=1)
    np.testing.assert_allclose(square(of_ones(5, 5))[0], math.e, rtol=1e-6)
    with pytest.raises(ShapeError, match="input X: its shape"):
        square.sizes_of({"X": (3, 5)})
    with pytest.raises(ShapeError, match="input X: its shape"):
        square(of_ones(3, 5))


class Shaped:
    """What is no array, but has a shape."""

    def __init__(self, shape: object) -> None:
        self.shape = shape


def test_shapes_that_are_none_are_refused() -> None:
    exps = compile_symbolic(parse(in_blocks("y = exp(x)")), {"b": 4, "n": 4}, threads=1)
    with pytest.raises(SizeError, match="too many elements"):
        exps(np.broadcast_to(np.float32(1), (1 << 40, 4)))
    for shape in (("a", 4), (3.0, 4), (0, 4), (-1, 4)):
        with pytest.raises(ShapeError, match="its shape"):
            exps(Shaped(shape))
    with pytest.raises(UsageError, match="an array"):
        exps(Shaped(None))


def test_a_program_that_nothing_is_compared_with_is_refused() -> None:
    with pytest.raises(UsageError, match="not compared"):
        compile_symbolic(parse(in_blocks("y = exp(x)")), {"b": 4}, program=parse(NOWHERE))


def test_a_guard_without_conditions_says_so() -> None:
    found = verdict(in_blocks("y = exp(x)"), {"b": 1})
    assert found.guards == ("Y exact: any sizes",)


def test_threads_may_call_the_same_kernels_at_different_sizes() -> None:
    compiled = compile_symbolic(free_sized("softmax_in_two_passes"), {"b": 4, "n": 32})
    wrong: list[tuple[int, ...]] = []

    def call(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            x = of_ones(int(rng.integers(1, 20)), int(rng.integers(2, 120)))
            x[...] = rng.standard_normal(x.shape)
            weights = np.exp(x.astype(np.float64))
            wanted = weights / weights.sum(1, keepdims=True)
            if np.abs(compiled(x)[0] - wanted).max() > 1e-5:
                wrong.append(x.shape)

    threads = [Thread(target=call, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong

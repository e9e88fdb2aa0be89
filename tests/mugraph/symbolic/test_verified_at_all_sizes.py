"""A finite set of sizes decides all sizes: right kernels pass, and wrong ones are refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from mlc_course.errors import GraphError, Undecided, UsageError, WrongResult
from mlc_course.mugraph.cpu_kernels import Cpu, lower_sized
from mlc_course.mugraph.ir import KernelGraph, Number, ops, parse, run
from mlc_course.mugraph.kernel_checks import compare_code
from mlc_course.mugraph.kernels import (
    LARGEST,
    Apply,
    Body,
    Compute,
    Constant,
    Count,
    Expr,
    Guard,
    Kernel,
    Loop,
    Repeat,
    Select,
    SizedKernel,
    const,
    rewritten,
    substituted,
    variables,
    with_indices,
)
from mlc_course.mugraph.programs import FREE_SIZED, free_sized, workload
from mlc_course.mugraph.symbolic import (
    AllSizes,
    SymbolicGraph,
    Variant,
    compile_symbolic,
    deciding_sizes,
    symbolic_graph,
    variants,
    verify_all_sizes,
)
from mlc_course.mugraph.symbolic.all_sizes import DRAWS
from mlc_course.mugraph.verify import digits, missed_by_runs
from mlc_course.mugraph.verify.digits import Referee

RMS, SOFTMAX, ATTENTION = FREE_SIZED
TILES = {
    RMS: {"b": 3, "d": 4, "n": 5},
    SOFTMAX: {"b": 3, "n": 4},
    ATTENTION: {"h": 1, "m": 3, "n": 4},
}
FOUR_LANES = Cpu(lanes=4, registers=16)
Kernels = Mapping[int, Sequence[Variant]]


def lower(symbolic: SymbolicGraph, place: int, *, exact: bool) -> SizedKernel:
    tiling, sized = symbolic.lowered(place, exact=exact)
    return lower_sized(symbolic.graph, place, tiling, FOUR_LANES, sized)


@cache
def symbolic_of(name: str) -> SymbolicGraph:
    graph = free_sized(name).resized({"d": 8, "v": 4} if name == ATTENTION else {})
    return symbolic_graph(graph, TILES[name])


def program_of(name: str) -> KernelGraph:
    return workload(FREE_SIZED[name]).resized({"d": 8, "v": 4} if name == ATTENTION else {})


@cache
def kernels_of(name: str) -> Kernels:
    return variants(symbolic_of(name), lower)


@pytest.mark.parametrize("name", FREE_SIZED)
def test_kernels_are_decided_to_be_right_at_all_sizes(name: str) -> None:
    found = verify_all_sizes(symbolic_of(name), kernels_of(name), program_of(name))
    assert found.equal, found
    assert 0 < found.error_bound <= 1e-9
    assert "is right at all sizes" in str(found)
    assert f"equal to {program_of(name).name}" in str(found)
    assert "masked: any sizes" in str(found)
    found.raise_unless_equal()


def test_deciding_sizes_have_all_ends_on_both_sides_of_each_guard() -> None:
    found = deciding_sizes(symbolic_of(RMS), 1)
    tiles = TILES[RMS]
    ends = {tuple(sizes[name] % tile == 0 for name, tile in tiles.items()) for sizes in found}
    assert ends == set(itertools.product((True, False), repeat=3))
    for name, tile in tiles.items():
        assert {sizes[name] % tile for sizes in found} >= {0, 1, tile - 1}
    assert {sizes["d"] // 4 for sizes in found} >= {0, 1, 2}
    assert min(sizes["b"] for sizes in found) == 1
    several = [sizes for sizes in found if all(sizes[name] > tiles[name] for name in tiles)]
    assert any(len({sizes[name] // tiles[name] for name in tiles}) == 3 for sizes in several)


# ---- kernels with a mistake: each is right where all sizes are one tile


def everywhere(x: Any, change: Callable[[Any], Any]) -> Any:
    """Return statements or values with every part of them changed, inner parts first."""
    if isinstance(x, tuple):
        return tuple(everywhere(each, change) for each in x)
    if not hasattr(x, "__dataclass_fields__") or isinstance(x, Expr | Number):
        return x
    made = {name: everywhere(value, change) for name, value in vars(x).items()}
    return change(x if made == vars(x) else replace(x, **made))


def in_body(change: Callable[[Any], Any]) -> Callable[[SizedKernel], SizedKernel]:
    return lambda kernel: replace(kernel, body=everywhere(kernel.body, change))


def is_infinite(x: Any) -> bool:
    return isinstance(x, Constant) and x.number.coefficient < -LARGEST


def zero_where_it_needs_minus_infinity(x: Any) -> Any:
    return Constant(Number(0 * x.number.coefficient)) if is_infinite(x) else x


def sums_of_padding(x: Any) -> Any:
    """exp of what is padding is added up: no mask but that of the maximum."""
    return x.then if isinstance(x, Select) and x.otherwise == ZERO else x


def maxima_of_padding(x: Any) -> Any:
    return x.then if isinstance(x, Select) and is_infinite(x.otherwise) else x


ZERO = Constant(Number(0 * Number(1).coefficient))  # type: ignore[arg-type]


def one_more_element(x: Any) -> Any:
    if isinstance(x, Select):
        left, right = x.when.args
        return replace(x, when=left < right + 1)
    return x


def mean_of_the_padded_count(x: Any) -> Any:
    return Count((x.at + 3) // 4 * 4) if isinstance(x, Count) else x


def root_of_one_more(x: Any) -> Any:
    return Count(x.at + 1) if isinstance(x, Count) else x


def without_tails(kernel: SizedKernel) -> SizedKernel:
    def change(each: Any) -> Body:
        return () if isinstance(each, Guard) and not each.body and sized(each.when) else (each,)

    return replace(kernel, body=rewritten(kernel.body, change))


def sized(e: Expr) -> bool:
    return any(name.startswith("size_") for name in variables(e))


def stores_of_whole_tiles(kernel: SizedKernel) -> SizedKernel:
    """A tail's store goes over all rows of the tile."""
    outputs = {each.name for each in kernel.outputs}

    def change(each: Any) -> Body:
        if isinstance(each, Repeat) and each.extent == expr_of_rest(kernel, "size_b", 3):
            (inner,) = each.body
            if isinstance(inner, Compute | Repeat | Loop) and writes(inner) in outputs:
                return (Loop(each.name, 3, each.body, each.order),)
        return (each,)

    return replace(kernel, body=rewritten(kernel.body, change))


def writes(statement: Any) -> str:
    while not isinstance(statement, Compute):
        (statement,) = statement.body
    return str(statement.target.name)


def expr_of_rest(kernel: SizedKernel, size: str, tile: int) -> Expr:
    return Expr("%", (Expr("var", (size,)), const(tile)))


def first_tile_for_all(kernel: SizedKernel) -> SizedKernel:
    """Every block reads the first rows: a map that replicates in place of one that partitions."""

    def change(x: Any) -> Any:
        if getattr(getattr(x, "buffer", None), "name", "") == "X":
            return replace(x, index=(substituted(x.index[0], {"block": 0}), x.index[1]))
        return x

    return in_body(change)(kernel)


def blocks_of_the_other_axis(kernel: SizedKernel) -> SizedKernel:
    """The number of a block is divided by how many there are along the other axis."""
    rows, columns = "size_b", "size_n"
    along = {
        rows: (Expr("var", (rows,)) + 2) // 3,
        columns: (Expr("var", (columns,)) + 4) // 5,
    }

    def change(e: Expr) -> Expr:
        if e.op in ("//", "%") and e.args[1] == along[rows]:
            return Expr(e.op, (e.args[0], along[columns]))
        if e.op in ("const", "var"):
            return e
        return Expr(e.op, tuple(map(change, e.args)))

    return replace(kernel, body=with_indices(kernel.body, change))


def begun_in_every_step(x: Any) -> Any:
    return Guard(const(1), x.body) if isinstance(x, Guard) and x.body and x.otherwise else x


WRONG: list[tuple[str, str, Callable[[SizedKernel], SizedKernel]]] = [
    ("zero in a maximum", SOFTMAX, in_body(zero_where_it_needs_minus_infinity)),
    ("zero in a maximum of scores", ATTENTION, in_body(zero_where_it_needs_minus_infinity)),
    ("a maximum of padding", SOFTMAX, in_body(maxima_of_padding)),
    ("exp of padding", SOFTMAX, in_body(sums_of_padding)),
    ("exp of padding, weighed", ATTENTION, in_body(sums_of_padding)),
    ("squares of padding", RMS, in_body(sums_of_padding)),
    ("one element more", RMS, in_body(one_more_element)),
    ("one score more", ATTENTION, in_body(one_more_element)),
    ("a mean by the padded count", RMS, in_body(mean_of_the_padded_count)),
    ("a mean by n + 1", RMS, in_body(root_of_one_more)),
    ("no short step", RMS, without_tails),
    ("no short step of scores", ATTENTION, without_tails),
    ("a store of padding", RMS, stores_of_whole_tiles),
    ("a map that replicates", RMS, first_tile_for_all),
    ("blocks of another axis", RMS, blocks_of_the_other_axis),
    ("a sum begun in every step", ATTENTION, in_body(begun_in_every_step)),
]


@pytest.mark.parametrize(("what", "name", "mistake"), WRONG, ids=[each[0] for each in WRONG])
def test_a_kernel_with_a_mistake_is_refused(
    what: str, name: str, mistake: Callable[[SizedKernel], SizedKernel]
) -> None:
    wrong = {
        place: [*choices[:-1], replace(choices[-1], kernel=mistake(choices[-1].kernel))]
        for place, choices in kernels_of(name).items()
    }
    assert wrong != kernels_of(name), "the mistake was not made"
    found = verify_all_sizes(symbolic_of(name), wrong)
    assert not found.equal, what
    assert "masked" in str(found) or "kernels" in str(found)
    with pytest.raises(WrongResult, match="at all sizes"):
        found.raise_unless_equal()


@pytest.mark.parametrize("mistake", [first_tile_for_all, blocks_of_the_other_axis])
def test_one_block_would_not_show_a_wrong_map(
    mistake: Callable[[SizedKernel], SizedKernel],
) -> None:
    kernel = kernels_of(RMS)[0][-1]
    wrong = replace(kernel, kernel=mistake(kernel.kernel))
    small = symbolic_of(RMS).at({"b": 3, "d": 8, "n": 5})
    assert compare_code(small, {0: wrong.at(small.graph.size_of)}).equal


def test_a_guard_that_lets_too_much_through_is_refused() -> None:
    class Wide(Variant):
        """It does not ask whether its tile divides d."""

        def admits(self, sizes: Mapping[str, int]) -> bool:
            return super().admits({**sizes, "d": 4})

        def at(self, sizes: Mapping[str, int]) -> Kernel:
            kernel = super().at(sizes)
            rows = [replace(x, shape=(*x.shape[:-1], sizes["d"])) for x in kernel.inputs[:2]]
            columns = replace(kernel.inputs[2], shape=(sizes["d"], sizes["n"]))
            return replace(kernel, inputs=(*rows, columns))

    exact, masked = kernels_of(RMS)[0]
    wide = Wide(*vars(exact).values())
    found = verify_all_sizes(symbolic_of(RMS), {0: [wide, masked]})
    assert not found.equal


# ---- graphs that are not their program at some sizes

NEWTON = """
third_sums(X[b=6, n=3]):
  block grid(x=2) loop(k=3):
    x = load(X, imap={x: 0}, fmap={k: 1})
    squares = square(x)
    cubes = mul(squares, x)
    first = sum(x, axis=1)
    second = sum(squares, axis=1)
    third = sum(cubes, axis=1)
    s1 = accumulate(first)
    s2 = accumulate(second)
    s3 = accumulate(third)
    s11 = square(s1)
    s111 = mul(s11, s1)
    s12 = mul(s1, s2)
    three = scale(s12, by=3)
    two = scale(s3, by=2)
    part = sub(s111, three)
    y = add(part, two)
    Y = store(y, omap={x: 0})
  return Y
"""
NOTHING = """
nothing(X[b=6, n=3]):
  total = sum(X, axis=1)
  Y = sub(total, total)
  return Y
"""


def test_steps_up_to_the_number_of_sums_that_are_multiplied_are_looked_at() -> None:
    """The third elementary symmetric polynomial is 0 on one step and on two."""
    graph, program = parse(NEWTON), parse(NOTHING)
    symbolic = symbolic_graph(graph, {"b": 3, "n": 1})
    found = verify_all_sizes(symbolic, variants(symbolic, lower), program)
    assert not found.equal
    assert found.steps >= 3
    for n in (1, 2):
        small = symbolic.at({"b": 3, "n": n}).graph
        given = np.random.default_rng(n).standard_normal((3, n))
        np.testing.assert_allclose(run(small, {"X": given})[0], 0, atol=1e-12)


def unscaled(m: Any, before: Any, x: Any, r: Any) -> Any:
    return (x if before is None else before[0] + x), r


def stale(m: Any, before: Any, x: Any, r: Any) -> Any:
    """It goes on scaling from the first maximum."""
    return (x, r) if before is None else (before[0] * m.exp(before[1] - r) + x, before[1])


def softmax_with(meaning: Callable[..., Any]) -> KernelGraph:
    others = [each for each in ops.OPERATORS if each.name != "accumulate_rescaled"]
    own = replace(ops.accumulate_rescaled, meaning=meaning)
    return parse(str(free_sized(SOFTMAX)), [*others, own])


def test_a_missing_rescale_is_refused_by_the_program() -> None:
    symbolic = symbolic_graph(softmax_with(unscaled), TILES[SOFTMAX])
    found = verify_all_sizes(symbolic, variants(symbolic, lower), workload("softmax"))
    assert "not that of softmax" in found.wrong
    assert verify_all_sizes(symbolic, variants(symbolic, lower)).equal  # its kernels are right


def test_a_missing_rescale_is_refused_whatever_is_drawn() -> None:
    """One input of nine has the largest number of both rows in front, and hides it."""
    symbolic = symbolic_graph(softmax_with(unscaled), {"b": 1, "n": 1})
    kernels = variants(symbolic, lower)
    for seed in range(30):
        found = verify_all_sizes(symbolic, kernels, workload("softmax"), seed=seed)
        assert "not that of softmax" in found.wrong


FAR = """
there_and_back(X[b=6, n=3], Z[b=6, n=3]):
  block grid(x=2, y=1):
    x = load(X, imap={x: 0, y: 1})
    z = load(Z, imap={x: 0, y: 1})
    far = scale(z, by=1000000000000)
    moved = add(x, far)
    above = relu(moved)
    opposite = neg(moved)
    below = relu(opposite)
    same = sub(above, below)
    y = sub(same, far)
    Y = store(y, omap={x: 0, y: 1})
  return Y
"""
ITSELF = """
itself(X[b=6, n=3], Z[b=6, n=3]):
  nothing = sub(Z, Z)
  Y = add(X, nothing)
  return Y
"""


def test_rounding_alone_is_no_difference() -> None:
    """They are equal by no law of this test, and float64 has them apart in the fourth digit."""
    symbolic = symbolic_graph(parse(FAR), {"b": 3, "n": 3})
    with pytest.raises(Undecided, match="nor equal by a known law"):
        verify_all_sizes(symbolic, variants(symbolic, lower), parse(ITSELF))
    more = "left = sub(same, far)\n    y = shift(left, by=1e-11)"
    symbolic = symbolic_graph(parse(FAR.replace("y = sub(same, far)", more)), {"b": 3, "n": 3})
    found = verify_all_sizes(symbolic, variants(symbolic, lower), parse(ITSELF))
    assert "the graph's Y is not that of itself" in found.wrong


def test_60_digits_are_for_what_all_draws_compute_in_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn = list[bool]()

    class Watched(Referee):
        def __init__(self, *, digits: bool) -> None:
            drawn.append(digits)
            super().__init__(digits=digits)

    monkeypatch.setattr(digits, "Referee", Watched)
    for rows, is_small in ((3, True), (100, False)):
        symbolic = symbolic_graph(parse(FAR.replace("b=6", f"b={2 * rows}")), {"b": rows, "n": 3})
        drawn.clear()
        with pytest.raises(Undecided, match="neither sure to differ"):
            verify_all_sizes(symbolic, variants(symbolic, lower), parse(ITSELF))
        assert drawn == [is_small] * DRAWS


def test_a_state_that_shows_only_after_three_steps_is_refused() -> None:
    with pytest.raises(GraphError, match="n is not free"):
        symbolic_graph(softmax_with(stale), TILES[SOFTMAX])


def test_a_wrong_scale_is_refused_by_the_program() -> None:
    text = str(free_sized(RMS)).replace("by=1/d", "by=1/n")
    symbolic = symbolic_graph(parse(text), TILES[RMS])
    found = verify_all_sizes(symbolic, variants(symbolic, lower), workload("rms_norm_matmul"))
    assert "not that of rms_norm_matmul" in str(found)
    with pytest.raises(WrongResult, match="not that of"):
        compile_symbolic(parse(text), TILES[RMS], program=program_of(RMS), verified=True)


def test_a_verified_compilation_says_so() -> None:
    run = compile_symbolic(
        free_sized(SOFTMAX), {"b": 2, "n": 4}, program=workload("softmax"), verified=True
    )
    assert isinstance(run.verdict, AllSizes)
    assert run.verdict.equal


def test_a_program_with_other_inputs_is_no_program_of_a_graph() -> None:
    with pytest.raises(GraphError, match="inputs"):
        verify_all_sizes(symbolic_of(RMS), kernels_of(RMS), workload("softmax"))


def test_an_error_is_a_probability() -> None:
    with pytest.raises(UsageError, match="error"):
        missed_by_runs(lambda *_: [], lambda *_: [], {}, error=2.0)


def test_roots_of_sizes_are_exact_when_a_size_is_filled_in() -> None:
    """1/sqrt(d) with a free d is the number that the graph has, not a function's value."""
    text = """
scaled(X[b=6, d=8]):
  block grid(x=2, y=2):
    x = load(X, imap={x: 0, y: 1})
    y = scale(x, by=3/sqrt(d))
    Y = store(y, omap={x: 0, y: 1})
  return Y
"""
    plain = "scaled(X[b=6, d=8]):\n  Y = scale(X, by=3/sqrt(d))\n  return Y"
    symbolic = symbolic_graph(parse(text), {"b": 3, "d": 4})
    kernels = variants(symbolic, lower)
    assert verify_all_sizes(symbolic, kernels, parse(plain)).equal
    found = parts(kernels[0][-1].kernel.body)
    assert any(isinstance(each, Apply) and each.name == "sqrt" for each in found)


def parts(x: Any) -> list[Any]:
    found: list[Any] = []
    everywhere(x, lambda each: found.append(each) or each)  # type: ignore[func-returns-value]
    return found

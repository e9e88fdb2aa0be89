"""Kernels of all sizes, filled in and run beside NumPy; no vector, mask or guard goes wrong."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from drawn_modules import drawn_module
from kernels_at_sizes import EXACT, KERNELS, all_values, check_at_sizes, close, named_sizes
from shape_programs import program_of

from mlc_course.dynamic_shape.codegen import divisions_at
from mlc_course.dynamic_shape.codegen.templates import divisions_in
from mlc_course.dynamic_shape.fusion import LEVELS, Flow, Knowledge, plan
from mlc_course.dynamic_shape.ir import bind
from mlc_course.dynamic_shape.programs import NAMES, example_inputs, example_sizes, program
from mlc_course.errors import GraphError
from mlc_course.mugraph.kernel_checks import first_fault, values
from mlc_course.mugraph.kernels import (
    Buffer,
    Compute,
    Guard,
    Kernel,
    Loop,
    Read,
    SizedKernel,
    Statement,
    rewritten,
    var,
)

Tried = Callable[[str, int], None]
RESIDUES = [(2, 3, 2, 16 + rest) for rest in range(16)]
SWEEP = [(1, 1, 1, 1), (1, 2, 3, 2), (2, 1, 2, 7), (3, 2, 1, 13), (1, 4, 2, 64), *RESIDUES]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_the_ten_programs_at_all_residues(name: str, target: str, full: bool) -> None:
    """Sizes of 1, primes, every residue of a vector, and a likely one."""
    module = program(name)
    planned = plan(module)
    for numbers in SWEEP if full or target == "cpu" else SWEEP[::4]:
        given = example_sizes(name, *numbers)
        inputs = example_inputs(module, given)
        sizes = bind(module, {key: array.shape for key, array in inputs.items()})
        assert check_at_sizes(planned, target, inputs, sizes) >= len(planned.kernels)


@pytest.mark.parametrize("name", ["masked_softmax", "rotary_embedding", "split_heads"])
@pytest.mark.parametrize("neighbours", [1, 15, 16, 17, 37])
def test_rows_of_several_blocks(name: str, neighbours: int) -> None:
    """A block has 16 neighbours along an axis: fewer, as many, one more, and a prime number."""
    module = program(name)
    heads = name == "rotary_embedding"
    for columns in (3, 16):
        numbers = (2, 3, neighbours, columns) if heads else (2, neighbours, 2, columns)
        inputs = example_inputs(module, example_sizes(name, *numbers))
        sizes = bind(module, {key: array.shape for key, array in inputs.items()})
        assert check_at_sizes(plan(module), "cpu", inputs, sizes)


@pytest.mark.parametrize(("name", "heads"), [("masked_softmax", 12), ("split_heads", 2)])
def test_a_batch_of_one_has_more_blocks_than_heads(name: str, heads: int) -> None:
    module = program(name)
    inputs = example_inputs(module, example_sizes(name, 1, 64, 2, 16))
    sizes = bind(module, {key: array.shape for key, array in inputs.items()})
    for made in KERNELS["cpu"](plan(module)):
        kernel = made.lowered.kernel
        assert kernel.at({each: sizes[each] for each in kernel.sizes}).blocks == 4 * heads


def test_no_row_divides_to_find_its_mask() -> None:
    """What is found by divisions is found for all rows of a block."""
    (made,) = KERNELS["cpu"](plan(program("masked_softmax")))
    inside = next(each for each in made.lowered.kernel.body if isinstance(each, Loop))
    assert divisions_in(inside.body, frozenset((inside.name,))) == 0


@pytest.mark.fuzz
@pytest.mark.parametrize("target", ["cpu", "narrow", "unfolded", "gpu"])
def test_drawn_programs(target: str, full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    count = 0
    for _ in range(400 if full else 40):
        module, sizes = drawn_module(rng)
        inputs = example_inputs(module, sizes, seed)
        planned = plan(module, rng.choice(LEVELS), stitch=rng.random() < 0.8)
        count += check_at_sizes(planned, target, inputs, sizes)
    tried("kernels at sizes", count)


@pytest.mark.parametrize("target", ["cpu", "gpu"])
def test_a_kernel_without_its_guards_is_refused(target: str) -> None:
    """The checks of this file notice what guards and tails are for."""
    module = program("residual_rms_norm")
    given = example_sizes("residual_rms_norm", 1, 3, 1, 13)
    inputs = example_inputs(module, given)
    sizes = bind(module, {key: array.shape for key, array in inputs.items()})
    (made,) = KERNELS[target](plan(module))
    lowered, kernel = made.lowered, made.variants[-1].kernel
    numbers = {name: sizes[name] for name in kernel.sizes}
    assert first_fault(kernel.at(numbers)) is None

    def unguarded(statement: Statement) -> tuple[Statement, ...]:
        return statement.body if isinstance(statement, Guard) else (statement,)

    wrong = replace(kernel, body=rewritten(kernel.body, unguarded))
    assert first_fault(wrong.at(numbers)) is not None

    def shorter(statement: Statement) -> tuple[Statement, ...]:
        return () if is_tail(statement) else (statement,)

    if target == "cpu":
        wrong = replace(kernel, body=rewritten(kernel.body, shorter))
        known = all_values(module, inputs, sizes)
        arrays = [known[value].reshape(-1) for value in lowered.inputs]
        with np.errstate(all="ignore"):
            _, found = values(wrong.at(numbers), arrays, EXACT)
        assert not close(found, known[lowered.outputs[1]].reshape(-1))


def test_facts_remove_divisions_and_tails() -> None:
    """Proved sizes leave no remainder; unknown ones have a vector of each width."""
    lines = """
    %0 = exp(%x) : [B, S, H]
    %1 = reduce_sum(%0) {axes = [2]} : [B, S]
    """
    sixteen = "tie_predicate_divisible(H, 16)"
    known = program_of("x [B, S, H]", lines, "%1", sixteen)
    unknown = program_of("x [B, S, H]", lines, "%1")
    assert len(tails(KERNELS["cpu"](plan(known))[0].lowered.kernel)) == 0
    assert len(KERNELS["cpu"](plan(known))[0].variants) == 1  # no other variant is of use
    assert len(tails(KERNELS["cpu"](plan(unknown))[0].lowered.kernel)) > 0


def is_tail(statement: Statement) -> bool:
    """Tell whether it is for what vectors leave over."""
    return isinstance(statement, Guard) and "%" in str(statement.when)


def tails(kernel: SizedKernel) -> list[Statement]:
    found: list[Statement] = []

    def seen(statement: Statement) -> tuple[Statement, ...]:
        if is_tail(statement):
            found.append(statement)
        return (statement,)

    rewritten(kernel.body, seen)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_folded_indices_divide_no_more_often(name: str) -> None:
    module = program(name)
    inputs = example_inputs(module, example_sizes(name, 2, 3, 4, 16))
    sizes = bind(module, {key: array.shape for key, array in inputs.items()})
    folded, unfolded = (
        sum(
            divisions_at(kernel.at({name: sizes[name] for name in kernel.sizes}))
            for kernel in (made.lowered.kernel for made in KERNELS[target](plan(module)))
        )
        for target in ("folded", "unfolded")
    )
    assert folded <= unfolded
    if name in ("residual_layer_norm", "masked_softmax"):  # which reshape between rows
        assert 10 * folded < unfolded


def test_a_division_counts_where_a_compiler_leaves_it() -> None:
    x, y = (Buffer(name, (12,), "global") for name in "xy")
    i, j = var("i"), var("j")
    inside = Compute(y, (4 * i + j,), Read(x, ((i + 7) // 2 * 4 + j % 4,)))
    kernel = Kernel("k", (("i", 3),), 1, (x,), (y,), (), (Loop("j", 4, (inside,)),))
    assert divisions_at(kernel) == 3 + 12
    guarded = replace(kernel, body=(Guard(i < 1, kernel.body, ()),))
    assert divisions_at(guarded) == 5


def test_sizes_go_by_the_names_of_the_level() -> None:
    module = program("bias_gelu")
    knowledge = Knowledge(module, "none")
    sizes = named_sizes(module, knowledge, {"T": 6, "F": 5, "B": 2, "S": 3})
    assert sizes["axis1_of_input0"] == 5
    for made in KERNELS["cpu"](plan(module, "none")):
        assert set(made.lowered.kernel.sizes) <= set(sizes)
        assert made.chosen(sizes) in made.variants
    assert Flow(module.function).returned


def test_sizes_that_are_equal_are_given_once() -> None:
    (made,) = KERNELS["cpu"](plan(program("rotary_embedding")))
    assert made.lowered.kernel.sizes == ("A", "B", "D", "E", "S")  # and not S2, which is S
    (made,) = KERNELS["cpu"](plan(program("split_heads")))
    assert made.lowered.kernel.sizes == ("A", "B", "D", "S", "W", "W0")


def test_likely_values_of_an_equal_size_are_heeded() -> None:
    module = program_of("x [R, C]; y [R, D]", "%0 = add(%x, %y) : [R, C]", "%0")
    dims = [replace(dim, likely=(5,) if dim.name == "D" else ()) for dim in module.dims]
    (made,) = KERNELS["cpu"](plan(replace(module, dims=tuple(dims))))
    assert str(made.variants[0]) == "C == 5"


@pytest.mark.parametrize(
    ("inputs", "lines", "told"),
    [
        ("x [N]f64", "%0 = exp(%x) : [N]f64", "no code for %0 = exp on f64"),
        ("x [N]i64", "%0 = exp(%x) : [N]i64", "no code for %0 = exp on i64"),
        ("x [N, M]i64", "%0 = reduce_sum(%x) {axes = [1]} : [N]i64", "reduce_sum on i64"),
        ("x [N]i64", "%0 = div(%x, %x) : [N]i64", "div on i64"),
    ],
)
def test_types_that_kernels_do_not_compute_with_are_refused(
    inputs: str, lines: str, told: str
) -> None:
    module = program_of(inputs, lines, "%0")
    with pytest.raises(GraphError, match=told):
        KERNELS["cpu"](plan(module))

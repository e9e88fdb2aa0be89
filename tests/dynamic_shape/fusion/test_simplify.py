"""A simplified program computes the same, bit by bit, knows as much, and does less."""

from __future__ import annotations

import random

import numpy as np
import pytest
from cases import Tried
from drawn_modules import drawn_module
from shape_programs import SMALL, program_of

from mlc_course.dynamic_shape.fusion import plan, simplified
from mlc_course.dynamic_shape.ir import Module, dims_of, parse, run, said, text, type_text
from mlc_course.dynamic_shape.programs import NAMES, program
from mlc_course.dynamic_shape.solve import Facts, Proved, Solver
from mlc_course.errors import Contradiction, ShapeError

CASES = {  # inputs, lines, results, what is stated; the operators that are left, the result's type
    "a broadcast to equal sizes": (
        "x [N, M]; y [K, M]",
        """
        %0 = add(%x, %y) : [N, M]
        %1 = broadcast(%0) {dims = [0, 1]} : [K, M]
        """,
        "%1",
        "",
        ["add"],
        "tensor<?x?xf32, [@N, @M]>",
    ),
    "a reshape to equal sizes": (
        "x [T, H]",
        """
        %0 = reshape(%x) : [B, S, H]
        %1 = reshape(%0) : [R, H]
        %2 = exp(%1) : [R, H]
        """,
        "%2",
        "",
        ["exp"],
        "tensor<?x?xf32, [@T, @H]>",
    ),
    "a broadcast of a reshape that adds an axis of size 1": (
        "x [N, M]",
        """
        %0 = reshape(%x) : [N, 1, M]
        %1 = broadcast(%0) {dims = [0, 1, 3]} : [N, 1, K, M]
        """,
        "%1",
        "",
        ["broadcast"],
        "tensor<?x1x?x?xf32, [@N, 1, @K, @M]>",
    ),
    "two broadcasts": (
        "x [N]",
        """
        %0 = broadcast(%x) {dims = [1]} : [M, N]
        %1 = broadcast(%0) {dims = [0, 2]} : [M, K, N]
        """,
        "%1",
        "",
        ["broadcast"],
        "tensor<?x?x?xf32, [@M, @K, @N]>",
    ),
    "two transposes": (
        "x [A, B, C]",
        """
        %0 = transpose(%x) {perm = [1, 2, 0]} : [B, C, A]
        %1 = transpose(%0) {perm = [2, 0, 1]} : [A, B, C]
        %2 = exp(%1) : [A, B, C]
        """,
        "%2",
        "",
        ["exp"],
        "tensor<?x?x?xf32, [@A, @B, @C]>",
    ),
    "a transpose that moves an axis of size 1": (
        "x [A, 1, C]",
        "%0 = transpose(%x) {perm = [1, 0, 2]} : [1, A, C]",
        "%0",
        "",
        ["reshape"],
        "tensor<1x?x?xf32, [1, @A, @C]>",
    ),
    "a number for every element, and a factor of 1": (
        "x [N]",
        """
        %0 = constant() {value = 2.0} : []
        %1 = broadcast(%0) {dims = []} : [N]
        %2 = mul(%x, %1) : [N]
        %3 = constant() {value = 1.0} : []
        %4 = broadcast(%3) {dims = []} : [N]
        %5 = mul(%4, %2) : [N]
        %6 = constant() {value = 0.0} : []
        %7 = sub(%5, %6) : [N]
        """,
        "%7",
        "",
        ["constant", "mul"],
        "tensor<?xf32, [@N]>",
    ),
    "the same twice, and what is not needed": (
        "x [N]",
        """
        %0 = exp(%x) : [N]
        %1 = exp(%x) : [N]
        %2 = neg(%x) : [N]
        %3 = add(%0, %1) : [N]
        """,
        "%3",
        "",
        ["exp", "add"],
        "tensor<?xf32, [@N]>",
    ),
    "whole slices, pads, parts and sequences": (
        "x [N]",
        """
        %0 = slice(%x) {axis = 0, start = 0, drop = 0} : [M]
        %1 = pad(%0) {axis = 0, low = 0, high = 0, value = 0} : [K]
        %2 = split(%1) {axis = 0, parts = 1, part = 0} : [L]
        %3 = concat(%2) {axis = 0} : [L]
        %4 = convert(%3) : [L]
        %5 = exp(%4) : [L]
        """,
        "%5",
        "",
        ["exp"],
        "tensor<?xf32, [@N]>",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_less_is_left(name: str) -> None:
    inputs, lines, results, stated, left, type_ = CASES[name]
    found = simplified(program_of(inputs, lines, results, stated))
    function = found.function
    assert [each.op.name for each in function.equations] == left
    assert type_text(function.types[function.results[0]]) == type_


def knows_as_much(before: Module, after: Module) -> None:
    """Check that all that was known of sizes that are left follows from what is known now."""
    solver = Solver(Facts({dim.name: dim for dim in after.dims}, after.facts()))
    names = {dim.name for dim in after.dims}
    for fact in before.facts():
        if names.issuperset(dim for dim in dims_of(fact) if isinstance(dim, str)):
            assert isinstance(solver.ask(fact), Proved), said(fact)


def same_results(module: Module, sizes: dict[str, int], rng: np.random.Generator) -> Module:
    """Run a program and what is left of it, and compare every bit."""
    given = {}
    for each in module.function.inputs:
        shape = [dim if isinstance(dim, int) else sizes[dim] for dim in each.type.dims]
        kind = "f4" if each.type.dtype == "f32" else "i8"
        given[each.name] = rng.integers(0, 2, shape).astype(kind) + rng.random(shape).astype(kind)
    after = simplified(module)
    with np.errstate(all="ignore"):
        try:
            found = run(module, given)
        except ShapeError as error:
            assert "follows from no input" in error.what
            return after
        for before, now in zip(found, run(after, given), strict=True):
            assert before.dtype == now.dtype and before.tobytes() == now.tobytes()
    return after


@pytest.mark.parametrize("name", NAMES)
def test_the_ten_programs_compute_the_same_with_fewer_names(name: str) -> None:
    module = program(name)
    after = same_results(module, SMALL[name], np.random.default_rng(0))
    knows_as_much(module, after)
    assert simplified(after) == after and parse(text(after)) == after
    assert len(plan(after).kernels) == 1
    assert len(after.function.equations) <= len(module.function.equations)


def test_facts_of_what_is_left_out_are_stated() -> None:
    module = program_of(
        "x [N]; y [M]",
        """
        %0 = add(%x, %y) : [N]
        %1 = reshape(%x) : [A, 4]
        %2 = exp(%x) : [N]
        """,
        "%2",
    )
    after = simplified(module)
    assert [each.op.name for each in after.function.equations] == ["exp"]
    assert "N == A*4" in {said(each) for each in after.constraints}


def test_sizes_that_cannot_be_are_refused() -> None:
    module = program_of("x [N]", "%0 = reshape(%x) : [4, 2]", "%0", "tie_predicate_eq(N, 9)")
    with pytest.raises(Contradiction):
        simplified(module)


@pytest.mark.fuzz
def test_drawn_programs_compute_the_same(full: bool, seed: int, tried: Tried) -> None:
    rng = random.Random(seed)
    fewer = 0
    for _ in range(1000 if full else 100):
        module, sizes = drawn_module(rng)
        after = same_results(module, sizes, np.random.default_rng(seed))
        knows_as_much(module, after)
        assert simplified(after) == after and parse(text(after)) == after
        fewer += len(after.function.equations) < len(module.function.equations)
    tried("programs simplified", fewer)
    assert fewer

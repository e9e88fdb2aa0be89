"""Kernels run as their graphs are interpreted, over floats and over residues."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from thread_orders import orders, outputs

from mlc_course.errors import UsageError
from mlc_course.mugraph.codegen.tilings import published_tiling, retiled
from mlc_course.mugraph.cpu_kernels.cpu_lowering import Cpu, lower
from mlc_course.mugraph.ir import FLOAT64, Floats, KernelGraph, Number, evaluate, parse, run
from mlc_course.mugraph.kernel_checks import first_fault, kernel_walk
from mlc_course.mugraph.kernel_checks.code_verification import CodeField, run_kernels
from mlc_course.mugraph.kernel_checks.execution import execute, values
from mlc_course.mugraph.kernel_checks.kernel_walk import distributed
from mlc_course.mugraph.kernel_checks.small_tilings import Smaller, smaller
from mlc_course.mugraph.kernels.index_expressions import const, var
from mlc_course.mugraph.kernels.kernel_program import (
    Apply,
    Axis,
    Buffer,
    Compute,
    Constant,
    Guard,
    Kernel,
    Loop,
    Read,
    Select,
    Statement,
)
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.thread_kernels import Gpu, lower_for_threads
from mlc_course.mugraph.verify import Field, draw

CPU = Cpu(4, 16)


def small(graph: KernelGraph) -> Smaller:
    return smaller(graph, {place: published_tiling(block) for place, block in graph.blocks})


def lowered(made: Smaller) -> dict[int, Kernel]:
    return {place: lower(made.graph, place, t, CPU) for place, t in made.tilings.items()}


def normal(graph: KernelGraph) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(shape) for name, shape in graph.input_shapes.items()}


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_a_kernel_computes_in_float64_what_its_graph_computes(name: str) -> None:
    made = small(published(name))
    inputs = normal(made.graph)
    got = run_kernels(made.graph, lowered(made), list(inputs.values()), FLOAT64)
    for a, b in zip(got, run(made.graph, inputs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(b).max())


@pytest.mark.parametrize("name", ["online_softmax_attention", "lora_looped", "n_trans_fused"])
def test_a_kernel_computes_the_same_residues_as_its_graph_on_every_level(name: str) -> None:
    made = small(published(name))
    rng = random.Random(1)
    m = Field([draw(2**17 - 1, 1, rng) for _ in range(2)], rng, 3)
    inputs = [m.random(shape) for shape in made.graph.input_shapes.values()]
    want = evaluate(made.graph, inputs, m)
    for a, b in zip(run_kernels(made.graph, lowered(made), inputs, m), want, strict=True):
        for ours, theirs in zip(a.levels, b.levels, strict=True):
            assert (ours is None) == (theirs is None)
            assert ours is None or (ours == theirs).all()


CONCATENATED = parse("""concatenated(X[b=4, d=6], Z[b, e=3]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    z = load(Z, imap={x: 0})
    both = concat(x, z, axis=1)
    largest = max(both, axis=1)
    below = sub(both, largest)
    y = exp(below)
    high = exp(z)
    sides = concat(z, high, axis=1)
    halves = split(sides, axis=1, parts=2, part=0)
    Y = store(y, omap={x: 0})
    H = store(halves, omap={x: 0})
  return Y, H
""")


def test_selected_elements_and_free_maxima_pass_through_memory() -> None:
    made = small(CONCATENATED)
    rng = random.Random(1)
    m = CodeField(2, rng)
    inputs = [m.random(shape) for shape in made.graph.input_shapes.values()]
    want = evaluate(made.graph, inputs, m)
    for a, b in zip(run_kernels(made.graph, lowered(made), inputs, m), want, strict=True):
        assert (a.top == b.top).all()
    inputs_of = normal(made.graph)
    got = run_kernels(made.graph, lowered(made), list(inputs_of.values()), FLOAT64)
    for c, d in zip(got, run(made.graph, inputs_of), strict=True):
        np.testing.assert_allclose(c, d)


NORMED = parse("""normed(X[b=4, d=12], W[d, n=6]):
  block grid(x=2) loop(k=2):
    x = load(X, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    part = matmul(x, w)
    product = accumulate(part)
    squares = square(x)
    sums = sum(squares, axis=1)
    total = accumulate(sums)
    rms = sqrt(total)
    y = div(product, rms)
    Y = store(y, omap={x: 1})
  return Y
""")


def test_two_interpreters_that_share_nothing_agree_on_a_lowered_kernel() -> None:
    tiling = retiled(NORMED, 0, {"k": 5, "x": 4})
    kernel = lower(NORMED, 0, tiling, CPU)
    starts = itertools.accumulate((4 * each.size for each in kernel.shared), initial=0)
    offsets = dict(zip((each.name for each in kernel.shared), starts, strict=False))
    total = sum(4 * each.size for each in kernel.shared)
    planned = replace(kernel, offsets=tuple(offsets.items()), shared_bytes=total)
    inputs = list(normal(NORMED).values())
    (slow,) = outputs(planned, inputs, orders(1)[0])
    (fast,) = execute(planned, inputs, FLOAT64).outputs
    np.testing.assert_allclose(fast, slow, rtol=1e-12)
    np.testing.assert_allclose(fast, run(NORMED, normal(NORMED))[0], rtol=1e-12)


# ---- single statements

N, J, L, K = map(var, "njlk")
A = Buffer("A", (4, 6), "global", "storage")
B = Buffer("B", (6, 5), "global", "storage")
OUT = Buffer("Out", (4, 5), "global", "storage")
ROW = Buffer("row", (4,), "shared")
ZERO = Constant(Number(Fraction(0)))
ROWS, INNER, COLUMNS = Axis("n", 4), Axis("l", 6), Axis("j", 5)


def kernel(*body: Statement, output: Buffer = OUT) -> Kernel:
    return Kernel("k", (), 1, (A, B), (output,), (ROW,), body)


def test_a_product_may_have_its_axes_in_any_order() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(A.shape), rng.standard_normal(B.shape)
    start = Compute(OUT, (N, J), ZERO, (ROWS, COLUMNS))
    line = Apply("mul", (Read(B, (L, J)), Read(A, (N, L))))
    for axes in ((INNER, ROWS, COLUMNS), (COLUMNS, INNER, ROWS)):
        found = execute(kernel(start, Compute(OUT, (N, J), line, axes, "add")), [a, b], FLOAT64)
        np.testing.assert_allclose(found.outputs[0], a @ b)


def test_a_value_that_does_not_depend_on_a_summed_axis_counts_as_often() -> None:
    row = Buffer("Row", (4,), "global", "storage")
    start = Compute(row, (N,), ZERO, (ROWS,))
    total = Compute(row, (N,), Read(A, (N, const(2))), (ROWS, INNER), "add")
    a = np.arange(24.0).reshape(4, 6)
    (got,) = values(kernel(start, total, output=row), [a, np.ones(B.shape)], FLOAT64)
    assert np.array_equal(got, 6 * a[:, 2])


@pytest.mark.parametrize(("combine", "numpy"), [("max", np.max), ("min", np.min)])
def test_largest_and_least_are_taken_of_all_reduced_axes(combine: Any, numpy: Any) -> None:
    row = Buffer("Row", (1,), "global", "storage")
    start = Compute(row, (const(0),), Read(A, (const(0), const(0))))
    rest = Compute(row, (const(0),), Read(A, (N, L)), (ROWS, INNER), combine)
    a = np.random.default_rng(0).standard_normal(A.shape)
    (got,) = values(kernel(start, rest, output=row), [a, np.ones(B.shape)], FLOAT64)
    assert got[0] == numpy(a)


def test_points_that_a_condition_leaves_out_write_nothing() -> None:
    start = Compute(OUT, (N, J), ZERO, (ROWS, COLUMNS))
    some = Loop(
        "k", 4, (Guard(K < 2, (Compute(OUT, (K, J), Read(B, (K, J)), (COLUMNS,)),)),), "any"
    )
    b = np.random.default_rng(0).standard_normal(B.shape)
    (got,) = values(kernel(start, some), [np.ones(A.shape), b], FLOAT64)
    assert np.array_equal(got[:2], b[:2]) and not got[2:].any()


def test_what_is_stored_is_rounded_and_sums_are_not() -> None:
    m = Floats(np.float64, np.float16)
    third = Constant(Number(Fraction(1, 3)))
    keep = Compute(ROW, (N,), third, (ROWS,))
    out = Compute(OUT, (N, J), Read(ROW, (N,)), (ROWS, COLUMNS))
    (got,) = values(kernel(keep, out), [np.ones(A.shape), np.ones(B.shape)], m)
    assert got[0, 0] == float(np.float16(1 / 3))
    double = Compute(OUT, (N, J), Apply("sub", (Read(ROW, (N,)), third)), (ROWS, COLUMNS))
    (got,) = values(kernel(keep, double), [np.ones(A.shape), np.ones(B.shape)], m)
    assert got[0, 0] == 0


def test_a_hole_belongs_to_the_elements_that_were_written_with_it() -> None:
    m = Field([draw(2**17 - 1, 1, random.Random(0))], random.Random(0), 1)
    inputs = [m.random(A.shape), m.random(B.shape)]
    half = Compute(OUT, (N, J), Apply("exp", (Read(B, (N, J)),)), (ROWS, COLUMNS))
    again = Compute(OUT, (N, J), Read(A, (N, J)), (ROWS, COLUMNS))
    first = Compute(OUT, (const(0), J), Read(A, (const(0), J)), (COLUMNS,))
    assert values(kernel(half), inputs, m)[0].levels[0] is None
    assert values(kernel(half, again), inputs, m)[0].levels[0] is not None
    assert values(kernel(half, first), inputs, m)[0].levels[0] is None
    row = Buffer("Row", (5,), "global", "storage")
    known = Compute(row, (J,), Read(OUT, (const(0), J)), (COLUMNS,))
    both = Kernel("k", (), 1, (A, B), (OUT, row), (), (half, first, known))
    assert values(both, inputs, m)[1].levels[0] is not None


def test_a_select_chooses_element_by_element() -> None:
    chosen = Select(J < 2, Read(A, (N, J)), Read(B, (N, J)))
    a, b = np.zeros(A.shape), np.ones(B.shape)
    (got,) = values(kernel(Compute(OUT, (N, J), chosen, (ROWS, COLUMNS))), [a, b], FLOAT64)
    assert np.array_equal(got[0], [0, 0, 1, 1, 1])


def test_a_kernel_with_a_fault_is_not_run_and_wrong_inputs_are_an_error() -> None:
    wrong = kernel(Compute(OUT, (N + 1, J), ZERO, (ROWS, COLUMNS)))
    inputs = [np.ones(A.shape), np.ones(B.shape)]
    found = execute(wrong, inputs, FLOAT64)
    assert found.outputs == () and found.fault and found.fault.kind == "bounds"
    with pytest.raises(UsageError, match="inputs"):
        execute(kernel(Compute(OUT, (N, J), ZERO, (ROWS, COLUMNS))), inputs[::-1], FLOAT64)


def test_an_element_that_is_divided_by_zero_is_void_and_no_other() -> None:
    m = Field([draw(2**31 - 1, 0, random.Random(0))], random.Random(0), 1)
    inputs = [m.random(A.shape), m.random(B.shape)]
    nothing = Compute(OUT, (N, J), ZERO, (ROWS, COLUMNS))
    one = Constant(Number(Fraction(1)))
    some = Compute(OUT, (const(0), J), one, (COLUMNS,))
    divided = Compute(OUT, (N, J), Apply("div", (one, Read(OUT, (N, J)))), (ROWS, COLUMNS))
    (got,) = values(kernel(nothing, some, divided), inputs, m)
    assert got.void is not None and not got.void[:, 0].any() and got.void[:, 1:].all()


# ---- loops whose statements may run apart


@pytest.mark.parametrize("name", PROGRAM_OF)
def test_statements_that_run_apart_give_what_a_loop_gives(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = small(published(name))
    packed = {place: replace(t, panels=made.graph.names) for place, t in made.tilings.items()}
    kernels = lowered(Smaller(made.graph, packed))
    inputs = list(normal(made.graph).values())
    apart = run_kernels(made.graph, kernels, inputs, FLOAT64)
    monkeypatch.setattr(kernel_walk, "distributed", lambda loop: ())
    for a, b in zip(apart, run_kernels(made.graph, kernels, inputs, FLOAT64), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


W, PANEL, SUMS, LEFT = (
    Buffer("W", (8, 4), "global", "storage"),
    Buffer("panel", (8, 4)),
    Buffer("sums", (4,)),
    Buffer("left", (8,)),
)
L, C = var("l"), var("c")
OVER_C = (Axis("c", 4),)
PACKS = Compute(PANEL, (L, C), Read(W, (L, C)), OVER_C)
ADDS = Compute(
    SUMS, (C,), Apply("mul", (Read(LEFT, (L,)), Read(PANEL, (L, C)))), OVER_C, "add"
)  # fmt: skip


def test_a_strip_is_packed_before_it_is_multiplied() -> None:
    apart = distributed(Loop("l", 8, (PACKS, ADDS)))
    assert [each.axes for each in apart] == [(Axis("l", 8), *OVER_C)] * 2


@pytest.mark.parametrize(
    "body",
    [
        # the next row, and one that another iteration has packed
        (PACKS, replace(ADDS, value=Apply("mul", (Read(LEFT, (L,)), Read(PANEL, (L + 1, C)))))),
        (PACKS, replace(ADDS, value=Apply("mul", (Read(LEFT, (L,)), Read(PANEL, (C, C)))))),
        # what is packed is no longer what is read
        (ADDS, PACKS),
        (PACKS, ADDS, PACKS),
        (PACKS, replace(PACKS, target=replace(W, scope="shared"))),
        # a row over the last one
        (replace(PACKS, index=(const(0), C)), ADDS),
        (replace(PACKS, index=(L // 2, C)), ADDS),
        # sums of sums, and the last of all values
        (replace(ADDS, value=Apply("mul", (Read(SUMS, (C,)), Read(PANEL, (L, C))))),),
        (replace(ADDS, combine=""),),
        (replace(ADDS, combine="max"),),
        (replace(ADDS, value=Read(PANEL, (L, C))),),
        # other statements
        (PACKS, Guard(L < 4, (ADDS,))),
        (replace(PACKS, axes=(Axis("l", 4),)),),
    ],
)
def test_statements_that_depend_on_other_iterations_stay_together(
    body: tuple[Statement, ...],
) -> None:
    assert distributed(Loop("l", 8, body)) == ()


def test_buffers_that_share_memory_stay_in_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def noted(loop: Loop) -> tuple[Compute, ...]:
        seen.append(loop)
        return distributed(loop)

    monkeypatch.setattr(kernel_walk, "distributed", noted)
    made = small(published("rms_norm_matmul_fused"))
    gpu_kernel = lower_for_threads(made.graph, 0, made.tilings[0], Gpu(threads=32))
    assert gpu_kernel.offsets and first_fault(gpu_kernel) is None
    assert not seen

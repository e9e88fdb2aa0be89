"""Products on a matrix unit: right values, the hardware's fragments, and nothing else accepted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from golden import Golden
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lowered_graphs import cut, few_steps, kernels, wrong

from mlc_course.mugraph.codegen.tilings import published_tiling
from mlc_course.mugraph.ir import Builder, KernelGraph, ops, parse
from mlc_course.mugraph.kernel_checks.memory_faults import first_fault
from mlc_course.mugraph.kernels.index_expressions import evaluate, var
from mlc_course.mugraph.kernels.kernel_program import (
    Body,
    Compute,
    Guard,
    Kernel,
    Statement,
    rewritten,
    walk,
    with_indices,
)
from mlc_course.mugraph.kernels.matrix_unit import matrix_products
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.thread_kernels.spreads import matrix_spread
from mlc_course.mugraph.thread_kernels.thread_accesses import with_buffers
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, lower_for_threads
from mlc_course.mugraph.thread_kernels.thread_tilings import thread_program

KERNELS = Path(__file__).parent / "kernels"
WITH_PRODUCTS = [name for name in PROGRAM_OF if name != "n_trans_fused"]
T = var("t")


def on_unit(kernel: Kernel) -> list[Compute]:
    found = [each for each in walk(kernel.body) if isinstance(each, Compute)]
    return [each for each in found if each.fragments]


# ---- spreads


@given(
    st.sampled_from([(16, 24), (8, 32), (16, 64), (64, 64), (2, 16, 48), (32, 8), (3, 8, 96)]),
    st.sampled_from([32, 64, 96, 128]),
)
def test_every_element_of_a_tile_is_one_threads(shape: tuple[int, ...], threads: int) -> None:
    spread = matrix_spread(shape, threads)
    assume(spread is not None)  # none where warps would have nothing to do in some turns
    assert spread.row_turns * spread.groups == spread.rows
    owners = Counter[tuple[int, int]]()
    t = np.arange(threads)
    group = np.broadcast_to(evaluate(spread.group(T), {"t": t}), t.shape)
    for turn in range(spread.column_turns):
        numbers = {"t": t, "j": turn}
        here = np.broadcast_to(evaluate(spread.is_within(T, var("j")), numbers), t.shape)
        for row in range(spread.row_turns):
            for neighbour in range(spread.width):
                column = spread.column(T, var("j"), var("c"))
                columns = np.broadcast_to(evaluate(column, {**numbers, "c": neighbour}), t.shape)
                rows = group + row * spread.groups
                owners.update(zip(rows[here].tolist(), columns[here].tolist(), strict=True))
    assert set(owners.values()) == {1}
    assert len(owners) == spread.rows * spread.columns


@pytest.mark.parametrize("shape", [(4, 32), (16, 12), (12, 16), (8, 8), (16,), (2, 4, 16)])
def test_other_tiles_are_not_for_a_matrix_unit(shape: tuple[int, ...]) -> None:
    assert matrix_spread(shape, 128) is None


def test_part_of_a_warp_has_no_matrix_unit() -> None:
    assert matrix_spread((16, 16), 48) is None


# ---- values


@pytest.mark.parametrize("threads", [32, 128, 256])
@pytest.mark.parametrize("name", WITH_PRODUCTS)
def test_products_of_known_graphs_are_on_the_unit_and_right(name: str, threads: int) -> None:
    small = few_steps(name, 3)
    gpu = Gpu(threads=threads, stages=2, matrix_unit=True)
    assert not wrong(small.graph, small.tilings, gpu)
    assert any(on_unit(kernel) for kernel in kernels(small, gpu))


SHORT = [
    ("rms_norm_matmul_fused", {"b": 16, "d": 56, "n": 48}, {"x": 32, "k": 32}),
    ("gated_mlp_fused", {"b": 8, "d": 104, "n": 48}, {"x": 32, "k": 32}),
    ("lora_looped", {"b": 16, "d": 40, "n": 40, "r": 16}, {"x": 16, "k": 16}),
    ("attention_fused", {"m": 32, "n": 104, "d": 16, "v": 8}, {"y": 16, "k": 32}),
    ("online_softmax_attention", {"m": 24, "n": 40, "d": 32, "v": 16}, {"y": 16, "k": 16}),
]


@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize(("name", "sizes", "tiles"), SHORT)
def test_last_steps_may_be_short(
    name: str, sizes: dict[str, int], tiles: dict[str, int], stages: int
) -> None:
    small = cut(name, sizes, tiles)
    assert any(each.short for tiling in small.tilings.values() for each in tiling.cuts)
    gpu = Gpu(threads=64, stages=stages, matrix_unit=True)
    assert not wrong(small.graph, small.tilings, gpu)
    assert any(on_unit(kernel) for kernel in kernels(small, gpu))


def product_graph(heads: int, rows: int, depth: int, columns: int) -> KernelGraph:
    builder = Builder("product")
    a = builder.input("A", f"h={heads}", f"m={rows}", f"k={depth}")
    b = builder.input("B", "h", "k", f"n={columns}")
    with builder.block(grid={"x": 1}) as block:
        y = block.store(ops.matmul(block.load(a), block.load(b)), omap={})
    return builder.returns(y)


@settings(max_examples=40)
@given(
    st.integers(1, 2),
    st.sampled_from([1, 8, 16, 24, 32, 48]),
    st.sampled_from([8, 16, 24, 32, 48]),
    st.sampled_from([8, 16, 24, 32, 40, 64]),
    st.sampled_from([32, 64, 128]),
)
def test_products_of_all_extents_are_right(
    heads: int, rows: int, depth: int, columns: int, threads: int
) -> None:
    graph = product_graph(heads, rows, depth, columns)
    assert not wrong(graph, {}, Gpu(threads=threads, matrix_unit=True))


def test_a_matrix_unit_is_for_two_bytes() -> None:
    graph = product_graph(1, 16, 16, 16)
    tiling = published_tiling(dict(graph.blocks)[0])
    half = lower_for_threads(graph, 0, tiling, Gpu(matrix_unit=True))
    single = lower_for_threads(graph, 0, tiling, Gpu(matrix_unit=True, storage_bytes=4))
    assert on_unit(half) and not on_unit(single)
    assert first_fault(single) is None  # and the plan counts on four bytes
    assert single.shared_bytes >= 2 * (16 * 16 * 4)


def test_few_rows_are_multiplied_as_columns() -> None:
    (few,) = on_unit(kernels(few_steps("gated_mlp_fused", 2), Gpu(matrix_unit=True))[0])[:1]
    (many,) = on_unit(kernels(few_steps("rms_norm_matmul_fused", 2), Gpu(matrix_unit=True))[0])
    assert few.fragments and few.fragments.side == "columns"
    assert many.fragments and many.fragments.side == "rows"


def test_all_sums_of_a_product_are_in_some_instruction() -> None:
    for name in WITH_PRODUCTS:
        for kernel in kernels(few_steps(name, 2), Gpu(matrix_unit=True)):
            for product in on_unit(kernel):
                registers = {str(sums) for each in matrix_products(product) for sums in each.sums}
                assert len(registers) == np.prod(
                    [a.extent for a in product.axes if a.name != product.fragments.inner]  # type: ignore[union-attr]
                )


# ---- what is refused


def product_kernel(side: str = "rows") -> Kernel:
    rows = 16 if side == "rows" else 8
    graph = product_graph(1, rows, 32, 64)
    tiling = published_tiling(dict(graph.blocks)[0])
    return lower_for_threads(graph, 0, tiling, Gpu(threads=64, matrix_unit=True))


def with_product(kernel: Kernel, change: Callable[[Compute], Body]) -> Kernel:
    def changed(statement: Statement) -> Body:
        if isinstance(statement, Compute) and statement.fragments:
            return change(statement)
        return (statement,)

    return replace(kernel, body=rewritten(kernel.body, changed))


def other_rows(s: Compute) -> Body:
    """Row t // 2 % 16 in place of t % 32 // 4: each thread has a row, but not the hardware's."""
    return (with_indices(s, lambda e: _replaced(e, T % 32 // 4, T // 2 % 8)),)


def _replaced(e, old, new):  # type: ignore[no-untyped-def]
    if e == old:
        return new
    if e.op in ("const", "var"):
        return e
    return replace(e, args=tuple(_replaced(each, old, new) for each in e.args))


def other_depth(s: Compute) -> Body:
    axes = tuple(
        replace(a, extent=24) if a.name == s.fragments.inner else a  # type: ignore[union-attr]
        for a in s.axes
    )
    return (replace(s, axes=axes),)


def other_cells(s: Compute) -> Body:
    """The sums of the two neighbours exchanged in the formula, and not in the hardware."""
    assert s.fragments
    c = var(s.fragments.neighbour)
    return (replace(s, value=with_indices(s.value, lambda e: _replaced(e, c, (c + 1) % 2))),)


def overwrites(s: Compute) -> Body:
    return (replace(s, combine=""),)


def by_some(s: Compute) -> Body:
    return (Guard(T < 40, (s,)),)


EXCHANGED = "neighbours exchanged"
REFUSED = {
    "other rows": other_rows,
    "24 terms": other_depth,
    EXCHANGED: other_cells,
    "overwritten": overwrites,
    "a part of a warp": by_some,
}


@pytest.mark.parametrize(
    ("mistake", "side"),
    # of columns 8 apart the hardware loads what the formula says
    [(m, s) for m in REFUSED for s in ("rows", "columns") if (m, s) != (EXCHANGED, "columns")],
)
def test_a_product_that_the_hardware_would_not_compute_is_refused(mistake: str, side: str) -> None:
    kernel = product_kernel(side)
    assert first_fault(kernel) is None
    wrong_one = with_product(kernel, REFUSED[mistake])
    assert wrong_one != kernel
    assert first_fault(wrong_one)


@pytest.mark.parametrize("side", ["rows", "columns"])
def test_the_other_side_is_refused(side: str) -> None:
    kernel = product_kernel(side)
    other = "columns" if side == "rows" else "rows"

    def turned(s: Compute) -> Body:
        assert s.fragments
        return (replace(s, fragments=replace(s.fragments, side=other)),)

    fault = first_fault(with_product(kernel, turned))
    assert fault and fault.kind == "matrix"


def test_every_instruction_of_a_product_is_looked_at() -> None:
    """Rows of the middle one of three turns are exchanged, those of the ends are not."""
    graph = product_graph(1, 96, 16, 64)
    tiling = published_tiling(dict(graph.blocks)[0])
    kernel = lower_for_threads(graph, 0, tiling, Gpu(threads=64, matrix_unit=True))
    (product,) = on_unit(kernel)
    assert product.fragments
    i = var(product.fragments.rows)
    odd = i // 2 % 2
    moved = T % 32 // 4 ^ T % 4 * odd

    def change(s: Compute) -> Body:
        return (with_indices(s, lambda e: _replaced(e, T % 32 // 4, moved)),)

    assert first_fault(kernel) is None
    assert next(a.extent for a in product.axes if a.name == product.fragments.rows) >= 6
    assert first_fault(with_product(kernel, change))


def test_every_iteration_of_a_loop_is_looked_at() -> None:
    (kernel,) = kernels(few_steps("rms_norm_matmul_fused", 3), Gpu(matrix_unit=True))
    k = var("k")
    assert first_fault(kernel) is None
    some = with_product(kernel, lambda s: (Guard(T * k < 40, (s,)),))
    fault = first_fault(some)
    assert fault and "part of a warp" in fault.says


@pytest.mark.parametrize("name", ["v", "k"])
def test_lanes_are_those_of_threads(name: str) -> None:
    kernel = product_kernel()

    def change(s: Compute) -> Body:
        assert s.fragments
        return (replace(s, fragments=replace(s.fragments, thread=name)),)

    fault = first_fault(with_product(kernel, change))
    assert fault and fault.kind == "matrix"


def test_elements_of_four_bytes_are_refused() -> None:
    kernel = product_kernel()
    twice = tuple((name, 2 * at) for name, at in kernel.offsets)
    large = replace(kernel, storage_bytes=4, offsets=twice, shared_bytes=2 * kernel.shared_bytes)
    fault = first_fault(large)
    assert fault and "4 bytes" in fault.says


def test_an_axis_that_is_there_twice_is_refused() -> None:
    kernel = product_kernel()
    fault = first_fault(with_product(kernel, lambda s: (replace(s, axes=(*s.axes, s.axes[0])),)))
    assert fault


def test_another_side_is_a_line_that_differs() -> None:
    small = cut("rms_norm_matmul_fused", {"b": 16, "d": 256, "n": 256}, {"x": 32, "k": 32})
    gpu = Gpu(matrix_unit=True)
    made = thread_program(small.graph, gpu)
    honest = made.verified()

    def turned(s: Compute) -> Body:
        assert s.fragments
        other = "columns" if s.fragments.side == "rows" else "rows"
        return (replace(s, fragments=replace(s.fragments, side=other)),)

    (kernel,) = made.program.kernels
    wrong_one = replace(made.program, kernels=(with_product(kernel, turned),))
    verdict = replace(made, program=wrong_one).verified()
    assert len(verdict.other_lines) > len(honest.other_lines)


def test_rows_that_do_not_lie_on_16_bytes_are_refused() -> None:
    kernel = product_kernel()
    left = on_unit(kernel)[0].value.args[0].buffer  # type: ignore[union-attr]
    for changed in (
        replace(left, strides=(36 * 16, 36, 1), swizzle=None),
        replace(left, swizzle=(4, 8), strides=()),
    ):
        new = {left.name: changed}
        shared = tuple(new.get(each.name, each) for each in kernel.shared)
        made = replace(
            kernel, shared=shared, body=with_buffers(kernel.body, new), offsets=(), shared_bytes=0
        )
        fault = first_fault(made)
        assert fault, changed


def test_a_buffer_that_begins_between_rows_is_refused() -> None:
    kernel = product_kernel()
    moved = tuple((name, at + 8) for name, at in kernel.offsets)
    fault = first_fault(replace(kernel, offsets=moved, shared_bytes=kernel.shared_bytes + 8))
    assert fault and "row" in fault.says


# ---- the text


@pytest.mark.parametrize("name", ["gated_mlp_fused", "attention_fused"])
def test_the_text_of_a_kernel_is_as_recorded(name: str, golden: Golden) -> None:
    graph = published(name)
    tiling = published_tiling(dict(graph.blocks)[0])
    kernel = lower_for_threads(graph, 0, tiling, Gpu(matrix_unit=True))
    golden(KERNELS / f"{name}_matrix_unit.txt", f"{kernel}\n")


# ---- a narrow range


@pytest.mark.parametrize(
    ("name", "on_the_unit"),
    [
        ("gqa_split_kv", 1),  # the scores, and not what exp of them multiplies
        ("qk_norm_attention_fused", 1),
        ("online_softmax_attention", 2),  # exp of what is at most 0
        ("attention_split_kv", 2),
        ("gated_mlp_fused", 2),
    ],
)
def test_exp_of_anything_is_not_put_into_a_narrow_range(name: str, on_the_unit: int) -> None:
    for narrow in (True, False):
        gpu = Gpu(matrix_unit=True, narrow_range=narrow)
        found = sum(len(on_unit(kernel)) for kernel in kernels(few_steps(name, 2), gpu))
        assert found == (on_the_unit if narrow else 2)


def test_a_denominator_with_exp_does_not_grow() -> None:
    graph = parse("""
silu_first(X[a=16, b=16], W[b, c=16]):
  block grid(x=1):
    x = load(X)
    w = load(W)
    s = silu(x)
    e = exp(x)
    y = matmul(s, w)
    z = matmul(e, w)
    Y = store(y)
    Z = store(z)
  return Y, Z
""")
    tiling = published_tiling(dict(graph.blocks)[0])
    gpu = Gpu(threads=32, matrix_unit=True, narrow_range=True)
    kernel = lower_for_threads(graph, 0, tiling, gpu)
    assert [str(each.value).count("name='e'") > 0 for each in on_unit(kernel)] == [False]
    assert not wrong(graph, {}, gpu)

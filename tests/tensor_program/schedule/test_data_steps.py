from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from schedules import Program, chain, matmul, refused

from mlc_course.errors import AxisError, BlockError, SizeError, StepError
from mlc_course.tensor_program.problems import Array, aligned
from mlc_course.tensor_program.schedule import data_steps, lookup, steps
from mlc_course.tensor_program.schedule.data_steps import polynomial_exp
from mlc_course.tensor_program.tir import Schedule, T, compile_program, shared_tensor, te, tirx

# --- stage ----------------------------------------------------------------------------------------


def test_stage_reads_from_a_private_copy() -> None:
    program = matmul()
    copy = data_steps.stage(program.sch, "C", "B")
    assert lookup.blocks(program.sch) == [copy, "C"]
    assert lookup.read(program.sch, "C", "B") == (1, copy)
    program.check()


def test_stage_makes_one_copy_only() -> None:
    program = matmul()
    assert data_steps.stage(program.sch, "C", "B") == data_steps.stage(program.sch, "C", "B")
    assert len(lookup.blocks(program.sch)) == 2


def test_stage_takes_the_copy_that_padding_made() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", k=8)
    assert data_steps.stage(program.sch, "C", "B") == "B_pad"
    assert data_steps.stage(program.sch, "C", "A") == "A_pad"
    program.check()


def test_stage_of_a_result_between_two_products_is_a_copy_of_it() -> None:
    program = chain()
    copy = data_steps.stage(program.sch, "F", "D")
    assert lookup.blocks(program.sch) == ["C", "D", copy, "F"]
    program.check()


def test_stage_of_what_the_block_does_not_read_is_refused() -> None:
    program = chain()
    with refused(program, BlockError):
        data_steps.stage(program.sch, "C", "E")


# --- pack -----------------------------------------------------------------------------------------


def packed_place(program: Program, copy: str, *at: int) -> tuple[int, ...]:
    """Where the copying block stores the element that it reads at ``at``."""
    block = program.sch.get(lookup.block(program.sch, copy))
    iterators = [iterator.var for iterator in block.iter_vars]
    return tuple(map(int, tirx.IndexMap(iterators, block.body.indices, None).map_indices(list(at))))


@pytest.mark.parametrize("panel", [1, 8, 16, 48])
def test_pack_lays_columns_out_panel_by_panel(panel: int) -> None:
    program = matmul()
    copy = data_steps.pack(program.sch, "C", "B", along="n", panel=panel)
    shape = program.sch.get(lookup.block(program.sch, copy)).writes[0].source.shape
    assert [int(size) for size in shape] == [48 // panel, 32, panel]
    for k, n in np.ndindex(32, 48):
        assert packed_place(program, copy, k, n) == (n // panel, k, n % panel)
    program.check()


def test_pack_lays_rows_out_panel_by_panel() -> None:
    program = matmul()
    copy = data_steps.pack(program.sch, "C", "A", along="m", panel=4)
    for m, k in np.ndindex(16, 32):
        assert packed_place(program, copy, m, k) == (m // 4, k, m % 4)
    program.check()


def test_pack_writes_straight_on() -> None:
    program = matmul()
    copy = data_steps.pack(program.sch, "C", "B", along="n", panel=8)
    assert list(program.loops(copy).values()) == [4, 6, 8, 8]  # 8 rows into all of 6 panels
    assert program.kind(copy, list(program.loops(copy))[-1]) == "vectorized"


def test_a_clamped_operand_is_read_where_it_is() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", m=4, n=8)
    data_steps.clamp(program.sch, "C", "A")
    assert lookup.blocks(program.sch) == ["B_pad", "C", "C_pad"]
    assert "A[T.min(v_m, 9), v_k]" in program.sch.mod.script()
    program.check()
    data_steps.clamp(program.sch, "C", "B")
    assert lookup.blocks(program.sch) == ["C", "C_pad"]
    program.check()


def test_an_operand_with_zeros_that_are_summed_is_not_clamped() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", m=4, k=4)
    with refused(program, AxisError) as caught:
        data_steps.clamp(program.sch, "C", "A")
    assert "a sum runs along a padded axis" in str(caught.value)


def test_what_is_not_padded_or_packed_already_is_not_clamped() -> None:
    program = matmul()
    steps.pad(program.sch, "C", m=4)
    with refused(program, BlockError) as caught:
        data_steps.clamp(program.sch, "C", "A")
    assert "no copy with zeros around" in str(caught.value)
    data_steps.stage(program.sch, "C", "A")
    with refused(program, BlockError) as caught:
        data_steps.clamp(program.sch, "C", "A")
    assert "no copy with zeros around" in str(caught.value)
    other = matmul(10, 19, 11)
    steps.pad(other.sch, "C", m=4)
    data_steps.pack(other.sch, "C", "A", along="m", panel=4)
    with refused(other, BlockError) as caught:
        data_steps.clamp(other.sch, "C", "A")
    assert "no copy with zeros around" in str(caught.value)


@T.prim_func(s_tir=True)
def shifted(
    A: T.Buffer((10, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((12, 8), "float32")
):
    A_pad = T.sblock_alloc_buffer((12, 4))
    for i, k in T.grid(12, 4):
        with T.sblock("A_pad"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_pad[vi, vk] = T.if_then_else(vi >= 1 and vi < 11, A[vi - 1, vk], T.float32(0))
    for i, j, k in T.grid(12, 8, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def not_cropped(
    A: T.Buffer((10, 4), "float32"), B: T.Buffer((4, 8), "float32"), C: T.Buffer((12, 8), "float32")
):
    A_pad = T.sblock_alloc_buffer((12, 4))
    for i, k in T.grid(12, 4):
        with T.sblock("A_pad"):
            vi, vk = T.axis.remap("SS", [i, k])
            A_pad[vi, vk] = T.if_then_else(vi < 10, A[vi, vk], T.float32(0))
    for i, j, k in T.grid(12, 8, 4):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A_pad[vi, vk] * B[vk, vj]


@pytest.mark.parametrize("program", [shifted, not_cropped])
def test_only_what_pad_has_copied_and_cropped_is_clamped(program: Any) -> None:
    sch = Schedule(program.with_attr("global_symbol", "main"))
    before = sch.mod.script()
    with pytest.raises(BlockError, match="no copy with zeros around"):
        data_steps.clamp(sch, "C", "A")
    assert sch.mod.script() == before


def test_pack_of_both_operands_of_a_padded_product_is_right() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", m=4, n=8)
    data_steps.pack(program.sch, "C", "A", along="m", panel=4)
    data_steps.pack(program.sch, "C", "B", along="n", panel=8)
    program.check()


@pytest.mark.parametrize("panel", [0, -8, 7, 96])
def test_pack_in_panels_that_do_not_fit_is_refused_with_the_way_out(panel: int) -> None:
    program = matmul()
    with refused(program, SizeError) as caught:
        data_steps.pack(program.sch, "C", "B", along="n", panel=panel)
    assert caught.value.expected == "a divisor of |n| = 48"
    assert "pad(sch, 'C', n=" in str(caught.value.hint)


@pytest.mark.parametrize("axis", ["m", "q"])
def test_pack_along_an_axis_that_the_operand_lacks_is_refused(axis: str) -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        data_steps.pack(program.sch, "C", "B", along=axis, panel=8)
    assert "one of k, n" in str(caught.value)


@pytest.mark.parametrize("axis", ["n", "k"])
def test_pack_of_what_is_packed_already_is_refused(axis: str) -> None:
    program = matmul()
    data_steps.pack(program.sch, "C", "B", along="n", panel=16)
    with refused(program, AxisError) as caught:
        data_steps.pack(program.sch, "C", "B", along=axis, panel=4)
    assert "packed already" in str(caught.value)


# --- accumulate_locally ---------------------------------------------------------------------------


def scope(program: Program, block: str) -> str:
    return str(program.sch.get(lookup.block(program.sch, block)).writes[0].source.scope())


def test_accumulate_locally_sums_a_tile_and_writes_it_once() -> None:
    program = matmul()
    steps.tile(program.sch, "C", m=4, n=16)
    steps.reorder(program.sch, "C", "k", "m_1", "n_1")
    writer = data_steps.accumulate_locally(program.sch, "C", at="n_0")
    assert lookup.blocks(program.sch) == ["C", writer]
    assert list(program.loops("C")) == ["m_0", "n_0", "k", "m_1", "n_1"]
    assert list(program.loops(writer).values()) == [4, 3, 4, 16]
    assert (scope(program, "C"), scope(program, writer)) == ("local", "global")
    program.check()


def test_accumulate_locally_lets_the_next_block_write_the_tile() -> None:
    program = chain()
    assert data_steps.accumulate_locally(program.sch, "C", at="m") == "D"
    assert scope(program, "C") == "local"
    program.check()


def test_accumulate_locally_within_the_sum_is_refused() -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        data_steps.accumulate_locally(program.sch, "C", at="k")
    assert "not complete" in str(caught.value)


def test_accumulate_locally_twice_is_refused() -> None:
    program = matmul()
    data_steps.accumulate_locally(program.sch, "C", at="m")
    with refused(program, StepError):
        data_steps.accumulate_locally(program.sch, "C", at="m")


# --- store_innermost ------------------------------------------------------------------------------


def conv2d() -> Program:
    """Loops f, h, w, c, r, s; sums for one row of pixels in a local buffer."""
    program = Program("conv2d", 3, 8, 8, 4, 3, 3)
    steps.reorder(program.sch, "Y", "h", "f", "w")
    data_steps.accumulate_locally(program.sch, "Y", at="h")
    return program


@pytest.mark.parametrize(("axis", "shape"), [("f", [6, 6, 4]), ("h", [4, 6, 6]), ("w", [4, 6, 6])])
def test_store_innermost_puts_neighbours_side_by_side(axis: str, shape: list[int]) -> None:
    program = conv2d()
    data_steps.store_innermost(program.sch, "Y", axis)
    written = program.sch.get(lookup.block(program.sch, "Y")).writes[0]
    assert [int(size) for size in written.source.shape] == shape
    assert lookup.dimension(written, axis) == 2
    program.check()


@pytest.mark.parametrize("axis", ["c", "q"])
def test_store_innermost_along_what_does_not_index_the_result_is_refused(axis: str) -> None:
    program = conv2d()
    with refused(program, AxisError) as caught:
        data_steps.store_innermost(program.sch, "Y", axis)
    assert "one of f, h, w" in str(caught.value)


def test_store_innermost_of_an_output_is_refused() -> None:
    program = matmul()  # another layout of C would be another function
    with refused(program, BlockError) as caught:
        data_steps.store_innermost(program.sch, "C", "m")
    assert "accumulate_locally" in str(caught.value.hint)


LIMIT = 87.3


def exp_program(count: int, dtype: str = "float32") -> Schedule:
    x = te.placeholder((count,), dtype=dtype, name="X")
    return Schedule(
        te.create_prim_func([x, te.compute((count,), lambda i: te.exp(x[i]), name="Y")])
    )


def polynomial(values: Array, lanes: int = 1, cpu: str | None = None) -> Array:
    """The step's exp of these values, in vectors of so many lanes."""
    sch = exp_program(values.size)
    polynomial_exp(sch, "Y")
    if lanes > 1:
        steps.split(sch, "Y", "i", lanes)
        steps.vectorize(sch, "Y", "i_1")
    x, y = aligned(values), aligned(np.zeros(values.size))
    compile_program(sch, cpu=cpu)(shared_tensor(x), shared_tensor(y))
    return y


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_polynomial_exp_is_right_to_two_units_in_the_last_place(lanes: int) -> None:
    x = np.linspace(-LIMIT, LIMIT, 1 << 18).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    error = np.abs(polynomial(x, lanes) / exact - 1).max()
    assert error < 2e-7  # 8.5e-8 where the processor fuses multiply and add; eps is 1.2e-7


def test_polynomial_exp_is_right_near_zero_and_where_it_changes_its_power_of_two() -> None:
    steps_of_two = (np.arange(-125, 126) + 0.5) * np.log(2.0)
    near = np.concatenate([steps_of_two + d for d in (-1e-5, 0.0, 1e-5)])
    x = np.concatenate([near, [0.0, -0.0, 1e-30, -1e-30, 1e-7]]).astype(np.float32)
    np.testing.assert_allclose(polynomial(x), np.exp(x.astype(np.float64)), rtol=2e-7)
    assert (polynomial(np.zeros(4)) == 1.0).all()


@pytest.mark.parametrize("lanes", [1, 8])
def test_arguments_beyond_the_limit_stay_finite_and_positive(lanes: int) -> None:
    x = np.array([88.0, 1e9, np.inf, 300.0, -88.0, -1e9, -np.inf, -300.0])
    y = polynomial(x, lanes)
    assert np.isfinite(y).all()
    assert (y[:4] > 7e37).all()
    assert (y[4:] > 0).all()
    assert (y[4:] < 2e-38).all()


@pytest.mark.parametrize("lanes", [1, 8])
def test_nan_stays_nan(lanes: int) -> None:
    assert np.isnan(polynomial(np.full(8, np.nan), lanes)).all()


def test_the_block_keeps_its_name_and_its_loops() -> None:
    program = chain()
    before = lookup.loops(program.sch, "D")
    polynomial_exp(program.sch, "D")
    assert lookup.blocks(program.sch) == ["C", "D", "F"]
    assert lookup.loops(program.sch, "D") == before
    assert "T.exp(" not in program.sch.mod.script()
    program.check()


def test_polynomial_exp_can_be_fused_and_vectorized_afterwards() -> None:
    program = chain()
    polynomial_exp(program.sch, "D")
    steps.fuse_consumer(program.sch, "D", into="C", at="m")
    *_, last = lookup.loops(program.sch, "D")
    steps.split(program.sch, "D", last, 8)
    steps.vectorize(program.sch, "D", f"{last}_1")
    program.check()


def test_polynomial_exp_after_padding_and_inlining_is_right() -> None:
    program = Program("softmax", 5, 19)
    polynomial_exp(program.sch, "Exp")
    program.check()


@pytest.mark.parametrize("block", ["C", "F"])
def test_a_block_that_is_no_exp_is_refused(block: str) -> None:
    program = chain()
    with refused(program, BlockError) as caught:
        polynomial_exp(program.sch, block)
    assert "D[...] = exp(...)" in str(caught.value)


def test_an_exp_that_is_a_polynomial_already_is_refused() -> None:
    program = chain()
    polynomial_exp(program.sch, "D")
    with refused(program, BlockError):
        polynomial_exp(program.sch, "D")


def test_an_exp_of_more_than_itself_is_refused() -> None:
    x = te.placeholder((8,), name="X")
    program: Any = chain()
    program.sch = Schedule(
        te.create_prim_func([x, te.compute((8,), lambda i: te.exp(x[i]) * x[i], name="Y")])
    )
    with refused(program, BlockError):
        polynomial_exp(program.sch, "Y")


def test_an_exp_of_float64_is_refused() -> None:
    program: Any = chain()
    program.sch = exp_program(8, "float64")
    with refused(program, BlockError) as caught:
        polynomial_exp(program.sch, "Y")
    assert "float32" in str(caught.value)

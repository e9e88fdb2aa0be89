from __future__ import annotations

import numpy as np
import pytest
from schedules import Program, chain, matmul, refused

from mlc_course.errors import AxisError, BlockError, SizeError, StepError
from mlc_course.tensor_program import names, staging, steps
from mlc_course.tensor_program.tvm_names import tirx

# --- stage ----------------------------------------------------------------------------------------


def test_stage_reads_from_a_private_copy() -> None:
    program = matmul()
    copy = staging.stage(program.sch, "C", "B")
    assert names.blocks(program.sch) == [copy, "C"]
    assert names.read(program.sch, "C", "B") == (1, copy)
    program.check()


def test_stage_makes_one_copy_only() -> None:
    program = matmul()
    assert staging.stage(program.sch, "C", "B") == staging.stage(program.sch, "C", "B")
    assert len(names.blocks(program.sch)) == 2


def test_stage_takes_the_copy_that_padding_made() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", k=8)
    assert staging.stage(program.sch, "C", "B") == "B_pad"
    assert staging.stage(program.sch, "C", "A") == "A_pad"
    program.check()


def test_stage_of_a_result_between_two_products_is_a_copy_of_it() -> None:
    program = chain()
    copy = staging.stage(program.sch, "F", "D")
    assert names.blocks(program.sch) == ["C", "D", copy, "F"]
    program.check()


def test_stage_of_what_the_block_does_not_read_is_refused() -> None:
    program = chain()
    with refused(program, BlockError):
        staging.stage(program.sch, "C", "E")


# --- pack -----------------------------------------------------------------------------------------


def packed_place(program: Program, copy: str, *at: int) -> tuple[int, ...]:
    """Where the copying block stores the element that it reads at ``at``."""
    block = program.sch.get(names.block(program.sch, copy))
    iterators = [iterator.var for iterator in block.iter_vars]
    return tuple(map(int, tirx.IndexMap(iterators, block.body.indices, None).map_indices(list(at))))


@pytest.mark.parametrize("panel", [1, 8, 16, 48])
def test_pack_lays_columns_out_panel_by_panel(panel: int) -> None:
    program = matmul()
    copy = staging.pack(program.sch, "C", "B", along="n", panel=panel)
    shape = program.sch.get(names.block(program.sch, copy)).writes[0].source.shape
    assert [int(size) for size in shape] == [48 // panel, 32, panel]
    for k, n in np.ndindex(32, 48):
        assert packed_place(program, copy, k, n) == (n // panel, k, n % panel)
    program.check()


def test_pack_lays_rows_out_panel_by_panel() -> None:
    program = matmul()
    copy = staging.pack(program.sch, "C", "A", along="m", panel=4)
    for m, k in np.ndindex(16, 32):
        assert packed_place(program, copy, m, k) == (m // 4, k, m % 4)
    program.check()


def test_pack_writes_straight_on() -> None:
    program = matmul()
    copy = staging.pack(program.sch, "C", "B", along="n", panel=8)
    assert list(program.loops(copy).values()) == [6, 32, 8]
    assert program.kind(copy, list(program.loops(copy))[-1]) == "vectorized"


def test_pack_of_both_operands_of_a_padded_product_is_right() -> None:
    program = matmul(10, 19, 11)
    steps.pad(program.sch, "C", m=4, n=8)
    staging.pack(program.sch, "C", "A", along="m", panel=4)
    staging.pack(program.sch, "C", "B", along="n", panel=8)
    program.check()


@pytest.mark.parametrize("panel", [0, -8, 7, 96])
def test_pack_in_panels_that_do_not_fit_is_refused_with_the_way_out(panel: int) -> None:
    program = matmul()
    with refused(program, SizeError) as caught:
        staging.pack(program.sch, "C", "B", along="n", panel=panel)
    assert caught.value.expected == "a divisor of |n| = 48"
    assert "pad(sch, 'C', n=" in str(caught.value.hint)


@pytest.mark.parametrize("axis", ["m", "q"])
def test_pack_along_an_axis_that_the_operand_lacks_is_refused(axis: str) -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        staging.pack(program.sch, "C", "B", along=axis, panel=8)
    assert "one of k, n" in str(caught.value)


@pytest.mark.parametrize("axis", ["n", "k"])
def test_pack_of_what_is_packed_already_is_refused(axis: str) -> None:
    program = matmul()
    staging.pack(program.sch, "C", "B", along="n", panel=16)
    with refused(program, AxisError) as caught:
        staging.pack(program.sch, "C", "B", along=axis, panel=4)
    assert "packed already" in str(caught.value)


# --- accumulate_locally ---------------------------------------------------------------------------


def scope(program: Program, block: str) -> str:
    return str(program.sch.get(names.block(program.sch, block)).writes[0].source.scope())


def test_accumulate_locally_sums_a_tile_and_writes_it_once() -> None:
    program = matmul()
    steps.tile(program.sch, "C", m=4, n=16)
    steps.reorder(program.sch, "C", "k", "m_1", "n_1")
    writer = staging.accumulate_locally(program.sch, "C", at="n_0")
    assert names.blocks(program.sch) == ["C", writer]
    assert list(program.loops("C")) == ["m_0", "n_0", "k", "m_1", "n_1"]
    assert list(program.loops(writer).values()) == [4, 3, 4, 16]
    assert (scope(program, "C"), scope(program, writer)) == ("local", "global")
    program.check()


def test_accumulate_locally_lets_the_next_block_write_the_tile() -> None:
    program = chain()
    assert staging.accumulate_locally(program.sch, "C", at="m") == "D"
    assert scope(program, "C") == "local"
    program.check()


def test_accumulate_locally_within_the_sum_is_refused() -> None:
    program = matmul()
    with refused(program, AxisError) as caught:
        staging.accumulate_locally(program.sch, "C", at="k")
    assert "not complete" in str(caught.value)


def test_accumulate_locally_twice_is_refused() -> None:
    program = matmul()
    staging.accumulate_locally(program.sch, "C", at="m")
    with refused(program, StepError):
        staging.accumulate_locally(program.sch, "C", at="m")


# --- store_innermost ------------------------------------------------------------------------------


def conv2d() -> Program:
    """Loops f, h, w, c, r, s; sums for one row of pixels in a local buffer."""
    program = Program("conv2d", 3, 8, 8, 4, 3, 3)
    steps.reorder(program.sch, "Y", "h", "f", "w")
    staging.accumulate_locally(program.sch, "Y", at="h")
    return program


@pytest.mark.parametrize(("axis", "shape"), [("f", [6, 6, 4]), ("h", [4, 6, 6]), ("w", [4, 6, 6])])
def test_store_innermost_puts_neighbours_side_by_side(axis: str, shape: list[int]) -> None:
    program = conv2d()
    staging.store_innermost(program.sch, "Y", axis)
    written = program.sch.get(names.block(program.sch, "Y")).writes[0]
    assert [int(size) for size in written.source.shape] == shape
    assert names.dimension(written, axis) == 2
    program.check()


@pytest.mark.parametrize("axis", ["c", "q"])
def test_store_innermost_along_what_does_not_index_the_result_is_refused(axis: str) -> None:
    program = conv2d()
    with refused(program, AxisError) as caught:
        staging.store_innermost(program.sch, "Y", axis)
    assert "one of f, h, w" in str(caught.value)


def test_store_innermost_of_an_output_is_refused() -> None:
    program = matmul()  # another layout of C would be another function
    with refused(program, BlockError) as caught:
        staging.store_innermost(program.sch, "C", "m")
    assert "accumulate_locally" in str(caught.value.hint)

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import shaped
from schedules import Program, matmul, refused

from mlc_course.errors import BlockError, SizeError
from mlc_course.machine import VECTOR_REGISTERS
from mlc_course.tensor_program.ladders.catalogue import MATMUL
from mlc_course.tensor_program.ladders.micro_kernels import (
    ENOUGH_SUMS,
    MOST_VECTORS,
    RegisterTile,
    by_shape,
    micro_kernel,
    panels,
    register_tile,
    register_tiles,
    stream_rows,
    why_panels,
    why_tile,
)
from mlc_course.tensor_program.schedule import lookup

LENGTHS = (0, 1, 2, 3, 5, 7, 13, 31, 64, 1000, 1001, 1024)


@pytest.mark.parametrize("rows", LENGTHS)
@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
def test_a_tile_and_what_it_is_made_of_fit_the_registers(isa: str, rows: int, columns: int) -> None:
    here = shaped(isa)
    tile = register_tile(here, rows, columns)
    vectors, rest = divmod(tile.columns, here.lanes)
    assert rest == 0
    elements = 4 if isa == "NEON" else 1
    assert tile.rows * vectors + vectors + elements <= here.vector_registers


@pytest.mark.parametrize(
    ("isa", "tile"),
    [("AVX-512", (6, 64)), ("AVX2", (4, 24)), ("NEON", (6, 16)), ("SSE", (4, 12))],
)
def test_the_tiles_of_known_machines(isa: str, tile: tuple[int, int]) -> None:
    assert register_tile(shaped(isa)) == RegisterTile(*tile)


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
@pytest.mark.parametrize("columns", [0, 1000, 1024, 3001])
def test_a_large_result_keeps_the_units_busy(isa: str, columns: int) -> None:
    here = shaped(isa)
    tile = register_tile(here, 1024, columns)
    assert tile.rows * tile.columns // here.lanes >= ENOUGH_SUMS


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
@pytest.mark.parametrize("rows", range(30, 200))
def test_little_is_computed_beyond_the_edges(isa: str, rows: int) -> None:
    tile = register_tile(shaped(isa), rows)
    beyond = -(-rows // tile.rows) * tile.rows - rows
    assert beyond <= 0.12 * rows


@pytest.mark.parametrize(
    ("isa", "reason"),
    [
        ("AVX2", "4 x 24: 12 vectors of sums, 3 of B and 1 element of A fill 16 of 16 registers"),
        ("NEON", "6 x 16: 24 vectors of sums, 4 of B and 4 elements of A fill 32 of 32 registers"),
    ],
)
def test_the_reason_for_a_tile_counts_registers(isa: str, reason: str) -> None:
    here = shaped(isa)
    assert why_tile(here, register_tile(here)) == reason


def test_a_product_is_cut_into_tiles_with_the_sum_inside() -> None:
    program = matmul(16, 7, 32)
    register_tiles(program.sch, MATMUL, RegisterTile(4, 16))
    expected = {"n_0": 2, "m_0": 4, "k": 7, "m_1": 4, "n_1": 16}
    assert list(program.loops("C").items()) == list(expected.items())
    program.check()


@pytest.mark.parametrize("pack_left", [False, True])
@pytest.mark.parametrize("per_panel", [False, True])
@pytest.mark.parametrize("rows_outermost", [False, True])
@pytest.mark.parametrize("number", [1, 2, 5])
@pytest.mark.parametrize("tile", [RegisterTile(4, 16), RegisterTile(3, 24)], ids=str)
def test_the_micro_kernel_is_right_with_each_way_of_packing(
    pack_left: bool, per_panel: bool, rows_outermost: bool, number: int, tile: RegisterTile
) -> None:
    program = Program("matmul", 10, 19, 31)
    choices = {"pack_left": pack_left, "per_panel": per_panel, "rows_outermost": rows_outermost}
    micro_kernel(program.sch, MATMUL, tile, together=number, **choices)
    loops = program.loops("C_update")
    assert program.kind("C_update", "m_1") == "unrolled"
    assert program.kind("C_update", list(loops)[-1]) == "vectorized"
    stays, streams = ("m_0", "n_0") if rows_outermost else ("n_0", "m_0")
    order = [f"{stays}_0", streams, f"{stays}_1"] if number > 1 else [stays, streams]
    assert program.kind("C_update", order[0]) == "parallel"
    assert list(loops)[: len(order) + 1] == [*order, "k"]
    program.check()


@pytest.mark.parametrize("rows_outermost", [False, True])
def test_a_left_operand_that_is_not_packed_is_not_copied(rows_outermost: bool) -> None:
    program = Program("matmul", 10, 19, 31)
    micro_kernel(program.sch, MATMUL, RegisterTile(4, 16), rows_outermost=rows_outermost)
    assert not [name for name in lookup.blocks(program.sch) if name.startswith("A")]
    assert "T.min(" in program.sch.mod.script()
    program.check()


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
@pytest.mark.parametrize("inner", [1, 40, 700, 2048, 11_000, 1_000_000])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("side", [9, 333, 5000])
def test_panels_that_stay_fill_a_part_of_the_second_cache(
    isa: str, inner: int, left: bool, side: int
) -> None:
    here = shaped(isa)
    found = panels(here, register_tile(here), side, side, inner, left=left)
    assert found.number == 1 or found.bytes <= here.l2_bytes // (8 if left else 1)
    if left and 4 * side * inner <= here.l2_bytes // 2:
        assert found.number == 1


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
def test_a_tile_is_narrow_enough_for_the_edges(isa: str) -> None:
    here = shaped(isa)
    for rows in LENGTHS:
        assert register_tile(here, rows).columns <= MOST_VECTORS * here.lanes


def test_the_reason_for_panels_says_what_they_fill() -> None:
    here, tile = shaped("AVX2"), RegisterTile(4, 24)
    assert here.l2_bytes == 512 << 10
    of_rows, of_columns = (
        panels(here, tile, 1024, 1024, 2048, left=each) for each in (True, False)
    )
    assert why_panels(here, of_rows) == (
        "2 panels of 4 rows of A, 64 KiB, with a second cache of 512 KiB; each sum runs over all "
        "of k = 2,048"
    )
    assert why_panels(here, of_columns).startswith("2 panels of 24 columns of B, 384 KiB")
    long = panels(here, RegisterTile(6, 64), 1024, 1024, 16384, left=False)
    assert why_panels(here, long).startswith("1 panel of 64 columns of B, 4,096 KiB")


def test_no_more_panels_stay_than_there_are() -> None:
    here = replace(shaped("AVX-512"), l2_bytes=0)
    found = panels(here, RegisterTile(1, 32), 1, 1, 8, left=False)
    assert why_panels(here, found) == (
        "1 panel of 32 columns of B, 1 KiB, with a second cache of unknown size; each sum runs "
        "over all of k = 8"
    )


def test_fewer_panels_than_one_are_refused() -> None:
    program = matmul(10, 19, 11)
    with refused(program, SizeError):
        micro_kernel(program.sch, MATMUL, RegisterTile(4, 16), together=0)


@pytest.mark.parametrize("rows", [1, 8, 9, 5000])
def test_rows_that_stream_by_are_right_however_many(rows: int) -> None:
    program = Program("matmul", rows, 3, 9)
    stream_rows(program.sch, MATMUL, shaped("AVX2"))
    program.check()


def test_an_exp_that_is_not_there_is_asked_for_in_words() -> None:
    program = matmul(2, 3, 5)
    with pytest.raises(BlockError, match="not one exp"):
        by_shape(program.sch, MATMUL, shaped("AVX2"), fast_exp=True)

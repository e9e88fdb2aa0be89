from __future__ import annotations

import pytest
from machines import shaped
from schedules import Program, matmul

from mlc_course.machine import VECTOR_REGISTERS
from mlc_course.tensor_program.ladders.catalogue import MATMUL
from mlc_course.tensor_program.ladders.micro_kernels import (
    SUMS,
    RegisterTile,
    micro_kernel,
    register_tile,
    register_tiles,
    why_tile,
)

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
    [("AVX-512", (8, 32)), ("AVX2", (6, 16)), ("NEON", (8, 8)), ("SSE", (6, 8))],
)
def test_the_tiles_of_known_machines(isa: str, tile: tuple[int, int]) -> None:
    assert register_tile(shaped(isa)) == RegisterTile(*tile)


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
@pytest.mark.parametrize("columns", [0, 1000, 1024, 3001])
def test_a_large_result_keeps_the_units_busy(isa: str, columns: int) -> None:
    here = shaped(isa)
    tile = register_tile(here, 1024, columns)
    assert tile.rows * tile.columns // here.lanes >= SUMS


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
@pytest.mark.parametrize("rows", range(30, 200))
def test_little_is_computed_beyond_the_edges(isa: str, rows: int) -> None:
    tile = register_tile(shaped(isa), rows)
    beyond = -(-rows // tile.rows) * tile.rows - rows
    assert beyond <= 0.12 * rows


@pytest.mark.parametrize(
    ("isa", "reason"),
    [
        ("AVX2", "6 x 16: 12 vectors of sums, 2 of B and 1 element of A fill 15 of 16 registers"),
        ("NEON", "8 x 8: 16 vectors of sums, 2 of B and 4 elements of A fill 22 of 32 registers"),
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
@pytest.mark.parametrize("tile", [RegisterTile(4, 16), RegisterTile(3, 24)], ids=str)
def test_the_micro_kernel_is_right_with_each_way_of_packing(
    pack_left: bool, per_panel: bool, rows_outermost: bool, tile: RegisterTile
) -> None:
    program = Program("matmul", 10, 19, 31)
    choices = {"pack_left": pack_left, "per_panel": per_panel, "rows_outermost": rows_outermost}
    micro_kernel(program.sch, MATMUL, tile, **choices)
    loops = program.loops("C_update")
    assert program.kind("C_update", "m_1") == "unrolled"
    assert program.kind("C_update", list(loops)[-1]) == "vectorized"
    assert program.kind("C_update", "m_0" if rows_outermost else "n_0") == "parallel"
    assert list(loops)[:3] == [*sorted(["m_0", "n_0"], reverse=not rows_outermost), "k"]
    program.check()

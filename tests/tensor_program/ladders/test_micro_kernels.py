from __future__ import annotations

from dataclasses import replace

import pytest
from schedules import Program, matmul

from mlc_course import machine
from mlc_course.machine import VECTOR_REGISTERS, Machine
from mlc_course.tensor_program.ladders.catalogue import MATMUL
from mlc_course.tensor_program.ladders.micro_kernels import (
    RegisterTile,
    micro_kernel,
    register_tile,
    register_tiles,
)
from mlc_course.tensor_program.schedule import lookup

ENOUGH_SUMS = 8  # two multiply-adds a cycle, each done after four: fewer leave the units idle


def shaped(isa: str) -> Machine:
    """This machine, with the vector registers of another."""
    bits, registers = VECTOR_REGISTERS[isa]
    return replace(machine.describe(), isa=isa, vector_bits=bits, vector_registers=registers)


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
def test_a_tile_and_what_it_is_made_of_fit_the_registers(isa: str) -> None:
    here = shaped(isa)
    tile = register_tile(here)
    vectors, rest = divmod(tile.columns, here.lanes)
    assert rest == 0
    sums, right, left = tile.rows * vectors, vectors, 1
    assert sums + right + left <= here.vector_registers
    assert sums >= ENOUGH_SUMS


@pytest.mark.parametrize("isa", VECTOR_REGISTERS)
def test_no_other_tile_that_fits_loads_less(isa: str) -> None:
    here = shaped(isa)
    tile = register_tile(here)
    own = tile.columns // here.lanes
    for rows in (1, 2, 4, 8, 16):
        for vectors in (1, 2, 4):
            if rows * vectors + vectors + 1 <= here.vector_registers:
                assert (rows + vectors) / (rows * vectors) >= (tile.rows + own) / (tile.rows * own)


@pytest.mark.parametrize(
    ("isa", "rows", "columns"), [("AVX-512", 4, 64), ("AVX2", 2, 32), ("NEON", 4, 16)]
)
def test_the_tiles_of_known_machines(isa: str, rows: int, columns: int) -> None:
    assert register_tile(shaped(isa)) == RegisterTile(rows, columns)


def test_a_product_is_cut_into_tiles_with_the_sum_inside() -> None:
    program = matmul(16, 7, 32)
    register_tiles(program.sch, MATMUL, RegisterTile(4, 16))
    expected = {"n_0": 2, "m_0": 4, "k": 7, "m_1": 4, "n_1": 16}
    assert list(program.loops("C").items()) == list(expected.items())
    program.check()


@pytest.mark.parametrize("pack_left", [False, True])
@pytest.mark.parametrize("per_panel", [False, True])
def test_the_micro_kernel_is_right_with_each_way_of_packing(
    pack_left: bool, per_panel: bool
) -> None:
    program = Program("matmul", 10, 19, 31)
    micro_kernel(program.sch, MATMUL, RegisterTile(4, 16), pack_left=pack_left, per_panel=per_panel)
    assert program.kind("C_update", "m_1") == "unrolled"
    assert program.kind("C_update", "n_1") == "vectorized"
    assert program.kind("C_update", "n_0") == "parallel"
    assert len(lookup.loops(program.sch, "C_update")) == 5
    program.check()

"""A program on registers: which output lies where is what the program itself says."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from golden import Golden

from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.lower import RegisterProgram, lower
from mlc_course.instruction_selection.search import select_program
from mlc_course.instruction_selection.spec import CATALOGUE
from mlc_course.lessons.lesson_14_instruction_selection import (
    RACED,
    race_for,
    register_picture,
    register_said,
)
from mlc_course.lessons.lesson_14_instruction_selection.registers_picture import colour_of, in_order

GOLDEN = Path(__file__).parent / "pictures"


@cache
def program_for(name: str) -> CellProgram:
    if name in RACED:
        return next(each for each in race_for(name).listed if each.is_right).cell_program()
    cell = CATALOGUE[name].specification.cell
    program = select_program(cell, level_of("avx2")).program
    assert program is not None
    return program


def lowered(name: str, width: int = 256) -> RegisterProgram:
    return lower(CATALOGUE[name].specification.cell, program_for(name), width)


def test_the_picture_is_the_one_that_was_looked_at(golden: Golden) -> None:
    golden(GOLDEN / "registers.svg", register_picture(lowered("narrow_s32")))


@pytest.mark.parametrize("name", ["narrow_s32", "requant_u8", "dot4_u8s8", "gauss_121_u8"])
@pytest.mark.parametrize("width", [256, 512])
def test_each_cell_has_the_number_and_the_colour_of_its_output(name: str, width: int) -> None:
    program = lowered(name, width)
    svg = register_picture(program)
    ElementTree.fromstring(svg)
    drawn = re.findall(r'fill="(#[0-9a-f]{6})" stroke="var\(--mlc-paper', svg)
    held = [output for step in program.steps for output in step.outputs]
    assert drawn == [colour_of(each, program.outputs) for each in held]
    for at in range(len(program.steps)):
        assert f"v{at} = {program.text_of(at)}</text>" in svg


def test_packs_put_outputs_out_of_order_and_a_permutation_restores_it() -> None:
    program = lowered("narrow_s32")
    assert [in_order(each) for each in program.steps] == [True] * 4 + [False] * 3 + [True]
    assert register_said(program) == (
        "8 registers of 256 bits for 32 outputs, by 4 instructions. In v4, v5, v6 the outputs are "
        "out of order."
    )
    assert "In every register the outputs are in order." in register_said(lowered("gauss_121_u8"))


def test_colours_go_from_the_first_output_to_the_last() -> None:
    colours = [colour_of(each, 32) for each in range(32)]
    assert len(set(colours)) == 32
    assert (colours[0], colours[-1]) == ("#b3d9f2", "#f2b050")
    assert colour_of(0, 1) == "#b3d9f2"

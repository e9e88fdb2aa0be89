"""Specifications of hand-written cells and of single instructions, and runs of machine code."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
import numpy.typing as npt
from hand_written_cells import CASES, Case

from mlc_course.instruction_selection.insert import Compiled, call_memory, machine_code
from mlc_course.instruction_selection.integers import IntType, const
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Equation,
    Input,
    Instruction,
)
from mlc_course.instruction_selection.spec import (
    CATALOGUE,
    Cell,
    CellOperand,
    Place,
    Specification,
    Tile,
    TileBuffer,
    specification,
)

Array = npt.NDArray[np.signedinteger | np.unsignedinteger]


@cache
def specification_of(name: str) -> Specification:
    """Return the specification of a hand-written cell, from the catalogue if it is there."""
    if name in CATALOGUE:
        return specification(name)
    case = next(each for each in CASES if each.cell.name == name)
    operands = ", ".join(map(_text, case.cell.operands))
    output = case.cell.accumulator or "O"
    return specification(f"{operands} -> {case.cell.result} {output}: {case.body}", name=name)


def _text(operand: CellOperand) -> str:
    lanes = f"*{operand.lanes}" if operand.lanes > 1 or operand.shared else ""
    lo, hi = operand.range
    promise = "" if (lo, hi) == (operand.type.lo, operand.type.hi) else f" in {lo}..{hi}"
    return f"{operand.type}{lanes} {operand.name}{'!' if operand.shared else ''}{promise}"


def case_of(name: str, level: str = "avx2") -> Case:
    return next(each for each in CASES if each.cell.name == name and each.level == level)


def row_alone(row: Instruction) -> tuple[Specification, CellProgram]:
    """Return a program of one instruction, and a specification that has its operands.

    The loop of the specification is not what the instruction computes; the cell is.
    """
    scale = 2 if row.kind == "narrow" and row.reads[0].type.bits == 64 else 1
    operands = tuple(
        CellOperand("ABC"[at], read.type, read.lanes * scale) for at, read in enumerate(row.reads)
    )
    read = [Equation(Input(each.name), (), each.type, each.lanes) for each in operands]
    lanes = 2 if row.kind == "interleave" else 1
    made = Equation(row, tuple(range(len(read))), row.result, lanes)
    if row.kind == "interleave":
        made = Equation(row, made.operands, row.reads[0].type, lanes)
    program = CellProgram((*read, made))
    result = made.type if lanes == 1 else IntType(made.type.signed, lanes * made.type.bits)
    cell = Cell(row.name, operands, result, const(0))
    cell = Cell(row.name, operands, result, program.lanes(cell.inputs, result)[0])
    places = {
        each.name: Place(each.name, (0, 0), (1, 0), (0, 1))
        if each.lanes > 1
        else Place(each.name, (0,), (1,), (0,))
        for each in operands
    }
    buffers = tuple(
        TileBuffer(each.name, each.type, (1, each.lanes), (1, 0))
        if each.lanes > 1
        else TileBuffer(each.name, each.type, (1,), (1,))
        for each in operands
    )
    output = Place("O", (0,), (1,), (0,))
    tile = Tile(
        (*buffers, TileBuffer("O", result, (1,), (1,))),
        tuple(each.name for each in operands),
        places,
        output,
        max(each.lanes for each in operands),
        lambda load: load("A"),
    )
    return Specification(row.name, cell, tile), program


def emulated(kernel: Compiled, arrays: Mapping[str, Array]) -> Array:
    """Return the outputs of AArch64 code, run by an emulator."""
    import unicorn
    from unicorn import arm64_const as arm

    code_at, memory_at, stack_at, end_at = 0x100000, 0x1000000, 0x800000, 0x10000
    code = machine_code(kernel.object_file, code_at)
    buffers = kernel.buffers(arrays)
    memory = call_memory(buffers, memory_at)
    machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM, arm.UC_CPU_ARM64_MAX)
    machine.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
    for at, data in ((code_at, code.image), (memory_at, memory.memory)):
        machine.mem_map(at, -(-len(data) // 4096) * 4096)
        machine.mem_write(at, data)
    machine.mem_map(stack_at, 0x10000)
    machine.mem_map(end_at, 0x1000)
    for register, value in (
        (arm.UC_ARM64_REG_SP, stack_at + 0x8000),
        (arm.UC_ARM64_REG_LR, end_at),
        (arm.UC_ARM64_REG_X0, 0),
        (arm.UC_ARM64_REG_X1, memory.arguments),
        (arm.UC_ARM64_REG_X2, memory.count),
        (arm.UC_ARM64_REG_X3, memory.result),
    ):
        machine.reg_write(register, value)
    machine.emu_start(code.entry, end_at)
    assert machine.reg_read(arm.UC_ARM64_REG_X0) == 0
    after = bytes(machine.mem_read(memory_at, len(memory.memory)))
    name = kernel.spec.result.buffer
    return memory.read(after, name, buffers[name])

"""Run a register program on formulas, and show that each lane is the cell program on its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from mlc_course.errors import WrongResult
from mlc_course.instruction_selection.integers import Formula, IntType, lift, reread
from mlc_course.instruction_selection.isa import CellProgram, Constant, Instruction
from mlc_course.instruction_selection.lower.layout import half_of, in_blocks
from mlc_course.instruction_selection.lower.register_program import (
    Load,
    OnHalf,
    RegisterProgram,
    Shuffle,
    Splat,
    Step,
)
from mlc_course.instruction_selection.spec import Cell

Lanes = tuple[IntType, list[Formula]]


def simulate(program: RegisterProgram, inputs: Mapping[str, Sequence[Formula]]) -> list[Formula]:
    """Return the outputs of a tile, one formula each, from all lanes of each operand.

    ``inputs`` has the lanes of all outputs of the tile one after the other, as memory does, and
    once those that they share.
    """
    registers: list[Lanes] = []
    for step in program.steps:
        registers.append(_filled(step, registers, inputs, program.register_bytes))
    return [
        lane
        for number in program.results
        for lane in reread(registers[number][1], registers[number][0], program.result)
    ]


def _filled(
    step: Step,
    registers: Sequence[Lanes],
    inputs: Mapping[str, Sequence[Formula]],
    register_bytes: int,
) -> Lanes:
    count = register_bytes // step.type.bytes
    match step.op:
        case Load(operand, register):
            return step.type, list(inputs[operand][register * count : (register + 1) * count])
        case Splat(operand):
            return step.type, [*inputs[operand]] * (count // len(inputs[operand]))
        case Constant(values):
            return step.type, [lift(x) for x in values] * (count // len(values))
        case Instruction() as instruction if instruction.kind == "narrow":
            of = instruction.reads[0].type
            sides = [
                in_blocks(instruction.lanes([reread(lanes, was, of)]), register_bytes)
                for was, lanes in (registers[x] for x in step.operands)
            ]
            return step.type, [x for blocks in zip(*sides, strict=True) for b in blocks for x in b]
        case Instruction() as instruction:
            return step.type, instruction.lanes(_read(instruction, step, registers))
        case OnHalf(instruction, upper):
            read = _read(instruction, step, registers)
            return step.type, instruction.lanes([half_of(lanes, upper) for lanes in read])
        case Shuffle(indices):
            return _moved(indices, step.type, [registers[x] for x in step.operands])
    assert_never(step.op)


def _read(
    instruction: Instruction, step: Step, registers: Sequence[Lanes]
) -> list[Sequence[Formula]]:
    operands = (registers[x] for x in step.operands)
    return [
        reread(lanes, was, read.type)
        for (was, lanes), read in zip(operands, instruction.reads, strict=True)
    ]


def _moved(indices: Sequence[int], moved: IntType, sources: Sequence[Lanes]) -> Lanes:
    """Return lanes of ``moved`` bits in another order, as the lanes that the registers held."""
    types = {of for of, _ in sources}
    of = min((*types, moved), key=lambda each: each.bits)
    if len({each for each in types if each.bits == of.bits}) > 1:
        of = IntType(signed=False, bits=of.bits)
    lanes = [lane for was, held in sources for lane in reread(held, was, of)]
    parts = moved.bits // of.bits
    return of, [lanes[i * parts + j] for i in indices for j in range(parts)]


def check_layout(cell: Cell, program: CellProgram, lowered: RegisterProgram) -> None:
    """Check that every output of a register program is the cell program on the cell it belongs to.

    The two must be the same formula, node for node. Then whatever is proved of one cell holds for
    every lane.

    Raises:
        WrongResult: an output is another formula, or there are more or fewer outputs.
    """
    inputs = {
        each.name: [
            x
            for number in range(1 if each.shared else lowered.outputs)
            for x in each.variables(number * each.lanes)
        ]
        for each in cell.operands
    }
    found = simulate(lowered, inputs)
    wanted = []
    for number in range(lowered.outputs):
        own = {
            each.name: each.variables(0 if each.shared else number * each.lanes)
            for each in cell.operands
        }
        wanted += program.lanes(own, cell.result)
    if len(found) != len(wanted):
        raise WrongResult(
            f"{lowered.name}: the registers hold another number of outputs than the tile",
            expected=len(wanted),
            got=len(found),
        )
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        if one is not other:
            there = [i for i, each in enumerate(wanted) if each is one]
            raise WrongResult(
                f"{lowered.name}: output {number} of the registers is not the cell program's",
                expected=f"the cell program on cell {number}",
                got=f"the cell program on cell {there[0]}" if there else "another formula",
                hint="an order of lanes that was not restored, or another instruction",
            )

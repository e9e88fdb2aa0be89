"""Run a register program on formulas, and show that each lane is the cell program on its cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import assert_never

from mlc_course.errors import WrongResult
from mlc_course.instruction_selection.integers import Formula, IntType, lift, reread
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Instruction,
    register_types,
)
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

    Raises:
        WrongResult: a step is not what one instruction on whole registers can be.
    """
    registers: list[Lanes] = []
    for number, step in enumerate(program.steps):
        _check_step(program, number)
        made = _filled(step, registers, inputs, program.register_bytes)
        if len(made[1]) * made[0].bytes != program.register_bytes:
            raise _no_step(program, number, f"a register of {program.register_bytes} bytes")
        registers.append(made)
    if not all(0 <= x < len(registers) for x in program.results):
        raise WrongResult(
            f"{program.name}: a result is no register",
            expected=f"0 to {len(registers) - 1}",
            got=program.results,
        )
    return [
        lane
        for number in program.results
        for lane in reread(registers[number][1], registers[number][0], program.result)
    ]


def _check_step(program: RegisterProgram, number: int) -> None:
    """Check what a step says of itself: the registers that it reads, and its type."""
    step = program.steps[number]
    if not all(0 <= x < number for x in step.operands):
        raise _no_step(program, number, "registers that were filled before")
    match step.op:
        case Instruction() as instruction:
            if instruction.kind not in ("lane", "narrow"):
                raise _no_step(program, number, "one half of the lanes, as the result is wider")
            _check_instruction(program, number, instruction)
        case OnHalf(instruction, upper):
            if instruction.kind not in ("long", "widen") or upper not in (0, 1):
                raise _no_step(program, number, "an instruction whose result is twice as wide")
            _check_instruction(program, number, instruction)
        case Shuffle(indices):
            lanes = len(step.operands) * (program.register_bytes // step.type.bytes)
            if not 1 <= len(step.operands) <= 2 or not all(0 <= x < lanes for x in indices):
                raise _no_step(program, number, "lanes of one or two registers")
        case Load() | Splat() | Constant():
            if step.operands:
                raise _no_step(program, number, "no registers to read")
        case _:
            assert_never(step.op)


def _check_instruction(program: RegisterProgram, number: int, instruction: Instruction) -> None:
    step = program.steps[number]
    if program.width_bits not in instruction.reach:
        raise _no_step(program, number, f"one of the widths {sorted(instruction.reach)}")
    if step.type != instruction.result:
        raise _no_step(program, number, f"lanes of {instruction.result}")
    count = len(register_types(instruction))
    if len(step.operands) != count or instruction.immediate not in instruction.immediates:
        raise _no_step(program, number, f"{count} registers, and an immediate that exists")


def _no_step(program: RegisterProgram, number: int, expected: str) -> WrongResult:
    step = program.steps[number]
    return WrongResult(
        f"{program.name}: step {number} is no instruction on whole registers",
        expected=expected,
        got=f"{type(step.op).__name__} of registers {step.operands}, lanes of {step.type}",
    )


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
    every lane. Each step must be one instruction on whole registers, and read operands as they are.

    Raises:
        UsageError: the program does not fit the cell.
        WrongResult: an output is another formula, there are more or fewer outputs, or a step is
            none.
    """
    program.check({each.name: (each.type, each.lanes) for each in cell.operands})
    _check_operands(cell, lowered)
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


def _check_operands(cell: Cell, lowered: RegisterProgram) -> None:
    """Check that loads and splats read operands as the cell has them, and the result's type."""
    own = {each.name: each for each in cell.operands}
    if lowered.result != cell.result or lowered.outputs < 1:
        raise WrongResult(
            f"{lowered.name}: the registers hold another result than the cell",
            expected=f"outputs of {cell.result}",
            got=f"{lowered.outputs} outputs of {lowered.result}",
        )
    for number, step in enumerate(lowered.steps):
        if not isinstance(step.op, Load | Splat):
            continue
        found = own.get(step.op.operand)
        if found is None or (found.type, found.shared) != (step.type, isinstance(step.op, Splat)):
            way = "repeated" if found and found.shared else "loaded"
            raise _no_step(lowered, number, f"{found.type} lanes, {way}" if found else "an operand")

"""A row against Intel's pseudocode of the instruction, for all inputs: every lane is proved equal.

The guide gives whole registers. The row's meaning is of one lane; ``lane_order`` says where its
lanes are in a register.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, const, reread, variable
from mlc_course.instruction_selection.intel_guide import Bits, Entry, Guide, of_lanes, result_of
from mlc_course.instruction_selection.isa import Instruction, register_types, registers_of_result
from mlc_course.instruction_selection.prove import Refuted, Unknown, prove_equal
from mlc_course.instruction_selection.semantics.lane_order import lane_order
from mlc_course.instruction_selection.semantics.one_instruction import BITWISE, mnemonics

SECONDS = 10.0  # for one proof
IMMEDIATE = IntType(signed=False, bits=32)
OTHER_ORDER = "_cmplt_"  # in names of intrinsics that are pcmpgt with its operands exchanged


def refuted_by_guide(row: Instruction, width: int, guide: Guide) -> str | None:
    """Return ``None`` where the guide's operation equals the row on all inputs of whole registers.

    Otherwise, return the lane and the input on which they differ, in words. Every entry of the
    guide that is the instruction on plain registers of ``width`` bits is asked; where a row is two
    instructions, one for each half of its operands, both are.

    Raises:
        UsageError: the guide has no such entry, or no proof is found.
        TextError: an entry's operation cannot be read.
    """
    wanted = _lanes_of_row(row, width)
    count = width // row.result.bits
    for part in range(registers_of_result(row)):
        for entry in _entries(row, width, part, guide):
            found = _lanes_of_guide(row, width, part, entry)
            lanes = wanted[part * count : (part + 1) * count]
            match prove_equal(lanes, found, seconds=SECONDS):
                case Refuted(model, lane, ours, theirs):
                    inputs = ", ".join(f"{name} = {value}" for name, value in model.items())
                    return (
                        f"{row}, lane {lane} of {entry.name}: {inputs or 'any input'} gives "
                        f"{theirs}, the row says {ours}"
                    )
                case Unknown(why):
                    raise UsageError(
                        f"not proved equal to {entry.name}", expected="a proof", got=why
                    )
                case _:
                    pass
    return None


def _registers(row: Instruction, width: int) -> list[list[Formula]]:
    """Return variables for the lanes of each register that the row reads."""
    return [
        [variable(f"{'abc'[at]}{i}", of) for i in range(width // of.bits)]
        for at, of in enumerate(register_types(row))
    ]


def _lanes_of_row(row: Instruction, width: int) -> list[Formula]:
    """Return the lanes of the result's registers, in the order in which these hold them."""
    registers = _registers(row, width)
    if row.kind == "narrow":
        registers = [[*registers[0], *registers[1]]]
    lanes = row.lanes(registers)
    return [lanes[i] for i in lane_order(row, width)]


def _entries(row: Instruction, width: int, part: int, guide: Guide) -> list[Entry]:
    """Return the entries of the instruction that gives one register of the row's result."""
    names = mnemonics(row)
    name = names[part % len(names)]
    suffix = "[dq]?" if row.name in BITWISE else ""
    called = [
        each
        for each in guide.entries(re.compile(f"v?{name}{suffix}"))
        if OTHER_ORDER not in each.name
    ]
    immediates = int(row.has_immediate)
    found = [
        each
        for each in called
        if each.result.bits == width
        and len(each.registers) == len(_operands(row, width, part))
        and len(each.immediates) == immediates
        and len(each.parameters) == len(each.registers) + immediates
    ]
    if not found:
        masks = any(
            each.result.is_mask and any(x.bits == width for x in each.registers) for each in called
        )
        raise UsageError(
            f"{name} of {width} bits " + ("gives a mask" if masks else "is not in the guide"),
            expected=f"an intrinsic on registers that gives __m{width}i",
        )
    return found


def _operands(row: Instruction, width: int, part: int) -> list[list[Formula]]:
    """Return the lanes that the guide's instruction is given, register by register.

    An unpack of one operand interleaves with zeros; an extension is given half of a register.
    """
    registers = _registers(row, width)
    if row.kind == "widen":
        (lanes,) = registers
        if row.family.startswith("punpck"):
            return [lanes, [const(0)] * len(lanes)]
        half = len(lanes) // 2
        return [lanes[part * half : (part + 1) * half]]
    return registers


def _lanes_of_guide(row: Instruction, width: int, part: int, entry: Entry) -> list[Formula]:
    """Return the lanes of the register that an entry's operation gives."""
    if len(entry.operations) != 1:
        raise UsageError(
            f"{entry.name} has {len(entry.operations) or 'no'} operations", expected="one"
        )
    given: dict[str, Bits] = {}
    types = register_types(row)
    operands: Sequence[list[Formula]] = _operands(row, width, part)
    for parameter, lanes, of in zip(entry.registers, operands, types * 2, strict=False):
        lane = parameter.lane or IntType(signed=False, bits=of.bits)
        given[parameter.name] = of_lanes(reread(lanes, of, lane), lane)
    for parameter in entry.immediates:
        given[parameter.name] = of_lanes([const(row.immediate or 0)], IMMEDIATE)
    bits = row.result.bits
    register = result_of(entry.operations[0], given, entry.result.name, width)
    signed = row.result.signed
    return [register.cut(i * bits, bits).read(signed=signed) for i in range(width // bits)]

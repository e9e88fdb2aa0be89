"""A row against Intel's pseudocode of the instruction, for all inputs: every lane is proved equal.

The guide gives whole registers. The row's meaning is of one lane; ``lane_order`` says where its
lanes are in a register.
"""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Iterator, Sequence

from mlc_course.deadline import check_time, until
from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    const,
    reread,
    substituted,
    var,
    variable,
    walk,
)
from mlc_course.instruction_selection.intel_guide import Bits, Entry, Guide, of_lanes, result_of
from mlc_course.instruction_selection.isa import Instruction, register_types, registers_of_result
from mlc_course.instruction_selection.prove import Refuted, Unknown, Verdict, prove_equal
from mlc_course.instruction_selection.semantics.lane_order import lane_order
from mlc_course.instruction_selection.semantics.one_instruction import BITWISE, mnemonics

SECONDS = 5.0  # for one row at one width
MOST_CASES = 64  # of one lane
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
        OutOfTime: nothing was decided in ``SECONDS``.
    """
    with until(time.time() + SECONDS):
        return _refuted(row, width, guide)


def _refuted(row: Instruction, width: int, guide: Guide) -> str | None:
    wanted = _lanes_of_row(row, width)
    count = width // row.result.bits
    for part in range(registers_of_result(row)):
        for entry in _entries(row, width, part, guide):
            found = _lanes_of_guide(row, width, part, entry)
            lanes = wanted[part * count : (part + 1) * count]
            for first, verdict in _verdicts(lanes, found):
                match verdict:
                    case Refuted(model, lane, ours, theirs):
                        inputs = ", ".join(f"{name} = {value}" for name, value in model.items())
                        return (
                            f"{row}, lane {first + lane} of {entry.name}: "
                            f"{inputs or 'any input'} gives {theirs}, the row says {ours}"
                        )
                    case Unknown(why):
                        raise UsageError(
                            f"not proved equal to {entry.name}", expected="a proof", got=why
                        )
                    case _:
                        pass
    return None


def _verdicts(wanted: Sequence[Formula], found: Sequence[Formula]) -> Iterator[tuple[int, Verdict]]:
    """Yield whether lanes are equal, each verdict with the number of its first lane.

    Lanes that compare an operand with constants are asked about one by one, once for each interval
    between the constants, in which the comparisons are decided.
    """
    pairs = list(zip(wanted, found, strict=True))
    cases = [_compared(pair) for pair in pairs]
    most = max(math.prod(map(len, each.values())) for each in cases)
    if not any(cases) or most > MOST_CASES:
        yield 0, prove_equal(wanted, found, seconds=SECONDS)
        return
    for lane, (pair, compared) in enumerate(zip(pairs, cases, strict=True)):
        for case in itertools.product(*compared.values()):
            x, y = substituted(pair, dict(zip(compared, case, strict=True)))
            yield lane, prove_equal([x], [y], seconds=SECONDS)


def _compared(pair: Sequence[Formula]) -> dict[Formula, list[Formula]]:
    """Return the variables that are compared with constants, each once for every interval."""
    starts: dict[Formula, set[int]] = {}
    check_time()
    for each in walk(*pair):
        if each.op not in ("eq", "gt") or {x.op for x in each.operands} != {"var", "const"}:
            continue
        at, number = sorted(each.operands, key=lambda x: x.op == "const")
        starts.setdefault(at, {at.lo}).update(
            x for x in (number.lo, number.lo + 1) if at.lo < x <= at.hi
        )
    return {
        at: [
            var(str(at.params[0]), low, after - 1)
            for low, after in itertools.pairwise([*sorted(each), at.hi + 1])
        ]
        for at, each in starts.items()
    }


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
            f"not read: {name} of {width} bits "
            + ("gives a mask" if masks else "is not in the guide"),
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
            f"not read: {entry.name} has {len(entry.operations) or 'no'} operations",
            expected="one",
        )
    given: dict[str, Bits] = {}
    types = register_types(row)
    operands: Sequence[list[Formula]] = _operands(row, width, part)
    for parameter, lanes, of in zip(entry.registers, operands, types * 2, strict=False):
        lane = parameter.lane
        if lane is None or row.name in BITWISE:  # bits are bits, however wide the lanes
            lane = IntType(signed=False, bits=of.bits)
        given[parameter.name] = of_lanes(reread(lanes, of, lane), lane)
    for parameter in entry.immediates:
        given[parameter.name] = of_lanes([const(row.immediate or 0)], IMMEDIATE)
    bits = row.result.bits
    register = result_of(entry.operations[0], given, entry.result.name, width)
    signed = row.result.signed
    return [register.cut(i * bits, bits).read(signed=signed) for i in range(width // bits)]

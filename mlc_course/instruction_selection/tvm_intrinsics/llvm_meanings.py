"""Meanings of LLVM's intrinsics, from the rows of instructions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import MappingProxyType

from mlc_course.errors import UsageError, check_known
from mlc_course.instruction_selection.integers import S32, Formula, IntType, wrap
from mlc_course.instruction_selection.isa import LEVELS, Instruction

BLOCK = 128  # bits within which x86 packs lanes
_PLAIN = re.compile(r"(?:halves\()?(llvm[\w.]+)\)?")
_WITH_FLAG = re.compile(r"(llvm[\w.]+)\(\{0\}, T\.bool\(False\)\)")

# LLVM's vector-predicated arithmetic, which wraps; ``vector_reading`` checks that all lanes are on.
_WRAPPING: dict[str, Callable[[Formula, Formula], Formula]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
}

Registers = Sequence[Sequence[Formula]]


@dataclass(frozen=True)
class LlvmMeaning:
    """One intrinsic of LLVM: the types that it reads, and its lanes from those of its operands.

    ``lanes`` also takes the intrinsic's immediates, as integers.
    """

    reads: tuple[IntType, ...]
    result: IntType
    lanes: Callable[[Registers, Sequence[int]], list[Formula]]


def meaning_of(name: str, operands: Sequence[IntType]) -> LlvmMeaning:
    """Return the meaning of an intrinsic that is called with lanes of these types.

    LLVM's types have no sign, and some x86 intrinsics were once called with lanes of another
    width: where no row reads such widths, an intrinsic that has one row means that.

    Raises:
        UsageError: no row has the intrinsic, or several have it and none reads such lanes.
    """
    known = _meanings()
    check_known("no row has the LLVM intrinsic", name, known)
    widths = [each.bits for each in operands]
    fitting = [x for x in known[name] if [each.bits for each in x.reads] == widths]
    if not fitting and len(known[name]) > 1:
        raise UsageError(
            f"no row of {name} reads such lanes",
            expected=" | ".join(", ".join(map(str, each.reads)) for each in known[name]),
            got=", ".join(map(str, operands)),
        )
    return (fitting or known[name])[0]


@cache
def _meanings() -> Mapping[str, tuple[LlvmMeaning, ...]]:
    """The meanings of each intrinsic: NEON's have one name for lanes of all widths."""
    found: dict[str, list[LlvmMeaning]] = {}
    rows = dict.fromkeys(row for level in LEVELS.values() for row in level.rows)
    for name, meaning in [*_others(), *(each for row in rows for each in _of_row(row))]:
        found.setdefault(name, []).append(meaning)
    return MappingProxyType({name: tuple(meanings) for name, meanings in found.items()})


def _of_row(row: Instruction) -> Iterator[tuple[str, LlvmMeaning]]:
    """Yield the names of the intrinsics that are just this instruction, with the meaning."""
    reads = tuple(read.type for read in row.reads)
    for reach in dict.fromkeys(row.reach.values()):
        named = _PLAIN.fullmatch(reach) or _WITH_FLAG.fullmatch(reach)
        if named is None or row.kind not in ("lane", "narrow"):
            continue
        if row.kind == "narrow" and named[1].startswith("llvm.x86"):
            yield named[1], LlvmMeaning(reads * 2, row.result, partial(_packed, row))
        else:
            yield named[1], LlvmMeaning(reads, row.result, partial(_lanes, row))


def _lanes(row: Instruction, registers: Registers, immediates: Sequence[int]) -> list[Formula]:
    fixed = row.with_immediate(immediates[0]) if row.has_immediate else row
    return fixed.lanes(registers)


def _packed(row: Instruction, registers: Registers, immediates: Sequence[int]) -> list[Formula]:
    """Return two registers as one, a block of the first and one of the second in turns."""
    lanes = BLOCK // row.reads[0].type.bits
    return [
        row.lane(x)
        for start in range(0, len(registers[0]), lanes)
        for register in registers
        for x in register[start : start + lanes]
    ]


def _others() -> Iterator[tuple[str, LlvmMeaning]]:
    """Yield intrinsics that are no instruction of the table, or a part of one."""
    for bits in (8, 16, 32):
        for signed, sign in ((False, "u"), (True, "s")):
            of, twice = IntType(signed, bits), IntType(signed, 2 * bits)
            neon = f"llvm.aarch64.neon.{sign}"
            yield f"{neon}addlp", LlvmMeaning((of,), twice, partial(_sums_of_pairs, twice))
            yield f"{neon}rshl", LlvmMeaning((of, of), of, _rounding_shift)
            yield f"{neon}mull", LlvmMeaning((of, of), twice, _products)
    for bits in (8, 16, 32, 64):
        of = IntType(signed=False, bits=bits)
        for name, compute in _WRAPPING.items():
            yield f"llvm.vp.{name}", LlvmMeaning((of, of), of, partial(_wrapped, of, compute))
    yield "llvm.aarch64.neon.addp", LlvmMeaning((S32, S32), S32, partial(_sums_of_pairs, S32))


def _wrapped(
    of: IntType,
    compute: Callable[[Formula, Formula], Formula],
    registers: Registers,
    immediates: Sequence[int],
) -> list[Formula]:
    return [wrap(of, compute(a, b)) for a, b in zip(*registers, strict=True)]


def _sums_of_pairs(to: IntType, registers: Registers, immediates: Sequence[int]) -> list[Formula]:
    lanes = [x for register in registers for x in register]
    return [wrap(to, a + b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]


def _products(registers: Registers, immediates: Sequence[int]) -> list[Formula]:
    return [a * b for a, b in zip(*registers, strict=True)]


def _rounding_shift(registers: Registers, immediates: Sequence[int]) -> list[Formula]:
    """Shift by constants below zero: to the right, rounded."""
    found = []
    for a, by in zip(*registers, strict=True):
        amount = -_constant(by)
        found.append((a + (1 << (amount - 1))) >> amount)
    return found


def _constant(lane: Formula) -> int:
    if lane.value is None:
        raise UsageError(
            "a shift by an amount that depends on data", expected="a constant", got=lane
        )
    return lane.value

"""A program over instructions on one cell, the lanes that one output of a loop needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import Formula, IntType, lift, reread
from mlc_course.instruction_selection.isa.instruction import Instruction


@dataclass(frozen=True)
class Input:
    """The lanes of an operand of the specification."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Constant:
    """The same lanes again and again: (37, 91) is 37, 91, 37, 91, ..."""

    values: tuple[int, ...]

    def __str__(self) -> str:
        return ", ".join(map(str, self.values))


CellOp: TypeAlias = "Instruction | Input | Constant"


@dataclass(frozen=True)
class Equation:
    """A value of a cell program: ``lanes`` lanes of a type in one cell.

    Operands are numbers of earlier equations. An operand whose lanes are of another type than the
    instruction reads is reread: the same bits as lanes of that type.
    """

    op: CellOp
    operands: tuple[int, ...]
    type: IntType
    lanes: int

    @property
    def bytes(self) -> int:
        return self.type.bytes * self.lanes


@dataclass(frozen=True)
class CellProgram:
    """A flat list of equations; the last one is the result."""

    equations: tuple[Equation, ...]

    @property
    def result(self) -> Equation:
        return self.equations[-1]

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return tuple(each.op for each in self.equations if isinstance(each.op, Instruction))

    def values(
        self,
        inputs: Mapping[str, Sequence[Formula]],
        known: Mapping[int, Sequence[Formula]] | None = None,
    ) -> list[list[Formula]]:
        """Return the lanes of every equation, from the lanes of each input.

        Equations in ``known`` have the lanes that are given for them.
        """
        known = known or {}
        found: list[list[Formula]] = []
        for number, each in enumerate(self.equations):
            if number in known:
                found.append(list(known[number]))
                continue
            match each.op:
                case Input(name):
                    found.append(list(inputs[name]))
                case Constant(values):
                    found.append([lift(x) for x in values] * (each.lanes // len(values)))
                case Instruction() as instruction:
                    operands = [
                        reread(found[x], self.equations[x].type, read.type)
                        for x, read in zip(each.operands, instruction.reads, strict=True)
                    ]
                    found.append(instruction.lanes(operands))
        return found

    def lanes(self, inputs: Mapping[str, Sequence[Formula]], of: IntType) -> list[Formula]:
        """Return the lanes of the result, read as lanes of the type ``of``."""
        return reread(self.values(inputs)[-1], self.result.type, of)

    def check(self, inputs: Mapping[str, tuple[IntType, int]]) -> None:
        """Check that types and lanes fit each other, and the type and lanes of each input.

        Raises:
            UsageError: an equation has other lanes than its operands give it.
        """
        if not self.equations:
            raise UsageError("a program without a value does not fit any cell")
        for number, each in enumerate(self.equations):
            operands = [self.equations[x] for x in each.operands if 0 <= x < number]
            wanted = _shape(each, operands, inputs) if len(operands) == len(each.operands) else None
            if wanted != (each.type, each.lanes):
                raise UsageError(
                    f"value {number} of a program does not fit what it is computed from",
                    expected=f"{wanted[1]} lanes of {wanted[0]}" if wanted else "known operands",
                    got=f"{each.lanes} lanes of {each.type}: {each.op}",
                )

    def text_of(self, number: int) -> str:
        """Return one value as a nested call, such as ``pavgb(B, paddb(A, D))``.

        Constants are lanes of the type that they are read as. An instruction whose name does not
        tell the type of its lanes is written with it, as in ``pand:u16``.
        """
        each = self.equations[number]
        if not isinstance(each.op, Instruction):
            return str(each.op) if isinstance(each.op, Input) else f"{{{each.op}}}"
        name, _, immediate = str(each.op).partition(" ")
        operands = [
            f"{{{Constant(_reread_constant(operand, read.type))}}}"
            if isinstance((operand := self.equations[x]).op, Constant)
            else self.text_of(x)
            for x, read in zip(each.operands, each.op.reads, strict=True)
        ]
        typed = name if each.op.named_by_type else f"{name}:{each.op.reads[0].type}"
        return f"{typed}{immediate and ' '}{immediate}({', '.join(operands)})"

    def __str__(self) -> str:
        return self.text_of(len(self.equations) - 1)


def _shape(
    each: Equation, operands: Sequence[Equation], inputs: Mapping[str, tuple[IntType, int]]
) -> tuple[IntType, int] | None:
    """Return the type and lanes that an equation must have; ``None`` where it cannot be."""
    match each.op:
        case Input(name):
            return None if operands else inputs.get(name)
        case Constant(values):
            whole = values and each.lanes >= 1 and each.lanes % len(values) == 0
            bits = each.type.bits  # -1 and 255 are the same 8 bits, whatever the type
            fits = all(-(1 << (bits - 1)) <= x < 1 << bits for x in values)
            return (each.type, each.lanes) if whole and fits and not operands else None
        case Instruction() as row:
            if len(operands) != len(row.reads) or row.immediate not in row.immediates:
                return None
            counts = {x.bytes / read.bytes for x, read in zip(operands, row.reads, strict=True)}
            count = counts.pop()
            if counts or count != int(count) or count < 1:
                return None
            return row.result, int(count) * (2 if row.kind == "interleave" else 1)


def _reread_constant(constant: Equation, of: IntType) -> tuple[int, ...]:
    """Return the pattern of a constant's lanes, read as lanes of another width."""
    assert isinstance(constant.op, Constant)
    values = constant.op.values
    if constant.type.bits == of.bits:
        return tuple(of.wrapped(x) for x in values) if of.signed else values
    whole = [lift(x) for x in values] * (constant.lanes // len(values))
    return shortest_pattern(tuple(x.lo for x in reread(whole, constant.type, of)))


def shortest_pattern(values: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shortest pattern that lanes repeat."""
    for length in range(1, len(values)):
        if len(values) % length == 0 and values == values[:length] * (len(values) // length):
            return values[:length]
    return values


def program_of(equations: Sequence[Equation]) -> CellProgram:
    """Return the program of the last equation.

    Equations that it does not use are left out, and equal ones become one.
    """
    used = {len(equations) - 1}
    for number in range(len(equations) - 1, -1, -1):
        if number in used:
            used |= set(equations[number].operands)
    kept: list[Equation] = []
    numbers: dict[Equation, int] = {}
    at: dict[int, int] = {}
    for number in sorted(used):
        each = equations[number]
        moved = Equation(each.op, tuple(at[x] for x in each.operands), each.type, each.lanes)
        if moved not in numbers:
            numbers[moved] = len(kept)
            kept.append(moved)
        at[number] = numbers[moved]
    return CellProgram(tuple(kept))

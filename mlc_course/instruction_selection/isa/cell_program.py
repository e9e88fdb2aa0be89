"""A program over instructions on one cell, the lanes that one output of a loop needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

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

    def text_of(self, number: int) -> str:
        """Return one value as a nested call, such as ``pavgb(B, paddb(A, D))``."""
        each = self.equations[number]
        if not isinstance(each.op, Instruction):
            return str(each.op) if isinstance(each.op, Input) else f"{{{each.op}}}"
        return f"{each.op}({', '.join(self.text_of(x) for x in each.operands)})"

    def __str__(self) -> str:
        return self.text_of(len(self.equations) - 1)


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

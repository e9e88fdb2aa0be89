"""Programs and cells written in another way: simpler, with other names, put together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mlc_course.instruction_selection.integers import Formula, substituted
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    program_of,
    shortest_pattern,
)
from mlc_course.instruction_selection.search.parts import terms
from mlc_course.instruction_selection.search.relevance import (
    accumulates,
    combining_row,
    operators,
)
from mlc_course.instruction_selection.spec import Cell


def unit_of(cell: Cell) -> int:
    """Return the bytes of the narrowest operand or result: a register of it is one instruction."""
    return min([each.bytes for each in cell.operands] + [cell.result.bytes])


def weight_of(program: CellProgram, unit: int) -> int:
    """Return the instructions on registers of a program, where ``unit`` bytes a cell fill one."""
    return sum(
        each.op.weight * max(1, each.bytes // unit)
        for each in program.equations
        if isinstance(each.op, Instruction)
    )


def folded(program: CellProgram) -> CellProgram:
    """Return a program in which what is computed from constants alone is a constant."""
    made: list[Equation] = []
    for each in program.equations:
        operands = [made[x] for x in each.operands]
        if operands and all(isinstance(x.op, Constant) for x in operands):
            alone = CellProgram((*operands, replace(each, operands=tuple(range(len(operands))))))
            values = tuple(x.lo for x in alone.lanes({}, each.type))
            made.append(replace(each, op=Constant(shortest_pattern(values)), operands=()))
        else:
            made.append(each)
    return program_of(made)


def absorbed(equations: list[Equation], accumulator: int) -> None:
    """Give an accumulator to an instruction that adds to one, where the last equation adds it.

    before  paddd(C, vpdpbusd({0}, A, B))
    after   vpdpbusd(C, A, B)

    The sum may be deeper, as the first operand of sums and differences. Where nothing accumulates
    the program is unchanged.
    """
    at = equations[-1].operands[1]
    path = []
    while isinstance(row := equations[at].op, Instruction):
        if accumulates(row):
            empty = equations[equations[at].operands[0]].op
            if not (isinstance(empty, Constant) and set(empty.values) == {0}):
                return
            break
        if len(row.reads) != 2 or operators(row) - {"add", "sub", "wrap", "var"}:
            return
        path.append(at)
        at = equations[at].operands[0]
    else:
        return
    old = equations[at]
    equations.append(Equation(old.op, (accumulator, *old.operands[1:]), old.type, old.lanes))
    for above in reversed(path):
        each = equations[above]
        operands = (len(equations) - 1, *each.operands[1:])
        equations.append(Equation(each.op, operands, each.type, each.lanes))


def canonical(cell: Cell) -> tuple[Cell, dict[str, str]]:
    """Return a cell with operands named by their places, and the operand of each new name."""
    names = {each.name: f"x{at}" for at, each in enumerate(cell.operands)}
    operands = tuple(replace(each, name=names[each.name], shared=False) for each in cell.operands)
    changed: dict[Formula, Formula] = {}
    for old, new in zip(cell.operands, operands, strict=True):
        changed |= dict(zip(old.variables(), new.variables(), strict=True))
    (goal,) = substituted([cell.goal], changed)
    accumulator = names[cell.accumulator] if cell.accumulator else None
    standard = Cell(cell.name, operands, cell.result, goal, accumulator)
    return standard, {new: old for old, new in names.items()}


def renamed(program: CellProgram, names: dict[str, str]) -> CellProgram:
    """Return a program that reads the operands of other names."""
    return CellProgram(
        tuple(
            replace(each, op=Input(names[each.op.name])) if isinstance(each.op, Input) else each
            for each in program.equations
        )
    )


def composed(program: CellProgram, parts: dict[str, CellProgram]) -> CellProgram:
    """Return a program in which inputs are the results of other programs."""
    made: list[Equation] = []
    numbers: list[int] = []
    for each in program.equations:
        if isinstance(each.op, Input) and each.op.name in parts:
            start = len(made)
            for inner in parts[each.op.name].equations:
                made.append(replace(inner, operands=tuple(x + start for x in inner.operands)))
        else:
            made.append(replace(each, operands=tuple(numbers[x] for x in each.operands)))
        numbers.append(len(made) - 1)
    return program_of(made)


def sum_program(cell: Cell, rows: Sequence[Instruction]) -> CellProgram | None:
    """Return the program that adds a cell's operands, which are as wide as its result."""
    adder = combining_row(rows, cell.result.bits, +1)
    factors, constant = terms(cell.goal)
    if adder is None or set(factors.values()) != {1} or constant:
        return None
    made = [Equation(Input(each.name), (), each.type, 1) for each in cell.operands]
    last = 0
    for number in range(1, len(cell.operands)):
        made.append(Equation(adder, (last, number), adder.result, 1))
        last = len(made) - 1
    return program_of(made)

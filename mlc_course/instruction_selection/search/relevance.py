"""Which rows of the table can be a part of a goal: what the goal never does, no part of it does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import compiled, walk, wrap
from mlc_course.instruction_selection.isa import Instruction, Read
from mlc_course.instruction_selection.spec import Cell


def relevant(row: Instruction, cell: Cell) -> bool:
    """Return whether a row does something that the goal does, so that it can be a part of it.

    Hydride prunes in this way: multiplications help where the goal multiplies or shifts, minima,
    saturation and comparisons where it has a minimum, a maximum or a comparison.
    """
    if row.kind != "lane" and cell.reduces:
        return False
    if row.kind in ("narrow", "widen", "interleave"):
        return True
    goal = {each.op for each in walk(cell.goal)}
    own = operators(row)
    signed = sum(x.type.signed for x in cell.operands if x.lanes > 1) > 1
    if "mul" in own:
        pairs = any(read.lanes > 1 for read in row.reads)
        sums = {"add", "sub"} if cell.reduces else {"add"}
        return bool(goal & ({"mul", "shr"} | sums if pairs else {"mul", "shr"}))
    if row.family.startswith(("pabs", "psign", "abs")):
        return bool(goal & {"max", "where"}) or ("mul" in goal and signed)
    if own & {"min", "max", "where"}:
        return bool(goal & {"min", "max", "where", "eq", "gt"})
    return True


def alike(row: Instruction, cell: Cell) -> bool:
    """Return whether a goal has all operators of a row, or it moves lanes or wraps besides."""
    goal = {str(each.op) for each in walk(cell.goal)}
    return operators(row) <= goal | {"wrap", "var", "const"}


@cache
def computable(row: Instruction) -> bool:
    """Return whether NumPy has a type for all that the meaning of a row goes through."""
    try:
        compiled((row.formula,), tuple(x for part in row.variables for x in part))
    except SizeError:
        return False
    return True


@cache
def operators(row: Instruction) -> frozenset[str]:
    """Return the operators in the meaning of a row."""
    made = row.with_immediate(1) if row.has_immediate else row
    return frozenset(each.op for each in walk(made.formula))


def combining_row(rows: Sequence[Instruction], bits: int, sign: int) -> Instruction | None:
    """Return the row that adds (or subtracts, where ``sign`` is below 0) lanes of so many bits."""
    for row in rows:
        single = len(row.reads) == 2 and all(read.lanes == 1 for read in row.reads)
        if row.kind != "lane" or row.result.bits != bits or not single:
            continue
        a, b = (part[0] for part in row.variables)
        if row.formula is wrap(row.result, a + b if sign > 0 else a - b):
            return row
    return None


def accumulates(row: Instruction) -> bool:
    """Return whether a row adds lanes of later operands onto its first one."""
    onto, *added = row.reads
    return onto == Read(row.result) and any(read.lanes > 1 for read in added)

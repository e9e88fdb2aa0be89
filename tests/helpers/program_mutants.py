"""Cell programs that differ from a given one in one place, and are mostly wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    program_of,
)
from tests.helpers.cell_programs import ROWS


def mutants(of: CellProgram) -> Iterator[tuple[str, CellProgram]]:
    """Yield what was changed, and the program that is made so."""
    for at, each in enumerate(of.equations):
        match each.op:
            case Constant(values):
                for text, changed in _constants(values):
                    if all(each.type.lo <= x <= 2 * each.type.hi + 1 for x in changed):
                        yield (
                            f"{text} in {each}",
                            _with(of, at, replace(each, op=changed_to(changed))),
                        )
            case Instruction() as row:
                for text, made in _operands(of, each):
                    yield f"{text} of {row}", _with(of, at, made)
                for other in _relatives(row):
                    yield (
                        f"{other} for {row}",
                        _with(of, at, replace(each, op=other, type=other.result)),
                    )
            case Input():
                pass


def changed_to(values: tuple[int, ...]) -> Constant:
    return Constant(values)


def _with(of: CellProgram, at: int, each: Equation) -> CellProgram:
    equations = list(of.equations)
    # The result stays last, and what the change made useless is left out.
    return program_of([*equations[:at], each, *equations[at + 1 :]])


def _constants(values: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    for i in range(len(values)):
        for by in (1, -1):
            yield f"{by:+d}", (*values[:i], values[i] + by, *values[i + 1 :])
    if len(set(values)) > 1:
        yield "lane moved", (*values[1:], values[0])


def _operands(of: CellProgram, each: Equation) -> Iterator[tuple[str, Equation]]:
    numbers = each.operands
    if len(numbers) > 1:
        for i in range(len(numbers) - 1):
            swapped = [*numbers]
            swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
            if of.equations[swapped[i]].bytes == of.equations[swapped[i + 1]].bytes:
                yield "operands exchanged", replace(each, operands=tuple(swapped))
    for i, number in enumerate(numbers):
        for other in range(max(numbers) + 1):
            x, y = of.equations[number], of.equations[other]
            if other != number and x.bytes == y.bytes and isinstance(y.op, Input):
                moved = (*numbers[:i], other, *numbers[i + 1 :])
                yield f"operand {i} {y.op}", replace(each, operands=moved)


def _relatives(row: Instruction) -> Iterator[Instruction]:
    """Rows that read and give lanes of the same widths, and the same row with another immediate."""
    if row.immediate is not None:
        for by in (1, -1):
            if row.immediate + by in row.immediates:
                yield row.with_immediate(row.immediate + by)

    def shape(of: Instruction) -> tuple[object, ...]:
        reads = tuple((read.type.bits, read.lanes) for read in of.reads)
        return reads, of.result.bits, of.kind, of.has_immediate, of.feature == "neon"

    for other in ROWS:
        if shape(other) == shape(row) and other.with_immediate(0) != row.with_immediate(0):
            made = other if row.immediate is None else other.with_immediate(row.immediate)
            if made.immediate in made.immediates:
                yield made

"""Programs and candidates of the exercises, and how an answer's program is proved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import CourseError, UnmetCheck
from mlc_course.instruction_selection.integers import const, substituted
from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.lower import RegisterProgram, Shuffle, lower
from mlc_course.instruction_selection.prove import Proved, Refuted, prove_cell
from mlc_course.instruction_selection.spec import Cell, Specification, specification
from mlc_course.lessons.lesson_14_instruction_selection.program_text import read_program
from mlc_course.lessons.lesson_14_instruction_selection.standing import input_text


@dataclass(frozen=True)
class Candidate:
    """A specification, and a program that is not quite it."""

    line: str
    program: str

    @property
    def spec(self) -> Specification:
        return specification(self.line)

    def values(self, inputs: Mapping[str, Sequence[int]]) -> tuple[int, int]:
        """Return what is wanted for an input, and what the program computes, exactly."""
        return exactly(self.spec.cell, read_program(self.program, self.spec.cell), inputs)


TO_REFUTE: Mapping[str, Candidate] = {
    "scale": Candidate(
        "s16 A -> u8 O: clamp((A + 32) >> 6, 0, 255)", "packuswb(psraw #6(paddw(A, {32})))"
    ),
    "size": Candidate("s16 A -> s16 O: min(abs(A), 32767)", "pminsw(pabsw(A), {32767})"),
    "blur": Candidate(
        "u8 A, u8 B, u8 D -> u8 O: (A + 2 * B + D + 2) >> 2",
        "pavgb(B, pavgb(D, psubusb(A, {1})))",
    ),
    "dot": Candidate(
        "s32 C, u8*4 A in 0..205, s8*4 B in -80..80 -> s32 C: C + A * B",
        "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))",
    ),
}
THREE = "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))"  # TVM's three instructions
DOT = "s32 C, u8*4 A, s8*4 B -> s32 C: C + A * B"
PACKED = {
    "requant": ("s16 A -> u8 O: clamp((A + 32) >> 6, 0, 255)", "packuswb(pmulhrsw(A, {512}))"),
    "narrow": ("s32 A -> u8 O: clamp(A, 0, 255)", "packuswb(packssdw(A))"),
}


def exactly(
    cell: Cell, program: CellProgram, inputs: Mapping[str, Sequence[int]]
) -> tuple[int, int]:
    """Return the cell's goal and a program's result for an input, on exact integers."""
    lanes = {name: [const(x) for x in values] for name, values in inputs.items()}
    known = {
        variable: value
        for name, variables in cell.inputs.items()
        for variable, value in zip(variables, lanes[name], strict=True)
    }
    (wanted,) = substituted([cell.goal], known)
    (found,) = program.lanes(lanes, cell.result)
    return wanted.lo, found.lo


def read_answer(text: object, cell: Cell, place: str) -> CellProgram:
    """Return the program of an answer; raises ``UnmetCheck`` that says what is wrong with it."""
    if type(text) is not str:
        raise UnmetCheck(
            f"{place}: not a program", expected='a text such as "pavgb(A, B)"', got=text
        )
    try:
        return read_program(text, cell)
    except CourseError as error:
        raise UnmetCheck(
            f"{place}: {error.what}", expected=error.expected, got=error.got, hint=error.hint
        ) from None


def check_proved(cell: Cell, program: CellProgram, place: str, hint: str) -> None:
    """Raise ``UnmetCheck`` with an input unless a program is proved."""
    match prove_cell(cell, program):
        case Proved():
            return
        case Refuted() as verdict:
            raise UnmetCheck(
                f"{place}: it computes something else",
                expected=f"{verdict.wanted} at {input_text(verdict.model)}",
                got=verdict.found,
                hint=hint,
            )
        case unknown:
            raise UnmetCheck(f"{place}: it is not proved", got=unknown, hint=hint)


def packed(name: str, width: int) -> tuple[Specification, CellProgram, RegisterProgram]:
    """Return a loop that ends in packs: its specification, program, and program on registers."""
    line, text = PACKED[name]
    spec = specification(line)
    program = read_program(text, spec.cell, "avx512" if width == 512 else "avx2")
    return spec, program, lower(spec.cell, program, width)


def without_permutation(registers: RegisterProgram) -> RegisterProgram:
    """Return a program whose last step, which moves lanes, is left out."""
    last = registers.steps[-1]
    assert isinstance(last.op, Shuffle)
    return replace(registers, steps=registers.steps[:-1], results=last.operands)


def with_permutation(registers: RegisterProgram, order: Sequence[int]) -> RegisterProgram:
    """Return a program whose last step moves lanes in another order."""
    last = replace(registers.steps[-1], op=Shuffle(tuple(order)))
    return replace(registers, steps=(*registers.steps[:-1], last))


def held_lanes(registers: RegisterProgram) -> list[int]:
    """Return which chunk of outputs each chunk of the last pack's register holds.

    A chunk is a lane of the permutation that follows: 64 bits, or 32.
    """
    last, before = registers.steps[-1], registers.steps[-2]
    size = last.type.bytes // before.type.bytes
    return [before.outputs[at] // size for at in range(0, len(before.outputs), size)]

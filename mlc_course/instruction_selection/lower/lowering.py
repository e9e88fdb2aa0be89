"""From a program on one cell to whole registers: copies, layouts, and the moves between lanes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from mlc_course.errors import SizeError, UsageError, check_known
from mlc_course.instruction_selection.integers import IntType, reread
from mlc_course.instruction_selection.isa import (
    WIDTHS,
    CellProgram,
    Constant,
    Input,
    Instruction,
)
from mlc_course.instruction_selection.lower.layout import (
    Layout,
    chunks_moved,
    extended,
    is_whole,
    natural,
    packed,
    unpacked,
    unpacking,
)
from mlc_course.instruction_selection.lower.register_program import (
    Load,
    OnHalf,
    RegisterOp,
    RegisterProgram,
    Shuffle,
    Splat,
    Step,
    is_arm,
)
from mlc_course.instruction_selection.spec import Cell

# The ways to widen: with zeros within blocks of 128 bits, or from one half of a register.
Way: TypeAlias = Literal["unpack", "extend"]
MOST_TRIED = 64  # choices of a way for each widening that are all tried


@dataclass(frozen=True)
class Value:
    """The registers of a value and their layouts; one register if it is alike for all outputs."""

    registers: tuple[int, ...]
    layouts: tuple[Layout, ...]
    is_alike: bool = False


def lower(cell: Cell, program: CellProgram, width_bits: int) -> RegisterProgram:
    """Return the program on whole registers that computes as many outputs as fit.

    A tile has as many outputs as the narrowest value of the program has cells in a register. Where
    a widening can be done in several ways, the one that costs fewest instructions is taken;
    a register of the result that is not in memory's order is permuted once.

    Raises:
        UsageError: an instruction has no form of that width, there is no such width, or the program
            reads other operands than the cell has.
        SizeError: a register does not hold a whole number of cells of a value.
    """
    check_known("no width of a register", width_bits, WIDTHS)
    for each in program.instructions:
        if width_bits not in each.reach:
            raise UsageError(
                f"{each} has no form of {width_bits} bits",
                expected=" or ".join(map(str, sorted(each.reach))),
                got=width_bits,
            )
    _check_operands(cell, program)
    free = _choices(cell, program)
    made = [
        _Lowering(cell, program, width_bits, dict(zip(free, ways, strict=True)), moved).program()
        for ways in _tried(list(free.values()))
        for moved in ((False, True) if width_bits > 128 else (False,))
    ]
    return min(made, key=lambda each: (each.instructions, len(each.steps)))


def _check_operands(cell: Cell, program: CellProgram) -> None:
    """Check that a program reads operands of the cell, as the cell has them."""
    known = {each.name: each for each in cell.operands}
    for each in program.equations:
        if not isinstance(each.op, Input):
            continue
        check_known(f"{cell.name} has no operand", each.op.name, known)
        own = known[each.op.name]
        if (each.type, each.lanes) != (own.type, own.lanes):
            raise UsageError(
                f"the program is for another cell than that of {cell.name}",
                expected=f"{own.lanes} lanes of {own.type} in {own.name}",
                got=f"{each.lanes} lanes of {each.type}",
            )
    if program.result.bytes != cell.result.bytes:
        raise UsageError(
            f"the program has another result than {cell.name}",
            expected=f"{cell.result.bytes} bytes, as {cell.result}",
            got=f"{program.result.lanes} lanes of {program.result.type}",
        )


def _choices(cell: Cell, program: CellProgram) -> dict[int, tuple[Way, ...]]:
    """Return the ways in which each widening of a program may be done."""
    values = program.values(cell.inputs)
    found: dict[int, tuple[Way, ...]] = {}
    for number, each in enumerate(program.equations):
        if not isinstance(each.op, Instruction) or each.op.kind != "widen":
            continue
        read = each.op.reads[0].type
        operand = each.operands[0]
        lanes = reread(values[operand], program.equations[operand].type, read)
        fills_with_zeros = not is_arm(each.op) and all(x.lo >= 0 for x in lanes)
        found[number] = ("unpack", "extend") if fills_with_zeros else ("extend",)
    return found


def _tried(ways: Sequence[tuple[Way, ...]]) -> Iterator[tuple[Way, ...]]:
    """Yield ways for all widenings: all combinations if they are few, else all the same way."""
    combinations = 1
    for each in ways:
        combinations *= len(each)
    if combinations <= MOST_TRIED:
        yield from product(*ways)
    else:
        yield tuple(each[0] for each in ways)
        yield tuple(each[-1] for each in ways)


class _Lowering:
    """One way to lower: which widenings unpack, and who gives way where orders differ."""

    def __init__(
        self,
        cell: Cell,
        program: CellProgram,
        width_bits: int,
        ways: Mapping[int, Way],
        prefers_moved: bool,
    ) -> None:
        self.cell = cell
        self.source = program
        self.size = width_bits // 8
        self.ways = ways
        self.prefers_moved = prefers_moved
        self.steps: list[Step] = []
        self.known: dict[Step, int] = {}
        self.alike = _alike(cell, program)
        varying = [
            each.bytes
            for each, alike in zip(program.equations, self.alike, strict=True)
            if not alike
        ]
        own = [each.bytes for each in cell.operands if not each.shared]
        self.unit = min([*varying, *own, cell.result.bytes])
        self.outputs = self.size // self.unit
        for bytes_of_cell in {each.bytes for each in program.equations}:
            if self.size % bytes_of_cell:
                raise SizeError(
                    f"{cell.name}: a register does not hold whole cells",
                    expected=f"a divisor of {self.size} bytes",
                    got=f"a value of {bytes_of_cell} bytes in a cell",
                )

    def program(self) -> RegisterProgram:
        values: list[Value] = []
        for number in range(len(self.source.equations)):
            values.append(self.value(number, values))
        last = values[-1]
        width = self.source.result.bytes
        count = max(1, self.outputs * width // self.size)
        wanted = [natural(i, self.size) for i in range(count)]
        results = self.arranged(last, wanted, width)
        return self.without_unused(results)

    def value(self, number: int, values: Sequence[Value]) -> Value:
        """Fill the registers of an equation's value."""
        each = self.source.equations[number]
        match each.op:
            case Input(name):
                if self.alike[number]:
                    return self.one(Splat(name), each.type)
                count = self.outputs * each.bytes // self.size
                layouts = tuple(natural(i, self.size) for i in range(count))
                numbers = tuple(
                    self.fill(Load(name, i), (), each.type, layout, each.bytes)
                    for i, layout in enumerate(layouts)
                )
                return Value(numbers, layouts)
            case Constant() as constant:
                return self.one(constant, each.type)
            case Instruction() as instruction:
                operands = [values[x] for x in each.operands]
                made = self.computed(number, instruction, operands, each.bytes)
                return self.first_only(made, each.bytes) if self.alike[number] else made

    def computed(
        self, number: int, instruction: Instruction, operands: Sequence[Value], width: int
    ) -> Value:
        """Fill the registers of an instruction's result; ``width`` is the bytes of its cells."""
        read = instruction.reads[0]
        match instruction.kind:
            case "lane":
                layouts, columns = self.aligned(instruction, operands, width)
                filled = [
                    (instruction, column, layout)
                    for layout, column in zip(layouts, columns, strict=True)
                ]
                return self.filled(filled, instruction.result, width)
            case "narrow":
                filled = [
                    (instruction, (x, y), packed(first, second, read.bytes))
                    for (x, first), (y, second) in self.pairs(operands[0], read.bytes, 2 * width)
                ]
                return self.filled(filled, instruction.result, width)
            case "interleave":
                return self.unpacked(instruction, operands, read.type, width)
            case "widen" if self.ways[number] == "unpack":
                unsigned = IntType(signed=False, bits=read.type.bits)
                return self.unpacked(instruction, operands, unsigned, width)
            case "widen" | "long":
                layouts, columns = self.aligned(instruction, operands, width // 2)
                halves = [
                    (OnHalf(instruction, upper), column, extended(layout, read.bytes, upper))
                    for layout, column in zip(layouts, columns, strict=True)
                    for upper in (0, 1)
                ]
                return self.filled(halves, instruction.result, width)

    def unpacked(
        self, instruction: Instruction, operands: Sequence[Value], of: IntType, width: int
    ) -> Value:
        """Take lanes of two registers in turns, or lanes and zeros."""
        layouts, columns = self.aligned(instruction, operands, width // 2)
        zero = self.fill(Constant((0,)), (), of) if len(operands) == 1 else None
        filled = [
            (
                Shuffle(unpacking(of.bytes, self.size, upper)),
                column if zero is None else (*column, zero),
                unpacked(layout, of.bytes, upper),
            )
            for layout, column in zip(layouts, columns, strict=True)
            for upper in (0, 1)
        ]
        return self.filled(filled, of, width)

    def filled(
        self,
        steps: Sequence[tuple[RegisterOp, tuple[int, ...], Layout]],
        of: IntType,
        width: int,
    ) -> Value:
        """Fill the registers of a value, each with a layout; ``width`` is its cells' bytes."""
        numbers = [self.fill(op, read, of, layout, width) for op, read, layout in steps]
        return Value(tuple(numbers), tuple(layout for _, _, layout in steps))

    def aligned(
        self, instruction: Instruction, operands: Sequence[Value], width: int
    ) -> tuple[list[Layout], list[tuple[int, ...]]]:
        """Return one layout for all operands, and the registers of each step in it."""
        whole = max(read.bytes for read in instruction.reads)
        if any(read.bytes != whole for read in instruction.reads):
            raise UsageError(
                f"{instruction} reads operands of different widths for one lane",
                expected=f"{whole} bytes of each",
                got=instruction.signature,
            )
        varying = [each for each in operands if not each.is_alike]
        count = max((len(each.registers) for each in varying), default=1)
        in_order = [natural(i, self.size) for i in range(count)]
        orders = [
            list(each.layouts)
            for each in varying
            if all(is_whole(layout, whole) for layout in each.layouts)
        ]
        moved = [order for order in orders if order != in_order]
        layouts = in_order
        if moved and (self.prefers_moved or in_order not in orders):
            layouts = moved[0]
        columns = [self.arranged(each, layouts, width) for each in operands]
        return layouts, list(zip(*columns, strict=True))

    def pairs(
        self, operand: Value, size: int, width: int
    ) -> list[tuple[tuple[int, Layout], tuple[int, Layout]]]:
        """Return neighbouring registers and their layouts, two by two, in whole lanes."""
        numbers, layouts = operand.registers, operand.layouts
        if operand.is_alike:
            numbers, layouts = numbers * 2, (natural(0, self.size), natural(1, self.size))
        elif not all(is_whole(layout, size) for layout in layouts):
            layouts = tuple(natural(i, self.size) for i in range(len(layouts)))
            numbers = tuple(self.arranged(operand, layouts, width))
        held = list(zip(numbers, layouts, strict=True))
        return list(zip(held[::2], held[1::2], strict=True))

    def one(self, op: Splat | Constant, of: IntType) -> Value:
        """Fill one register that serves for all outputs."""
        return Value((self.fill(op, (), of),), (natural(0, self.size),), is_alike=True)

    def first_only(self, value: Value, width: int) -> Value:
        """Return one register, in memory's order, of a value that is alike for all outputs."""
        alike = Value(value.registers[:1], value.layouts[:1], is_alike=True)
        wanted = natural(0, self.size)
        return Value(tuple(self.arranged(alike, [wanted], width)), (wanted,), is_alike=True)

    def arranged(self, value: Value, wanted: Sequence[Layout], width: int) -> list[int]:
        """Return registers that hold a value in these layouts; ``width`` is its cells' bytes."""
        held = dict(zip(value.registers, value.layouts, strict=True))
        period = width if value.is_alike else None
        return [self.gathered(held, layout, period, width) for layout in wanted]

    def gathered(
        self, held: Mapping[int, Layout], wanted: Layout, period: int | None, width: int
    ) -> int:
        """Return a register in the layout that is wanted, moving lanes where none is."""
        for register, layout in held.items():
            if layout == wanted or (
                period and all((x - y) % period == 0 for x, y in zip(layout, wanted, strict=True))
            ):
                return register
        size, places = chunks_moved(held, wanted, period)
        of = IntType(signed=False, bits=8 * size)
        first, *others = dict.fromkeys(register for register, _ in places)
        made = first
        at = [lane if register == first else None for register, lane in places]  # in ``made``
        if not others:
            return self.fill(Shuffle(tuple(x or 0 for x in at)), (made,), of, wanted, width)
        for other in others:
            indices = tuple(
                len(places) + lane if register == other else here or 0
                for (register, lane), here in zip(places, at, strict=True)
            )
            made = self.fill(Shuffle(indices), (made, other), of, wanted, width)
            at = [
                i if here is not None or register == other else None
                for i, ((register, _), here) in enumerate(zip(places, at, strict=True))
            ]
        return made

    def fill(
        self,
        op: RegisterOp,
        operands: tuple[int, ...],
        of: IntType,
        layout: Layout = (),
        width: int = 1,
    ) -> int:
        """Return the register that an operation fills, the same one for the same operation."""
        outputs = [x // width for x in layout[:: min(of.bytes, width)]]
        step = Step(op, operands, of, tuple(dict.fromkeys(outputs)))
        if step not in self.known:
            self.known[step] = len(self.steps)
            self.steps.append(step)
        return self.known[step]

    def without_unused(self, results: Sequence[int]) -> RegisterProgram:
        used = set(results)
        for number in range(len(self.steps) - 1, -1, -1):
            if number in used:
                used |= set(self.steps[number].operands)
        at = {old: new for new, old in enumerate(sorted(used))}
        steps: list[Step] = []
        for old in at:
            each = self.steps[old]
            operands = tuple(at[x] for x in each.operands)
            alike = not isinstance(each.op, Load) and not any(steps[x].outputs for x in operands)
            steps.append(Step(each.op, operands, each.type, () if alike else each.outputs))
        return RegisterProgram(
            self.cell.name,
            tuple(steps),
            tuple(at[x] for x in results),
            self.cell.result,
            self.outputs,
            8 * self.size,
        )


def _alike(cell: Cell, program: CellProgram) -> list[bool]:
    """Return for each equation whether its value is the same for all outputs."""
    shared = {each.name for each in cell.operands if each.shared}
    found: list[bool] = []
    for each in program.equations:
        if isinstance(each.op, Input):
            found.append(each.op.name in shared)
        else:
            found.append(all(found[x] for x in each.operands))
    return found

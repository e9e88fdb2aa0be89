"""A register program as a tensor intrinsic of TVM.

Its description is the specification's own loop, its implementation one ``T.let`` a register. TVM
compares the description with the program that is tensorized, and believes the implementation.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from mlc_course.errors import MachineError, UsageError
from mlc_course.instruction_selection.integers import IntType
from mlc_course.instruction_selection.isa import Constant, Instruction, register_types, tir_text
from mlc_course.instruction_selection.lower import (
    Load,
    OnHalf,
    RegisterProgram,
    Shuffle,
    Splat,
)
from mlc_course.instruction_selection.spec import Place, Specification
from mlc_course.tensor_program.tir import (
    PrimFunc,
    TensorIntrin,
    intrinsic_number,
    same_structure,
    tvm,
)

_TAKEN = re.compile(r"T|v\d+")
_INTRINSIC = re.compile(r'"(llvm\.[\w.]+)"')


def intrinsic(spec: Specification, program: RegisterProgram, level: str) -> str:
    """Register a register program as an intrinsic, and return the name to tensorize with.

    The name contains the level, the width and a digest of the two programs, so that different
    programs have different names. Registering the same one again changes nothing.

    Raises:
        MachineError: this LLVM lacks an intrinsic that the program needs.
        UsageError: lanes that a register holds are not neighbours in memory.
    """
    text = source(spec, program)
    description = spec.prim_func(program.outputs, offset_factor=1)
    digest = hashlib.sha256(f"{description.script()}\n{text}".encode()).hexdigest()[:16]
    name = f"mlc_course_{spec.name}_{level}_{program.width_bits}_{digest}"
    known = TensorIntrin.get(name, allow_missing=True)
    if known is None:
        TensorIntrin.register(name, description, tvm.read_script(text))
    else:
        assert same_structure(known.desc, description)
    return name


def implementation(spec: Specification, program: RegisterProgram) -> PrimFunc:
    """Return a register program as a function in TensorIR; raises what ``intrinsic`` raises."""
    return tvm.read_script(source(spec, program))


def source(spec: Specification, program: RegisterProgram) -> str:
    """Return a register program as TVMScript; raises what ``intrinsic`` raises."""
    return _Text(spec, program).source()


class _Text:
    """The lines of an implementation; ``held`` are the types of the lanes of each register."""

    def __init__(self, spec: Specification, program: RegisterProgram) -> None:
        self.spec = spec
        self.program = program
        self.size = program.register_bytes
        self.held: dict[int, IntType] = {}
        self.names = _names([each.name for each in spec.tile.buffers])

    def source(self) -> str:
        tile, outputs = self.spec.tile, self.program.outputs
        named = {x.name: replace(x, name=self.names[x.name]) for x in tile.buffers}
        parameters = ", ".join(each.declaration(outputs) for each in named.values())
        reads = ", ".join(named[name].region(outputs) for name in tile.reads)
        written = named[tile.result.buffer].region(outputs)
        lines = [
            "@T.prim_func(s_tir=True)",
            f"def main({parameters}):",
            '    with T.sblock("root"):',
            f"        T.reads({reads})",
            f"        T.writes({written})",
            *(f"        {line}" for line in self.lines()),
        ]
        return "\n".join(lines) + "\n"

    def lines(self) -> Iterator[str]:
        program = self.program
        for number in range(len(program.steps)):
            self.held[number] = program.steps[number].type
            if self.is_whole(number):
                yield f"v{number}: T.let = {self.value(number)}"
        count = self.size // program.result.bytes
        for i, number in enumerate(program.results):
            indices = self.spec.result.at(i * count)
            self.check_row(self.spec.result, 1, "the result")
            *outer, last = indices
            at = ", ".join([*map(str, outer), f"T.ramp(T.int32({last}), 1, {count})"])
            buffer = self.names[self.spec.result.buffer]
            yield f"{buffer}[{at}] = {self.use(number, program.result)}"

    def is_whole(self, number: int) -> bool:
        """Return whether a register is used as a whole, not just the halves of what it loads."""
        program = self.program
        if not isinstance(program.steps[number].op, Load) or number in program.results:
            return True
        of = program.steps[number].type
        return not all(
            isinstance(each.op, OnHalf)
            and each.op.instruction.kind == "widen"
            and each.op.instruction.reads[0].type == of
            for each in program.steps
            if number in each.operands
        )

    def value(self, number: int) -> str:
        """Return the expression of a register."""
        step = self.program.steps[number]
        match step.op:
            case Load(operand, register):
                return self.load(operand, register * self.lanes(step.type), self.lanes(step.type))
            case Splat(operand):
                return self.splat(operand)
            case Constant(values):
                return self.constant(values, step.type)
            case Instruction() as instruction:
                types = register_types(instruction)
                operands = [self.use(x, of) for x, of in zip(step.operands, types, strict=True)]
                return self.instruction(number, instruction, operands)
            case OnHalf(instruction, upper):
                return self.on_half(number, instruction, upper)
            case Shuffle(indices):
                operands = [self.use(x, step.type) for x in step.operands]
                return f"T.Shuffle([{', '.join(operands)}], {list(indices)})"
        assert_never(step.op)

    # --- memory -------------------------------------------------------------------------------

    def load(self, operand: str, first: int, count: int) -> str:
        """Return the load of ``count`` lanes of an operand from lane ``first`` of the tile on."""
        of = next(each for each in self.spec.cell.operands if each.name == operand)
        place = self.spec.places[operand]
        self.check_row(place, of.lanes, operand)
        at = ", ".join(map(str, place.at(*divmod(first, of.lanes))))
        return f'{self.names[place.buffer]}.vload([{at}], "{vector(of.type, count)}")'

    def check_row(self, place: Place, lanes: int, name: str) -> None:
        """Check that the lanes of all outputs are neighbours in memory, in their order."""
        buffer = self.spec.tile.buffer(place.buffer)
        shape = buffer.shape(self.program.outputs)
        steps = [1]
        for extent in reversed(shape[1:]):
            steps.insert(0, steps[0] * extent)
        if buffer.strided and any((*place.per_output[:-1], *place.per_lane[:-1])):
            steps[:-1] = [0] * (len(steps) - 1)  # rows lie anywhere: no step leads to the next
        per_output, per_lane = (
            sum(x * step for x, step in zip(moved, steps, strict=True))
            for moved in (place.per_output, place.per_lane)
        )
        if per_output != lanes or (lanes > 1 and per_lane != 1):
            raise UsageError(
                f"{self.spec.name}: lanes of {name} are not neighbours in memory",
                expected=f"each output {lanes} elements after the one before it",
                got=f"{per_output} elements, and {per_lane} from lane to lane",
                hint="pack the buffer first",
            )

    def splat(self, operand: str) -> str:
        of = next(each for each in self.spec.cell.operands if each.name == operand)
        place = self.spec.places[operand]
        if of.lanes > 1 and place.per_lane[-1] != 1:
            raise UsageError(
                f"{self.spec.name}: lanes of {operand} are not neighbours in memory",
                expected="1 element from lane to lane",
                got=place.per_lane[-1],
                hint="pack the buffer first",
            )
        at = ", ".join(map(str, place.at()))
        if of.lanes == 1:
            return f"T.broadcast({self.names[place.buffer]}[{at}], {self.lanes(of.type)})"
        lanes = f'{self.names[place.buffer]}.vload([{at}], "{vector(of.type, of.lanes)}")'
        if of.bytes > 8:
            indices = list(range(of.lanes)) * (self.size // of.bytes)
            return f"T.Shuffle([{lanes}], {indices})"
        word = f'T.reinterpret({lanes}, dtype="int{8 * of.bytes}")'
        word = f"T.broadcast({word}, {self.size // of.bytes})"
        return f'T.reinterpret({word}, dtype="{vector(of.type, self.lanes(of.type))}")'

    # --- registers ----------------------------------------------------------------------------

    def lanes(self, of: IntType) -> int:
        return self.size // of.bytes

    def use(self, number: int, of: IntType) -> str:
        """Return a register, read as lanes of a type."""
        if self.held[number] == of:
            return f"v{number}"
        return f'T.reinterpret(v{number}, dtype="{vector(of, self.lanes(of))}")'

    def constant(self, values: Sequence[int], of: IntType) -> str:
        count = self.lanes(of)
        if len(set(values)) == 1:
            return f"T.broadcast({_number(values[0], of)}, {count})"
        bits = of.bits * len(values)
        if bits > 64:
            lanes = ", ".join(_number(x, of) for x in values)
            return f"T.Shuffle([{lanes}], {list(range(len(values))) * (count // len(values))})"
        word = sum((x % (1 << of.bits)) << (of.bits * i) for i, x in enumerate(values))
        wide = IntType(signed=True, bits=bits)
        repeated = f"T.broadcast({_number(word, wide)}, {self.size // wide.bytes})"
        return f'T.reinterpret({repeated}, dtype="{vector(of, count)}")'

    def instruction(
        self, number: int, instruction: Instruction, operands: Sequence[str], half: int = 0
    ) -> str:
        """Return the expression of an instruction, or of the one for half of its result."""
        text = tir_text(instruction, self.program.width_bits, operands, half)
        for name in _INTRINSIC.findall(text):
            if not intrinsic_number(name):
                raise MachineError(
                    f"this LLVM has no intrinsic {name}",
                    expected=f"the name of an intrinsic for {instruction}",
                    got=name,
                    hint="LLVM drops intrinsics that it can write in its own vector language",
                )
        if text.startswith("T.Select"):
            # TVM's passes take a vector of int32 for an index: lanes are unsigned from here on.
            self.held[number] = of = IntType(signed=False, bits=instruction.result.bits)
            return f'T.reinterpret({text}, dtype="{vector(of, self.lanes(of))}")'
        return text

    def on_half(self, number: int, instruction: Instruction, upper: int) -> str:
        """Return the expression of an instruction on half of the lanes of its operands.

        An extension of what was just loaded loads only that half: x86 does both in one instruction.
        """
        step = self.program.steps[number]
        of, to = instruction.reads[0].type, instruction.result
        (first, *_) = step.operands
        loaded = self.program.steps[first]
        half = self.lanes(of) // 2
        if instruction.kind == "widen" and isinstance(loaded.op, Load) and loaded.type == of:
            at = loaded.op.register * self.lanes(of) + upper * half
            return f'T.Cast("{vector(to, half)}", {self.load(loaded.op.operand, at, half)})'
        operands = [self.use(x, of) for x in step.operands]
        if instruction.reach[self.program.width_bits] == "unpack":  # with zeros: an extension
            which = list(range(upper * half, (upper + 1) * half))
            return f'T.Cast("{vector(to, half)}", T.Shuffle([{operands[0]}], {which}))'
        return self.instruction(number, instruction, operands, upper)


def _names(buffers: Sequence[str]) -> dict[str, str]:
    """Return names of buffers in the text, where v0, v1, ... are registers and T is TVMScript."""
    found: dict[str, str] = {}
    for each in buffers:
        name = each
        while (
            _TAKEN.fullmatch(name) or name in found.values() or (name != each and name in buffers)
        ):
            name += "_"
        found[each] = name
    return found


def vector(of: IntType, lanes: int) -> str:
    """Return TVM's name of a vector type."""
    return f"{of.dtype}x{lanes}"


def _number(value: int, of: IntType) -> str:
    """Return a number of a type; TVMScript reads no number above those of 64 bits with a sign."""
    wrapped = of.wrapped(value)
    if of.bits == 64 and wrapped >= 1 << 63:
        return f'T.reinterpret(T.int64({wrapped - (1 << 64)}), dtype="uint64")'
    return f"T.{of.dtype}({wrapped})"

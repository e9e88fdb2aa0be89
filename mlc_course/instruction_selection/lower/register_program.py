"""A program over whole vector registers: a flat list of steps, each of which makes one register."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeAlias, assert_never

from mlc_course.instruction_selection.integers import IntType
from mlc_course.instruction_selection.isa import BLOCK, LEVELS, SUFFIXES, Constant, Instruction
from mlc_course.instruction_selection.lower.layout import unpacking

ARM_FEATURES = LEVELS["neon"].features


@dataclass(frozen=True)
class Load:
    """The lanes of an operand that lie in its register number ``register``."""

    operand: str
    register: int

    def __str__(self) -> str:
        return f"load {self.operand}[{self.register}]"


@dataclass(frozen=True)
class Splat:
    """The lanes of an operand that all outputs share, again and again."""

    operand: str

    def __str__(self) -> str:
        return f"splat {self.operand}"


@dataclass(frozen=True)
class OnHalf:
    """An instruction whose result is twice as wide, on the lower (0) or upper (1) half of lanes."""

    instruction: Instruction
    upper: int

    def __str__(self) -> str:
        first, dot, rest = str(self.instruction).partition(".")
        if is_arm(self.instruction):
            return f"{first}{'2' if self.upper else ''}{dot}{rest}"
        of = self.instruction.reads[0].type
        wide = SUFFIXES[2 * of.bits]
        return f"pmov{'s' if of.signed else 'z'}x{SUFFIXES[of.bits]}{wide} of half {self.upper}"


@dataclass(frozen=True)
class Shuffle:
    """Lanes of one or two registers in another order; indices count through both registers."""

    indices: tuple[int, ...]


RegisterOp: TypeAlias = "Load | Splat | Constant | Instruction | OnHalf | Shuffle"


@dataclass(frozen=True)
class Step:
    """One register: the operation that fills it and the numbers of the registers that it reads.

    An operand whose lanes are of another type than the operation reads is reread: the same bits as
    lanes of that type. ``outputs`` are the outputs of the tile whose lanes it holds, in its order;
    there are none where all outputs have the same lanes.
    """

    op: RegisterOp
    operands: tuple[int, ...]
    type: IntType
    outputs: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class RegisterProgram:
    """Steps that compute ``outputs`` outputs of a loop in registers of ``width_bits`` bits.

    Register i is the one that step i fills. ``results`` are the registers that are stored, in the
    order of memory, as lanes of the type ``result``.
    """

    name: str
    steps: tuple[Step, ...]
    results: tuple[int, ...]
    result: IntType
    outputs: int
    width_bits: int

    @property
    def register_bytes(self) -> int:
        return self.width_bits // 8

    @property
    def features(self) -> tuple[str, ...]:
        """The features of a processor that the instructions need, as LLVM names them."""
        found = {each.feature: None for each in self._instructions()}
        if self.width_bits == 512:
            found |= dict.fromkeys(("avx512f", "avx512bw"))
        elif any(each.startswith("avx512") for each in found):
            found["avx512vl"] = None
        return tuple(found)

    @property
    def is_for_arm(self) -> bool:
        return any(is_arm(each) for each in self._instructions())

    @property
    def instructions(self) -> int:
        """The number of instructions that a tile executes, not counting loads and stores."""
        return sum(self.executed(number) for number in range(len(self.steps)))

    def executed(self, number: int) -> int:
        """Return how many instructions a step executes.

        Registers that a loop fills once count as none. A permutation of lanes below 32 bits, or of
        two registers in lanes below 128 bits, has no instruction of its own in AVX2.
        """
        step = self.steps[number]
        match step.op:
            case Load() | Splat() | Constant():
                return 0
            case Instruction() as instruction:
                # NEON narrows into the halves of a register; AVX-512 compares into a mask first.
                reach = instruction.reach[self.width_bits]
                in_two = "mask(" if self.width_bits == 512 else "halves("
                return 2 if reach.startswith(in_two) else 1
            case OnHalf(instruction, upper):
                from_memory = isinstance(self.steps[step.operands[0]].op, Load)
                return 2 if upper and not from_memory and not is_arm(instruction) else 1
            case Shuffle(indices):
                return cost_of_shuffle(indices, step.type.bytes, self.register_bytes)
        assert_never(step.op)

    def _instructions(self) -> Iterator[Instruction]:
        for step in self.steps:
            if isinstance(step.op, Instruction):
                yield step.op
            elif isinstance(step.op, OnHalf):
                yield step.op.instruction

    def text_of(self, number: int) -> str:
        """Return the operation of a step, such as ``packuswb v3, v4``."""
        step = self.steps[number]
        if isinstance(step.op, Constant):
            return f"constant {step.op}"
        name = str(step.op)
        if isinstance(step.op, Shuffle):
            name = name_of_shuffle(step, self.register_bytes, for_arm=self.is_for_arm)
        read = ", ".join(f"v{x}" for x in step.operands)
        return f"{name} {read}".strip()

    def sentence_of(self, number: int) -> str:
        """Return what a step does, as a sentence for a reader."""
        step = self.steps[number]
        count = self.register_bytes // step.type.bytes
        match step.op:
            case Load(operand, _):
                return f"Load {count} lanes of {operand}: outputs {ranges(step.outputs)}."
            case Splat(operand):
                return f"Repeat the lanes of {operand}, which all outputs share."
            case Constant():
                return f"Fill the register with the constant {step.op}."
            case Instruction() as instruction if instruction.kind == "narrow":
                what = f"Make lanes half as wide, {_meaning(instruction)}"
                return f"{what}: outputs {ranges(step.outputs)}."
            case Instruction() as instruction:
                return f"{count} times {_meaning(instruction)}."
            case OnHalf(instruction, upper):
                half = "upper" if upper else "lower"
                what = "Widen" if instruction.kind == "widen" else f"{_meaning(instruction)} of"
                return f"{what} the {half} half of the lanes: outputs {ranges(step.outputs)}."
            case Shuffle(indices):
                if _is_unpacking(indices, step.type.bytes, self.register_bytes):
                    text = "Take lanes of two registers in turns"
                else:
                    text = f"Move lanes of {8 * step.type.bytes} bits to other places"
                return f"{text}: outputs {ranges(step.outputs)}."
        assert_never(step.op)

    def listing(self, *, explain: bool = False) -> str:
        """Return the steps as numbered lines, each with a sentence if ``explain``."""
        texts = [f"v{i} = {self.text_of(i)}" for i in range(len(self.steps))]
        types = [f"{s.type} x {self.register_bytes // s.type.bytes}" for s in self.steps]
        widths = max(map(len, texts), default=0), max(map(len, types), default=0)
        lines = [
            f"{i + 1:3}  {text:{widths[0]}}  {of:{widths[1]}}"
            + (f"  {self.sentence_of(i)}" if explain else "")
            for i, (text, of) in enumerate(zip(texts, types, strict=True))
        ]
        stored = ", ".join(f"v{x}" for x in self.results)
        last = f"     store {stored}: {self.outputs} outputs of {self.result}"
        return "\n".join(line.rstrip() for line in [*lines, last])

    def __str__(self) -> str:
        return self.listing()


def is_arm(instruction: Instruction) -> bool:
    """Return whether an instruction is one of AArch64."""
    return instruction.feature in ARM_FEATURES


def cost_of_shuffle(indices: Sequence[int], size: int, register_bytes: int) -> int:
    """Return how many instructions move lanes of ``size`` bytes in this order."""
    if _is_unpacking(indices, size, register_bytes) or register_bytes == 64:
        return 1  # AVX-512 has permutations of one and of two registers for every lane
    if max(indices) < len(indices):
        return 1 if size >= 4 else 3
    return 1 if _moves_blocks(indices, size) else 3


def _moves_blocks(indices: Sequence[int], size: int) -> bool:
    """Return whether whole blocks of 128 bits are moved."""
    per = BLOCK // (8 * size)
    return all(
        indices[i] % per == 0 and list(indices[i : i + per]) == [indices[i] + j for j in range(per)]
        for i in range(0, len(indices), per)
    )


def _is_unpacking(indices: Sequence[int], size: int, register_bytes: int) -> bool:
    return any(tuple(indices) == unpacking(size, register_bytes, upper) for upper in (0, 1))


_UNPACKED = {1: "bw", 2: "wd", 4: "dq", 8: "qdq"}


def name_of_shuffle(step: Step, register_bytes: int, *, for_arm: bool) -> str:
    """Return the mnemonic of the instruction that a shuffle is, or that is nearest to it."""
    assert isinstance(step.op, Shuffle)
    indices, size = step.op.indices, step.type.bytes
    for upper in (0, 1):
        if indices == unpacking(size, register_bytes, upper):
            arm = f"zip{upper + 1}.{8 * size}"
            return arm if for_arm else f"punpck{'h' if upper else 'l'}{_UNPACKED[size]}"
    if for_arm:
        return f"tbl.{8 * size}"
    if len(step.operands) == 1:
        return f"vperm{SUFFIXES[8 * size]}"
    if register_bytes == 32 and _moves_blocks(indices, size):
        return "vperm2i128"
    return f"vpermt2{SUFFIXES[8 * size]}"


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers as text, neighbours together: ``0-7, 16-23``."""
    once = list(dict.fromkeys(numbers))
    if not once:
        return "all alike"
    texts = []
    for _, pairs in groupby(enumerate(once), key=lambda pair: pair[1] - pair[0]):
        found = [number for _, number in pairs]
        texts.append(f"{found[0]}-{found[-1]}" if len(found) > 1 else str(found[0]))
    return ", ".join(texts)


def _meaning(instruction: Instruction) -> str:
    return re.sub(r"^\((.*)\)$", r"\1", repr(instruction.formula))

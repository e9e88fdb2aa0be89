"""One instruction alone, as a TensorIR function over arrays; its assembly; and what it should give.

The function loads registers from its arrays, applies the instruction by its ``reach``, and stores:
everything between the arrays and the instruction is what a program of TVM would do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from mlc_course.instruction_selection.integers import IntType
from mlc_course.instruction_selection.isa import (
    LEVELS,
    Instruction,
    Level,
    register_dtype,
    register_types,
    registers_of_result,
    tir_text,
)
from mlc_course.instruction_selection.semantics.inputs import (
    COUNT,
    Array,
    Trials,
    trials,
    values_of,
    variables_of,
)
from mlc_course.instruction_selection.semantics.lane_order import (
    lane_order,
    lanes_written,
    registers_read,
)
from mlc_course.tensor_program.tir import PrimFunc, Target, tvm

UNPACKS = {8: ("punpcklbw", "punpckhbw"), 16: ("punpcklwd", "punpckhwd")}
# The same bits for lanes of every width; LLVM picks one by what is nearby.
BITWISE = {"pand": "and", "por": "or", "pxor": "xor"}
EXTENDS = {("pmovsx", 8): "pmovsxbw", ("pmovsx", 16): "pmovsxwd"}
# Loads, stores, copies and zeros: whatever stands around an instruction.
AROUND = re.compile(
    r"v?(mov[adu]\w*|mov[dq]|pbroadcastq|inserti\w*|extracti\w*|zeroupper)$|(ldr|str|ldp|stp|ldur|stur|ld1|st1"
    r"|movi|mov|ext|dup)$"
)
VECTOR = re.compile(r"%[xyz]mm|\b[vq]\d+\b")
ZERO = re.compile(r"v?(pxor\w?|xorps)\s+%(\w+), %\2, %\w+$")


def mnemonics(row: Instruction) -> tuple[str, ...]:
    """Return what an assembler calls the instructions of a row, for lanes of 128 bits."""
    bits = row.reads[0].type.bits
    if row.family.startswith("punpck"):
        return UNPACKS[bits]
    if row.family.startswith("pmovsx"):
        return (EXTENDS["pmovsx", bits],)
    name = row.name.partition(".")[0]
    if "llvm.aarch64" in row.reach.get(128, "") or row.feature in ("neon", "dotprod", "i8mm"):
        if row.kind in ("long", "narrow"):
            return name, f"{name}2"
        if row.kind == "widen":  # the assembler's name of a shift by 0
            return f"{name[0]}shll", f"{name[0]}shll2"
    return (name,)


def in_assembly(row: Instruction) -> re.Pattern[str]:
    """Return what a row's instructions are called in the code that LLVM writes."""
    if row.name in BITWISE:
        return re.compile(rf"v(p{BITWISE[row.name]}[dq]?|{BITWISE[row.name]}p[sd])$")
    return re.compile(f"v?({'|'.join(mnemonics(row))})$")


@dataclass(frozen=True)
class Alone:
    """A row with its immediate at one width, the trials, and the values that its meaning gives."""

    row: Instruction
    width: int
    tried: Trials
    wanted: Array  # lanes in memory order

    @property
    def name(self) -> str:
        """A name for a function, different for each row, immediate and width."""
        types = "_".join(f"{r.type}x{r.lanes}" for r in self.row.reads)
        text = f"{self.row.name}_{types}_{self.row.immediate}_{self.width}"
        return re.sub(r"\W", "_", text)

    @property
    def steps(self) -> int:
        """The number of times that the instruction is applied."""
        return len(self.wanted) // lanes_written(self.row, self.width)

    def operands(self) -> list[Array]:
        """Return the arrays that the registers are loaded from, one for each operand."""
        found, at = [], 0
        for read in self.row.reads:
            part = self.tried.values[at : at + read.lanes]
            found.append(np.ascontiguousarray(np.stack(part, axis=1).reshape(-1)))
            at += read.lanes
        return found

    def in_memory(self, stored: Array) -> Array:
        """Return lanes in memory order, from an array of registers as they were stored."""
        order = np.argsort(lane_order(self.row, self.width))
        lanes: Array = stored.reshape(self.steps, -1)[:, order].reshape(-1)
        return lanes

    def empty(self) -> Array:
        """Return an array for the result: what it holds before is no right answer."""
        return np.full_like(self.wanted, 0x55)

    def text(self) -> str:
        """Return the function as TVMScript: operands first, then the result."""
        row, width = self.row, self.width
        types = register_types(row)
        count = registers_read(row)
        arrays = [
            f'{x}: T.Buffer(({self.steps * count * width // r.type.bits},), "{r.type.dtype}")'
            for x, r in zip("ABC", row.reads, strict=False)
        ]
        lanes = width // row.result.bits
        parts = registers_of_result(row)
        arrays.append(f'O: T.Buffer(({len(self.wanted)},), "{row.result.dtype}")')
        registers = [(x, i) for x in "ABC"[: len(row.reads)] for i in range(count)]
        loads = [
            _load(f"step * {count} + {i}" if i else f"step * {count}", x, of, width)
            for (x, i), of in zip(registers, types, strict=True)
        ]
        stores = [
            f"        O[T.ramp(step * {parts * lanes} + {part * lanes}, 1, {lanes})] = "
            + tir_text(row, width, loads, part)
            for part in range(parts)
        ]
        head = f"@T.prim_func(s_tir=True)\ndef {self.name}({', '.join(arrays)}):"
        return "\n".join([head, f"    for step in T.serial({self.steps}):", *stores, ""])

    def function(self) -> PrimFunc:
        return tvm.read_script(self.text()).with_attr("global_symbol", self.name)


def _load(register: str, array: str, of: IntType, width: int) -> str:
    return f'{array}.vload([({register}) * {width // of.bits}], "{register_dtype(of, width)}")'


def alone(row: Instruction, width: int, *, count: int = COUNT) -> Alone:
    """Return a row, its immediate given, with trials and the values of its meaning on them."""
    tried = trials(row, count=count)
    variables = variables_of(row)
    if row.kind == "interleave":
        wanted = np.stack(tried.values, axis=1).reshape(-1)
    else:
        wanted = values_of(row.formula, variables, tried).astype(row.result.numpy)
    return Alone(row, width, tried, wanted)


def level_for(row: Instruction, width: int) -> Level | None:
    """Return the lowest level that has the row at that width; ``None`` where none has."""
    same = (row.name, row.reads)
    for level in LEVELS.values():
        fits = width <= level.width and width in row.reach
        if fits and any((each.name, each.reads) == same for each in level.rows):
            return level
    return None


def target_of(level: Level) -> Target:
    """Return what TVM compiles a level's programs for."""
    options = {key: list(x) if isinstance(x, tuple) else x for key, x in level.target}
    return Target({"kind": "llvm", "num-cores": 1, **options})


def assembly_of(text: str, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the vector instructions of each function in TVM's assembly, one line each.

    What only loads, stores, copies or clears a register is left out.
    """
    found = {}
    for name in names:
        start = text.index(f"\n__tvm_ffi_{name}:")
        body = text[start : text.index(".Lfunc_end", start)]
        lines = (line.strip() for line in body.splitlines() if line.startswith("\t"))
        found[name] = [
            line
            for line in lines
            if VECTOR.search(line) and not AROUND.match(line.split()[0]) and not ZERO.match(line)
        ]
    return found


def emission(row: Instruction, lines: Sequence[str]) -> str:
    """Return what LLVM made of a row: empty where it is the row's instruction and nothing else."""
    wanted = in_assembly(row)
    others = sorted({line.split()[0] for line in lines if not wanted.match(line.split()[0])})
    if not any(wanted.match(line.split()[0]) for line in lines):
        return (
            f"computed by {', '.join(others) or 'no vector instruction'}, not by this instruction"
        )
    return f"with {', '.join(others)}" if others else ""

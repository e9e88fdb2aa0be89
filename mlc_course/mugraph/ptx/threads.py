"""The threads of a block side by side: a register is an array with a number for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.ptx.memory import Copies, GlobalMemory, SharedMemory
from mlc_course.mugraph.ptx.ptx_text import (
    WIDTHS,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Symbol,
    float_of,
    refused,
)
from mlc_course.mugraph.ptx.reports import FaultLog, Site
from mlc_course.mugraph.ptx.transactions import WARP

Mask = Any  # True for all threads, or an array of bools
Run = Callable[[Mask], None]

UNSET = 0xCD  # all bytes of a register that nobody wrote
UNSIGNED: Mapping[int, Any] = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
SIGNED: Mapping[int, Any] = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}


def dtype_of(kind: str) -> Any:
    """Return the NumPy type of a type of PTX; the 16-bit floats and pairs are bits."""
    if kind == "pred":
        return np.bool_
    if kind in ("f32", "f64"):
        return np.float32 if kind == "f32" else np.float64
    return (SIGNED if kind[0] == "s" else UNSIGNED)[WIDTHS[kind]]


class Threads:
    """Everything that the threads of a block have, and the memory that they share."""

    def __init__(
        self,
        threads: tuple[int, int, int],
        grid: tuple[int, int, int],
        memory: GlobalMemory,
        shared: SharedMemory,
        copies: Copies,
        places: Mapping[str, int],
        local_bytes: int,
        parameters: Mapping[str, Array],
        log: FaultLog,
    ) -> None:
        self.count = threads[0] * threads[1] * threads[2]
        self.warps = -(-self.count // WARP)
        self.memory, self.shared, self.copies = memory, shared, copies
        self.places, self.parameters, self.log = places, parameters, log
        self.local = np.zeros((self.count, max(1, local_bytes)), np.uint8)
        self.registers: dict[str, Array] = {}
        self.all = np.arange(self.count)
        x, y, z = threads
        self.block = tuple(np.zeros(1, np.uint32) for _ in range(3))
        of = (self.all % x, self.all // x % y, self.all // (x * y))
        numbers: dict[str, Any] = {"%laneid": self.all % WARP, "%warpid": self.all // WARP}
        numbers |= {f"%tid.{axis}": each for axis, each in zip("xyz", of, strict=True)}
        numbers |= {f"%ntid.{axis}": [each] for axis, each in zip("xyz", threads, strict=True)}
        numbers |= {f"%nctaid.{axis}": [each] for axis, each in zip("xyz", grid, strict=True)}
        self.special = {name: np.array(each, np.uint32) for name, each in numbers.items()}
        self.special |= dict(zip(("%ctaid.x", "%ctaid.y", "%ctaid.z"), self.block, strict=True))

    def renew(self, block: tuple[int, int, int]) -> None:
        """Begin anew, as another block."""
        for number, index in zip(self.block, block, strict=True):
            number[0] = index
        for register in self.registers.values():
            register.view(np.uint8)[...] = UNSET if register.dtype != np.bool_ else 0
        self.shared.renew()
        self.copies.renew()

    # ---- operands

    def lanes(self, mask: Mask) -> Array:
        """Return the numbers of the threads that a mask has."""
        return self.all if mask is True else np.flatnonzero(mask)

    def register(self, register: Register) -> Array:
        """Return the array of a register, as bits or as bools."""
        if register.name not in self.registers:
            if register.bits == 1:
                made = np.zeros(self.count, np.bool_)
            else:
                made = np.full(self.count * register.bits // 8, UNSET, np.uint8).view(
                    UNSIGNED[register.bits]
                )
            self.registers[register.name] = made
        return self.registers[register.name]

    def source(self, operand: Operand, kind: str, site: Site) -> Array:
        """Return the values of an operand: the array of a register itself, or one number."""
        instruction = site.instruction
        match operand:
            case Register(_, bits):
                if bits != WIDTHS[kind]:
                    raise refused(f"a register of {bits} bits as {kind}", instruction.line,
                                  instruction.text)  # fmt: skip
                return self.register(operand).view(dtype_of(kind))
            case Immediate():
                return self._number(operand, kind)
            case Symbol(name) if name in self.special and WIDTHS[kind] == 32:
                return self.special[name].view(dtype_of(kind))
            case Symbol(name) if name in self.places and WIDTHS[kind] in (32, 64):
                return np.array([self.places[name]], dtype_of(kind))
        raise refused("this operand is not known", instruction.line, instruction.text)

    def _number(self, number: Immediate, kind: str) -> Array:
        if kind in ("f32", "f64"):
            return np.array([float_of(number)], dtype_of(kind))
        if kind == "pred":
            return np.array([bool(number.value)])
        bits = WIDTHS[kind]
        return np.array([number.value % (1 << bits)], UNSIGNED[bits]).view(dtype_of(kind))

    def low(self, operand: Operand, kind: str, site: Site) -> Callable[[], Array]:
        """Return a function for the values of an operand in a register that may be wider."""
        bits = WIDTHS[kind]
        if isinstance(operand, Register) and operand.bits > bits:
            register = self.register(operand)
            return lambda: register.astype(UNSIGNED[bits]).view(dtype_of(kind))
        values = self.source(operand, kind, site)
        return lambda: values

    def target(self, operand: Operand, kind: str, site: Site) -> Array:
        """Return the array that an instruction writes."""
        if operand == Symbol("_"):
            return np.zeros(self.count, dtype_of(kind))
        if not isinstance(operand, Register):
            raise refused("no register to write", site.instruction.line, site.instruction.text)
        return self.source(operand, kind, site)

    def wide_target(self, operand: Operand, kind: str, site: Site) -> Array:
        """Return the array to write, of a register that may be wider than the type."""
        if isinstance(operand, Register) and operand.bits > WIDTHS[kind]:
            held = SIGNED if kind[0] == "s" else UNSIGNED
            return self.register(operand).view(held[operand.bits])
        return self.target(operand, kind, site)

    def predicate(self, operand: Operand, site: Site) -> Callable[[], Array]:
        """Return a function for the bools of a predicate or its opposite."""
        if isinstance(operand, Negated):
            register = self.register(operand.register)
            return lambda: ~register
        values = self.source(operand, "pred", site)
        return lambda: values

    def address(
        self, instruction: Instruction, operand: Operand, site: Site
    ) -> Callable[[], Array]:
        """Return a function for the addresses that brackets hold, as 64 bits."""
        from_base, offset = getattr(operand, "base", None), getattr(operand, "offset", 0)
        step = np.array([offset], np.int64).view(np.uint64)
        if isinstance(from_base, Register) and from_base.bits == 32:
            # An address in shared memory wraps around at 32 bits.
            base = self.source(from_base, "u32", site)
            narrow = step.astype(np.uint32)
            return lambda: np.broadcast_to(base + narrow, self.count).astype(np.uint64)
        if from_base is None:
            raise refused("no address", instruction.line, instruction.text)
        wide = self.source(from_base, "u64", site)
        return lambda: np.broadcast_to(wide + step, self.count)

    # ---- warps

    def whole_warps(self, mask: Mask, site: Site) -> Array:
        """Return the warps that take part in what all their threads have to do together."""
        if mask is True and self.count % WARP == 0:
            return np.arange(self.warps)
        here = np.zeros(self.warps * WARP, bool)
        here[: self.count] = mask
        lines = here.reshape(self.warps, WARP)
        some, every = lines.any(axis=1), lines.all(axis=1)
        if (some & ~every).any():
            warp = int(np.flatnonzero(some & ~every)[0])
            absent = [int(each) for each in warp * WARP + np.flatnonzero(~lines[warp])]
            self.log.add(
                "warp",
                f"{site.instruction.kind} needs all threads of a warp; of warp {warp} "
                f"{len(absent)} are missing, such as thread {absent[0]}",
                absent[:2], site,
            )  # fmt: skip
        return np.flatnonzero(every)


def written(target: Array, values: Array, mask: Mask) -> None:
    """Write values where a mask has threads, as the type of the target."""
    np.copyto(target, values, where=mask, casting="unsafe")

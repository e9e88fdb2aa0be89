"""The same loop in several forms, compiled for a level: left to LLVM, vectorized, tensorized."""

from __future__ import annotations

import faulthandler
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.errors import MachineError, StepError, UsageError, check_known
from mlc_course.instruction_selection.insert.features import check_level, check_target, target_of
from mlc_course.instruction_selection.insert.hot_loop import VectorLoop, vector_instructions
from mlc_course.instruction_selection.insert.rest import divide
from mlc_course.instruction_selection.insert.selecting import select
from mlc_course.instruction_selection.isa import LEVELS, CellProgram, level_of
from mlc_course.instruction_selection.lower import RegisterProgram
from mlc_course.instruction_selection.spec import Specification, check_inputs
from mlc_course.parallel import run_limited
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import (
    ALIGNMENT,
    IRModule,
    Schedule,
    ScheduleError,
    Target,
    refusal_reason,
    shared_tensor,
    tvm,
)

Array: TypeAlias = "npt.NDArray[np.signedinteger | np.unsignedinteger]"
Form: TypeAlias = Literal["serial", "wide", "vectorize", "tensorize"]
FORMS: dict[Form, str] = {
    "serial": "the loop as it is, which LLVM vectorizes",
    "wide": "the same in 512-bit registers, which LLVM avoids unless told",
    "vectorize": "the innermost loop vectorized by the schedule",
    "tensorize": "a tile of outputs at a time in the instructions of a program",
}
BLOCK = "cell"
CHILD_SECONDS, CHILD_BYTES = 60, 4 << 30


@dataclass(frozen=True, eq=False)
class Compiled:
    """Machine code of a specification's loop over a number of outputs, in one form.

    ``registers`` is the register program of the form ``tensorize``.
    """

    spec: Specification
    outputs: int
    form: Form
    level: str
    kernel: Any
    registers: RegisterProgram | None = None

    def __call__(self, arrays: Mapping[str, Array]) -> Array:
        """Return the outputs for arrays of inputs, which are not changed.

        Raises:
            MachineError: this processor lacks the level's instructions.
            SizeError, UsageError: what ``check_inputs`` raises, or another number of outputs.
        """
        check_level(self.level)
        given = check_inputs(self.spec, arrays)
        if given != self.outputs:
            raise UsageError(
                f"{self.spec.name}: arrays for another number of outputs",
                expected=self.outputs,
                got=given,
            )
        buffers = self.buffers(arrays)
        self.kernel["main"](*(shared_tensor(each) for each in buffers.values()))
        return buffers[self.spec.result.buffer]

    def buffers(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        """Return copies of arrays and a buffer for the outputs, in the parameters' order."""
        return {
            each.name: _aligned(arrays[each.name])
            if each.name in arrays
            else _aligned(np.zeros(each.shape(self.outputs), each.type.numpy))
            for each in self.spec.tile.buffers
        }

    @cached_property
    def assembly(self) -> str:
        """LLVM's assembly of the loop."""
        return str(self.kernel.mod.inspect_source("asm"))

    @cached_property
    def hot_loop(self) -> VectorLoop:
        """The vector instructions of its hot loop."""
        return vector_instructions(self.assembly)

    @cached_property
    def object_file(self) -> bytes:
        """The machine code as an object file of the target's system."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "main.o"
            self.kernel.mod.write_to_file(str(path), "o")
            return path.read_bytes()


def _aligned(values: Array) -> Array:
    """Return a copy that starts at a multiple of 64 bytes, as TVM's generated code assumes."""
    values = np.asarray(values)
    room = np.empty(values.nbytes + ALIGNMENT, np.uint8)
    skip = -room.ctypes.data % ALIGNMENT
    copy = room[skip : skip + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def compiled(
    spec: Specification,
    outputs: int,
    form: Form,
    *,
    level: str,
    program: CellProgram | None = None,
    width: int | None = None,
) -> Compiled:
    """Compile the loop over so many outputs, in one form, for the target of a level.

    The target is the level's own, so that LLVM has the same instructions for the other forms, even
    on a processor that has more. Only the form ``tensorize`` takes a ``program``.

    Raises:
        UsageError: no such form or level, a form without its program, or one that the level lacks.
        MachineError: LLVM or the target lacks an instruction.
        StepError: TVM does not vectorize the loop; the reason is in it.
        SizeError: the outputs do not fill one tile.
    """
    check_known("no form of a loop", form, FORMS)
    if (program is None) == (form == "tensorize"):
        raise UsageError(
            f"the form {form} of a loop",
            expected="a program for tensorize, none for other forms",
            got="no program" if program is None else "a program",
        )
    of = level_of(level)
    if form == "wide" and of.width < 512:
        raise UsageError(
            f"{level} has no registers of 512 bits to be told to use",
            expected=", ".join(name for name, each in LEVELS.items() if each.width == 512),
            got=level,
        )
    sch = Schedule(IRModule({"main": spec.prim_func(outputs)}))
    registers = None
    if program is not None:
        registers = select(sch, BLOCK, level=level, program=program, width=width, spec=spec)
    elif form == "vectorize":
        _vectorize(sch, spec, (width or of.width) // spec.cell.result.bits)
    target = target_of(of, *(("-prefer-256-bit",) if form == "wide" else ()))
    if registers is not None:
        check_target(registers.features, target)
    return Compiled(spec, outputs, form, level, tvm.compile_module(sch.mod, target), registers)


def _vectorize(sch: Schedule, spec: Specification, lanes: int) -> None:
    first, *others = lookup.loops(sch, BLOCK)
    try:
        divide(sch, BLOCK, first, lanes)
        _, inner = sch.split(lookup.loop(sch, BLOCK, first), [None, lanes])
        sch.reorder(*(lookup.loop(sch, BLOCK, each) for each in others), inner)
        sch.vectorize(inner)
    except (ScheduleError, RuntimeError, ValueError) as error:  # all of them TVM's
        raise StepError(
            f"{spec.name}: TVM does not vectorize the loop",
            expected="a loop of which each iteration writes its own output",
            got=refusal_reason(error),
        ) from None


def check_compiles(module: IRModule, target: Target) -> None:
    """Compile a program in a process of its own, to see whether LLVM ends the process.

    For programs with instructions that nobody has compiled yet.

    Raises:
        MachineError: it ends it, or TVM refuses the program; in LLVM's words where it has any.
    """
    with tempfile.TemporaryFile() as said:

        def work() -> bool:
            faulthandler.disable()  # LLVM says why it ends the process
            os.dup2(said.fileno(), 2)
            made = tvm.compile_module(module, target)
            return bool(made.mod.inspect_source("asm"))  # only now LLVM selects instructions

        try:
            run_limited(work, seconds=CHILD_SECONDS, memory_bytes=CHILD_BYTES)
        except MachineError as error:
            text = os.pread(said.fileno(), 1 << 20, 0).decode(errors="replace")
            lines = [each for each in text.splitlines() if "LLVM ERROR" in each]
            raise MachineError(
                "LLVM does not compile this program",
                expected="instructions that the target has",
                got=lines[0].strip() if lines else str(error).strip().splitlines()[-1],
                hint="check the name of the intrinsic, its operands, and the target's features",
            ) from None

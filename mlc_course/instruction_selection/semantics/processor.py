"""Rows on a processor, through TVM: this machine's, or one that the emulator stands in for."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from mlc_course.instruction_selection.isa import Level
from mlc_course.instruction_selection.semantics.emulator import run_library_in_emulator
from mlc_course.instruction_selection.semantics.inputs import Array
from mlc_course.instruction_selection.semantics.one_instruction import Alone, target_of
from mlc_course.tensor_program.tir import IRModule, cpu_target, tvm


@cache
def host_features() -> frozenset[str]:
    """Return LLVM's names of what programs may use here: less where it stands in for another."""
    return tvm.cpu_features(str(cpu_target().export()["mcpu"]))


def lacking(level: Level) -> tuple[str, ...]:
    """Return the features of a level that this processor does not have."""
    return tuple(each for each in level.features if each not in host_features())


def compiled_alone(made: Sequence[Alone], level: Level) -> Any:
    """Return TVM's module of some instructions, each a function of its name."""
    module = IRModule({each.name: each.function() for each in made})
    return tvm.compile_module(module, target_of(level)).mod


def on_this_processor(module: Any, each: Alone) -> Array:
    """Return the lanes that one instruction gives, in memory order.

    The processor must have the level that the module was compiled for.
    """
    arrays = [tvm.tensor(x) for x in (*each.operands(), each.empty())]
    module[each.name](*arrays)
    return each.in_memory(arrays[-1].numpy())


def in_the_emulator(module: Any, made: Sequence[Alone]) -> list[Array]:
    """Return the lanes that each instruction of a module for AArch64 gives, in memory order."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "alone.o"
        module.write_to_file(str(path), "o")
        code = path.read_bytes()
    return [
        each.in_memory(
            run_library_in_emulator(code, each.name, [*each.operands(), each.empty()])[-1]
        )
        for each in made
    ]

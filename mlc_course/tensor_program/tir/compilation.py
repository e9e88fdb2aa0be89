"""Machine code of tensor programs; what TVM would compile wrongly is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mlc_course.tensor_program.tir import tvm
from mlc_course.tensor_program.tir.flattening import checked_lowering, not_compiled
from mlc_course.tensor_program.tir.tvm import (
    IRModule,
    PrimFunc,
    Schedule,
    Target,
    TensorProgram,
    compile_module,
    cpu_target,
    with_llvm_options,
)

INVALID = "LLVM module verification failed"  # TVM's words for a fault of LLVM's own optimizer
NO_SLP = "-vectorize-slp=false"  # no vectors of straight-line code (docs/upstream.md)


def compile_program(
    program: TensorProgram, *, threads: int = 1, cpu: str | None = None
) -> Callable[..., None]:
    """Machine code for a TensorIR program: a function of its buffers, inputs first.

    Raises ``UsageError`` where TVM would compile an index wrongly, or fails on the program.
    """
    entry: Callable[..., None] = _compiled(program, cpu_target(threads, cpu))["main"]
    return entry


def compile_kernel(
    function: PrimFunc, *, threads: int = 1, options: Sequence[str] = ()
) -> Callable[..., None]:
    """Machine code for a function of loops and flat buffers, which needs no lowering.

    ``options`` are LLVM's own. Raises ``UsageError`` where TVM fails on it.
    """
    target = with_llvm_options(cpu_target(threads), *options)
    try:
        entry: Callable[..., None] = _with_slp_or_without(IRModule({"main": function}), target)[
            "main"
        ]
    except Exception as error:  # only TVM runs here
        raise not_compiled(error) from None
    return entry


def kernel_text(
    function: PrimFunc, kind: str, threads: int = 1, *, options: Sequence[str] = ()
) -> str:
    """The code of such a function as text: ``ll`` in LLVM's language, ``asm`` as assembly.

    Raises ``UsageError`` where TVM fails on it.
    """
    target = with_llvm_options(cpu_target(threads), *options)
    try:
        made = compile_module(IRModule({"main": function}), target, compact=False)
    except Exception as error:  # only TVM runs here
        raise not_compiled(error) from None
    return str(made.mod.inspect_source(kind))


def assembly_text(program: TensorProgram, target: Target) -> str:
    """The machine code that LLVM emits for a TensorIR program, as text."""
    return str(_compiled(program, target).mod.inspect_source("asm"))


def export_library(functions: Mapping[str, PrimFunc | Schedule], path: Path) -> None:
    """Link TensorIR functions of these names, compiled for this machine, into a shared library.

    Raises ``RuntimeError`` where the C compiler fails, and where there is none.
    """
    if tvm.linker() is None:
        raise RuntimeError("no C compiler")
    programs = {n: f.mod["main"] if isinstance(f, Schedule) else f for n, f in functions.items()}
    named = {n: program.with_attr("global_symbol", n) for n, program in programs.items()}
    _compiled(IRModule(named), cpu_target()).export_library(str(path))


def compiled_module(program: IRModule, target: Target, _parameters: object) -> Any:
    """Machine code for a program, in the form that MetaSchedule's builder needs."""
    return _compiled(program, target).mod


def _compiled(program: TensorProgram, target: Target) -> Any:
    given = program.mod if isinstance(program, Schedule) else program
    functions = {"main": given} if isinstance(given, PrimFunc) else dict(given.functions.items())
    module = IRModule(
        {
            name: checked_lowering(each) if isinstance(each, PrimFunc) else each
            for name, each in functions.items()
        }
    )
    try:
        return _with_slp_or_without(module, target)
    except Exception as error:  # only TVM runs here
        raise not_compiled(error) from None


def _with_slp_or_without(module: IRModule, target: Target) -> Any:
    """Compile, once more without the pass if LLVM made invalid code of straight-line code."""
    try:
        return compile_module(module, target, compact=False)
    except RuntimeError as error:
        if INVALID not in str(error):
            raise
        return compile_module(module, with_llvm_options(target, NO_SLP), compact=False)

"""``mlc-course compile``: the kernel program of a graph, and its text for a target."""

from __future__ import annotations

from pathlib import Path

from mlc_course.commands.output import check_file, write_text
from mlc_course.commands.verify import graph as read
from mlc_course.commands.verify import operators_in
from mlc_course.errors import UsageError
from mlc_course.mugraph.cpu_kernels import prim_func
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.runtime import compile_graph
from mlc_course.tensor_program.tir import kernel_text
from mlc_course.units import plural

TEXTS = {".txt": "the kernel program", ".ll": "LLVM's language", ".s": "assembly"}


def run(
    source: str,
    *,
    target: str,
    operators: Path | None = None,
    threads: int | None = None,
    storage: str = "float32",
    out: Path | None = None,
) -> int:
    """Print the kernel program of a graph, or write its text into a file; 0 when it compiles."""
    check_file(out, tuple(TEXTS))
    known = read(source, operators_in(operators))
    compiled = compile_graph(known, target, threads=threads, storage=storage)
    if out is None:
        print(compiled.program)
        return 0
    write_text(out, text(compiled.program, out.suffix, storage, compiled.threads))
    kernels = plural(len(compiled.program.kernels), "kernel")
    print(f"{out}: {TEXTS[out.suffix]} of {known.name}, {kernels}")
    return 0


def text(program: KernelProgram, suffix: str, storage: str, threads: int) -> str:
    """Return a program as the text that a file of this suffix holds."""
    if suffix == ".txt":
        return f"{program}\n"
    kind = {".ll": "ll", ".s": "asm"}.get(suffix)
    if kind is None:
        raise UsageError("no text of this kind", expected=" | ".join(TEXTS), got=suffix)
    parts = (kernel_text(prim_func(each, storage), kind, threads) for each in program.kernels)
    return "\n".join(parts)

"""The target ``cpu``: kernels that LLVM compiles for this machine, by way of TensorIR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial

from mlc_course.machine import describe
from mlc_course.mugraph.cpu_kernels import CpuProgram, Rates, choices, cpu_of, prim_func, rates_of
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import Kernel, KernelProgram
from mlc_course.mugraph.runtime.target import Binder, Launch, Options, Target, Text
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.tir import (
    compile_kernel,
    kernel_text,
    shared_tensor,
    use_threads,
)

Entry = Callable[..., None]  # of a kernel's inputs and outputs


def programs(graph: KernelGraph, threads: int, most: int = 1) -> list[CpuProgram]:
    """Return the programs of a graph with the tilings that the cost model puts first."""
    return choices(graph, cpu_of(describe()), measured_rates(threads), most)


@cache
def measured_rates(threads: int) -> Rates:
    """The rates of this machine's cores, measured once in a process where they are not kept."""
    return rates_of(describe(), roofs(threads))


def lower(graph: KernelGraph, options: Options) -> CpuProgram:
    """Return the program of a graph with the tiling that the cost model puts first."""
    (found,) = programs(graph, options.threads)
    return found


def build(program: KernelProgram, options: Options) -> Binder:
    """Compile the kernels of a program."""
    entries = [_entry(each, str(each), options) for each in program.kernels]

    def bind(arrays: Mapping[str, Array]) -> Launch:
        use_threads(options.threads)
        views = {name: shared_tensor(array) for name, array in arrays.items()}
        calls = [
            (entry, [views[each.name] for each in (*kernel.inputs, *kernel.outputs)])
            for kernel, entry in zip(program.kernels, entries, strict=True)
        ]

        def launch() -> None:
            for entry, arguments in calls:
                entry(*arguments)

        return launch

    return bind


_entries: dict[tuple[str, Options], Entry] = {}


def _entry(kernel: Kernel, text: str, options: Options) -> Entry:
    """The machine code of a kernel, made once for each text."""
    if (text, options) not in _entries:
        made = compile_kernel(prim_func(kernel, options.storage), threads=options.threads)
        _entries[text, options] = made
    return _entries[text, options]


def text(kind: str, program: KernelProgram, options: Options) -> str:
    """Return the text of all kernels: ``ll`` is LLVM's language, ``asm`` is assembly."""
    parts = (
        kernel_text(prim_func(each, options.storage), kind, options.threads)
        for each in program.kernels
    )
    return "\n".join(parts)


CPU = Target(
    name="cpu",
    storages=("float32", "float16"),
    lower=lower,
    build=build,
    texts={
        ".ll": Text("LLVM's language", partial(text, "ll")),
        ".s": Text("assembly", partial(text, "asm")),
    },
)

"""Compiled graphs: a graph is lowered once, compiled by a target, and called with arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, SizeError, UsageError, WrongResult, check_known
from mlc_course.machine import describe, usable_cores
from mlc_course.mugraph.cpu_kernels import CpuProgram, Rates, choices, cpu_of, prim_func, rates_of
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict
from mlc_course.mugraph.kernels import Buffer, Kernel, KernelProgram
from mlc_course.mugraph.runtime.arrays import by_name, checked_output, empty, entered
from mlc_course.mugraph.runtime.checking import Check, check, raise_unless
from mlc_course.mugraph.thread_kernels import Need, best_fit
from mlc_course.tensor_program.memory import roofs
from mlc_course.tensor_program.tir import (
    ALIGNMENT,
    compile_kernel,
    shared_tensor,
    use_threads,
)

TARGETS = ("cpu",)
STORAGE = ("float32", "float16")
MOST_ELEMENTS = 1 << 40  # of a tensor: so its bytes and places fit an index


@dataclass
class Compiled:
    """A compiled graph: call it with arrays by the names of the graph's inputs.

    ``program`` is what its kernels do, as text: ``print(compiled.program)``. With ``checked`` the
    first call is compared with the interpreter.
    """

    graph: KernelGraph
    program: KernelProgram
    target: str
    threads: int
    storage: str
    entries: tuple[Callable[..., None], ...] = field(repr=False)
    checked: bool = False
    first_check: Check | None = None
    verdict: CodeVerdict | None = None  # of the kernels as code, if they were verified

    def __call__(self, /, *arrays: Any, **named: Any) -> list[Array]:
        """Return the graph's outputs, new arrays in each call.

        Inputs are given in order or by name. Raises ``GraphError`` for wrong ones, and
        ``WrongResult`` where a first call that is checked differs from the interpreter.
        """
        names = [each.name for each in self.program.inputs]
        if arrays:
            if named or len(arrays) != len(names):
                raise GraphError(
                    f"{self.graph.name}: inputs",
                    expected=f"{', '.join(names)}, all in this order or all by name",
                    got=f"{len(arrays)} in order, {', '.join(named) or 'none'} by name",
                )
            named = dict(zip(names, arrays, strict=True))
        bound = self.bind(named)
        outputs = bound()
        if self.checked and self.first_check is None:
            found = check(self.graph, bound.inputs, outputs, self.storage)
            raise_unless(found, self.graph.name)
            self.first_check = found
        return outputs

    def bind(self, inputs: Mapping[str, Any], out: Sequence[Array] | None = None) -> Bound:
        """Return a call on given arrays, which writes into the same outputs every time.

        ``out`` are arrays to write into; new ones if not given. Raises as a call does, and
        ``UsageError`` for an output that cannot be written into, or that overlaps another array.
        """
        by_name([each.name for each in self.program.inputs], inputs, self.graph.name)
        read = {
            each.name: entered(inputs[each.name], each, self.storage)
            for each in self.program.inputs
        }
        outputs = self._outputs(read, out)
        memory, copies = dict(read), list[tuple[Array, Array]]()
        for each, array in zip(self.program.outputs, outputs, strict=True):
            if each.name in memory:  # an input that is returned, or an output returned again
                copies.append((array, memory[each.name]))
            else:
                memory[each.name] = array
        memory |= temporaries(self.program, self.storage)
        use_threads(self.threads)
        views = {name: shared_tensor(array) for name, array in memory.items()}
        calls = [
            (entry, [views[b.name] for b in (*kernel.inputs, *kernel.outputs)])
            for kernel, entry in zip(self.program.kernels, self.entries, strict=True)
        ]
        return Bound(calls, outputs, read, copies)

    def _outputs(self, read: Mapping[str, Array], out: Sequence[Array] | None) -> list[Array]:
        """Return an array for each output, which shares no memory with another."""
        wanted = self.program.outputs
        if out is not None and len(out) != len(wanted):
            raise UsageError(f"{self.graph.name}: outputs", expected=len(wanted), got=len(out))
        made = list[tuple[str, Array]]()
        for number, each in enumerate(wanted):
            array = (
                empty(each.shape, self.storage)
                if out is None
                else checked_output(out[number], each, self.storage)
            )
            _check_apart(each.name, array, (*read.items(), *made))
            made.append((each.name, array))
        return [array for _, array in made]


def temporaries(program: KernelProgram, storage: str) -> dict[str, Array]:
    """Return memory for what kernels leave for each other.

    Tensors that are not needed at the same time share memory; each begins at a cache line.
    """
    itemsize = np.dtype(storage).itemsize
    wanted = []
    for each in program.temporaries:
        at = [n for n, kernel in enumerate(program.kernels) if each in _touched(kernel)]
        size = -(-each.size * itemsize // ALIGNMENT) * ALIGNMENT
        wanted.append(Need(each.name, size, frozenset(range(at[0], at[-1] + 1))))
    plan = best_fit(wanted)
    room, places = empty((plan.total,), "uint8"), dict(plan.offsets)
    found = {}
    for each in program.temporaries:
        start = places[each.name]
        part = room[start : start + each.size * itemsize]
        found[each.name] = part.view(storage).reshape(each.shape)
    return found


def _touched(kernel: Kernel) -> tuple[Buffer, ...]:
    return (*kernel.inputs, *kernel.outputs)


@dataclass(frozen=True)
class Bound:
    """A call on given arrays; ``outputs`` are overwritten by every call."""

    calls: Sequence[tuple[Callable[..., None], list[Any]]] = field(repr=False)
    outputs: list[Array]
    inputs: Mapping[str, Array]
    copies: Sequence[tuple[Array, Array]] = ()  # outputs that no kernel writes, and what they are

    def __call__(self) -> list[Array]:
        for entry, arguments in self.calls:
            entry(*arguments)
        for output, source in self.copies:
            output[...] = source
        return self.outputs


def _check_apart(name: str, output: Array, others: Iterable[tuple[str, Array]]) -> None:
    """Kernels are compiled for memory that nothing else names."""
    for other, array in others:
        if np.may_share_memory(output, array):
            raise UsageError(
                f"output {name} overlaps {other}",
                expected="memory of its own",
                hint="give another array, or none",
            )


def compile_graph(
    graph: KernelGraph,
    target: str = "cpu",
    *,
    threads: int | None = None,
    storage: str = "float32",
    checked: bool = False,
    verified: bool = False,
    lowered: CpuProgram | None = None,
) -> Compiled:
    """Compile a graph for a target: a callable on arrays.

    Every block graph becomes a kernel, with the tiling that the cost model puts first for this
    machine; operators outside block graphs get kernels of their own. ``lowered`` kernels are used
    instead, if they are given. ``storage`` is the type of all tensors in memory; sums are kept in
    float32. With ``checked`` the first call is compared with the interpreter. With ``verified`` the
    kernels are compared with the graph as code, over finite fields, before they are compiled.

    Raises ``UsageError`` for an unknown target, storage or number of threads, ``SizeError`` for
    tensors that no memory holds, ``WrongResult`` for kernels that are refused, and ``Undecided``
    where the graph cannot be made small enough.
    """
    check_known("no target", target, TARGETS)
    check_known("no storage", storage, STORAGE)
    threads = usable_cores() if threads is None else threads
    if not 1 <= threads <= usable_cores():
        raise UsageError("threads", expected=f"1 to {usable_cores()}", got=threads)
    for name, shape in zip(graph.names, graph.shapes, strict=True):
        if math.prod(shape) > MOST_ELEMENTS:
            raise SizeError(
                f"{graph.name}: {name or 'a value'} has too many elements",
                expected=f"at most {MOST_ELEMENTS:,}",
                got=f"{math.prod(shape):,}",
            )
    if lowered is None:
        (lowered,) = programs(graph, threads)
    verdict = verified_code(graph.name, lowered) if verified else None
    program = lowered.program
    entries = tuple(_entry(kernel, str(kernel), storage, threads) for kernel in program.kernels)
    made = Compiled(graph, program, target, threads, storage, entries, checked)
    made.verdict = verdict
    return made


def verified_code(name: str, lowered: CpuProgram) -> CodeVerdict:
    """Return the verdict on kernels as code; raise ``WrongResult`` where they are refused."""
    verdict = lowered.verified()
    if not verdict.equal:
        raise WrongResult(
            f"{name}: its kernels are refused",
            expected="kernels that compute what the graph does",
            got=verdict,
            hint="this is a fault of the compiler: please report the graph",
        )
    return verdict


def programs(graph: KernelGraph, threads: int, most: int = 1) -> list[CpuProgram]:
    """Return the programs of a graph with the tilings that the cost model puts first."""
    return choices(graph, cpu_of(describe()), measured_rates(threads), most)


@cache
def measured_rates(threads: int) -> Rates:
    """The rates of this machine's cores, measured once in a process where they are not kept."""
    return rates_of(describe(), roofs(threads))


_entries: dict[tuple[str, str, int], Callable[..., None]] = {}


def _entry(kernel: Kernel, text: str, storage: str, threads: int) -> Callable[..., None]:
    """The machine code of a kernel, made once for each text."""
    key = (text, storage, threads)
    if key not in _entries:
        _entries[key] = compile_kernel(prim_func(kernel, storage), threads=threads)
    return _entries[key]

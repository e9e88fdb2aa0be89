"""Compiled graphs: a graph is lowered once, compiled by a target, and called with arrays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, SizeError, UsageError, WrongResult, check_known
from mlc_course.machine import usable_cores
from mlc_course.mugraph.cuda import kernel_arch
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernel_checks import CodeVerdict
from mlc_course.mugraph.kernels import Buffer, Kernel, KernelProgram
from mlc_course.mugraph.runtime.arrays import HOST, Memory, by_name
from mlc_course.mugraph.runtime.checking import Check, check, raise_unless
from mlc_course.mugraph.runtime.on_box import BOX
from mlc_course.mugraph.runtime.on_cpu import CPU
from mlc_course.mugraph.runtime.on_cuda import CUDA
from mlc_course.mugraph.runtime.on_opencl import OPENCL
from mlc_course.mugraph.runtime.target import Binder, Launch, Lowered, Options, Target
from mlc_course.mugraph.thread_kernels import Need, best_fit
from mlc_course.tensor_program.tir import ALIGNMENT

TARGETS: Mapping[str, Target] = {each.name: each for each in (CPU, CUDA, OPENCL, BOX)}
MOST_ELEMENTS = 1 << 40  # of a tensor: so its bytes and places fit an index


@dataclass
class Compiled:
    """A compiled graph: call it with arrays by the names of the graph's inputs.

    ``program`` is what its kernels do, as text: ``print(compiled.program)``. With ``checked`` the
    first call is compared with the interpreter.
    """

    graph: KernelGraph
    program: KernelProgram
    target: Target
    options: Options
    binder: Binder = field(repr=False)
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
            on_host = self.target.memory.on_host
            given = {name: on_host(array) for name, array in bound.inputs.items()}
            found = check(
                self.graph, given, [on_host(each) for each in outputs], self.options.storage
            )
            raise_unless(found, self.graph.name)
            self.first_check = found
        return outputs

    def bind(self, inputs: Mapping[str, Any], out: Sequence[Array] | None = None) -> Bound:
        """Return a call on given arrays, which writes into the same outputs every time.

        ``out`` are arrays to write into; new ones if not given. Raises as a call does, and
        ``UsageError`` for an output that cannot be written into, or that overlaps another array.
        """
        by_name([each.name for each in self.program.inputs], inputs, self.graph.name)
        storage, place = self.options.storage, self.target.memory
        read = {
            each.name: place.entered(inputs[each.name], each, storage)
            for each in self.program.inputs
        }
        is_copied = not any(place.holds(each) for each in inputs.values())
        outputs = self._outputs(read, out, HOST if is_copied else place)
        memory, copies = dict(read), list[tuple[Array, Array]]()
        for each, array in zip(self.program.outputs, outputs, strict=True):
            if each.name in memory:  # an input that is returned, or an output returned again
                copies.append((array, memory[each.name]))
            elif place.holds(array):
                memory[each.name] = array
            else:  # kernels write where they can, and it is copied
                memory[each.name] = place.empty(each.shape, storage)
                copies.append((array, memory[each.name]))
        memory |= temporaries(self.program, storage, place)
        return Bound(self.binder(memory), outputs, read, copies, place)

    def _outputs(
        self, read: Mapping[str, Array], out: Sequence[Array] | None, where: Memory
    ) -> list[Array]:
        """Return an array for each output, which shares no memory with another.

        Arrays that are not given are made in the memory ``where`` they are wanted.
        """
        wanted, memory, storage = self.program.outputs, self.target.memory, self.options.storage
        if out is not None and len(out) != len(wanted):
            raise UsageError(f"{self.graph.name}: outputs", expected=len(wanted), got=len(out))
        made = list[tuple[str, Array]]()
        for number, each in enumerate(wanted):
            array = (
                where.empty(each.shape, storage)
                if out is None
                else memory.checked_output(out[number], each, storage)
            )
            _check_apart(each.name, array, (*read.items(), *made), memory)
            made.append((each.name, array))
        return [array for _, array in made]


def temporaries(program: KernelProgram, storage: str, memory: Memory = HOST) -> dict[str, Array]:
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
    room, places = memory.empty((plan.total,), "uint8"), dict(plan.offsets)
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

    launch: Launch = field(repr=False)
    outputs: list[Array]
    inputs: Mapping[str, Array]
    copies: Sequence[tuple[Array, Array]] = ()  # outputs that no kernel writes, and what they are
    memory: Memory = HOST

    def __call__(self) -> list[Array]:
        self.launch()
        for output, source in self.copies:
            self.memory.copied(output, source)
        return self.outputs


def _check_apart(
    name: str, output: Array, others: Iterable[tuple[str, Array]], memory: Memory
) -> None:
    """Kernels are compiled for memory that nothing else names."""
    for other, array in others:
        if memory.may_overlap(output, array):
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
    arch: str | None = None,
    checked: bool = False,
    verified: bool = False,
    lowered: Lowered | None = None,
) -> Compiled:
    """Compile a graph for a target: a callable on arrays.

    Every block graph becomes a kernel, with the tiling that the cost model puts first for this
    machine; operators outside block graphs get kernels of their own. ``lowered`` kernels are used
    instead, if they are given. ``storage`` is the type of all tensors in memory; sums are kept in
    float32. With ``checked`` the first call is compared with the interpreter. With ``verified`` the
    kernels are compared with the graph as code, over finite fields, before they are compiled.
    ``arch`` is a GPU's architecture, such as ``sm_90``; None is that of the GPU that is there.

    Raises ``UsageError`` for an unknown target, storage, ``arch`` or number of threads,
    ``SizeError`` for tensors that no memory holds, ``WrongResult`` for kernels that are refused,
    and ``Undecided`` where the graph cannot be made small enough.
    """
    check_known("no target", target, TARGETS)
    on = TARGETS[target]
    check_known("no storage", storage, on.storages)
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
    if arch is not None:
        if not on.has_arch:
            raise UsageError(
                f"target {target} has no architectures to choose from",
                expected="an arch with the target cuda alone",
                got=arch,
            )
        kernel_arch(arch)
    options = Options(threads, storage, arch)
    if lowered is None:
        lowered = on.lower(graph, options)
    verdict = verified_code(graph.name, lowered) if verified else None
    binder = on.build(lowered.program, options)
    return Compiled(graph, lowered.program, on, options, binder, checked, verdict=verdict)


def verified_code(name: str, lowered: Lowered) -> CodeVerdict:
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

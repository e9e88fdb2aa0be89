"""A program compiled once for all sizes: its kernels, in order, with the calls between them."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mlc_course.dynamic_shape.codegen.plan_code import LLVM_OPTIONS, PlannedKernel, planned_kernels
from mlc_course.dynamic_shape.fusion import Flow, Knowledge, Level, Plan, plan
from mlc_course.dynamic_shape.ir import DTYPES, Dim, Module, bind, run
from mlc_course.errors import ShapeError, UsageError
from mlc_course.machine import usable_cores
from mlc_course.mugraph.cpu_kernels import prim_func
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.runtime import empty
from mlc_course.tensor_program.tir import ALIGNMENT, compile_kernel, shared_tensor, use_threads

MOST_BOUND = 64  # shapes whose sizes are remembered


@dataclass(frozen=True)
class Step:
    """One kernel, with the machine code of each variant, or a library's call for a value."""

    kernel: PlannedKernel | None
    entries: tuple[Callable[..., None], ...] = ()
    call: int = -1


@dataclass
class Compiled:
    """A program as a function of arrays of any sizes that keep its facts.

    ``plan`` says which operators share a kernel, and ``steps`` have the kernels.
    """

    module: Module
    plan: Plan
    steps: tuple[Step, ...]
    flow: Flow = field(repr=False)
    knowledge: Knowledge = field(repr=False)
    threads: int
    _bound: dict[Any, dict[str, int]] = field(default_factory=dict, repr=False)

    def __call__(self, /, *arrays: Any, **named: Any) -> list[Array]:
        """Return the results for inputs in order or by name, new arrays in each call.

        Raises ``ShapeError`` for sizes that break a fact of the program, and for an index that a
        table does not have; ``UsageError`` for other inputs than the program's.
        """
        return self.bind(*arrays, **named)()

    def bind(self, /, *arrays: Any, **named: Any) -> Bound:
        """Return a call on these inputs, which writes into the same results every time.

        Empty tensors are for no kernel: a call with some returns at once if all results are empty
        too, and is left to the interpreter otherwise. Raises as a call does.
        """
        inputs = self._entered(arrays, named)
        sizes = self._sizes_of(inputs)
        if 0 in sizes.values() or any(0 in each.shape for each in inputs):
            return self._bound_empty(inputs)
        made = _Binding(self.module, self.flow, sizes, inputs)
        steps = [
            made.call(step.call) if step.kernel is None else made.launch(step.kernel, step.entries)
            for step in self.steps
        ]
        results = made.results()
        return Bound(self.threads, [*made.before, *steps, *made.after], results)

    def _bound_empty(self, inputs: Sequence[Array]) -> Bound:
        function = self.module.function
        given = {each.name: array for each, array in zip(function.inputs, inputs, strict=True)}
        results = run(self.module, given)
        new = [empty(each.shape, each.dtype.name) for each in results]

        def fill() -> None:
            for target, found in zip(new, run(self.module, given), strict=True):
                target[...] = found

        return Bound(self.threads, [fill] if any(each.size for each in new) else [], new)

    def _entered(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Array]:
        function = self.module.function
        names = [each.name for each in function.inputs]
        given = named if named else dict(zip(names, arrays, strict=False))
        if len(arrays) + len(named) != len(names) or sorted(given) != sorted(names):
            raise UsageError(
                f"@{function.name}: inputs",
                expected=f"{', '.join(names)}, all in this order or all by name",
                got=f"{len(arrays)} in order, {', '.join(named) or 'none'} by name",
            )
        found = []
        for each in function.inputs:
            dtype = np.dtype(DTYPES[each.type.dtype])
            try:
                array = np.asarray(given[each.name])
            except ValueError as error:  # lists of different lengths
                raise UsageError(f"%{each.name}", expected="an array", got=error) from None
            if array.dtype != dtype:
                raise UsageError(
                    f"%{each.name}: its elements", expected=dtype.name, got=str(array.dtype)
                )
            found.append(array)
        return found

    def _sizes_of(self, inputs: Sequence[Array]) -> dict[str, int]:
        """The numbers that kernels are given, by the names that they have in them."""
        shapes = tuple(each.shape for each in inputs)
        found = self._bound.get(shapes)
        if found is None:
            names = [each.name for each in self.module.function.inputs]
            given = dict(zip(names, shapes, strict=True))
            own = bind(self.module, given, may_be_empty=True)
            found = dict(own)
            types = self.module.function.types
            for type_, dims in zip(types, self.knowledge.sizes, strict=True):
                for name, dim in zip(dims, type_.dims, strict=True):
                    if isinstance(name, str):
                        found[name] = dim if isinstance(dim, int) else own[dim]
            if len(self._bound) >= MOST_BOUND:
                self._bound.clear()
            self._bound[shapes] = found
        return found


@dataclass(frozen=True)
class Bound:
    """A call on given arrays, which overwrites ``results`` every time."""

    threads: int
    launches: Sequence[Callable[[], object]] = field(repr=False)
    results: list[Array] = field(repr=False)

    def __call__(self) -> list[Array]:
        use_threads(self.threads)
        for launch in self.launches:
            launch()
        return self.results


class _Binding:
    """Memory for the values of one call, and the launches that fill it."""

    def __init__(
        self, module: Module, flow: Flow, sizes: Mapping[str, int], inputs: Sequence[Array]
    ) -> None:
        self.function, self.flow, self.sizes = module.function, flow, sizes
        self.memory = dict(enumerate(inputs))
        self.before: list[Callable[[], object]] = []
        self.after: list[Callable[[], object]] = []
        for value, array in enumerate(inputs):
            if not array.flags.c_contiguous:  # so that it has no other shapes as views
                self.before.append(partial(np.copyto, self.made(value), array))

    def shape(self, dims: Sequence[Dim]) -> tuple[int, ...]:
        return tuple(dim if isinstance(dim, int) else self.sizes[dim] for dim in dims)

    def array(self, value: int) -> Array:
        """Return the memory of a value, a view in its own shape."""
        origin = self.flow.origin[value]
        if origin not in self.memory:  # a shape, which is known before all kernels
            operand = self.function.equations[origin - len(self.function.inputs)].operands[0]
            shape = self.shape(self.function.types[operand].dims)
            self.memory[origin] = np.array(shape, np.int64)
        return self.memory[origin].reshape(self.shape(self.function.types[value].dims))

    def made(self, value: int) -> Array:
        """Return new memory for a value."""
        type_ = self.function.types[value]
        dtype = np.dtype(DTYPES[type_.dtype]).name
        self.memory[value] = empty(self.shape(type_.dims), dtype)
        return self.memory[value]

    def launch(
        self, kernel: PlannedKernel, entries: Sequence[Callable[..., None]]
    ) -> Callable[[], None]:
        """Return the launch of a kernel, in the first variant whose guard holds."""
        function, lowered, checks = self.function, kernel.lowered, list[Callable[[], object]]()
        for indices, table in lowered.lookups:
            rows = self.shape(function.types[table].dims)[0]
            name = function.name_of(indices)
            is_given = self.flow.origin[indices] < len(function.inputs)
            early_or_late = self.before if is_given else checks
            early_or_late.append(partial(_check_indices, self.array(indices), rows, name))
        copies, arguments = list[tuple[Array, Array]](), list[Any]()
        for value in lowered.inputs:
            flat = self.array(value).reshape(-1)
            if flat.ctypes.data % ALIGNMENT or not flat.flags.writeable:
                copies.append((empty(flat.shape, flat.dtype.name), self.array(value)))
                flat = copies[-1][0]
            arguments.append(shared_tensor(flat))
        arguments += (shared_tensor(self.made(value).reshape(-1)) for value in lowered.outputs)
        variant = kernel.chosen(self.sizes)
        entry = entries[kernel.variants.index(variant)]
        arguments += variant.arguments(self.sizes)

        def launch() -> None:
            for check in checks:
                check()
            for copy, source in copies:
                copy[...] = source.reshape(-1)
            entry(*arguments)

        return launch

    def call(self, value: int) -> Callable[[], object]:
        """Return the library's call for a value."""
        equation = self.function.equations[value - len(self.function.inputs)]
        left, right = (self.array(each) for each in equation.operands)
        return partial(np.matmul, left, right, out=self.made(value))

    def results(self) -> list[Array]:
        """Return what a call returns: never an input itself, and no memory twice."""
        taken, found = set(range(len(self.function.inputs))), list[Array]()
        for value in self.function.results:
            array, origin = self.array(value), self.flow.origin[value]
            if origin in taken:
                found.append(empty(array.shape, array.dtype.name))
                self.after.append(partial(np.copyto, found[-1], array))
            else:
                found.append(array)
            taken.add(origin)
        return found


def _check_indices(indices: Array, rows: int, name: str) -> None:
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= rows:
        raise ShapeError(
            f"{name}: an index of a row", expected=f"0 to {rows - 1}", got=low if low < 0 else high
        )


def compile_for_all_sizes(
    module: Module,
    facts: Level = "all",
    *,
    stitch: bool = True,
    threads: int | None = None,
    folds: bool = True,
    fuses: bool = True,
) -> Compiled:
    """Compile a program for this machine's processor, once for all sizes.

    ``facts``, ``stitch`` and ``fuses`` are those of ``fusion.plan``. Without ``folds`` index
    arithmetic is left as it is written.

    Raises ``GraphError`` for element types that kernels do not compute with, ``UsageError`` for
    another level or number of threads, ``Contradiction`` where no sizes keep the facts.
    """
    threads = usable_cores() if threads is None else threads
    if not 1 <= threads <= usable_cores():
        raise UsageError("threads", expected=f"1 to {usable_cores()}", got=threads)
    planned = plan(module, facts, stitch=stitch, fuses=fuses)
    knowledge, flow = Knowledge(module, facts), Flow(module.function)
    steps: dict[int, Step] = {}
    for kernel in planned_kernels(planned, folds=folds):
        entries = tuple(
            compile_kernel(prim_func(each.kernel), threads=threads, options=LLVM_OPTIONS)
            for each in kernel.variants
        )
        steps |= dict.fromkeys(kernel.lowered.values, Step(kernel, entries))
    steps |= {value: Step(None, (), value) for value in flow.equations if flow.is_call(value)}
    return Compiled(module, planned, _in_order(flow, steps), flow, knowledge, threads)


def _in_order(flow: Flow, steps: Mapping[int, Step]) -> tuple[Step, ...]:
    """Steps, each after those that it waits for."""
    waits: dict[int, set[int]] = {id(step): set() for step in steps.values()}
    frees: defaultdict[int, set[int]] = defaultdict(set)
    for value, step in steps.items():
        for who, _ in flow.reads[value]:
            if who in steps and steps[who] is not step:
                waits[id(step)].add(id(steps[who]))
                frees[id(steps[who])].add(id(step))
    by_id = {id(step): step for step in steps.values()}
    ready, found = deque(name for name in by_id if not waits[name]), list[Step]()
    while ready:
        done = ready.popleft()
        found.append(by_id[done])
        for name in frees[done]:
            waits[name].discard(done)
            if not waits[name]:
                ready.append(name)
    return tuple(found)

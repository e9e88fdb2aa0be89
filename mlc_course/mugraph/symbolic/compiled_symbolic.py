"""A mu-graph compiled once for all sizes: kernels with guards, and the call that picks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from mlc_course.errors import GraphError, ShapeError, SizeError, UsageError
from mlc_course.machine import describe, usable_cores
from mlc_course.mugraph.codegen import value_name
from mlc_course.mugraph.cpu_kernels import cpu_of, lower_sized, prim_func
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import Buffer, SizedKernel
from mlc_course.mugraph.runtime import HOST, empty
from mlc_course.mugraph.symbolic.all_sizes import AllSizes, verify_all_sizes
from mlc_course.mugraph.symbolic.kernel_guards import Variant, variants
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph, symbolic_graph
from mlc_course.tensor_program.tir import compile_kernel, shared_tensor, use_threads

Entry = Callable[..., None]
MOST_ELEMENTS = 1 << 40  # of a tensor: so its bytes and places fit an index


@dataclass
class CompiledSymbolic:
    """A graph as a function of arrays whose free sizes may be any, from one compilation.

    ``kernels`` are, for each block graph, the variants in the order in which their guards are
    asked. ``verdict`` says how they were decided to be right at all sizes, if they were.
    """

    symbolic: SymbolicGraph
    kernels: Mapping[int, tuple[Variant, ...]]
    entries: Mapping[tuple[int, str], Entry] = field(repr=False)
    threads: int
    verdict: AllSizes | None = None

    def __call__(self, /, *arrays: Any, **named: Any) -> list[Array]:
        """Return the graph's outputs for inputs in order or by name, new arrays in each call.

        Raises as ``bind`` does.
        """
        return self.bind(*arrays, **named)()

    def bind(self, /, *arrays: Any, **named: Any) -> BoundSymbolic:
        """Return a call on these inputs, which writes into the same outputs every time.

        Raises ``GraphError`` for other inputs than the graph has, ``ShapeError`` for shapes that do
        not fit together, ``SizeError`` for tensors that no memory holds, and ``UsageError`` for
        what is no array of real numbers.
        """
        graph = self.symbolic.graph
        given = self._by_name(arrays, named)
        sizes = self.sizes_of({name: array.shape for name, array in given.items()})
        memory: dict[int, Array] = {}
        for number, each in enumerate(graph.inputs):
            buffer = Buffer(each.name, self._checked_shape(number, sizes), "global", "storage")
            memory[number] = HOST.entered(given[each.name], buffer, "float32")
        launches: list[tuple[Entry, list[Any]]] = []
        took: dict[str, str] = {}
        for place, equation in enumerate(graph.equations):
            results = graph.results(place)
            for number in results:
                memory[number] = empty(self._checked_shape(number, sizes), "float32")
            variant = next(each for each in self.kernels[place] if each.admits(sizes))
            took[", ".join(equation.names)] = variant.name
            values = (*dict.fromkeys(equation.operands), *results)
            arguments = [shared_tensor(memory[n].reshape(-1)) for n in values]
            entry = self.entries[place, variant.name]
            launches.append((entry, [*arguments, *variant.arguments(sizes)]))
        outputs, copies = list[Array](), list[tuple[Array, Array]]()
        for place, number in enumerate(graph.outputs):
            output = memory[number]
            if number < len(graph.inputs) or number in graph.outputs[:place]:
                output = empty(output.shape, "float32")
                copies.append((output, memory[number]))
            outputs.append(output)
        use_threads(self.threads)
        return BoundSymbolic(launches, outputs, sizes, took, copies)

    def _by_name(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        names = [each.name for each in self.symbolic.graph.inputs]
        if arrays and not named and len(arrays) == len(names):
            named = dict(zip(names, arrays, strict=True))
        if arrays and len(arrays) != len(names) or sorted(named) != sorted(names):
            raise GraphError(
                f"{self.symbolic.graph.name}: inputs",
                expected=f"{', '.join(names)}, all in this order or all by name",
                got=f"{len(arrays)} in order, {', '.join(named) or 'none'} by name",
            )
        for name, array in named.items():
            if not isinstance(getattr(array, "shape", None), Sequence):
                raise UsageError(f"input {name}", expected="an array", got=type(array).__name__)
        return dict(named)

    def sizes_of(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """Return the free sizes of inputs; raise ``ShapeError`` where they do not fit together.

        This is what kernels assume of their arguments: known sizes are as known, each free size is
        one number of 1 or more in all inputs.
        """
        found: dict[str, int] = {}
        for number, each in enumerate(self.symbolic.graph.inputs):
            shape, dims = tuple(shapes[each.name]), self.symbolic.dims[number]
            wanted = [found.get(dim, dim) if isinstance(dim, str) else dim for dim in dims]
            fits = len(shape) == len(dims)
            for dim, n in zip(dims, shape, strict=False):
                known = found.setdefault(dim, n) if isinstance(dim, str) else dim
                fits &= isinstance(n, Integral) and n == known and n >= 1
            if not fits:
                raise ShapeError(
                    f"input {each.name}: its shape",
                    expected=f"({', '.join(map(str, wanted))})",
                    got=shape,
                )
        return found

    def _checked_shape(self, value: int, sizes: Mapping[str, int]) -> tuple[int, ...]:
        shape, elements = self.symbolic.shape(value, sizes), 1
        for extent in shape:
            elements *= extent
        if elements > MOST_ELEMENTS:
            raise SizeError(
                f"{value_name(self.symbolic.graph, value)} has too many elements",
                expected=f"at most {MOST_ELEMENTS:,}",
                got=f"{elements:,}",
            )
        return shape


@dataclass(frozen=True)
class BoundSymbolic:
    """A call on given arrays, which overwrites ``outputs``; ``took`` says which variants it runs.

    Those are by the names of what each kernel makes.
    """

    launches: Sequence[tuple[Entry, list[Any]]] = field(repr=False)
    outputs: list[Array] = field(repr=False)
    sizes: Mapping[str, int]
    took: Mapping[str, str]
    copies: Sequence[tuple[Array, Array]] = field(default=(), repr=False)

    def __call__(self) -> list[Array]:
        for entry, arguments in self.launches:
            entry(*arguments)
        for output, source in self.copies:  # an input that is returned, or an output once more
            output[...] = source
        return self.outputs


def compile_symbolic(
    graph: KernelGraph,
    free: Mapping[str, int],
    *,
    program: KernelGraph | None = None,
    threads: int | None = None,
    verified: bool = False,
    seed: int | None = None,
) -> CompiledSymbolic:
    """Compile a graph for this machine's processor, once for all extents of its ``free`` sizes.

    ``free`` has the extent of a tile of each. With ``verified`` the kernels are decided to be right
    at all sizes, before they are compiled (``all_sizes``): to compute what the graph says, and what
    a ``program`` of the same inputs says, if there is one.

    Raises ``GraphError`` where a block does not do the same at every size, ``WrongResult`` for
    kernels or a graph that are refused, ``Undecided`` where they cannot be decided, and
    ``UsageError`` for an unknown size or number of threads, or a program that nothing is compared
    with, as without ``verified``.
    """
    if program is not None and not verified:
        raise UsageError(
            f"{graph.name}: it is not compared with {program.name}",
            expected="verified=True with a program",
            got="verified=False",
        )
    threads = usable_cores() if threads is None else threads
    if not 1 <= threads <= usable_cores():
        raise UsageError("threads", expected=f"1 to {usable_cores()}", got=threads)
    symbolic = symbolic_graph(graph, free)
    kernels = variants(symbolic, _lower)
    verdict = None
    if verified:
        verdict = verify_all_sizes(symbolic, kernels, program, seed=seed)
        verdict.raise_unless_equal()
    entries = {
        (place, each.name): compile_kernel(prim_func(each.kernel), threads=threads)
        for place, choices in kernels.items()
        for each in choices
    }
    return CompiledSymbolic(symbolic, kernels, entries, threads, verdict)


def _lower(symbolic: SymbolicGraph, place: int, *, exact: bool) -> SizedKernel:
    tiling, sized = symbolic.lowered(place, exact=exact)
    return lower_sized(symbolic.graph, place, tiling, cpu_of(describe()), sized)

"""Does a kernel compute what its block graph says? Decided over finite fields, with a bound.

A kernel is lowered once more, with the same tiles on fewer blocks and iterations
(``small_tilings``), and there

1. run without values: no fault of memory (``memory_faults``);
2. run on residues, and compared with the graph's own interpretation of the same tiles.

exp, sqrt, log and max are random functions in that comparison (``verify.Uninterpreted``), the same
ones in both. A kernel evaluates the formulas of its graph and uses no law of exp, so a right one
passes; and a wrong maximum that would cancel in a softmax, as exp(s - m) / sum of exp(s - m) for
any m, does not cancel here. Maxima are free functions of all that they are taken of, in any order.

*What that leaves open.* Every tile has the extents that it has in the full kernel, but there are
fewer steps. The full kernel's indices are shown to be within bounds for all its blocks and
iterations (``index_bounds``), and it has the same statements (``differing_lines``). That nothing
happens in iteration 200 that does not happen in the first three, nor between blocks that are far
from each other, is assumed. A verdict lists the statements that do differ: ``512*y`` is another
number where a part is cut once more, into fewer tiles. That the graph computes the same when its
axes are cut into other numbers of steps is a question about graphs (``verify.verify``). Rounding,
and the text that a dialect makes of a kernel, are not looked at.

*What is refused although it is right*: a kernel that uses a law of exp, sqrt or log, or that takes
an element of a maximum twice, or another one that cancels in the end.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_course.errors import Undecided, UsageError
from mlc_course.mugraph.codegen import Tiling, global_buffer, load_tile
from mlc_course.mugraph.ir import (
    Axes,
    BlockGraph,
    Blocks,
    KernelGraph,
    Shape,
    value_of,
)
from mlc_course.mugraph.kernel_checks.execution import values
from mlc_course.mugraph.kernel_checks.formula_growth import KernelGrowths
from mlc_course.mugraph.kernel_checks.index_bounds import Outside, outside
from mlc_course.mugraph.kernel_checks.memory_faults import Fault, first_fault
from mlc_course.mugraph.kernel_checks.small_tilings import (
    ITERATIONS,
    Smaller,
    Tilings,
    differing_lines,
    smaller,
)
from mlc_course.mugraph.kernels import Kernel, KernelProgram, const
from mlc_course.mugraph.verify import FreeMaxima, Growths, Residues, Uninterpreted, needed_tests

Lower = Callable[[KernelGraph, int, Tiling], Kernel]
Kernels = Mapping[int, Kernel]  # by the place of their block graph
MOST_PRIMES = 4  # of a round
MOST_ROUNDS = 16
NUMBERS = 1 << 24  # in all tensors of a graph
REDRAWS = 8  # of a round in which something is divided by zero


@dataclass(frozen=True)
class CodeVerdict:
    """The answer: equal, with an error of at most ``error_bound``, or what is wrong.

    ``rounds`` of comparisons were made at ``sizes``, with ``tilings``. ``beyond`` is an index of
    the full kernel that is not shown to be within bounds; ``other_lines`` are statements of it that
    were not run. ``differs`` names the outputs that are different, or says why none was compared.
    """

    equal: bool
    error_bound: float
    rounds: int
    sizes: Mapping[str, int]
    tilings: Tilings
    fault: Fault | None = None
    beyond: Outside | None = None
    other_lines: tuple[str, ...] = ()
    differs: str = ""

    def __str__(self) -> str:
        if self.fault:
            return f"wrong: {self.fault}"
        if self.beyond:
            return f"not shown to be right: {self.beyond}"
        if self.differs:
            return f"wrong: {self.differs}"
        sizes = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        tilings = "; ".join(map(str, self.tilings.values()))
        said = (
            f"equal to its graph on {sizes} with the same tiles ({tilings}): a difference would be "
            f"missed with probability at most {self.error_bound:.1e}; no fault of memory there, "
            f"and every index at full size is within bounds"
        )
        if self.other_lines:
            said += f"; {len(self.other_lines)} statements have other numbers there than here"
        return said


def verify_code(
    graph: KernelGraph,
    kernels: Kernels,
    tilings: Tilings,
    lower: Lower,
    *,
    error: float = 1e-9,
    seed: int | None = None,
    iterations: int = ITERATIONS,
) -> CodeVerdict:
    """Compare the kernels of all block graphs of a graph with what the graph computes.

    ``lower`` makes a kernel for another graph and tiling in the same way. Loops keep so many
    ``iterations``: for a ring of copies, more than it has stages. Raises ``UsageError`` where a
    block graph has no kernel, or an error is not a probability, and ``Undecided`` where the graph
    cannot be made small enough.
    """
    _check(graph, kernels, error)
    small = smaller(graph, tilings, iterations)
    small_kernels = {place: lower(small.graph, place, small.tilings[place]) for place in kernels}
    beyond = next(filter(None, map(outside, kernels.values())), None)
    others = [
        line
        for place, kernel in kernels.items()
        for line in differing_lines(
            kernel,
            small_kernels[place],
            (tilings[place], small.tilings[place]),
            (graph.size_of, small.graph.size_of),
        )
    ]
    found = compare_code(small, small_kernels, error=error, seed=seed)
    return CodeVerdict(
        equal=found.equal and beyond is None,
        error_bound=found.error_bound,
        rounds=found.rounds,
        sizes=found.sizes,
        tilings=found.tilings,
        fault=found.fault,
        beyond=beyond,
        other_lines=tuple(others),
        differs=found.differs,
    )


def verify_program(
    program: KernelProgram,
    tilings: Sequence[Tiling],
    lower: Lower,
    *,
    error: float = 1e-9,
    iterations: int = ITERATIONS,
) -> CodeVerdict:
    """Compare all kernels of a program with the graph that they were lowered from.

    The tilings are those of the graph's block graphs, in order; the rest is as in ``verify_code``.
    """
    places = [place for place, _ in program.graph.blocks]
    return verify_code(
        program.graph,
        dict(zip(places, program.kernels, strict=True)),
        dict(zip(places, tilings, strict=True)),
        lower,
        error=error,
        iterations=iterations,
    )


def _check(graph: KernelGraph, kernels: Kernels, error: float) -> None:
    places = [place for place, _ in graph.blocks]
    if sorted(kernels) != places:
        raise UsageError(f"{graph.name}: kernels", expected=places, got=sorted(kernels))
    for place, kernel in kernels.items():
        _check_arguments(graph, place, kernel)
    if not 0 < error < 1:
        raise UsageError("verify_code: error", expected="a probability between 0 and 1", got=error)


def _check_arguments(graph: KernelGraph, place: int, kernel: Kernel) -> None:
    operands = dict.fromkeys(graph.equations[place].operands)
    wanted = [[global_buffer(graph, n) for n in each] for each in (operands, graph.results(place))]
    given = [list(kernel.inputs), list(kernel.outputs)]
    if [set(each) for each in given] != [set(each) for each in wanted]:
        raise UsageError(
            f"{graph.name}: arguments of the kernel of block graph {place}",
            expected=" -> ".join(", ".join(map(str, each)) for each in wanted),
            got=" -> ".join(", ".join(map(str, each)) for each in given),
        )


def compare_code(
    small: Smaller, kernels: Kernels, *, error: float = 1e-9, seed: int | None = None
) -> CodeVerdict:
    """Compare kernels with a graph as they are, on its sizes and with its tilings."""
    graph, rng = small.graph, random.Random(seed)
    _check(graph, kernels, error)
    numbers = sum(math.prod(shape) for shape in graph.shapes)
    if numbers > NUMBERS:
        raise Undecided(
            f"{graph.name}: too large to be run over residues",
            expected=f"at most {NUMBERS:,} numbers in all tensors",
            got=f"{numbers:,}",
            hint="smaller tiles, so that a few steps are fewer elements",
        )
    sizes = {name: size for name, size in graph.sizes if name != str(size)}

    def verdict(**found: Any) -> CodeVerdict:
        whole = {"equal": False, "error_bound": 0.0, "rounds": 0, **found}
        return CodeVerdict(sizes=sizes, tilings=small.tilings, **whole)

    fault = next(filter(None, map(first_fault, kernels.values())), None)
    if fault:
        return verdict(fault=fault)
    plan = _plan(small, kernels, error)
    if plan is None:
        return verdict(differs="its formulas are too large for this verifier")
    for made in range(plan.rounds):
        differing = _one_round(small, kernels, plan, rng)
        if differing:
            return verdict(differs=differing, rounds=made + 1)
    return verdict(equal=True, error_bound=plan.miss**plan.rounds, rounds=plan.rounds)


# ---- how many rounds


@dataclass(frozen=True)
class _Plan:
    primes: int
    rounds: int
    miss: float  # the chance that one round misses a difference
    roots: frozenset[int]


def _plan(small: Smaller, kernels: Kernels, error: float) -> _Plan | None:
    """Return the least work that leaves no more than ``error``; None where none does."""
    bounds, graph = CodeGrowths(), small.graph
    inputs = [bounds.random(shape) for shape in graph.input_shapes.values()]
    ours = evaluate_tiled(small, inputs, bounds)
    theirs = _outputs(graph, kernels, inputs, bounds, KernelGrowths(bounds).outputs)
    apart = [a.apart(b) for a, b in zip(ours, theirs, strict=True)]
    best: _Plan | None = None
    for primes in range(1, MOST_PRIMES + 1):
        miss = bounds.missed(primes, apart)
        if miss >= 1:
            continue
        rounds = needed_tests(miss, error)
        if rounds <= MOST_ROUNDS and (best is None or primes * rounds < best.primes * best.rounds):
            best = _Plan(primes, rounds, miss, frozenset(bounds.roots))
    return best


# ---- one round


def _one_round(small: Smaller, kernels: Kernels, plan: _Plan, rng: random.Random) -> str:
    """Return what differs in a round, or nothing."""
    graph = small.graph
    for _ in range(REDRAWS):
        m = CodeField(plan.primes, rng, plan.roots)
        inputs = [m.random(shape) for shape in graph.input_shapes.values()]
        ours = evaluate_tiled(small, inputs, m)
        if m.bad.any():
            continue
        theirs = run_kernels(graph, kernels, inputs, m)
        if m.bad.any():
            continue
        wrong = [
            f"{graph.names[number]} differs in {_differences(a, b)} of {a.top[0].size} elements"
            for number, a, b in zip(graph.outputs, ours, theirs, strict=True)
            if _differences(a, b)
        ]
        return "; ".join(wrong)
    return "it divides by zero in every draw"


def _differences(a: Residues, b: Residues) -> int:
    return int((a.top != b.top).any(axis=0).sum())


class MovedMaxima(FreeMaxima):
    """Free maxima that stay maxima of their members when they are moved.

    A kernel reads a maximum where a graph takes a part of it, or turns it.
    """

    def reshape(self, x: Any, shape: Shape) -> Any:
        return self._with_members("reshape", x, shape)

    def transpose(self, x: Any, axes: Sequence[int]) -> Any:
        return self._with_members("transpose", x, axes)

    def take(self, x: Any, place: tuple[slice, ...]) -> Any:
        return self._with_members("take", x, place)

    def _with_members(self, action: str, x: Any, how: Any) -> Any:
        move = getattr(super(), action)
        found, known = move(x, how), self.is_largest_of(x)
        if known:
            self.keep_members(found, known[0], move(known[1], how))
        return found

    def concatenate(self, xs: Sequence[Any], axis: int) -> Any:
        join: Callable[..., Any] = super().concatenate  # type: ignore[misc]
        found, known = join(xs, axis), [self.is_largest_of(x) for x in xs]
        names = {each[0] for each in known if each}
        if names:
            name = "max" if "max" in names else "min"
            members = [
                each[1] if each and each[0] == name else self.function(f"{name} of", x)
                for each, x in zip(known, xs, strict=True)
            ]
            self.keep_members(found, name, join(members, axis))
        return found


class CodeField(MovedMaxima, Uninterpreted):
    """Residues, with random functions for exp, sqrt, log and max."""


class CodeGrowths(MovedMaxima, Growths):
    """Bounds on the formulas of a graph in that arithmetic."""


# ---- running graphs and kernels


def run_kernels(graph: KernelGraph, kernels: Kernels, inputs: Sequence[Any], m: Any) -> list[Any]:
    """Return the outputs of a graph whose block graphs are run by kernels without faults."""
    return _outputs(graph, kernels, inputs, m, lambda kernel, given: values(kernel, given, m))


def _outputs(
    graph: KernelGraph,
    kernels: Kernels,
    inputs: Sequence[Any],
    m: Any,
    results: Callable[[Kernel, Sequence[Any]], Sequence[Any]],
) -> list[Any]:
    """Go through a graph with kernels in place of its block graphs."""
    found = list(inputs)
    number_of = {name: number for number, name in enumerate(graph.names)}
    for place, equation in enumerate(graph.equations):
        if place in kernels:
            kernel = kernels[place]
            made = results(kernel, [found[number_of[each.name]] for each in kernel.inputs])
            named = dict(zip((each.name for each in kernel.outputs), made, strict=True))
            found += [named[graph.names[number]] for number in graph.results(place)]
        else:
            operands = [found[number] for number in equation.operands]
            found.append(m.stored(value_of(equation, operands, m, graph.size_of)))
    return [found[number] for number in graph.outputs]


def evaluate_tiled(small: Smaller, inputs: Sequence[Any], m: Any) -> list[Any]:
    """Return a graph's outputs with tiles as tilings cut them: the last one may be short.

    It is ``ir.evaluate`` where all parts are equal.
    """
    graph, found = small.graph, list(inputs)
    for place, equation in enumerate(graph.equations):
        operands = [found[number] for number in equation.operands]
        if isinstance(equation.op, BlockGraph):
            found += _Tiled(graph, place, small.tilings[place], operands, m).results()
        else:
            found.append(m.stored(value_of(equation, operands, m, graph.size_of)))
    return [found[number] for number in graph.outputs]


class _Tiled(Blocks):
    """The run of a block graph as a tiling cuts it."""

    def __init__(
        self, graph: KernelGraph, place: int, tiling: Tiling, operands: Sequence[Any], m: Any
    ) -> None:
        block = dict(graph.blocks)[place]
        super().__init__(graph, place, _steps(block, tiling), operands, m, None)
        self.tiling = tiling

    def slices(self, number: int, axes: Axes, at: Mapping[str, int]) -> tuple[slice, ...]:
        load = self.block.loads[number]
        last = [cut.axis for cut in self.tiling.cuts if cut.short and at[cut.axis] == cut.steps - 1]
        numbers = {axis: const(n) for axis, n in at.items()}
        cuts = (*load.imap, *load.fmap)
        shape = tuple(self.operands[number].shape)
        tile, start = load_tile(shape, cuts, self.tiling, numbers, last)
        first = [each.args[0] for each in start]
        return tuple(slice(n, n + extent) for n, extent in zip(first, tile, strict=True))


def _steps(block: BlockGraph, tiling: Tiling) -> BlockGraph:
    """Return a block graph with the steps of a tiling."""

    def counted(axes: Axes) -> Axes:
        return tuple((axis, tiling[axis].steps) for axis, _ in axes)

    return replace(block, grid=counted(block.grid), loops=counted(block.loops))

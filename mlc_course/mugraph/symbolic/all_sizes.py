"""Are kernels of all sizes right at every size? A finite set of sizes decides, with a bound.

``verify_all_sizes`` has the argument. ``deciding_sizes`` are the sizes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, Undecided, UsageError, WrongResult
from mlc_course.mugraph.ir import KernelGraph, evaluate
from mlc_course.mugraph.kernel_checks import Smaller, compare_code, evaluate_tiled
from mlc_course.mugraph.symbolic.kernel_guards import Variant
from mlc_course.mugraph.symbolic.sums_multiplied import BLOCKS, powers_of_sizes, sums_multiplied
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph
from mlc_course.mugraph.verify import batch, differing_output, missed_by_runs

Sizes = Mapping[str, int]
Kernels = Mapping[int, Sequence[Variant]]
RESCALED = 3  # steps after which the whole state of an accumulator that scales has shown
DRAWS = 16  # of inputs: a maximum that comes first, as it may, hides that nothing is rescaled


@dataclass(frozen=True)
class AllSizes:
    """The answer: right at all sizes, with an error of at most ``error_bound``, or what is wrong.

    ``sizes`` are those at which everything was compared, with up to ``steps`` tiles of a loop.
    ``guards`` say at which sizes each variant runs, and ``assumed`` what else a call checks.
    """

    name: str
    equal: bool
    error_bound: float
    sizes: tuple[Sizes, ...]
    steps: int
    guards: tuple[str, ...]
    program: str = ""
    wrong: str = ""

    def __str__(self) -> str:
        if not self.equal:
            return f"refused: {self.wrong}"
        said = f"the graph is equal to {self.program}, and " if self.program else ""
        return (
            f"{self.name} is right at all sizes: {said}its kernels compute what it says, at "
            f"{len(self.sizes)} sizes that stand for all, with up to {self.steps} steps of a loop; "
            f"a difference there would be missed with probability at most {self.error_bound:.1e}\n"
            f"guards: {'; '.join(self.guards)}"
        )

    def raise_unless_equal(self) -> None:
        """Raise ``WrongResult`` where something is wrong."""
        if not self.equal:
            raise WrongResult(
                f"{self.name}: not right at all sizes",
                expected="kernels, and a graph, that compute the same at every size",
                got=self.wrong,
            )


def verify_all_sizes(
    symbolic: SymbolicGraph,
    kernels: Kernels,
    program: KernelGraph | None = None,
    *,
    error: float = 1e-9,
    seed: int | None = None,
) -> AllSizes:
    """Decide that kernels are right at all sizes: by their graph, and by a ``program`` if given.

    Two questions are asked at each of ``deciding_sizes``. Does the graph, run tile by tile with a
    short tile at the end, compute what the program does (``verify.missed_by_runs``)? And does each
    variant of the kernels, with these sizes filled in, compute what the graph does
    (``kernel_checks.compare_code``)? The first one knows no masks, and the second no laws of exp.

    *Why these sizes stand for all.*

    1. The kernel is one text. What it does in a block depends on the block's number along each axis
       only through the place of its tiles and through which of the axes it is the end of, and each
       combination of ends has a body of its own. All bodies run, on both sides of each guard.
    2. A block's result depends on its own tiles. A wrong map, such as a tile that all blocks read
       or a number of blocks along another axis, shows on two and three blocks, where the numbers of
       tiles along any two axes are different; with one block it would not. That holds for a size
       that the program treats index by index (``verify.batch``). Any other one is a size that the
       program adds up over.
    3. What a loop leaves is a quotient of polynomials in sums over its steps, and a size is a sum
       of ones. Let Q be the numerator of a difference, of a degree of at most d in these sums
       (``sums_multiplied``). For terms F0, F1, ..., Fk of k > d steps and a last one, the
       alternating sum of Q(F0 + the terms of some of the others) over all choices of them is 0, as
       it is for every polynomial of a degree below k. So Q of all of them follows from Q of fewer:
       if it is 0 on 1 to d + 1 steps, whatever the terms are, then on any number. Those are looked
       at, with and without a short one at the end; and where there are sums over several sizes, all
       combinations with up to d steps more than one of each. An entry that has a size along several
       dimensions knows as many of its terms beforehand, so one more number is looked at for each.
    4. An accumulator that scales what it has does the same in every step after the first, to a
       state of which an output shows a part. What it shows after two steps and after three is
       right only if all of its state is right after two, whatever the tiles are; and then it is
       after any number. So a loop with one is looked at with four.
    5. A short tile of r elements is a tile whose other terms add nothing. A mask that is off by one
       shows at r = 1 and at r = t - 1; remainders between them select the same code with another
       number in its comparisons, which are all of the form ``i < r``.

    *What is assumed.* That exp, log, max and others are, to Q, variables that belong to the steps.
    That a kernel's conditions are those of ``sized_lowering``: one that asks whether a size is
    above 1000, or leaves a remainder of 7, has a body that no size here runs. That arrays have the
    shapes of the graph, which a call checks. Rounding is not looked at, nor what TVM makes of a
    kernel.

    Raises ``Undecided`` for a graph that is neither shown to be equal to the program nor to differ,
    and for one that divides the terms of a sum by sums of their own. Raises ``GraphError`` for a
    program with other inputs, and ``UsageError`` for an error that is no probability.
    """
    if not 0 < error < 1:
        raise UsageError("verify_all_sizes: error", expected="between 0 and 1", got=error)
    if program is not None:
        _check_inputs(symbolic, program)
    steps = sums_multiplied(symbolic, program)
    if symbolic.assumed:
        steps = max(steps, RESCALED)
    cases = deciding_sizes(symbolic, steps, program)
    share = error / (3 * len(cases))
    rng = np.random.default_rng(seed)
    guards = tuple(
        f"{', '.join(symbolic.graph.equations[place].names)} {each}"
        for place, choices in kernels.items()
        for each in choices
    )

    def verdict(bound: float, wrong: str = "") -> AllSizes:
        return AllSizes(
            symbolic.graph.name,
            not wrong,
            bound,
            cases,
            steps + 1,
            guards,
            program.name if program else "",
            wrong,
        )

    total = 0.0
    for sizes in cases:
        small = symbolic.at(sizes)
        at = ", ".join(f"{name}={size}" for name, size in sizes.items())
        if program is not None:
            missed = _graph_missed(program, small, sizes, share, int(rng.integers(1 << 30)))
            if isinstance(missed, str):
                return verdict(0.0, f"at {at}, {missed}")
            total += missed
        for which in _choices(kernels, sizes):
            chosen = {place: each.at(sizes) for place, each in which.items()}
            found = compare_code(small, chosen, error=share, seed=int(rng.integers(1 << 30)))
            if not found.equal:
                names = ", ".join(sorted({each.name for each in which.values()}))
                return verdict(0.0, f"at {at}, kernels {names}: {found}")
            total += found.error_bound
    return verdict(total)


def _check_inputs(symbolic: SymbolicGraph, program: KernelGraph) -> None:
    """Check that a program has the graph's inputs, with free sizes by the same names."""
    free = symbolic.tiles
    ours, theirs = (
        {
            each.name: tuple(dim if dim in free else str(graph.size_of[dim]) for dim in each.dims)
            for each in graph.inputs
        }
        for graph in (symbolic.graph, program)
    )
    counts = len(symbolic.graph.outputs), len(program.outputs)
    if ours != theirs or counts[0] != counts[1]:
        expected, got = (
            ", ".join(f"{name}[{', '.join(dims)}]" for name, dims in inputs.items())
            + f", and {count} outputs" * (counts[0] != counts[1])
            for inputs, count in zip((ours, theirs), counts, strict=True)
        )
        raise GraphError(
            f"{symbolic.graph.name}, {program.name}: inputs",
            expected=expected,
            got=got,
            hint="the same inputs, free sizes by the same names, and as many outputs",
        )


def _choices(kernels: Kernels, sizes: Sizes) -> list[dict[int, Variant]]:
    """Return the choices of variants to run: the masked ones, and those that guards pick."""
    masked = {place: choices[-1] for place, choices in kernels.items()}
    picked = {
        place: next(each for each in choices if each.admits(sizes))
        for place, choices in kernels.items()
    }
    return [masked] if picked == masked else [masked, picked]


def _graph_missed(
    program: KernelGraph, small: Smaller, sizes: Sizes, error: float, seed: int
) -> float | str:
    """Return how likely a difference of the graph and its program was missed, or what differs."""
    given = program.resized(sizes)

    def of_program(inputs: Mapping[str, Any], m: Any) -> Sequence[Any]:
        return evaluate(given, [inputs[each.name] for each in given.inputs], m)

    def of_graph(inputs: Mapping[str, Any], m: Any) -> Sequence[Any]:
        return evaluate_tiled(small, [inputs[each.name] for each in small.graph.inputs], m)

    shapes = small.graph.input_shapes
    missed = missed_by_runs(of_program, of_graph, shapes, error=error, seed=seed)
    if missed is not None:
        return missed
    rng = np.random.default_rng(seed)
    numbers = DRAWS * max(sum(map(math.prod, graph.shapes)) for graph in (given, small.graph))
    for _ in range(DRAWS):
        inputs = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
        number = differing_output(of_program, of_graph, inputs, numbers)
        if number is not None:
            name = small.graph.names[small.graph.outputs[number]]
            return f"the graph's {name} is not that of {program.name}"
    raise Undecided(
        f"{small.graph.name}, {program.name}: neither sure to differ, nor equal by a known law",
        expected="graphs that are equal by a law that the verifier knows",
        got=", ".join(f"{name}={size}" for name, size in sizes.items()),
    )


# ---- which sizes


def deciding_sizes(
    symbolic: SymbolicGraph, steps: int, program: KernelGraph | None = None
) -> tuple[Sizes, ...]:
    """Return sizes that stand for all, if sums are multiplied so many at a time.

    Each size has all numbers of full tiles from none up, with remainders 0, 1 and t - 1: as many as
    sums over it need, or a grid. Every combination of sizes that tiles divide and sizes that they
    do not is among them, each time with different numbers of tiles, and different extents, of all.
    Of sizes that sums are over combinations of numbers of tiles are among them too: a product of
    two sums may be 0 as long as one of them is.
    """
    summed = _summed(symbolic, program)
    most = {
        name: max(BLOCKS, steps + _most_often(symbolic, name) if name in summed else 0)
        for name in symbolic.tiles
    }
    each = {
        name: _sizes_of(tile, most[name], least=2 if name in symbolic.looped else 1)
        for name, tile in symbolic.tiles.items()
    }
    names = list(each)
    found: dict[tuple[int, ...], None] = {}
    found |= dict.fromkeys(itertools.product(*_ends(symbolic.tiles)))
    for which, name in enumerate(names):
        for turn, size in enumerate(each[name]):
            others = [own[(turn + k) % len(own)] for k, own in enumerate(each.values(), which + 1)]
            found[(*others[:which], size, *others[which + 1 :])] = None
    found |= dict.fromkeys(_together(symbolic.tiles, {name: most[name] for name in summed}))
    return tuple(dict(zip(names, sizes, strict=True)) for sizes in found)


def _together(tiles: Mapping[str, int], most: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    """Yield extents of all sizes, where several are summed over: few tiles of all at a time.

    A product of sums over several sizes has so many factors in all as one of sums over one.
    """
    if len(most) < 2:
        return
    counts = [range(1 if name in most else BLOCKS, most.get(name, BLOCKS) + 1) for name in tiles]
    for steps in itertools.product(*counts):
        more = sum(n - 1 for n, name in zip(steps, tiles, strict=True) if name in most)
        if more < max(most.values()):
            pairs = list(zip(steps, tiles.values(), strict=True))
            yield tuple(n * tile for n, tile in pairs)
            yield tuple(max(n * tile - 1, min(2, tile)) for n, tile in pairs)


def _summed(symbolic: SymbolicGraph, program: KernelGraph | None) -> set[str]:
    """Return the free sizes over which something is added up, or that are numbers in a formula."""
    found = set(symbolic.looped)
    for graph in (symbolic.graph, program):
        if graph is not None:
            found |= {name for name, _ in powers_of_sizes(graph)} & symbolic.tiles.keys()
    for name in symbolic.tiles:
        if program is not None and batch(program, frozenset({name})) is None:
            found.add(name)
    return found


def _most_often(symbolic: SymbolicGraph, name: str) -> int:
    """Return how many dimensions of one tensor a size is: an entry knows so many of its places."""
    return max(1, *(dims.count(name) for dims in symbolic.dims))


def _ends(tiles: Mapping[str, int]) -> list[list[int]]:
    """Return two extents of each size, one that its tile divides and one that it does not.

    No two sizes have the same extent, or as many tiles.
    """
    found: list[list[int]] = []
    for steps, tile in enumerate(tiles.values(), BLOCKS):
        taken = {size for own in found for size in own}
        while (steps * tile) in taken or (steps * tile + tile - 1) in taken:
            steps += len(tiles)
        found.append(sorted({steps * tile, steps * tile + tile - 1}))
    return found


def _sizes_of(tile: int, most: int, least: int) -> list[int]:
    """Return a size's extents: up to ``most`` full tiles, and remainders 0, 1 and t - 1.

    ``least``: a loop over one element takes a maximum of it alone, which is no function of it.
    """
    rests = sorted({0, 1 % tile, tile - 1})
    sizes = (full * tile + rest for full in range(most + 1) for rest in rests)
    return [size for size in sizes if size >= min(least, tile) and size >= 1]


# ---- how many steps

"""Are kernels of all sizes right at every size? A finite set of sizes decides, with a bound.

``verify_all_sizes`` has the argument. ``sums_multiplied`` says how many steps of a loop have to be
looked at, and ``deciding_sizes`` are the sizes.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, Undecided, WrongResult
from mlc_course.mugraph.ir import FLOAT64, KernelGraph, Number, Shape, evaluate
from mlc_course.mugraph.kernel_checks import Smaller, compare_code, evaluate_tiled
from mlc_course.mugraph.symbolic.kernel_guards import Variant
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph
from mlc_course.mugraph.verify import missed_by_runs

Sizes = Mapping[str, int]
Kernels = Mapping[int, Sequence[Variant]]
RESCALED = 3  # steps after which the whole state of an accumulator that scales has shown
BLOCKS = 2  # full tiles along an axis of a grid, at least
CLOSE = 1e-9  # relative: two float64 runs of equal formulas


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
       tiles along any two axes are different; with one block it would not.
    3. What a loop leaves is a quotient of polynomials in sums over its steps. Take the numerator of
       a difference at some number of steps. Each of its monomials has one step for each sum that is
       multiplied in it, of which there are at most d (``sums_multiplied``). Let the terms of all
       other steps be what adds nothing: entries 0, scores that go to minus infinity. The monomial
       is still there, so that the difference shows on d steps or fewer. All numbers of steps from 1
       to d + 1 are looked at, with and without a short one at the end.
    4. An accumulator that scales what it has does the same in every step after the first, to a
       state of which an output shows a part. What it shows after two steps and after three is
       right only if all of its state is right after two, whatever the tiles are; and then it is
       after any number. So a loop with one is looked at with four.
    5. A short tile of r elements is a tile whose other terms add nothing. A mask that is off by one
       shows at r = 1 and at r = t - 1; remainders between them select the same code with another
       number in its comparisons, which are all of the form ``i < r``.
    6. A number such as 1/n is a power of the size, and the kernel's is one of the numbers that it
       is given; several sizes n tell them apart.

    *What is assumed.* That d is counted right where a denominator is a sum that varies along an
    axis that is added up later: it is counted as one function then. That arrays have the shapes of
    the graph, which a call checks. Rounding is not looked at, nor what TVM makes of a kernel.

    Raises ``Undecided`` for a graph that is neither shown to be equal to the program nor to differ,
    and ``GraphError`` for a program with other inputs.
    """
    if program is not None:
        _check_inputs(symbolic, program)
    steps = sums_multiplied(symbolic, program)
    if symbolic.assumed:
        steps = max(steps, RESCALED)
    cases = deciding_sizes(symbolic, steps)
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
    ours = {each.name: each.dims for each in symbolic.graph.inputs}
    theirs = {each.name: each.dims for each in program.inputs}
    if ours != theirs or len(symbolic.graph.outputs) != len(program.outputs):
        raise GraphError(
            f"{symbolic.graph.name}, {program.name}: inputs",
            expected=", ".join(f"{name}[{', '.join(dims)}]" for name, dims in ours.items()),
            got=", ".join(f"{name}[{', '.join(dims)}]" for name, dims in theirs.items()),
            hint="the same inputs, sizes by the same names, and as many outputs",
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
    inputs = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    with np.errstate(all="ignore"):
        pairs = list(
            zip(of_program(inputs, FLOAT64), of_graph(inputs, FLOAT64), strict=True),
        )
    for number, (wanted, got) in enumerate(pairs):
        if wanted.shape != got.shape or not np.allclose(wanted, got, CLOSE, CLOSE, equal_nan=True):
            name = small.graph.names[small.graph.outputs[number]]
            return f"the graph's {name} is not that of {program.name}"
    raise Undecided(
        f"{small.graph.name}, {program.name}: alike in float64, not by the laws of arithmetic",
        expected="graphs that are equal by a law that the verifier knows",
        got=", ".join(f"{name}={size}" for name, size in sizes.items()),
    )


# ---- which sizes


def deciding_sizes(symbolic: SymbolicGraph, steps: int) -> tuple[Sizes, ...]:
    """Return sizes that stand for all, if sums are multiplied so many at a time.

    Each size has all numbers of full tiles from none up, with remainders 0, 1 and t - 1: as many as
    one loop needs, or a grid. Every combination of sizes that tiles divide and sizes that they do
    not is among them, each time with different numbers of tiles, and different extents, of all.
    """
    most = {
        name: max(BLOCKS, steps + 1 if name in symbolic.looped else 0) for name in symbolic.tiles
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
    return tuple(dict(zip(names, sizes, strict=True)) for sizes in found)


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


def sums_multiplied(symbolic: SymbolicGraph, program: KernelGraph | None = None) -> int:
    """Return how many sums are multiplied at most in the numerator of a difference.

    It counts, for what is above and what is below the line of each formula, how many sums a
    monomial is a product of. A function's value counts none: its arguments are compared by
    themselves.
    """
    m = _Counting()
    for graph in (symbolic.graph, program):
        if graph is not None:
            inputs = [_Sums(m, shape) for shape in graph.input_shapes.values()]
            for each in evaluate(graph, inputs, m):
                m.compared(each)
    return max(1, m.above + m.below)


@dataclass(frozen=True, eq=False)
class _Sums:
    """How many sums a monomial of a tensor's entries has, above the line and below it."""

    m: _Counting
    shape: Shape
    above: int = 0
    below: int = 0

    def _joint(self, other: Any, above: int, below: int) -> _Sums:
        shape = other.shape if isinstance(other, _Sums) else ()
        return _Sums(self.m, np.broadcast_shapes(self.shape, shape), above, below)

    def _of(self, other: Any) -> _Sums:
        return other if isinstance(other, _Sums) else _Sums(self.m, ())

    def __add__(self, other: Any) -> _Sums:
        right = self._of(other)
        if self.below == right.below:  # one denominator, as far as that is counted
            return self._joint(right, max(self.above, right.above), self.below)
        above = max(self.above + right.below, right.above + self.below)
        return self._joint(right, above, self.below + right.below)

    def __mul__(self, other: Any) -> _Sums:
        right = self._of(other)
        return self._joint(right, self.above + right.above, self.below + right.below)

    def __truediv__(self, other: Any) -> _Sums:
        right = self._of(other)
        return self._joint(right, self.above + right.below, self.below + right.above)

    def __rtruediv__(self, other: Any) -> _Sums:
        return self._of(other) / self

    def __neg__(self) -> _Sums:
        return self

    def __matmul__(self, other: _Sums) -> _Sums:
        lead = np.broadcast_shapes(self.shape[:-2], other.shape[:-2])
        shape = (*lead, self.shape[-2], other.shape[-1])
        return _Sums(self.m, shape, self.above + other.above + 1, self.below + other.below)

    __radd__ = __sub__ = __rsub__ = __add__
    __rmul__ = __mul__


class _Counting:
    """The arithmetic of these counts."""

    def __init__(self) -> None:
        self.above = self.below = 0

    def compared(self, x: _Sums) -> None:
        """Count a formula that is compared with another one like it."""
        self.above, self.below = max(self.above, x.above), max(self.below, x.below)

    def constant(self, number: Number) -> _Sums:
        return _Sums(self, ())

    def exp(self, x: _Sums) -> _Sums:
        return self.function("exp", x)

    def function(self, name: str, x: _Sums) -> _Sums:
        self.compared(x)
        return _Sums(self, x.shape)

    def maximum(self, x: Any, y: Any) -> _Sums:
        return self.function("max", x + y if isinstance(x, _Sums) else y + x)

    minimum = maximum

    def sum(self, x: _Sums, axis: int) -> _Sums:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return _Sums(self, shape, x.above + 1, x.below)

    def max(self, x: _Sums, axis: int) -> _Sums:
        self.compared(x)
        return _Sums(self, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))

    def count(self, x: _Sums, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: _Sums, shape: Shape) -> _Sums:
        return _Sums(self, shape, x.above, x.below)

    def transpose(self, x: _Sums, axes: Sequence[int]) -> _Sums:
        return self.reshape(x, tuple(x.shape[axis] for axis in axes))

    def concatenate(self, xs: Sequence[_Sums], axis: int) -> _Sums:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        above, below = max(x.above for x in xs), max(x.below for x in xs)
        return _Sums(self, tuple(shape), above, below)

    def take(self, x: _Sums, place: tuple[slice, ...]) -> _Sums:
        spans = zip(x.shape, place, strict=True)
        return self.reshape(x, tuple(len(range(n)[cut]) for n, cut in spans))

    def stored(self, x: _Sums) -> _Sums:
        return x

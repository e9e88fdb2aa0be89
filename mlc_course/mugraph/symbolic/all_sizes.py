"""Are kernels of all sizes right at every size? A finite set of sizes decides, with a bound.

``verify_all_sizes`` has the argument. ``sums_multiplied`` says how many steps of a loop have to be
looked at, and ``deciding_sizes`` are the sizes.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mlc_course.errors import GraphError, Undecided, UsageError, WrongResult
from mlc_course.mugraph.ir import (
    FLOAT64,
    Constant,
    KernelGraph,
    Number,
    Shape,
    ThreadGraph,
    evaluate,
)
from mlc_course.mugraph.kernel_checks import Smaller, compare_code, evaluate_tiled
from mlc_course.mugraph.symbolic.kernel_guards import Variant
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph
from mlc_course.mugraph.verify import batch, kept_axes, missed_by_runs

Sizes = Mapping[str, int]
Kernels = Mapping[int, Sequence[Variant]]
RESCALED = 3  # steps after which the whole state of an accumulator that scales has shown
BLOCKS = 2  # full tiles along an axis of a grid, at least
LEAST_PRIME = 13  # no usual constant has it as a factor
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
            found |= {name for name, _ in _powers(graph)} & symbolic.tiles.keys()
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


def sums_multiplied(symbolic: SymbolicGraph, program: KernelGraph | None = None) -> int:
    """Return how many sums are multiplied at most in the numerator of a difference.

    It counts, for what is above and what is below the line of each formula, how many sums over free
    sizes a monomial is a product of. The graphs are looked at on sizes that are primes, so that a
    factor of a constant is known to be a size, which is a sum of ones. Raises ``Undecided`` where
    the terms of a sum are divided by sums of their own.
    """
    sizes = _primes(symbolic, program)
    graphs = [each for each in (symbolic.graph, program) if each]
    powers = [power for graph in graphs for name, power in _powers(graph) if name in sizes]
    rooted = any(power.denominator > 1 for power in powers)
    m, small = _Counting(tuple(sizes.values()), 2 if rooted else 1), symbolic.at(sizes)
    found = evaluate_tiled(small, m.inputs(small.graph), m)
    if program is not None:
        given = program.resized(sizes)
        found += evaluate(given, m.inputs(given), m)
    for each in found:
        m.compared(each)
    return max(1, m.above + m.below)


def _primes(symbolic: SymbolicGraph, program: KernelGraph | None) -> dict[str, int]:
    """Return a prime for each free size, of two full tiles or more, that no known size has."""
    graphs = [each for each in (symbolic.graph, program) if each]
    others = [n for each in graphs for name, n in each.sizes if name not in symbolic.tiles]
    found = dict[str, int]()
    for name, tile in symbolic.tiles.items():
        prime = max(LEAST_PRIME, BLOCKS * tile + 1)
        while prime in found.values() or any(n % prime == 0 for n in others) or not _prime(prime):
            prime += 1
        found[name] = prime
    return found


def _prime(n: int) -> bool:
    return all(n % factor for factor in range(2, math.isqrt(n) + 1))


def _powers(graph: KernelGraph) -> Iterator[tuple[str, Fraction]]:
    """Yield the names of sizes in the attributes of operators, and their powers."""
    blocks = [each for _, block in graph.blocks for each in block.equations]
    for equation in (*graph.equations, *blocks):
        op = equation.op
        for inner in op.equations if isinstance(op, ThreadGraph) else [equation]:
            for _, value in inner.attributes:
                for each in value if isinstance(value, tuple) else (value,):
                    yield from each.powers if isinstance(each, Constant) else ()


@dataclass(frozen=True)
class _Divisor:
    """How many sums a divisor has in a monomial, and the axes along which its entries differ."""

    count: int
    axes: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _Quotient:
    """How many sums a monomial has: above the line, and below it by the formula of each divisor.

    Two formulas that are divided by the same have one denominator, by others the product of both.
    """

    above: int = 0
    divisors: Mapping[int, _Divisor] = field(default_factory=dict)

    @property
    def below(self) -> int:
        return sum(each.count for each in self.divisors.values())

    def plus(self, other: _Quotient) -> _Quotient:
        divisors = self._joined(other, max)
        below = sum(each.count for each in divisors.values())
        above = max(each.above + below - each.below for each in (self, other))
        return _Quotient(above, divisors)

    def times(self, other: _Quotient) -> _Quotient:
        return _Quotient(self.above + other.above, self._joined(other, operator.add))

    def _joined(self, other: _Quotient, join: Callable[[int, int], int]) -> dict[int, _Divisor]:
        found = dict(self.divisors)
        for key, each in other.divisors.items():
            before = found.get(key, _Divisor(0))
            found[key] = _Divisor(join(before.count, each.count), before.axes | each.axes)
        return found

    def inverse(self, key: int, axes: frozenset[int]) -> _Quotient:
        return _Quotient(self.below, {key: _Divisor(self.above, axes)} if self.above else {})

    def moved(self, to: Callable[[int], Collection[int]]) -> _Quotient:
        """Return the same with axes elsewhere."""
        return _Quotient(
            self.above,
            {
                key: _Divisor(each.count, _moved(each.axes, to))
                for key, each in self.divisors.items()
            },
        )

    def summed(self, axis: int, extent: int, *, is_free: bool) -> _Quotient:
        """Return what a sum along an axis is: one more sum, if there are as many as a size says.

        Terms with denominators of their own have the product of them all.
        """
        above, divisors = self.above + is_free, dict[int, _Divisor]()
        for key, each in self.divisors.items():
            if axis in each.axes:
                if is_free:
                    raise Undecided(
                        "sums are divided by, of which there is one for each term of a sum",
                        expected="one denominator for all terms that are added up over a free size",
                        hint="keep the size that is added up at a known number",
                    )
                above += (extent - 1) * each.count
                each = _Divisor(extent * each.count, each.axes - {axis})
            divisors[key] = each
        return _Quotient(above, divisors)


def _moved(axes: frozenset[int], to: Callable[[int], Collection[int]]) -> frozenset[int]:
    return frozenset(new for axis in axes for new in to(axis))


NO_SUMS = _Quotient()


@dataclass(frozen=True, eq=False)
class _Sums:
    """How many sums over free sizes are in a tensor's entries, whose formula has a ``key``.

    ``free`` are the axes along which it is a part of a free size, or all. ``exponents`` are those
    of what exp is taken of, where exps are multiplied. ``logs`` counts the sums that are factors of
    exp of this: exp(log(x) + log(y)) is x y. ``number`` is known of a constant.
    """

    m: _Counting
    shape: Shape
    key: int
    free: frozenset[int] = frozenset()
    quotient: _Quotient = NO_SUMS
    exponents: _Quotient = NO_SUMS
    logs: int = 0
    number: float | None = None

    @property
    def axes(self) -> frozenset[int]:
        """The axes along which entries may differ."""
        return self.free | {axis for axis, extent in enumerate(self.shape) if extent > 1}

    def _of(self, other: Any) -> _Sums:
        return other if isinstance(other, _Sums) else self.m.constant(Number(Fraction(other)))

    def _joint(self, name: str, other: _Sums, quotient: _Quotient, logs: int) -> _Sums:
        shape = self.shape or other.shape
        if self.shape and other.shape:
            shape = tuple(map(max, zip(self.shape, other.shape, strict=True)))
        key, free = hash((name, self.key, other.key)), self.free | other.free
        exponents = self.exponents.plus(other.exponents)
        return _Sums(self.m, shape, key, free, quotient, exponents, logs)

    def __add__(self, other: Any) -> _Sums:
        right = self._of(other)
        logs = self.logs + right.logs
        return self._joint("add", right, self.quotient.plus(right.quotient), logs)

    def __sub__(self, other: Any) -> _Sums:
        return self + -self._of(other)

    def __rsub__(self, other: Any) -> _Sums:
        return self._of(other) - self

    def __mul__(self, other: Any) -> _Sums:
        right = self._of(other)
        logs = self.logs * _ceiling(right.number) + right.logs * _ceiling(self.number)
        return self._joint("mul", right, self.quotient.times(right.quotient), logs)

    def __truediv__(self, other: Any) -> _Sums:
        right = self._of(other)
        below = right.quotient.inverse(right.key, right.axes)
        logs = self.logs * _ceiling(right.number and 1 / right.number) + right.logs
        return self._joint("div", right, self.quotient.times(below), logs)

    def __rtruediv__(self, other: Any) -> _Sums:
        return self._of(other) / self

    def __neg__(self) -> _Sums:
        return replace(self, key=hash(("neg", self.key)))

    def __matmul__(self, other: _Sums) -> _Sums:
        """Add up products along one more axis, the last one."""
        rank, extent = len(self.shape), self.shape[-1]
        left = self.at((*self.shape[:-1], 1, extent), lambda axis: {axis + (axis == rank - 1)})
        right = other.at(
            (*other.shape[:-2], 1, other.shape[-1], extent),
            lambda axis: {rank if axis == rank - 2 else axis},
        )
        made = self.m.sum(left * right, rank)
        return replace(made, shape=made.shape[:-1])

    def at(self, shape: Shape, to: Callable[[int], Collection[int]], *how: Any) -> _Sums:
        """Return the same entries, or some of them, with axes elsewhere."""
        return replace(
            self,
            shape=shape,
            key=hash((self.key, *how)) if how else self.key,
            free=_moved(self.free, to),
            quotient=self.quotient.moved(to),
            exponents=self.exponents.moved(to),
        )

    __radd__ = __add__
    __rmul__ = __mul__


def _ceiling(number: float | None) -> int:
    """Return how often a factor counts as a summand: exp(3 log(x)) is x x x."""
    return math.ceil(abs(number)) if number and math.isfinite(number) else 1


class _Counting:
    """The arithmetic of these counts, where a size is one of some ``primes``.

    Each counts so many ``times``: twice if there are square roots of sizes, which are sizes then.
    """

    def __init__(self, primes: tuple[int, ...], times: int) -> None:
        self.primes, self.times = primes, times
        self.above = self.below = 0

    def inputs(self, graph: KernelGraph) -> list[_Sums]:
        """Return the inputs of a graph; those of one name are the same."""
        found = []
        for name, shape in graph.input_shapes.items():
            free = frozenset(axis for axis, n in enumerate(shape) if n in self.primes)
            found.append(_Sums(self, shape, hash(name), free))
        return found

    def compared(self, x: _Sums) -> None:
        """Count a formula that is compared with another one like it."""
        for each in (x.quotient, x.exponents, _Quotient(x.logs)):
            self.above, self.below = max(self.above, each.above), max(self.below, each.below)

    def constant(self, number: Number) -> _Sums:
        above, divisors = 0, dict[int, _Divisor]()
        for prime in self.primes:
            halves = 2 * _times_in(prime, number.coefficient) + (prime in number.roots)
            count = -(-abs(halves) * self.times // 2)
            if halves > 0:
                above += count
            elif halves:
                divisors[prime] = _Divisor(count)
        key, quotient = hash(("number", number)), _Quotient(above, divisors)
        return _Sums(self, (), key, quotient=quotient, number=float(number))

    def exp(self, x: _Sums) -> _Sums:
        self.compared(x)
        logs = {x.key: _Divisor(x.logs, x.axes)} if x.logs else {}
        exponents = x.quotient.plus(x.exponents)
        made = replace(x, key=hash(("exp", x.key)), quotient=_Quotient(x.logs, logs))
        return replace(made, exponents=exponents, logs=0, number=None)

    def function(self, name: str, x: _Sums) -> _Sums:
        """Count a function's value: two roots make a factor, and log(exp(x)) is x."""
        self.compared(x)
        known = {"sqrt": x.quotient, "log": x.exponents}
        logs = x.quotient.above + x.quotient.below if name == "log" else 0
        made = replace(x, key=hash((name, x.key)), quotient=known.get(name, NO_SUMS))
        return replace(made, logs=logs, number=None)

    def maximum(self, x: Any, y: Any) -> _Sums:
        return self.function("max", x + y if isinstance(x, _Sums) else y + x)

    minimum = maximum

    def sum(self, x: _Sums, axis: int) -> _Sums:
        made = self._reduced("sum", x, axis)
        is_free, extent = axis in x.free, x.shape[axis]
        return replace(made, quotient=x.quotient.summed(axis, extent, is_free=is_free))

    def max(self, x: _Sums, axis: int) -> _Sums:
        return self.function("max", self._reduced("max", x, axis))

    def _reduced(self, name: str, x: _Sums, axis: int) -> _Sums:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        return x.at(shape, lambda each: {each} - {axis}, name, axis)

    def count(self, x: _Sums, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: _Sums, shape: Shape) -> _Sums:
        kept = kept_axes(x.shape, shape)
        new = set(range(len(shape))) - set(kept.values())
        return x.at(shape, lambda axis: {kept[axis]} if axis in kept else new, shape)

    def transpose(self, x: _Sums, axes: Sequence[int]) -> _Sums:
        shape = tuple(x.shape[axis] for axis in axes)
        return x.at(shape, lambda axis: {list(axes).index(axis)}, tuple(axes))

    def concatenate(self, xs: Sequence[_Sums], axis: int) -> _Sums:
        """Join tensors, of which all parts of a free size have one formula."""
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        made, *others = {x.key: x for x in xs}.values()
        if others:
            pieces = (made, *others)
            made = replace(made, shape=(), number=None)
            for each in others:
                made = made + replace(each, shape=())
            made = replace(
                made,
                quotient=_either([each.quotient for each in pieces], axis),
                exponents=_either([each.exponents for each in pieces], axis),
            )
        return replace(made, shape=tuple(shape))

    def take(self, x: _Sums, place: tuple[slice, ...]) -> _Sums:
        """Take a part: of a known size it is one by itself, of a free size it stands for all."""
        spans = [range(n)[cut] for n, cut in zip(x.shape, place, strict=True)]
        parts = [
            (axis, span.start, span.stop)
            for axis, span in enumerate(spans)
            if len(span) < x.shape[axis] and axis not in x.free
        ]
        shape = tuple(map(len, spans))
        return x.at(shape, lambda axis: {axis}, *parts)

    def stored(self, x: _Sums) -> _Sums:
        return x


def _either(quotients: Sequence[_Quotient], axis: int) -> _Quotient:
    """Return what an entry has that is one of one of these, which lie along an axis."""
    divided = [tuple(sorted(each.divisors)) for each in quotients]
    count = max(each.below for each in quotients)
    axes = {axis}.union(*(d.axes for each in quotients for d in each.divisors.values()))
    divisors = {hash(("concat", *divided)): _Divisor(count, frozenset(axes))} if count else {}
    return _Quotient(max(each.above + count - each.below for each in quotients), divisors)


def _times_in(prime: int, number: Fraction) -> int:
    """Return how often a prime divides a number; less than 0 if it divides what is below."""
    count = 0
    for n, sign in ((number.numerator, 1), (number.denominator, -1)):
        while n and n % prime == 0:
            n, count = n // prime, count + sign
    return count

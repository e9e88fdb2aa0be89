"""Loop nests: which loops to try for a program, and the bank of values for each.

The values of a nest do not depend on the extents of its loops, only on which dimensions they cut,
and a grid axis cuts a dimension that no operator of the graph reduces, so that a block sees the
same program on a slice. So there is one bank for each nest, and there are few nests; all grids,
extents and maps come afterwards (``grids_and_extents``).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from mlc_course.mugraph.expressions import (
    EXP,
    Abstract,
    AbstractArithmetic,
    Cancelled,
    Expressions,
    Goal,
    Poly,
    TooLong,
)
from mlc_course.mugraph.ir import KernelGraph, Op, Shape, evaluate, ops, resolved
from mlc_course.mugraph.search.dimensions import NONE, UNKNOWN, Classes, Dims, apart
from mlc_course.mugraph.search.kernel_partition import inside
from mlc_course.mugraph.search.loop_residues import Iterated
from mlc_course.mugraph.search.residue_bank import EVERY, Bank, Offer, Watch, fingerprint
from mlc_course.mugraph.search.value_facts import CANCELS, TOO_LONG, Refused, Use
from mlc_course.mugraph.verify import Field, Residues, draw

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67)
FEW = (3, 5)  # elements of a dimension, in turn, for residues
TRIALS = 2
Loops = tuple[tuple[str, ...], ...]  # the dimensions that each loop cuts, outermost first
Steps = tuple[int, ...]  # of each dimension of a loop
LOWEST, ABOVE = 2**17 - 1, 2**31 - 1


@dataclass(frozen=True)
class Nest:
    """Dimensions cut by an inner loop; and by an outer one, whose turns are kernels' business:

    ``parts`` are a grid axis of a first kernel, and the loop of a second that adds up its results.
    """

    loop: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    @property
    def loops(self) -> Loops:
        """Outermost first."""
        return tuple(filter(None, (self.parts, self.loop)))

    def __str__(self) -> str:
        loop = f"loop over {', '.join(self.loop)}" if self.loop else "no loop"
        return f"{loop}, {', '.join(self.parts)} in parts" if self.parts else loop


class Problem:
    """A program to fuse: its dimensions, and the operators to do it with.

    These are its own and ``more``, of those the ones that need nothing but an axis.
    """

    def __init__(self, program: KernelGraph, more: Sequence[Op] = ()) -> None:
        self.program, self.more = apart(program), more
        self.classes = Classes(self.program)
        twice = {
            dim
            for dims in self.classes.of_value
            for dim in dims
            if dims.count(dim) > 1 and dim != NONE
        }
        self.uncuttable = twice | {UNKNOWN, NONE}

    @property
    def reduced(self) -> tuple[str, ...]:
        """Dimensions that a loop may cut, in the order in which the inputs name them."""
        summed = self.classes.along() - self.uncuttable
        return tuple(name for name, _ in self.program.sizes if name in summed)

    def banks(self, *, parts: bool = True) -> list[Loops]:
        """Loops to try, outermost first.

        None; one over each reduced dimension; one over two of them at once. Then one of those
        inside a loop over the parts of a dimension.
        """
        reduced = self.reduced
        inner = [*((dim,) for dim in reduced), *itertools.combinations(reduced, 2)]
        one: list[Loops] = [(), *((loop,) for loop in inner)]
        return one + [((dim,), loop) for dim in reduced for loop in inner if parts]

    def dims(self, value: int) -> Dims:
        """The labels of a value of the program."""
        return self.classes.of_value[value]

    def offer(self, sizes: Mapping[str, int], few: Mapping[str, int]) -> Offer:
        """Return the program's operators; sums if it has products; accumulators.

        ``sizes`` are those of expressions, ``few`` those of residues.
        """
        uses: dict[tuple[Op, tuple[tuple[str, Any], ...]], Use] = {}
        for equation in self.program.equations:
            op = equation.op
            assert isinstance(op, Op)
            if op.operands and inside(op):
                rest = tuple((name, each) for name, each in equation.attributes if name != "axis")
                given = [resolved(equation, each) for each in (sizes, few)]
                for each in given:
                    each.pop("axis", None)
                uses.setdefault((op, rest), Use(op, rest, *given))
        operators = {op for op, _ in uses}
        for op in self.more:
            if inside(op) and not op.carried and not {*op.attributes} - {"axis"}:
                uses.setdefault((op, ()), Use(op))
        if ops.matmul in operators:
            uses.setdefault((ops.reduce_sum, ()), Use(ops.reduce_sum))
        unary = [use for use in uses.values() if use.op.operands == 1]
        maxima = self.classes.along(ops.reduce_max)
        return Offer(
            unary=[use for use in unary if "axis" not in use.op.attributes],
            along=[use for use in unary if "axis" in use.op.attributes],
            binary=[use for use in uses.values() if use.op.operands == 2],
            carried=_carried(operators),
            maxima=frozenset(maxima),
            joined=frozenset(self.reduced if {ops.add, ops.matmul} <= operators else ()),
        )


def _carried(operators: set[Op]) -> list[Op]:
    if ops.reduce_max not in operators:
        return [ops.accumulate]
    maxima = [ops.running_max, ops.accumulate_max]
    rescaled = [ops.accumulate_rescaled] if ops.exp in operators else []
    return [ops.accumulate, *maxima, *rescaled]


@dataclass
class Start:
    """A bank with the inputs' tiles, and what to look for in it: the residues of each output."""

    bank: Bank
    offer: Offer
    outputs: Sequence[tuple[Dims, Shape, Residues]]
    known: Mapping[tuple[Poly, Dims], str]  # names of the program's values

    def found(self) -> list[int | None]:
        """Return for each output the number of an equal value, with all loops closed; or None."""
        return [self._equal(*each) for each in self.outputs]

    def _equal(self, dims: Dims, shape: Shape, wanted: Residues) -> int | None:
        key = fingerprint(wanted)
        for each in self.bank.by_level[0]:
            known = each.facts.dims == dims and each.facts.shape == shape
            if known and fingerprint(each.residues) == key:
                return each.number
        return None


def start(
    problem: Problem,
    nest: Nest,
    *,
    seed: str,
    whole_sums: bool = False,
    most_operators: int | None = None,
    prunings: frozenset[str] = EVERY,
    watch: Watch | None = None,
) -> Start:
    """Return the bank of a nest before it grows."""
    program, turns = _small(problem, nest)
    tested, steps = _small(problem, nest, few=True)
    among, every = expressions(program, whole_sums=whole_sums)
    polys = [every[number] for number in program.outputs]
    fields, inputs, outputs = _residues(tested, steps, _height(among, polys), seed)
    goal = Goal(among, polys, negates=negates(program))
    cuts = [frozenset(loop) for loop in nest.loops]
    times = [math.prod(each) for each in turns]
    bank = Bank(goal, fields, times, cuts, most_operators, prunings, watch)
    for number, (each, whole) in enumerate(zip(program.inputs, inputs, strict=True)):
        dims = problem.dims(number)
        level, tile = _tile(whole, dims, fields, nest.loops)
        shape = _tile_shape(program.shapes[number], dims, nest.loops[:level], turns)
        bank.enter(each.name, dims, level, shape, tile)
    wanted = [problem.dims(number) for number in program.outputs]
    called = zip(program.names, every, problem.classes.of_value, strict=True)
    known = {(poly, dims): name for name, poly, dims in called}
    looked_for = list(zip(wanted, program.output_shapes, outputs, strict=True))
    return Start(bank, problem.offer(program.size_of, tested.size_of), looked_for, known)


def expressions(
    program: KernelGraph, *, whole_sums: bool = False
) -> tuple[Expressions, list[Poly]]:
    """Return the expression of each value; raise ``Refused`` where one cancels, or is too long."""
    whole = replace(program, outputs=tuple(range(len(program.shapes))))
    for like_terms in (False, True):
        among = Expressions(whole_sums=whole_sums, like_terms=like_terms)
        tensors = [
            Abstract(among, shape, among.atom(name)) for name, shape in program.input_shapes.items()
        ]
        try:
            made = evaluate(whole, tensors, AbstractArithmetic(among))
        except TooLong:
            raise Refused(TOO_LONG) from None
        except Cancelled:
            continue
        return among, [each.poly for each in made]
    raise Refused(CANCELS)


def _small(problem: Problem, nest: Nest, *, few: bool = False) -> tuple[KernelGraph, list[Steps]]:
    """Return the program on small sizes, and the steps of each loop.

    For expressions, sizes are different primes: loops turn a prime number of times over tiles of a
    prime number, so that a coefficient says what was summed. For residues, few elements are enough.
    A dimension that is only ever ahead of the last two axes, and not summed, is left with one
    element: there is nothing that an operator could do to it.
    """
    primes = itertools.cycle(FEW) if few else iter(PRIMES)
    tile, turn = (itertools.repeat(2), itertools.cycle((3, 2))) if few else (primes, primes)
    tiles = {dim: next(tile) for loop in nest.loops for dim in loop}
    turns = [tuple(next(turn) for _ in loop) for loop in nest.loops]
    sizes = dict(tiles)
    for loop, steps in zip(nest.loops, turns, strict=True):
        for dim, step in zip(loop, steps, strict=True):
            sizes[dim] *= step
    classes, size_of = problem.classes, problem.program.size_of
    inner = {dim for dims in classes.of_value for dim in dims[-2:]} | classes.along()
    for dim in size_of:
        root = classes.root(dim)
        if root not in sizes:
            alone = size_of[dim] == 1 or root not in inner
            sizes[root] = 1 if alone else next(primes)
    return problem.program.resized({dim: sizes[classes.root(dim)] for dim in size_of}), turns


def _height(among: Expressions, polys: Sequence[Poly]) -> int:
    """Return how deep exponentials are nested."""
    inside: dict[int, int] = {}

    def of(poly: Poly) -> int:
        return max((at(atom) for monomial, _ in poly for atom, _ in monomial), default=0)

    def at(atom: int) -> int:
        if atom not in inside:
            known = among.atoms[atom]
            inside[atom] = max(map(of, known.of), default=0) + (known.name == EXP)
        return inside[atom]

    return max(map(of, polys))


def negates(program: KernelGraph) -> bool:
    """Tell whether a program, and so its search, has an operator that changes a sign."""
    return any(
        equation.op is ops.neg
        or any(getattr(v, "coefficient", Fraction(1)) < 0 for _, v in equation.attributes)
        for equation in program.equations
    )


def _residues(
    program: KernelGraph, turns: Sequence[Steps], height: int, seed: str
) -> tuple[list[Field], list[Residues], list[Residues]]:
    """Return the arithmetic of each level, and inputs and outputs on random residues.

    Drawn again as long as the program divides by zero; and with one more level, if an exponential
    that a factor of zero hides from its expression needs one.
    """
    rng = random.Random(seed)
    while True:
        lowest = LOWEST if height else ABOVE
        base = Field([draw(lowest, height, rng) for _ in range(TRIALS)], rng, 4)
        inputs = [base.random(shape) for shape in program.input_shapes.values()]
        outputs = evaluate(program, inputs, base)
        hidden = any(each.levels[-1] is None for each in outputs)
        if not base.bad.any() and not hidden:
            break
        height += hidden
    fields: list[Field] = [base]
    for steps in turns:
        fields.append(Iterated(fields[-1], steps))
    return fields, inputs, outputs


def _tile(
    value: Residues, dims: Dims, fields: Sequence[Field], loops: Sequence[tuple[str, ...]]
) -> tuple[int, Residues]:
    """Return how many loops have to be open for an input, and its tile in them."""
    level = max((n for n, loop in enumerate(loops, 1) if set(loop) & set(dims)), default=0)
    for loop, field in zip(loops[:level], fields[1:], strict=False):
        assert isinstance(field, Iterated)
        value = field.cut(value, [dims.index(dim) if dim in dims else None for dim in loop])
    return level, value


def _tile_shape(shape: Shape, dims: Dims, loops: Loops, turns: Sequence[Steps]) -> Shape:
    """Return the shape of an input's tile in these loops."""
    steps = {dim: 1 for dim in dims}
    for loop, times in zip(loops, turns, strict=False):
        steps |= {dim: steps[dim] * n for dim, n in zip(loop, times, strict=True) if dim in steps}
    return tuple(extent // steps[dim] for extent, dim in zip(shape, dims, strict=True))

"""The equivalence test: do two graphs compute the same function? Random, with a proved bound.

Both graphs are made small (``small_sizes``) and the sizes of their formulas are bounded
(``formula_bounds``); from these follows how many tests on which primes leave no more than the error
that was asked for (``false_accept_bound`` has the theorem and its proof). Then the tests are made
(``field``). Graphs that differ in one test are different formulas; a float64 input then shows it,
where one exists (``counterexample``).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import GraphError, Undecided, UsageError
from mlc_course.mugraph.ir import Array, KernelGraph, evaluate
from mlc_course.mugraph.verify.counterexample import Counterexample, counterexample
from mlc_course.mugraph.verify.false_accept_bound import Plan, order_chance, plan
from mlc_course.mugraph.verify.field import Field, Residues
from mlc_course.mugraph.verify.formula_bounds import Bound, Bounds
from mlc_course.mugraph.verify.primes import draw
from mlc_course.mugraph.verify.small_sizes import Family, Name, Small, family

FIRST = 4  # tests that most wrong graphs do not survive
AT_A_TIME = 1024
MATCHINGS = 24  # of outputs that are not equal, of which each has to show a difference
REDRAWS = 40  # batches without one test in which nothing is divided by zero


@dataclass(frozen=True)
class Verdict:
    """The answer: equal, with an error of at most ``error_bound``, or different, without error.

    Output i of the left graph is output ``outputs[i]`` of the right. ``sizes`` are those that were
    tested, one after the other; ``plan`` is that of the last. A ``counterexample`` is found for
    graphs that differ on some float64 input.
    """

    equal: bool
    error_bound: float
    trials: int
    counterexample: Counterexample | None
    outputs: tuple[int, ...]
    sizes: tuple[Mapping[str, int], ...]
    plan: Plan | None

    def __str__(self) -> str:
        sizes = "; ".join(
            ", ".join(f"{name}={size}" for name, size in each.items()) for each in self.sizes
        )
        if self.equal:
            return (
                f"equal: a difference would be missed with probability at most "
                f"{self.error_bound:.1e} ({self.trials} tests on {sizes})"
            )
        return f"different: {self.counterexample or 'as formulas'} (on {sizes})"


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, for files and other processes."""
    return {
        "equal": verdict.equal,
        "error_bound": verdict.error_bound,
        "trials": verdict.trials,
        "outputs": list(verdict.outputs),
        "sizes": [dict(each) for each in verdict.sizes],
    }


def read_verdict(plain: dict[str, Any]) -> Verdict:
    """Read a verdict from plain data; the plan of its tests is lost."""
    return Verdict(
        plain["equal"],
        plain["error_bound"],
        plain["trials"],
        None,
        tuple(plain["outputs"]),
        tuple(plain["sizes"]),
        None,
    )


def verify(
    left: KernelGraph,
    right: KernelGraph,
    *,
    error: float = 1e-9,
    seed: int | None = None,
    extent: int = 2,
    full: bool = False,
) -> Verdict:
    """Compare two graphs that have inputs of the same names and shapes; outputs in any order.

    ``extent`` is the number of steps that grids and loops keep on small sizes; ``full`` makes one
    test on the full sizes besides, which finds what depends on them. A seed makes the draws
    repeatable. Raises ``GraphError`` for graphs whose inputs differ, ``Undecided`` where the
    verifier can neither accept nor show a difference.
    """
    if not 0 < error < 1:
        raise UsageError("verify: error", expected="a probability between 0 and 1", got=error)
    if extent < 2:
        raise UsageError("verify: extent", expected="2 or more", got=extent)
    _check_inputs(left, right)
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        return Verdict(False, 0.0, 0, None, (), (left.size_of,), None)
    rng, outputs = random.Random(seed), len(left.outputs)
    equal = np.ones((outputs, outputs), bool)
    trials, bound, sizes = 0, 0.0, list[Mapping[str, int]]()
    members, share = family(left, right, extent), error / outputs**2
    try:
        for stage in _stages(members, share, full=full, equal=equal, rng=rng):
            found, made = _tested(stage.small, stage.plan, stage.tests, rng)
            equal &= found
            trials, sizes = trials + made, [*sizes, stage.small.sizes]
            bound = max(bound, outputs**2 * stage.plan.error_bound)
            order = _matched(equal)
            if None in order:
                example = _example(members, stage, order, rng)
                return Verdict(False, 0.0, trials, example, (), tuple(sizes), stage.plan)
    except Undecided:
        shown = _shown(members) if outputs == 1 else None
        if shown is None:
            raise
        shapes = dict(shown.left.sizes)
        return Verdict(False, 0.0, trials, shown, (), (*sizes, shapes), None)
    matched = tuple(each for each in order if each is not None)
    return Verdict(True, bound, trials, None, matched, tuple(sizes), stage.plan)


@dataclass(frozen=True)
class _Stage:
    """Tests of one member. ``laws`` names what in it obeys laws that the verifier does not know.

    These are sqrt, log, max and irrational constants.
    """

    small: Small
    plan: Plan
    laws: Sequence[str]
    tests: int


def _stages(
    members: Family, error: float, *, full: bool, equal: NDArray[np.bool_], rng: random.Random
) -> Iterator[_Stage]:
    """Yield what to test, one after the other; ``equal`` is what was found so far."""
    first = _Formulas(members.smallest(), rng)
    stage = first.stage(error)
    yield stage
    names = members.free if first.bounds.counted else members.named
    other = _larger(members, first, names, rng)
    if other.small.sizes != first.small.sizes:
        yield other.stage(error)
    largest = members.largest(other.small, names)
    if counterexample(largest.left, largest.right, _paired(_matched(equal)), draws=2):
        yield _Formulas(largest, rng).stage(error)
    if full:
        left, right = members.graphs
        yield _Stage(Small(left, right, left.size_of, {}), stage.plan, stage.laws, 1)


class _Formulas:
    """A member of the family with the bounds of its outputs."""

    def __init__(self, small: Small, rng: random.Random) -> None:
        shapes = [sorted(each.output_shapes) for each in (small.left, small.right)]
        if shapes[0] != shapes[1]:
            raise Undecided(
                f"{small.left.name}, {small.right.name}: outputs alike in shape on some sizes only",
                expected="equal shapes on every size",
                got=", ".join(f"{name}={size}" for name, size in small.sizes.items()),
            )
        self.small, self.bounds = small, Bounds(rng.getrandbits(64))
        self.pairs = formulas(small.left, small.right, self.bounds)

    @property
    def order_chance(self) -> float:
        return min(order_chance(*pair) for pair in self.pairs)

    def stage(self, error: float) -> _Stage:
        """Return the tests that this member takes."""
        entries = [entry for pair in self.pairs for entry in pair]
        laws = {name for entry in entries for name, _ in entry.calls}
        if any(entry.compared for entry in entries):
            laws.add("max")
        laws |= self.bounds.symbols.keys()
        planned = plan(self.pairs, self.bounds, error)
        return _Stage(self.small, planned, sorted(laws), planned.tests)


def _larger(
    members: Family, first: _Formulas, names: Sequence[Name], rng: random.Random
) -> _Formulas:
    """Return a member on larger sizes; sizes stay if growing them compares more values."""
    larger = _Formulas(members.larger(first.small, names), rng)
    if larger.order_chance >= first.order_chance:
        return larger
    alone = {name: _Formulas(members.larger(first.small, [name]), rng) for name in names}
    free = [name for name in names if alone[name].order_chance >= first.order_chance]
    return _Formulas(members.larger(first.small, free), rng)


def _shown(members: Family) -> Counterexample | None:
    """Return an input that shows the difference of graphs that would take too many tests."""
    try:
        small = members.smallest()
    except Undecided:
        return None
    return None if members.sizes_as_numbers else counterexample(small.left, small.right, [0])


def _example(
    members: Family, stage: _Stage, order: Sequence[int | None], rng: random.Random
) -> Counterexample | None:
    """Return an input that shows the difference of two graphs.

    Raises ``Undecided`` where none is found and formulas may be equal by another law, or where the
    difference is one of the small sizes only.
    """
    left, right = stage.small.left, stage.small.right
    sizes_as_numbers = members.sizes_as_numbers
    seed, found = rng.getrandbits(32), None
    ours, theirs = left.output_shapes, right.output_shapes
    fitting = (p for p in _pairings(order) if all(ours[i] == theirs[j] for i, j in enumerate(p)))
    for pairs in itertools.islice(fitting, MATCHINGS):  # different in every one of them
        found = counterexample(left, right, pairs, seed=seed)
        if found is None:
            break
    if found and sizes_as_numbers and not counterexample(*members.graphs, _paired(order), draws=1):
        raise Undecided(
            f"{left.name}, {right.name}: different on smaller sizes, alike on those given",
            expected="a size by its name, such as by=1/d, which follows the size",
            got=f"a size as a number: {', '.join(sizes_as_numbers)}",
        )
    if found is None and stage.laws:
        raise Undecided(
            f"{left.name}, {right.name}: different as formulas; no float64 input shows it",
            expected="graphs that differ on some input, or are equal by the laws of arithmetic",
            got=f"{', '.join(stage.laws)}, of which the verifier does not know every law",
            hint="equal by another law of theirs? Then write both graphs alike in this place",
        )
    return found


def _check_inputs(left: KernelGraph, right: KernelGraph) -> None:
    ours, theirs = left.input_shapes, right.input_shapes
    if ours != theirs:
        raise GraphError(
            f"{left.name}, {right.name}: inputs differ",
            expected=", ".join(f"{name} {shape}" for name, shape in ours.items()),
            got=", ".join(f"{name} {shape}" for name, shape in theirs.items()),
        )


def _tested(
    small: Small, planned: Plan, tests: int, rng: random.Random
) -> tuple[NDArray[np.bool_], int]:
    """Test which outputs of the two graphs are equal; return that, and the tests made.

    The first few are made alone: few wrong graphs pass them.
    """
    outputs = range(len(small.left.outputs))
    equal = np.ones((len(outputs), len(outputs)), bool)
    told: dict[tuple[int, int], Any] = dict.fromkeys(itertools.product(outputs, outputs), 0)
    made, least, redrawn = 0, 0, 0
    while least < tests and equal.any(axis=1).all():
        wanted = tests - least if made else FIRST
        size = min(AT_A_TIME, tests, max(wanted, FIRST if redrawn else 1))
        primes = planned.primes
        towers = [draw(primes.lowest, primes.height, rng) for _ in range(size)]
        field = Field(towers, rng, planned.independence)
        for (i, j), (same, known) in compared(small.left, small.right, field).items():
            equal[i, j] &= bool(same.all())
            told[i, j] = told[i, j] + known.sum(axis=0)
        before, made = least, made + len(towers)
        least = min((int(np.min(told[pair])) for pair in told if equal[pair]), default=made)
        redrawn = 0 if least > before else redrawn + 1
        if redrawn == REDRAWS:
            raise Undecided(
                f"{small.left.name}, {small.right.name}: a division by zero in every test",
                expected="denominators that are not zero everywhere",
            )
    return equal, made


def _matched(equal: NDArray[np.bool_]) -> list[int | None]:
    """Match each output of the left graph to an equal one of the right, or to None."""
    order: list[int | None] = []
    for row in equal:
        free = (int(j) for j in np.flatnonzero(row) if j not in order)
        order.append(next(free, None))
    return order


def _paired(order: Sequence[int | None]) -> list[int]:
    """Return the first of ``_pairings``."""
    return next(_pairings(order))


def _pairings(order: Sequence[int | None]) -> Iterator[list[int]]:
    """Yield each way to pair unmatched outputs with those left over; matched ones stay."""
    rest = [n for n in range(len(order)) if n not in order]
    for each in itertools.permutations(rest):
        left_over = iter(each)
        yield [next(left_over) if n is None else n for n in order]


def formulas(left: KernelGraph, right: KernelGraph, bounds: Bounds) -> list[tuple[Bound, Bound]]:
    """Return the bounds of each entry that is compared: of outputs of the same shape."""
    ours, theirs = _both(left, right, bounds)
    return [
        entries
        for a, b in itertools.product(ours, theirs)
        if a.shape == b.shape
        for entries in zip(a.entries.flat, b.entries.flat, strict=True)
    ]


def _both(left: KernelGraph, right: KernelGraph, m: Any) -> tuple[list[Any], list[Any]]:
    """Return the outputs of both graphs on the same random inputs, in the arithmetic ``m``."""
    known = {name: m.random(shape) for name, shape in left.input_shapes.items()}
    ours, theirs = (
        evaluate(graph, [known[each.name] for each in graph.inputs], m) for graph in (left, right)
    )
    return ours, theirs


def compared(
    left: KernelGraph, right: KernelGraph, field: Field
) -> dict[tuple[int, int], tuple[Array, Array]]:
    """Tell for outputs i and j in which trials they are equal, and which entries those trials test.

    A trial tests nothing of an entry that is divided by zero in it; another one is drawn for it.
    """
    ours, theirs = _both(left, right, field)
    outputs = itertools.product(enumerate(ours), enumerate(theirs))
    return {(i, j): _equal(a, b, field.trials) for (i, a), (j, b) in outputs}


def _equal(a: Residues, b: Residues, trials: int) -> tuple[Array, Array]:
    if a.shape != b.shape:
        return np.zeros(trials, bool), np.zeros((trials, 1), bool)
    void = np.zeros(a.top.shape, bool)
    for each in (a.void, b.void):
        void = void if each is None else void | each
    same = np.ones(a.top.shape, bool)
    for x, y in zip(a.levels, b.levels, strict=True):
        if x is not None and y is not None:
            same &= np.asarray(x == y, bool) | void
    return np.asarray(same.reshape(trials, -1).all(axis=1)), ~void.reshape(trials, -1)

"""The equivalence test: do two graphs compute the same function? Random, with a proved bound.

Four kinds of test, the strongest answer first.

1. *At the given sizes, functions uninterpreted* (``uninterpreted``), on graphs of which only batch
   sizes are made small (``batch_sizes``). Graphs that pass are equal at the given sizes, with a
   bound. Most fused graphs pass.
2. *At the given sizes, by laws of exp, log, sqrt and max* (``laws``): the same after formulas are
   taken apart by these laws. FlashAttention passes.
3. *At the given sizes, in fields that know exp* (``field``): a few tests. Graphs that fail one are
   different formulas, and a float64 input then shows the difference where one exists
   (``counterexample``).
4. *On small sizes* (``small_sizes``), for graphs that pass those: the sizes of their formulas are
   bounded (``formula_bounds``), and from these follows how many tests on which primes leave no more
   than the error that was asked for (``false_accept_bound`` has the theorem and its proof). The
   verdict then says that the bound is one on small sizes, and how many tests were made at the
   given ones.

In 3 and 4 a maximum is free first (``free_maxima``), and goes by a random order only where that
does not tell. What is equal is looked at once more for inputs on which only one graph is defined
(``domains``).
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlc_course.errors import GraphError, Undecided, UsageError
from mlc_course.mugraph.ir import Array, KernelGraph, evaluate
from mlc_course.mugraph.verify.batch_sizes import Core, core
from mlc_course.mugraph.verify.counterexample import Counterexample, counterexample
from mlc_course.mugraph.verify.domains import Undefined, undefined
from mlc_course.mugraph.verify.false_accept_bound import Plan, needed_tests, order_chance, plan
from mlc_course.mugraph.verify.field import Field, Residues
from mlc_course.mugraph.verify.formula_bounds import Bound, Bounds
from mlc_course.mugraph.verify.free_maxima import FreeMaxima
from mlc_course.mugraph.verify.laws import Laws, LongExponents
from mlc_course.mugraph.verify.more_laws import Cases, MoreLaws
from mlc_course.mugraph.verify.primes import draw, draw_anywhere
from mlc_course.mugraph.verify.small_sizes import Family, Name, Small, family
from mlc_course.mugraph.verify.uninterpreted import MOST, Growths, Uninterpreted

FIRST = 4  # tests that most wrong graphs do not survive
AT_A_TIME = 1024
MATCHINGS = 24  # of outputs that are not equal, of which each has to show a difference
REDRAWS = 40  # batches without one test in which nothing is divided by zero
FEW_ROUNDS = 8  # of functions that obey laws
ROUNDS = 64  # of uninterpreted functions, at most
AT_GIVEN = 4  # tests by the laws of exp at the given sizes
MOST_ROOTS = 6  # of primes: one prime in 2**6 has them all
LOOKS = 3  # of float64 at graphs that are equal on small sizes, or by no quick test
DRAWS = 16  # of float64 at graphs that are different
EXACT = 512  # entries of the inputs: of so few, formulas are bounded at the given sizes
NUMBERS = 1 << 27  # that are held at once
LONG_NUMBERS = 1 << 17  # those of more than 31 bits
INDEPENDENT = 64  # values of a random function in a test at the given sizes


class FreeField(FreeMaxima, Field):
    """Residues, with max and min as free functions."""


class FreeBounds(FreeMaxima, Bounds):
    """Bounds on formulas, with max and min as free functions."""


@dataclass(frozen=True)
class Verdict:
    """The answer: equal, with an error of at most ``error_bound``, or different, without error.

    Output i of the left graph is output ``outputs[i]`` of the right. ``sizes`` are the small sizes
    that the bound is for, and ``plan`` is that of the last; without them, the bound is for the
    sizes as given. ``at_given`` tests were made at those, where one index stands for all of each
    size in ``batch``. A ``counterexample`` is found for graphs that differ on some float64 input;
    ``domain`` is an input on which only one of two equal graphs has a value.
    """

    equal: bool
    error_bound: float
    trials: int
    counterexample: Counterexample | None
    outputs: tuple[int, ...]
    sizes: tuple[Mapping[str, int], ...]
    plan: Plan | None
    at_given: int = 0
    batch: tuple[str, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    domain: Undefined | str | None = None  # its words, if the verdict was read
    why: str = "as formulas"  # graphs without a counterexample differ
    segments: tuple[Verdict, ...] = ()  # of graphs that were compared segment by segment

    def __str__(self) -> str:
        if not self.equal:
            return f"different: {self.counterexample or self.why}"
        if self.segments:
            return self._by_segments()
        bound = f"with probability at most {self.error_bound:.1e}"
        sizes = "; ".join(
            ", ".join(f"{name}={size}" for name, size in each.items()) for each in self.sizes
        )
        if self.sizes:
            said = (
                f"equal on small sizes, where a difference would be missed {bound} "
                f"({_tests(self.trials)} on {sizes}), and in {_tests(self.at_given)} at the given "
                f"sizes"
            )
        else:
            said = (
                f"equal: a difference would be missed {bound} ({_tests(self.at_given)} at the "
                f"given sizes{_for_all(self.batch, self.parts)})"
            )
        return f"{said}\n{self.domain}" if self.domain else said

    def _by_segments(self) -> str:
        small = sum(bool(each.sizes) for each in self.segments)
        said = (
            f"equal segment by segment, {len(self.segments)} of them: a difference would be missed "
            f"with probability at most {self.error_bound:.1e}"
        )
        if small:
            tests = min(each.at_given for each in self.segments if each.sizes)
            said += f" ({small} on small sizes, and in {_tests(tests)} at the given sizes)"
        return "\n".join([said, *(str(each.domain) for each in self.segments if each.domain)])


def together(segments: Sequence[Verdict], outputs: int) -> Verdict:
    """Return the verdict on a graph with ``outputs`` whose segments are equal to a program's.

    Where each segment computes what the program computes there, so does the whole; it is wrong at
    most where one of them is.
    """
    return Verdict(
        equal=all(each.equal for each in segments),
        error_bound=sum(each.error_bound for each in segments),
        trials=sum(each.trials for each in segments),
        counterexample=None,
        outputs=tuple(range(outputs)),
        sizes=tuple(size for each in segments for size in each.sizes),
        plan=None,
        at_given=min(each.at_given for each in segments),
        segments=tuple(segments),
    )


def _tests(count: int) -> str:
    return f"{count:,} test{'s' * (count != 1)}"


def _for_all(batch: Sequence[str], parts: Sequence[tuple[str, int]]) -> str:
    said = [f"one index of {', '.join(batch)}"] if batch else []
    said += [f"one of {many} parts of {name}" for name, many in parts]
    return f"; {' and '.join(said)} stands for all" if said else ""


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain data, for files and other processes."""
    return {
        "equal": verdict.equal,
        "error_bound": verdict.error_bound,
        "trials": verdict.trials,
        "outputs": list(verdict.outputs),
        "sizes": [dict(each) for each in verdict.sizes],
        "at_given": verdict.at_given,
        "batch": list(verdict.batch),
        "parts": dict(verdict.parts),
        "domain": str(verdict.domain) if verdict.domain else None,
        "segments": [plain_verdict(each) for each in verdict.segments],
    }


def read_verdict(plain: dict[str, Any]) -> Verdict:
    """Read a verdict from plain data; the plan is lost, and of its domain the words stay."""
    return Verdict(
        plain["equal"],
        plain["error_bound"],
        plain["trials"],
        None,
        tuple(plain["outputs"]),
        tuple(plain["sizes"]),
        None,
        plain["at_given"],
        tuple(plain["batch"]),
        tuple(plain["parts"].items()),
        domain=plain["domain"],
        segments=tuple(map(read_verdict, plain["segments"])),
    )


def verify(
    left: KernelGraph,
    right: KernelGraph,
    *,
    error: float = 1e-9,
    seed: int | None = None,
    extent: int = 2,
) -> Verdict:
    """Compare two graphs that have inputs of the same names and shapes; outputs in any order.

    ``extent`` is the number of steps that grids and loops keep on small sizes. A seed makes the
    draws repeatable. Raises ``GraphError`` for graphs whose inputs differ, ``Undecided`` where the
    verifier can neither accept nor show a difference.
    """
    _check(left, right, error, extent)
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        shapes = (", ".join(map(str, graph.output_shapes)) for graph in (left, right))
        why = "outputs of shapes {} and of {}".format(*shapes)
        return Verdict(False, 0.0, 0, None, (), (), None, why=why)
    members = family(left, right, extent)
    return _Question(members, core(left, right, members.classes), error, seed).verdict()


def screen(
    left: KernelGraph,
    right: KernelGraph,
    *,
    error: float = 1e-9,
    seed: int | None = None,
) -> bool:
    """Tell whether two graphs are equal on small sizes: a matter of milliseconds.

    Raises as ``verify`` does, whose word counts.
    """
    _check(left, right, error, 2)
    if sorted(left.output_shapes) != sorted(right.output_shapes):
        return False
    members = family(left, right, 2)
    small = members.larger(members.smallest(), members.free)
    question = _Question(members, Core(small.left, small.right), error, seed)
    if question.uninterpreted():
        return True
    return question.has_functions and None not in _matched(question.on_small_sizes().equal)


def _check(left: KernelGraph, right: KernelGraph, error: float, extent: int) -> None:
    if not 0 < error < 1:
        raise UsageError("verify: error", expected="a probability between 0 and 1", got=error)
    if extent < 2:
        raise UsageError("verify: extent", expected="2 or more", got=extent)
    ours, theirs = left.input_shapes, right.input_shapes
    if ours != theirs:
        raise GraphError(
            f"{left.name}, {right.name}: inputs differ",
            expected=", ".join(f"{name} {shape}" for name, shape in ours.items()),
            got=", ".join(f"{name} {shape}" for name, shape in theirs.items()),
        )


Equal = NDArray[np.bool_]  # output i of the left graph and output j of the right


@dataclass(frozen=True)
class _Stage:
    """Planned tests on some sizes."""

    small: Small
    plan: Plan
    free: bool

    def fields(self, size: int, rng: random.Random) -> Field:
        primes = self.plan.primes
        towers = [draw(primes.lowest, primes.height, rng) for _ in range(size)]
        return (FreeField if self.free else Field)(towers, rng, self.plan.independence)


@dataclass(frozen=True)
class _Bounded:
    """Which outputs are equal on small sizes, and what that is worth."""

    equal: Equal
    trials: int
    error_bound: float
    sizes: tuple[Mapping[str, int], ...]
    plan: Plan


@dataclass(frozen=True)
class _Round:
    """Which outputs are equal in a round of functions, its arithmetic and the outputs in it."""

    equal: Equal
    arithmetic: Any
    ours: Sequence[Any]
    theirs: Sequence[Any]


class _Question:
    """Two graphs with the same inputs, and what is known of them."""

    def __init__(self, members: Family, given: Core, error: float, seed: int | None) -> None:
        self.members, self.given = members, given
        self.pair = given.left, given.right
        self.names = f"{given.left.name}, {given.right.name}"
        self.rng = random.Random(seed)
        self.outputs = len(given.left.outputs)
        self.growths = Growths()
        ours, theirs = _both(*self.pair, self.growths)
        shapes = [graph.output_shapes for graph in members.graphs]
        self.alike = np.array([[a == b for b in shapes[1]] for a in shapes[0]])
        self.apart = [ours[i].apart(theirs[j]) for i, j in np.argwhere(self.alike)]
        self.laws = sorted(self.growths.functions)
        self.share = error / self.outputs**2  # of the error, for each pair of outputs
        self.free_at_given = self.has_maxima  # until a test at the given sizes refuses that
        self.numbers = _numbers(*self.pair)
        self.long_exponents = False  # was an exponent a sum that could be left as it is?

    def verdict(self) -> Verdict:
        tests = [self.uninterpreted, self._lawful]
        if self.has_maxima and "exp" in self.growths.calls:  # as in a stable softmax, which cancels
            tests.reverse()
        found = tests[0]() or tests[1]()
        found = found or self._different_at_a_glance() or self._by_more_laws()
        found = found or self._by_laws_of_exp()
        if found.sizes:
            shown = counterexample(*self.pair, found.outputs, draws=LOOKS)
            if shown:
                return replace(found, equal=False, error_bound=0.0, counterexample=shown)
        if found.equal:
            domain = undefined(*self.pair, found.outputs, seed=self.rng.getrandbits(32))
            return replace(found, domain=domain, parts=self.given.parts)
        return found

    # At the given sizes.

    def uninterpreted(self) -> Verdict | None:
        """Test with uninterpreted functions; None where these do not tell."""
        planned = self._rounds() if len(self.growths.roots) <= MOST_ROOTS else None
        if planned is None:
            return None
        primes, rounds, miss = planned
        equal = self.alike.copy()
        for _ in range(rounds):
            found = self._round(lambda: Uninterpreted(primes, self.rng, self.growths.roots))
            equal &= found.equal if found else False
            if None in _matched(equal):
                return None
        return self._accepted(equal, miss**rounds, primes * rounds)

    def _lawful(self) -> Verdict | None:
        """Test with functions that obey some laws; None where these do not tell."""
        found = self._in_terms(Laws)
        if found is None and self.long_exponents:
            found = self._in_terms(LongExponents)
        return found

    def _by_more_laws(self) -> Verdict | None:
        return self._in_terms(MoreLaws) or self._in_terms(Cases)

    def _in_terms(self, laws: type[Laws]) -> Verdict | None:
        if not self.has_functions or len(self.growths.roots) > MOST_ROOTS:
            return None
        for primes in range(2, MOST + 1):
            if laws.arrays * primes * self.numbers > NUMBERS:
                return None
            equal, miss, made, rounds = self.alike.copy(), 1.0, 0, 1
            while made < rounds:
                found = self._round(
                    lambda: laws(
                        Uninterpreted(primes, self.rng, self.growths.roots),  # noqa: B023
                        Growths(),
                    )
                )
                self.long_exponents |= found is not None and found.arithmetic.long_exponents
                equal &= found.equal if found else False
                if found is None or None in _matched(equal):
                    return None
                if made == 0:
                    growths: Growths = found.arithmetic.growths
                    pairs = np.argwhere(self.alike)
                    apart = [found.ours[i].growth.apart(found.theirs[j].growth) for i, j in pairs]
                    miss = growths.missed(primes, apart)
                    rounds = needed_tests(miss, self.share) if miss < 1 else FEW_ROUNDS + 1
                    if rounds > FEW_ROUNDS:
                        break
                made += 1
            else:
                return self._accepted(equal, miss**rounds, primes * rounds)
        return None

    def _round(self, draw: Callable[[], Any]) -> _Round | None:
        """Make a round that says something of every output; None where none does."""
        for _ in range(REDRAWS):
            m = draw()
            ours, theirs = _both(*self.pair, m)
            for graph, found in zip(self.pair, (ours, theirs), strict=True):
                assert [each.shape for each in found] == list(graph.output_shapes)
            equal, told = self.alike.copy(), True
            for i, j in np.argwhere(self.alike):
                same, known = _equal(m.residues(ours[i]), m.residues(theirs[j]), m.trials)
                equal[i, j], told = bool(same.all()), told and bool(known.all())
            if told:
                return _Round(equal, m, ours, theirs)
        return None

    def _accepted(
        self, equal: Equal, miss: float, tests: int, planned: Plan | None = None
    ) -> Verdict | None:
        """Return the verdict at the given sizes; None where an output has no match."""
        order = _all_matched(equal)
        if order is None:
            return None
        bound = self.outputs**2 * miss
        return Verdict(True, bound, tests, None, order, (), planned, tests, self.given.batch)

    def _rounds(self) -> tuple[int, int, float] | None:
        """Return primes a round, rounds and how likely one misses, with the least work."""
        best = None
        for primes in range(1, MOST + 1):
            miss = self.growths.missed(primes, self.apart)
            if miss >= 1 or primes * self.numbers > NUMBERS:
                continue
            rounds = needed_tests(miss, self.share)
            if rounds <= ROUNDS and (best is None or primes * rounds < best[0] * best[1]):
                best = primes, rounds, miss
        return best

    def _by_laws_of_exp(self) -> Verdict:
        equal, tests = self._by_laws()
        if None in _matched(equal):
            return self._different(equal)
        return self._bounded_at_given() or self._bounded(equal, tests)

    def _by_laws(self) -> tuple[Equal, int]:
        """Make a few tests that know the laws of exp; return which outputs agree in all of them."""
        height, rooted = self.growths.height, self.growths.roots
        if len(rooted) > MOST_ROOTS:
            raise Undecided(
                f"{self.names}: square roots of too many numbers",
                expected=f"sizes under a root with at most {MOST_ROOTS} primes to odd powers",
                got=", ".join(map(str, sorted(rooted))),
            )
        limit = NUMBERS if height <= 1 else LONG_NUMBERS
        at_a_time = min(AT_GIVEN, limit // self.numbers)
        if at_a_time == 0:
            raise Undecided(
                f"{self.names}: too large to be tested at the given sizes",
                expected=f"at most {limit:,} numbers in all tensors, of which batch sizes count 1",
                got=f"{self.numbers:,}",
            )
        calls = sum(each.count for each in self.growths.calls.values())

        for kind in (FreeField, Field) if self.has_maxima else (Field,):

            def fields(size: int, rng: random.Random, kind: type[Field] = kind) -> Field:
                towers = [draw_anywhere(height, rng, rooted) for _ in range(size)]
                return kind(towers, rng, min(calls, INDEPENDENT))

            equal, made = _tested(self.pair, fields, AT_GIVEN, at_a_time, self.alike, self.rng)
            if None not in _matched(equal):
                break
        self.free_at_given = self.has_maxima and kind is FreeField
        return equal, made

    def _different(self, equal: Equal) -> Verdict:
        """Show the difference of two graphs that differ as formulas at the given sizes.

        Raises ``Undecided`` where no input shows it and they may be equal by another law.
        """
        found = self._shown(equal, DRAWS)
        if found is None and self.laws:
            raise Undecided(
                f"{self.names}: different as formulas; no float64 input shows it",
                expected="graphs that differ on some input, or are equal by the laws of arithmetic",
                got=f"{', '.join(self.laws)}, of which the verifier does not know every law",
                hint="equal by another law of theirs? Then write both graphs alike in this place",
            )
        return self._not_equal(found)

    def _different_at_a_glance(self) -> Verdict | None:
        """Look for a difference in float64 before slow laws are tried; None where none shows."""
        small = self.numbers <= NUMBERS
        found = self._shown(np.zeros_like(self.alike), LOOKS) if small else None
        return self._not_equal(found) if found else None

    def _shown(self, equal: Equal, draws: int) -> Counterexample | None:
        """Return a float64 input on which outputs differ that are not known to be equal.

        None where there are too many ways to pair the outputs.
        """
        found, seed = None, self.rng.getrandbits(32)
        fitting = (
            each
            for each in _pairings(_matched(equal))
            if all(self.alike[i, j] for i, j in enumerate(each))
        )
        some = list(itertools.islice(fitting, MATCHINGS + 1))
        for pairs in some if len(some) <= MATCHINGS else ():  # different in every one of them
            found = counterexample(*self.pair, pairs, seed=seed, draws=draws)
            if found is None:
                break
        return found

    def _not_equal(self, shown: Counterexample | None) -> Verdict:
        return Verdict(False, 0.0, AT_GIVEN, shown, (), (), None, AT_GIVEN, self.given.batch)

    def _bounded_at_given(self) -> Verdict | None:
        """Bound the formulas at the given sizes; None where there are too many entries for that."""
        inputs = sum(math.prod(shape) for shape in self.given.left.input_shapes.values())
        if inputs > EXACT:
            return None
        given = Small(*self.pair, self.given.left.size_of, {})
        for free in (True, False) if self.free_at_given else (False,):
            try:
                stage = _Formulas(given, free, self.rng).stage(self.share)
                equal, made = _tested(
                    self.pair, stage.fields, stage.plan.tests, AT_A_TIME, self.alike, self.rng
                )
            except Undecided:
                continue
            found = self._accepted(equal, stage.plan.error_bound, made, stage.plan)
            if found:
                return found
            if not free and not self.growths.roots:  # which these primes may not have
                return self._different(equal)
        return None

    @property
    def has_functions(self) -> bool:
        return bool(self.growths.calls)

    @property
    def has_maxima(self) -> bool:
        return bool({"max", "min"} & set(self.laws))

    # On small sizes.

    def _bounded(self, equal: Equal, at_given: int) -> Verdict:
        small = self.on_small_sizes()
        order = _all_matched(equal & small.equal)
        if order is None:
            raise Undecided(
                f"{self.names}: different on small sizes, alike in {at_given} tests at those given",
                expected="a bound for the given sizes, or graphs that are equal on small ones too",
                got="; ".join(
                    ", ".join(f"{name}={size}" for name, size in each.items())
                    for each in small.sizes
                ),
                hint="numbers that follow the sizes, as by=1/d does, do so on small ones too",
            )
        return Verdict(
            True,
            small.error_bound,
            small.trials,
            None,
            order,
            small.sizes,
            small.plan,
            at_given,
            self.given.batch,
        )

    def on_small_sizes(self) -> _Bounded:
        """Test on small sizes until the error is no larger than asked for, or outputs differ."""
        if self.free_at_given:
            try:
                found = self._in_stages(free=True)
            except Undecided:
                pass
            else:
                if None not in _matched(found.equal):
                    return found
        return self._in_stages(free=False)

    def _in_stages(self, free: bool) -> _Bounded:
        equal, trials, bound = self.alike.copy(), 0, 0.0
        sizes = list[Mapping[str, int]]()
        for stage in self._stages(free):
            found, made = _tested(
                (stage.small.left, stage.small.right),
                stage.fields,
                stage.plan.tests,
                AT_A_TIME,
                equal,
                self.rng,
            )
            equal &= found
            trials, sizes = trials + made, [*sizes, stage.small.sizes]
            bound = max(bound, self.outputs**2 * stage.plan.error_bound)
            if None in _matched(equal):
                break
        return _Bounded(equal, trials, bound, tuple(sizes), stage.plan)

    def _stages(self, free: bool) -> Iterator[_Stage]:
        """Yield the tests of the smallest member, then of one on larger sizes."""
        first = _Formulas(self.members.smallest(), free, self.rng)
        yield first.stage(self.share)
        names = self.members.free if first.bounds.counted else self.members.named
        other = self._larger(first, names, free)
        if other.small.sizes != first.small.sizes:
            yield other.stage(self.share)

    def _larger(self, first: _Formulas, names: Sequence[Name], free: bool) -> _Formulas:
        """Return a member on larger sizes; sizes stay if growing them compares more values."""
        larger = _Formulas(self.members.larger(first.small, names), free, self.rng)
        if larger.order_chance >= first.order_chance:
            return larger
        alone = {
            name: _Formulas(self.members.larger(first.small, [name]), free, self.rng)
            for name in names
        }
        kept = [name for name in names if alone[name].order_chance >= first.order_chance]
        return _Formulas(self.members.larger(first.small, kept), free, self.rng)


def _numbers(left: KernelGraph, right: KernelGraph) -> int:
    """Count the numbers that a run of the larger of two graphs holds, tiles of a block included."""
    return max(
        sum(math.prod(shape) for shape in graph.shapes)
        + max(
            (sum(map(math.prod, graph.tiles(place).shapes)) for place, _ in graph.blocks), default=0
        )
        for graph in (left, right)
    )


class _Formulas:
    """Two graphs on some sizes, with the bounds of their outputs."""

    def __init__(self, small: Small, free: bool, rng: random.Random) -> None:
        shapes = [sorted(each.output_shapes) for each in (small.left, small.right)]
        if shapes[0] != shapes[1]:
            raise Undecided(
                f"{small.left.name}, {small.right.name}: outputs alike in shape on some sizes only",
                expected="equal shapes on every size",
                got=", ".join(f"{name}={size}" for name, size in small.sizes.items()),
            )
        self.small, self.free = small, free
        self.bounds = (FreeBounds if free else Bounds)(rng.getrandbits(64))
        self.pairs = formulas(small.left, small.right, self.bounds)

    @property
    def order_chance(self) -> float:
        return min(order_chance(*pair) for pair in self.pairs)

    def stage(self, error: float) -> _Stage:
        """Return the tests that these sizes take."""
        return _Stage(self.small, plan(self.pairs, self.bounds, error), self.free)


def _tested(
    pair: tuple[KernelGraph, KernelGraph],
    fields: Callable[[int, random.Random], Field],
    tests: int,
    at_a_time: int,
    alike: Equal,
    rng: random.Random,
) -> tuple[Equal, int]:
    """Test which outputs of two graphs, of those ``alike``, are equal; return that, and the tests.

    The first few are made alone: few wrong graphs pass them.
    """
    outputs, equal = range(len(pair[0].outputs)), alike.copy()
    told: dict[tuple[int, int], Any] = dict.fromkeys(itertools.product(outputs, outputs), 0)
    made, least, redrawn = 0, 0, 0
    while least < tests and equal.any(axis=1).all():
        wanted = tests - least if made else FIRST
        size = min(at_a_time, tests, max(wanted, FIRST if redrawn else 1))
        for (i, j), (same, known) in compared(*pair, fields(size, rng)).items():
            equal[i, j] &= bool(same.all())
            told[i, j] = told[i, j] + known.sum(axis=0)
        before, made = least, made + size
        least = min((int(np.min(told[each])) for each in told if equal[each]), default=made)
        redrawn = 0 if least > before else redrawn + 1
        if redrawn == REDRAWS:
            raise Undecided(
                f"{pair[0].name}, {pair[1].name}: a division by zero in every test",
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


def _all_matched(equal: Equal) -> tuple[int, ...] | None:
    """Match every output of the left graph, or none."""
    order = tuple(each for each in _matched(equal) if each is not None)
    return order if len(order) == len(equal) else None


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

"""Decide claims on sizes from facts: a proof, a counter-example, or neither."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from fractions import Fraction
from math import prod
from typing import assert_never

from mlc_course.dynamic_shape.ir import (
    AffineEq,
    AtMost,
    Constraint,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
)
from mlc_course.dynamic_shape.solve.answers import (
    EVERY_OTHER,
    Answer,
    ByBounds,
    ByDivisors,
    ByFactors,
    ByPrimes,
    ByProducts,
    BySums,
    Certificate,
    Proof,
    Proved,
    Refuted,
    Step,
    Unknown,
)
from mlc_course.dynamic_shape.solve.echelon import Multipliers, Vector, add_to, unknowns
from mlc_course.dynamic_shape.solve.facts import Facts
from mlc_course.dynamic_shape.solve.integers import Beyond, Bounded, Cut, at_most
from mlc_course.dynamic_shape.solve.models import Models
from mlc_course.dynamic_shape.solve.systems import (
    affine,
    bounds_of,
    check_sizes,
    is_within,
    log,
    product_equation,
    ratio,
    sum_equation,
)

ONE = Fraction(1)
MOST_REPLACED = 200  # products that are compared with a limit
NEW = -1  # in the place of a number: the claim that is asked


class Solver:
    """Answers questions on the sizes of a program; facts are read once."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.models = facts, Models(facts)

    def ask(self, claim: Constraint) -> Answer:
        """Decide a claim.

        Complete where only equalities, products, constants and divisors connect the dimensions, and
        these have no range. Raises ``UsageError`` for a dimension that the facts do not know.
        """
        check_sizes(claim, self.facts.dims)
        found = self._prove(claim)
        if isinstance(found, Proof):
            return Proved(self._certificate(claim, found))
        model = self.models.refutes(found, claim) if found else None
        model = model or self.models.against(claim)
        return Unknown() if model is None else Refuted(model)

    def _prove(self, claim: Constraint) -> Proof | dict[str, int] | None:
        """Return a proof, or a model that may refute, or nothing."""
        match claim:
            case Eq() | MulEq() | ProductEq():
                return self._equal(claim)
            case AffineEq():
                return self._sum(claim) or self._bounds(claim)
            case Divisible():
                return self._divides(claim)
            case Less():
                return self._bounds(claim)
            case AtMost():
                return self._bounds(claim) or self._factors(claim)
        assert_never(claim)

    # Each of these tries one kind of proof.

    def _equal(self, claim: Constraint) -> Proof | dict[str, int] | None:
        vector = product_equation(NEW, claim)
        assert vector is not None
        rest, used = self.facts.products.echelon.reduce(vector)
        if not rest:
            return ByProducts(used)
        if by_sums := self._sum(claim):
            return by_sums
        if changed := self._moved(rest, claim):
            return changed
        found = self._by_primes(claim, vector, is_equation=True)
        if isinstance(found, ByPrimes):
            return found
        return self._bounds(claim) or found

    def _moved(self, rest: Vector, claim: Constraint) -> dict[str, int] | None:
        """Return changed sizes that refute a claim, found by raising one free size."""
        for name in sorted(unknowns(rest), key=lambda each: (rest[each], each))[:3]:
            ray = self.models.ray(name)
            if ray is not None:
                changed = self.models.with_exponents(EVERY_OTHER, ray, claim)
                if self.models.refutes(changed, claim):
                    return changed
        return None

    def _sum(self, claim: Constraint) -> BySums | None:
        vector = sum_equation(NEW, claim)
        if vector is None:
            return None
        rest, used = self.facts.sums.echelon.reduce(vector)
        return None if rest else BySums(used)

    def _divides(self, claim: Divisible) -> Proof | dict[str, int] | None:
        vector = ratio(claim.sizes, claim.by)
        rest, used = self.facts.products.echelon.reduce(vector)
        if all(value >= 0 for value in rest.values()):
            return ByProducts(used)
        if changed := self._moved(rest, claim):
            return changed
        found = self._by_primes(claim, vector, is_equation=False)
        if isinstance(found, ByPrimes):
            return found
        if len(claim.sizes) == 1 and all(isinstance(dim, int) for dim in claim.by):
            by = prod(dim for dim in claim.by if isinstance(dim, int))
            return self._whole(affine((1, claim.sizes[0])), by) or found
        return found

    def _whole(self, vector: Vector, by: int) -> ByDivisors | None:
        """Replace sizes by their quotients, where that makes a sum a multiple of ``by``."""
        sums = self.facts.sums
        rest, used = sums.echelon.reduce(vector)
        for name in [each for each in unknowns(rest) if (rest[each] / by).denominator != 1]:
            for fact in sums.facts_of[name]:
                multiple = sums.vectors[fact]
                others = [key for key in multiple if key != name]
                if len(others) != 1 or not str(others[0]).startswith("#"):
                    continue
                times = rest[name] / multiple[name]
                if (times * multiple[others[0]] / by).denominator == 1:
                    add_to(used, {fact: times}, ONE)
                    add_to(rest, multiple, -times)
                    break
        whole = all((value / by).denominator == 1 for value in rest.values())
        return ByDivisors(used) if whole else None

    def _by_primes(
        self, claim: Constraint, vector: Vector, *, is_equation: bool
    ) -> ByPrimes | dict[str, int] | None:
        facts = self.facts
        names = facts.connected(unknowns(vector), facts.products.facts_of)
        numbers = facts.numbers(facts.products.facts_of, names)
        goal = {name: int(by) for name, by in vector.items() if isinstance(name, str)}
        back = {name: -by for name, by in goal.items()}
        proofs: dict[int, tuple[tuple[Cut, ...], ...]] = {}
        own = {key for key in vector if isinstance(key, int)}
        for prime in (EVERY_OTHER, *sorted(own.union(facts.primes(numbers)))):
            equations = facts.equations_of(prime, numbers)
            constant = -int(vector.get(prime, 0))
            lists = []
            for sum_, limit in ((goal, constant), (back, -constant))[0 if is_equation else 1 :]:
                found = at_most(sum_, limit, equations)
                if isinstance(found, Beyond):
                    return self.models.with_exponents(prime, found.point, claim)
                if found is None:
                    return None
                lists.append(found.cuts)
            proofs[prime] = tuple(lists)
        return ByPrimes(proofs)

    def _bounds(self, claim: Constraint) -> ByBounds | None:
        goals = list(bounds_of(claim))
        facts = self.facts
        begin = {name for goal in goals for name in goal.sum}
        if not goals:
            return None
        numbers, inequalities = facts.in_sums(
            facts.connected(begin, facts.sums.facts_of, facts.facts_below)
        )
        if isinstance(claim, Eq) and not facts.has_sums(numbers, inequalities):
            return None
        equations, stated = facts.sizes(numbers), facts.inequalities(inequalities)
        lists = []
        for goal in goals:
            found = at_most(goal.sum, goal.bound, equations, stated)
            if not isinstance(found, Bounded):
                return None
            lists.append(found.cuts[len(stated) :])
        return ByBounds(tuple(inequalities), tuple(lists))

    def _factors(self, claim: AtMost) -> ByFactors | None:
        """Replace factors by those that facts on products give, until the largest sizes fit."""
        products, dims = self.facts.products, self.facts.dims
        waiting: deque[tuple[Vector, Multipliers]] = deque([(log(claim.sizes), {})])
        for _ in range(MOST_REPLACED):
            if not waiting:
                return None
            product, used = waiting.popleft()
            if is_within(product, claim.limit, dims):
                return ByFactors(used)
            for name in unknowns(product):
                for fact in products.facts_of[name]:
                    times = product[name] / products.vectors[fact][name]
                    replaced = dict(product)
                    add_to(replaced, products.vectors[fact], -times)
                    if fact not in used:
                        waiting.append((replaced, used | {fact: times}))
        return None

    def _certificate(self, claim: Constraint, proof: Proof) -> Certificate:
        needed: dict[int, Step] = {}
        waiting = list(facts_in(proof))
        while waiting:
            step = self.facts.steps.get(waiting.pop())
            if step is not None and step.number not in needed:
                needed[step.number] = step
                waiting += facts_in(step.proof)
        number = len(self.facts.claims)
        return Certificate((*(needed[at] for at in sorted(needed)), Step(number, claim, proof)))


def facts_in(proof: Proof) -> Iterator[int]:
    """Yield the numbers of the facts that a proof uses."""
    match proof:
        case ByProducts(facts) | BySums(facts) | ByDivisors(facts) | ByFactors(facts):
            yield from facts
        case ByPrimes(cuts):
            for lists in cuts.values():
                yield from _facts_of_cuts(lists)
        case ByBounds(facts, lists):
            yield from facts
            yield from _facts_of_cuts(lists)
        case _:
            assert_never(proof)


def _facts_of_cuts(lists: Iterable[Iterable[Cut]]) -> Iterator[int]:
    for cuts in lists:
        for cut in cuts:
            yield from cut.equations

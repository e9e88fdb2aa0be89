"""Sizes that keep all facts: to begin with, and to show that a claim is not among what follows.

Where only products connect some dimensions, the exponents of each prime are solved exactly.
Elsewhere sizes are tried, which may find none although there are some.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import zip_longest
from math import gcd, lcm, prod

from mlc_course.dynamic_shape.ir import (
    AtMost,
    Constraint,
    Dim,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
    dims_of,
    forced_size,
    holds,
)
from mlc_course.dynamic_shape.solve.echelon import unknowns
from mlc_course.dynamic_shape.solve.facts import Facts
from mlc_course.dynamic_shape.solve.integers import Beyond, at_most
from mlc_course.dynamic_shape.solve.systems import primes_of

ZERO, ONE = Fraction(0), Fraction(1)
PRIMES = tuple(n for n in range(2, 1000) if primes_of(n) == {n: 1})
TRIES, MOST_STEPS, MOST_RAISES = 60, 400, 60
MOST_BITS = 2**16  # of a size in a model
FRIENDLY = (1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 30, 48, 60, 64, 96, 120, 240, 720)
Exponents = dict[int, dict[str, int]]  # of each prime


@dataclass
class Group:
    """Dimensions that constraints connect."""

    names: list[str]
    has_products_only: bool
    constraints: list[Constraint] = field(default_factory=list)
    of: defaultdict[str, list[Constraint]] = field(default_factory=lambda: defaultdict(list))
    exponents: Exponents = field(default_factory=dict)
    sizes: dict[str, int] | None = None  # that keep the constraints


class Models:
    """Models of facts, made as they are asked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.groups = {name: Group([name], self._is_free(name)) for name in facts.dims}
        for constraint in facts.stated:
            named = list({dim: None for dim in dims_of(constraint) if isinstance(dim, str)})
            if not named:
                continue
            group = self._joined(named)
            group.constraints.append(constraint)
            for name in named:
                group.of[name].append(constraint)
            group.has_products_only &= isinstance(constraint, Eq | MulEq | ProductEq | Divisible)

    def _joined(self, names: Sequence[str]) -> Group:
        """Make one group of those of some dimensions."""
        groups = list({id(self.groups[name]): self.groups[name] for name in names}.values())
        largest = max(groups, key=lambda group: len(group.names))
        for group in groups:
            if group is largest:
                continue
            largest.names += group.names
            largest.constraints += group.constraints
            largest.of |= group.of
            largest.has_products_only &= group.has_products_only
            self.groups |= dict.fromkeys(group.names, largest)
        return largest

    def _is_free(self, name: str) -> bool:
        return self.facts.dims[name].ranges == ((1, None),)

    @cached_property
    def base(self) -> dict[str, int] | None:
        """Sizes of all dimensions that keep all facts, or None where none were found."""
        found: dict[str, int] = {}
        for name, group in self.groups.items():
            if name not in found:
                if not self._solve(group):
                    return None
                found |= group.sizes or {}
        return found if self._keeps(found, self.groups.values()) else None

    def _keeps(self, model: Mapping[str, int], groups: Iterable[Group]) -> bool:
        """Tell whether a model keeps the ranges and constraints of some groups."""
        unique = {id(group): group for group in groups}.values()
        return all(
            self.facts.dims[name].may_be(model[name]) for group in unique for name in group.names
        ) and all(holds(each, model) for group in unique for each in group.constraints)

    def _solve(self, group: Group) -> bool:
        if group.has_products_only:
            numbers = self.facts.numbers(self.facts.products.facts_of, group.names)
            for prime in self.facts.primes(numbers):
                group.exponents[prime] = self._exponents(prime, group, numbers)
            group.sizes = sizes_of(group.names, group.exponents)
        else:
            group.sizes = next(self.tries(group), None)
        return group.sizes is not None

    def _exponents(self, prime: int, group: Group, numbers: Sequence[int]) -> dict[str, int]:
        """Return exponents that keep the equations for a prime, or none where none were found."""
        rows = self.facts.products.echelon.rows
        pivots = [name for name in sorted(self._unknowns(numbers)) if name in rows]
        constants = {name: -rows[name][0].get(prime, ZERO) for name in pivots}
        found = self._raised({}, constants)
        if found is not None and all(value.denominator == 1 for value in found.values()):
            return {name: int(value) for name, value in found.items()}
        solved = at_most({}, -1, self.facts.equations_of(prime, numbers))
        return solved.point if isinstance(solved, Beyond) else {}

    def _unknowns(self, numbers: Sequence[int]) -> set[str]:
        vectors = self.facts.products.vectors
        return {name for at in numbers for name in unknowns(vectors[at])}

    def ray(self, name: str) -> dict[str, int] | None:
        """Return exponents above zero for a free unknown that keep all equations without constants.

        None if raising other free unknowns, where an exponent is negative, does not soon help.
        """
        holders = self.facts.products.echelon.holders
        found = self._raised({name: ONE}, dict.fromkeys(sorted(holders[name]), ZERO))
        if found is None:
            return None
        scale = lcm(*(value.denominator for value in found.values()))
        return {each: int(value * scale) for each, value in found.items() if value}

    def _raised(
        self, free: dict[str, Fraction], constants: Mapping[str, Fraction]
    ) -> dict[str, Fraction] | None:
        """Raise free unknowns until no unknown is negative; ``constants`` are those of pivots."""
        echelon = self.facts.products.echelon
        values = dict(constants)
        for name, value in free.items():
            for pivot in sorted(echelon.holders[name]):
                values[pivot] = values.get(pivot, ZERO) - value * echelon.rows[pivot][0][name]
        for _ in range(MOST_RAISES):
            low = next((name for name, value in values.items() if value < 0), None)
            if low is None:
                return values | free
            row = echelon.rows[low][0]
            helpful = [name for name in unknowns(row) if row[name] < 0]
            if not helpful:
                return None
            name = min(helpful, key=lambda each: (len(echelon.holders[each]), each))
            by = values[low] / row[name]
            free[name] = free.get(name, ZERO) + by
            for pivot in sorted(echelon.holders[name]):
                values[pivot] = values.get(pivot, ZERO) - by * echelon.rows[pivot][0][name]
        return None

    def with_exponents(
        self, prime: int, point: dict[str, int], claim: Constraint
    ) -> dict[str, int]:
        """Return sizes, of the dimensions that change, with other exponents of a prime.

        ``point`` is a solution of the equations for the prime; where that is 0, it is a solution of
        those without constants, for a prime that is in no size of the claim yet.
        """
        changed: dict[str, int] = {}
        base = self.base or {}
        groups = {id(g): g for g in (self.groups.get(name) for name in point) if g}
        used = set[int]()
        for dim in dims_of(claim):
            used.update(primes_of(dim) if isinstance(dim, int) else self.groups[dim].exponents)
        if prime:
            for group in groups.values():
                exponents = group.exponents.get(prime, {}) | point
                found = sizes_of(group.names, group.exponents | {prime: exponents})
                changed |= found or {}
        else:
            new = next(each for each in PRIMES if each not in used)
            for name, times in point.items():
                if name in base and times * new.bit_length() <= MOST_BITS:
                    changed[name] = base[name] * new**times
        return changed

    def refutes(self, changed: dict[str, int], claim: Constraint) -> dict[str, int] | None:
        """Return the model with changed sizes if it keeps all facts, and not the claim."""
        if self.base is None:
            return None
        dims = self.facts.dims
        if not all(dims[name].may_be(size) for name, size in changed.items()):
            return None
        model = self.base | changed
        if holds(claim, model):
            return None
        groups = {id(self.groups[name]): self.groups[name] for name in changed}
        keeps = all(
            holds(each, model)
            for group in groups.values()
            for name in group.names
            if name in changed
            for each in group.of[name]
        )
        return model if keeps else None

    def against(self, claim: Constraint) -> dict[str, int] | None:
        """Return a model in which a claim does not hold, found by trying sizes; or None."""
        base = self.base
        if base is None or not holds(claim, base):
            return base
        groups = {id(self.groups[d]): self.groups[d] for d in dims_of(claim) if isinstance(d, str)}
        beyond = claim.limit + 1 if isinstance(claim, AtMost) else None
        tries = [self.tries(group, beyond) for group in groups.values()]
        for found in zip_longest(*tries, fillvalue={}):  # a group without more keeps its base
            model = base.copy()
            for sizes in found:
                model |= sizes
            if not holds(claim, model):
                return model
        return None

    def tries(self, group: Group, also: int | None = None) -> Iterator[dict[str, int]]:
        """Yield some sizes of a group's dimensions that keep its constraints; ``also`` is tried."""
        rng = random.Random(0)
        for _ in range(TRIES):
            steps = [MOST_STEPS]
            found = self._complete({}, group, rng, steps, also)
            if found is not None:
                yield found

    def _complete(
        self,
        sizes: dict[str, int],
        group: Group,
        rng: random.Random,
        steps: list[int],
        also: int | None,
    ) -> dict[str, int] | None:
        sizes = dict(sizes)
        while True:
            steps[0] -= 1
            if steps[0] < 0:
                return None
            forced = False
            for constraint in group.constraints:
                missing = {d for d in dims_of(constraint) if isinstance(d, str)} - sizes.keys()
                if not missing:
                    if not holds(constraint, sizes):
                        return None
                elif len(missing) == 1:
                    (name,) = missing
                    found = forced_size(constraint, name, sizes)
                    if found is None:
                        continue
                    if found.bit_length() > MOST_BITS or not self.facts.dims[name].may_be(found):
                        return None
                    sizes[name], forced = found, True
            if not forced:
                break
        left = [name for name in group.names if name not in sizes]
        if not left:
            return sizes
        name = rng.choice(left)
        for size in self._candidates(name, group, sizes, rng, also):
            found_all = self._complete({**sizes, name: size}, group, rng, steps, also)
            if found_all is not None:
                return found_all
            if steps[0] < 0:
                return None
        return None

    def _candidates(
        self,
        name: str,
        group: Group,
        sizes: Mapping[str, int],
        rng: random.Random,
        also: int | None,
    ) -> list[int]:
        dim = self.facts.dims[name]
        low, high = dim.smallest, dim.largest
        step, at_least, limit = 1, low, high
        for constraint in group.constraints:
            match constraint:
                case Less(small, large) if large == name and _known(small, sizes):
                    at_least = max(at_least, _of(small, sizes) + 1)
                case Less(small, large) if small == name and _known(large, sizes):
                    under = _of(large, sizes) - 1
                    limit = under if limit is None else min(limit, under)
                case Divisible((size,), by) if size == name and all(_known(b, sizes) for b in by):
                    more = prod(_of(b, sizes) for b in by)
                    step = step * more // gcd(step, more)
        found = [step * rng.choice(FRIENDLY) for _ in range(3)]
        found += [at_least, -(-at_least // step) * step, *dim.likely]
        if also is not None:
            found += [-(-also // step) * step]
        for low, high in dim.ranges:
            top = low + 40 if high is None else high
            found += [low, rng.randint(low, top), top]
        if limit is not None:
            found += [limit // step * step]
        fit = [size for size in found if at_least <= size <= (limit or size) and dim.may_be(size)]
        rng.shuffle(fit)
        return list(dict.fromkeys(fit))[:4]


def sizes_of(names: Sequence[str], exponents: Exponents) -> dict[str, int] | None:
    """Return the sizes that have given exponents of primes; None if one has too many digits."""
    for name in names:
        bits = sum(of.get(name, 0) * prime.bit_length() for prime, of in exponents.items())
        if bits > MOST_BITS:
            return None
    return {
        name: prod(prime ** of.get(name, 0) for prime, of in exponents.items()) for name in names
    }


def _known(dim: Dim, sizes: Mapping[str, int]) -> bool:
    return isinstance(dim, int) or dim in sizes


def _of(dim: Dim, sizes: Mapping[str, int]) -> int:
    return dim if isinstance(dim, int) else sizes[dim]

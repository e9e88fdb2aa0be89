"""Facts on sizes: those that are stated, and those that one system derives for the other."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import gcd
from typing import NoReturn

from mlc_course.dynamic_shape.ir import (
    LARGEST,
    AffineEq,
    AtMost,
    Constraint,
    Dim,
    Eq,
    Less,
    MulEq,
    dims_of,
    holds,
    said,
)
from mlc_course.dynamic_shape.solve.answers import ByProducts, BySums, Step
from mlc_course.dynamic_shape.solve.echelon import (
    Echelon,
    Multipliers,
    Vector,
    add_to,
    multiple,
    unknowns,
)
from mlc_course.dynamic_shape.solve.integers import Bounded, Cut, Equation, at_most
from mlc_course.dynamic_shape.solve.systems import (
    Claim,
    Dims,
    Range,
    as_equation,
    check_names,
    check_sizes,
    inequalities,
    log,
    product_equation,
    sum_equation,
)
from mlc_course.errors import Contradiction

NormalForm = frozenset[tuple[str | int, Fraction]]
ONE = Fraction(1)
IMPOSSIBLE = "no sizes keep all of these constraints"


class System:
    """The equations of one system: solved, and by the unknowns that are in them."""

    def __init__(self, read: Callable[[int, Claim], Vector | None]) -> None:
        self.read = read
        self.echelon = Echelon()
        self.vectors: dict[int, Vector] = {}
        self.facts_of: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, fact: int, claim: Claim) -> tuple[Vector, Multipliers] | None:
        """Add a fact; return what it became if it is an equation here: see ``Echelon.add``."""
        if (vector := self.read(fact, claim)) is None:
            return None
        self.vectors[fact] = vector
        for name in unknowns(vector):
            self.facts_of[name].append(fact)
        return self.echelon.add(vector, fact)


class Facts:
    """Facts on sizes: the range of each dimension, the stated constraints, and what follows.

    Raises ``Contradiction`` where it is seen that no sizes keep all of them, naming constraints of
    which none can be left out for that, and ``UsageError`` for a dimension that is not among
    ``dims``.
    """

    def __init__(self, dims: Dims, stated: Sequence[Constraint] = ()) -> None:
        check_names(dims)
        self.dims, self.stated = dims, tuple(stated)
        for constraint in self.stated:
            check_sizes(constraint, dims)
            is_fixed = all(isinstance(dim, int) for dim in dims_of(constraint))
            if is_fixed and not holds(constraint, {}):
                raise Contradiction(IMPOSSIBLE, got=said(constraint))
        try:
            self._read()
        except _Conflict as conflict:
            smallest = _smallest(conflict)
            raise Contradiction(IMPOSSIBLE, got="; ".join(map(said, smallest))) from None

    def _read(self) -> None:
        self.claims: list[Claim] = [*map(Range, self.dims.values()), *self.stated]
        self.steps: dict[int, Step] = {}
        self.derived_from: dict[int, Multipliers] = {}
        self.products, self.sums = System(product_equation), System(sum_equation)
        self.cuts: dict[int, tuple[Cut, ...]] = {}
        self.facts_below: defaultdict[str, list[int]] = defaultdict(
            list
        )  # inequalities, by unknown
        given = list(enumerate(self.claims))
        self._shorten()
        for number, claim in given:
            self._enter(number, claim)
        self._exchange()
        self._check_bounds()
        self._check_possible()

    def _shorten(self) -> None:
        """Derive that each of many equal sizes is equal to the first.

        Otherwise an equation at the end of a long chain would be a sum of all before it.
        """
        beside: defaultdict[str, list[tuple[str, int, Fraction]]] = defaultdict(list)
        for number, claim in enumerate(self.claims):
            match claim:
                case Eq(str(left), str(right)) if left != right:
                    beside[left].append((right, number, -ONE))
                    beside[right].append((left, number, ONE))
        reached: dict[str, Multipliers] = {}  # how a size is known to be equal to the first
        for first in list(beside):
            waiting = deque() if first in reached else deque([first])
            reached.setdefault(first, {})
            while waiting:
                name = waiting.popleft()
                for other, number, sign in beside[name]:
                    if other in reached:
                        continue
                    of = {number: sign, **reached[name]}
                    if name != first:
                        self.derive(Eq(other, first), ByProducts(of))
                        of = {len(self.claims) - 1: ONE}
                    reached[other] = of
                    waiting.append(other)

    def _enter(self, number: int, claim: Claim) -> None:
        for system in (self.products, self.sums):
            if (became := system.add(number, claim)) is not None:
                rest, of = became
                if rest and not any(unknowns(rest)):
                    self._refuse(of)
                if not is_whole(system.vectors[number]):
                    self._refuse([number])
        if cuts := tuple(inequalities(number, claim, self.dims)):
            self.cuts[number] = cuts
            if any(not cut.sum and cut.bound < 0 for cut in cuts):
                self._refuse([number])
            for name in {name for cut in cuts for name in cut.sum}:
                self.facts_below[name].append(number)

    def normal_form(self, sizes: Sequence[Dim]) -> NormalForm:
        """Return what is the same for products that the system of products makes equal."""
        rest, _ = self.products.echelon.reduce(log(sizes))
        return frozenset(rest.items())

    def derive(self, claim: Constraint, proof: ByProducts | BySums) -> None:
        """Add a fact that follows from others."""
        number = len(self.claims)
        self.steps[number] = Step(number, claim, proof)
        self.derived_from[number] = proof.facts
        self.claims.append(claim)
        self._enter(number, claim)

    def _exchange(self) -> None:
        """Give each system the equal, constant and multiple sizes that the other has found."""
        known: set[Constraint] = set()
        while True:
            found: list[tuple[Constraint, ByProducts | BySums]] = []
            found += ((claim, ByProducts(of)) for claim, of in _equal(self.products, _of_logs))
            found += ((claim, BySums(of)) for claim, of in _equal(self.sums, _of_sums))
            new = [(claim, proof) for claim, proof in found if claim not in known]
            if not new:
                return
            known.update(claim for claim, _ in new)
            for claim, proof in new:
                other = self.sums if isinstance(proof, ByProducts) else self.products
                vector = other.read(-1, claim)
                if vector and other.echelon.reduce(vector)[0]:
                    self.derive(claim, proof)

    def _check_bounds(self) -> None:
        """Raise ``_Conflict`` where equations alone fix a sum beyond its bound."""
        for number, cuts in self.cuts.items():
            for cut in cuts:
                sum_: Vector = {name: Fraction(by) for name, by in cut.sum.items()}
                rest, used = self.sums.echelon.reduce(sum_)
                if not any(unknowns(rest)) and rest.get(1, 0) > cut.bound:
                    self._refuse({number, *used})

    def _check_possible(self) -> None:
        """Raise ``Contradiction`` where sizes, or the exponents of a prime, have no solution."""
        for names in self.groups(self.products.facts_of):
            numbers = self.numbers(self.products.facts_of, names)
            for prime in self.primes(numbers):
                found = at_most({}, -1, self.equations_of(prime, numbers))
                if isinstance(found, Bounded):
                    self._refuse(_used(found.cuts))
        for names in self.groups(self.sums.facts_of, self.facts_below):
            numbers, below = self.in_sums(names)
            if not self.has_sums(numbers, below):
                continue
            found = at_most({}, -1, self.sizes(numbers), self.inequalities(below))
            if isinstance(found, Bounded):
                places = [fact for fact in below for _ in self.cuts[fact]]
                used = {at for cut in found.cuts for at in cut.cuts if at < len(places)}
                self._refuse(_used(found.cuts) | {places[at] for at in used})

    def has_sums(self, numbers: Iterable[int], below: Iterable[int]) -> bool:
        """Tell whether facts say more in the system of sums than what follows from products."""
        return any(isinstance(self.claims[at], AffineEq) for at in numbers) or any(
            isinstance(claim, Less | AtMost) or (isinstance(claim, Range) and claim.dim.largest)
            for claim in (self.claims[at] for at in below)
        )

    def _refuse(self, of: Iterable[int]) -> NoReturn:
        """Raise ``_Conflict`` with the stated facts that some facts come from."""
        found, count = sorted(self.origins(of)), len(self.dims)
        stated = [self.stated[at - count] for at in found if at >= count]
        named = {dim for claim in stated for dim in dims_of(claim)}
        named.update(name for at, name in enumerate(self.dims) if at in found)
        raise _Conflict(stated, {name: dim for name, dim in self.dims.items() if name in named})

    @staticmethod
    def conflict(dims: Dims, stated: Sequence[Constraint]) -> _Conflict | None:
        """Return facts that cannot be kept together, as they are found; None if there are none."""
        facts = object.__new__(Facts)
        facts.dims, facts.stated = dims, tuple(stated)
        try:
            facts._read()
        except _Conflict as conflict:
            return conflict
        return None

    def origins(self, facts: Iterable[int]) -> set[int]:
        """The stated facts that some facts were derived from."""
        waiting, found = list(facts), set(facts)
        while waiting:
            for each in self.derived_from.get(waiting.pop(), ()):
                if each not in found:
                    found.add(each)
                    waiting.append(each)
        return found - self.derived_from.keys()

    # The facts that have to do with each other.

    def groups(self, *indices: dict[str, list[int]]) -> Iterator[list[str]]:
        """Yield the unknowns that facts connect, directly or through others."""
        left = dict.fromkeys(name for index in indices for name in index)
        while left:
            names = self.connected([next(iter(left))], *indices)
            for name in names:
                left.pop(name, None)
            yield names

    def connected(self, begin: Iterable[str], *indices: dict[str, list[int]]) -> list[str]:
        """Return the unknowns that facts connect with some."""
        names = dict.fromkeys(begin)
        waiting, seen = list(names), set[int]()
        while waiting:
            name = waiting.pop()
            for index in indices:
                for fact in index.get(name, ()):
                    if fact in seen:
                        continue
                    seen.add(fact)
                    for other in self._named(fact, index):
                        if other not in names:
                            names[other] = None
                            waiting.append(other)
        return list(names)

    def _named(self, fact: int, index: dict[str, list[int]]) -> Iterable[str]:
        if index is self.facts_below:
            return [name for cut in self.cuts[fact] for name in cut.sum]
        system = self.products if index is self.products.facts_of else self.sums
        return unknowns(system.vectors[fact])

    def numbers(self, index: dict[str, list[int]], names: Iterable[str]) -> list[int]:
        """Return the facts that name any of some unknowns."""
        return sorted({fact for name in names for fact in index.get(name, ())})

    def in_sums(self, names: Iterable[str]) -> tuple[list[int], list[int]]:
        """Return the equations and the inequalities that name any of some unknowns."""
        names = list(names)
        return self.numbers(self.sums.facts_of, names), self.numbers(self.facts_below, names)

    def primes(self, numbers: Iterable[int]) -> list[int]:
        """Return the primes in some facts of the system of products."""
        found = {key for at in numbers for key in self.products.vectors[at]}
        return sorted(key for key in found if isinstance(key, int))

    def equations_of(self, prime: int, numbers: Iterable[int]) -> list[Equation]:
        """Return facts as equations for the exponents of a prime."""
        return [as_equation(at, self.products.vectors[at], prime) for at in numbers]

    def sizes(self, numbers: Iterable[int]) -> list[Equation]:
        """Return facts as equations for sizes."""
        return [as_equation(at, self.sums.vectors[at], 1) for at in numbers]

    def inequalities(self, numbers: Iterable[int]) -> list[Cut]:
        """Return the inequalities of facts."""
        return [cut for at in numbers for cut in self.cuts[at]]


class _Conflict(Exception):
    """Facts that cannot be kept together, and their dimensions."""

    def __init__(self, stated: list[Constraint], dims: Dims) -> None:
        self.stated, self.dims = stated, dims


def _smallest(conflict: _Conflict) -> list[Constraint]:
    """Leave out facts, many at first, as long as the others are seen not to be kept together."""
    step = max(1, len(conflict.stated) // 2)
    while True:
        at = 0
        while at < len(conflict.stated):
            fewer = conflict.stated[:at] + conflict.stated[at + step :]
            found = Facts.conflict(conflict.dims, fewer)
            if found is None:
                at += step
            else:
                conflict = found
        if step == 1:
            return conflict.stated
        step //= 2


def is_whole(vector: Vector) -> bool:
    """Tell whether whole unknowns can solve an equation, for the number 1 and for each prime."""
    by = [value.numerator for key, value in vector.items() if isinstance(key, str)]
    divisor = gcd(*by)
    return not by or all(
        value.numerator % divisor == 0 for key, value in vector.items() if isinstance(key, int)
    )


def _used(cuts: Iterable[Cut]) -> set[int]:
    return {fact for cut in cuts for fact in cut.equations}


Reader = Callable[[str, Vector], Constraint | None]


def _equal(system: System, read: Reader) -> Iterator[tuple[Constraint, Multipliers]]:
    """Yield the sizes that a system knows to be constant, equal to another, or a multiple of it."""
    first: dict[frozenset[tuple[str | int, Fraction]], str] = {}
    for name, (_, of) in system.echelon.rows.items():
        value = system.echelon.value_of(name)
        if name.startswith("#"):
            continue
        if claim := read(name, value):
            vector = system.read(0, claim)
            assert vector is not None
            yield claim, multiple(of, vector[name])
            continue
        other = first.setdefault(frozenset(value.items()), name)
        if other != name:
            difference = dict(of)
            add_to(difference, system.echelon.rows[other][1], -ONE)
            yield Eq(name, other), difference


def _of_logs(name: str, value: Vector) -> Constraint | None:
    names = list(unknowns(value))
    if len(names) > 1 or any(by.denominator != 1 for by in value.values()):
        return None
    if any(abs(by) > LARGEST.bit_length() for by in value.values()):
        return None  # not even computed: squares of squares have more digits than memory holds
    if any(value[each] != 1 for each in names):
        return None
    ratio = Fraction(1)
    for prime, times in value.items():
        if isinstance(prime, int):
            ratio *= Fraction(prime) ** int(times)
    return _multiple(name, ratio, names)


def _of_sums(name: str, value: Vector) -> Constraint | None:
    names = list(unknowns(value))
    if not names:
        return _multiple(name, value.get(1, Fraction(0)), names)
    return None if len(names) > 1 or 1 in value else _multiple(name, value[names[0]], names)


def _multiple(name: str, ratio: Fraction, names: list[str]) -> Constraint | None:
    """Return that a size is a multiple of another, or the other of it; or that it is constant."""
    if (
        not 0 < ratio <= LARGEST
        or ratio.denominator > LARGEST
        or any(other.startswith("#") for other in names)
    ):
        return None
    if not names:
        return Eq(name, ratio.numerator) if ratio.denominator == 1 else None
    (other,) = names
    if ratio == 1:
        return Eq(name, other)
    if ratio.denominator == 1:
        return MulEq(name, (ratio.numerator, other))
    return MulEq(other, (ratio.denominator, name)) if ratio.numerator == 1 else None

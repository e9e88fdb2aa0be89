"""Check a certificate without the solver: only what constraints mean is shared with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

from mlc_course.dynamic_shape.ir import AtMost, Constraint, Divisible
from mlc_course.dynamic_shape.solve.answers import (
    EVERY_OTHER,
    ByBounds,
    ByDivisors,
    ByFactors,
    ByPrimes,
    ByProducts,
    BySums,
    Certificate,
    Proof,
    Step,
)
from mlc_course.dynamic_shape.solve.echelon import Multipliers, Vector, add_to
from mlc_course.dynamic_shape.solve.integers import Cut, Equation, is_cut
from mlc_course.dynamic_shape.solve.systems import (
    Claim,
    Dims,
    Range,
    affine,
    as_equation,
    bounds_of,
    check_names,
    check_sizes,
    inequalities,
    is_within,
    log,
    product_equation,
    ratio,
    sum_equation,
)
from mlc_course.errors import UsageError, WrongResult

Read = Callable[[int, Claim], Vector | None]


def check_certificate(
    certificate: Certificate, claim: Constraint, dims: Dims, stated: Sequence[Constraint]
) -> None:
    """Raise ``WrongResult`` unless a certificate proves a claim from stated constraints.

    Raises ``UsageError`` for a constraint with a dimension or a number that is no size.
    """
    check_names(dims)
    for constraint in (*stated, claim):
        check_sizes(constraint, dims)
    facts: dict[int, Claim] = dict(enumerate((*map(Range, dims.values()), *stated)))
    for step in certificate.steps:
        if not _is_sound(step, facts, dims):
            raise WrongResult(
                "a step of the certificate does not follow from those before it", got=step
            )
        facts[step.number] = step.claim
    if not certificate.steps or certificate.steps[-1].claim != claim:
        raise WrongResult("the certificate is of another claim", expected=claim)


def _is_sound(step: Step, facts: dict[int, Claim], dims: Dims) -> bool:
    """Tell whether a step is written as it must be, and follows."""
    try:
        check_sizes(step.claim, dims)
        numbers = list(_multipliers(step.proof))
        is_exact = all(isinstance(each, Fraction) or type(each) is int for each in numbers)
        return is_exact and step.number not in facts and follows(step, facts, dims)
    except (UsageError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False  # it names what is not there, or is no proof at all


def _multipliers(proof: Proof) -> Iterator[Fraction | int]:
    match proof:
        case ByProducts(facts) | BySums(facts) | ByDivisors(facts) | ByFactors(facts):
            yield from facts.values()
        case ByPrimes() | ByBounds():
            lists = proof.cuts if isinstance(proof, ByBounds) else proof.cuts.values()
            for cut in _cuts(lists):
                yield cut.bound
                yield from cut.sum.values()
                yield from (*cut.equations.values(), *cut.cuts.values())


def _cuts(lists: Any) -> Iterator[Cut]:
    """Yield all cuts of nested lists."""
    for each in lists:
        if isinstance(each, Cut):
            yield each
        else:
            yield from _cuts(each)


def follows(step: Step, facts: dict[int, Claim], dims: Dims) -> bool:
    """Tell whether a step follows from facts with smaller numbers."""
    match step.proof:
        case ByProducts(of):
            return _is_multiple(step, of, product_equation, facts)
        case BySums(of):
            return _is_multiple(step, of, sum_equation, facts)
        case ByDivisors(of):
            return _is_divided(step, of, facts)
        case ByFactors(of):
            return _factors_fit(step, of, facts, dims)
        case ByPrimes(cuts):
            return _holds_of_primes(step, cuts, facts)
        case ByBounds(below, lists):
            stated = [cut for at in below for cut in inequalities(at, facts[at], dims)]
            wanted = list(bounds_of(step.claim))
            return len(wanted) == len(lists) > 0 and all(
                _bounded(goal, cuts, stated, facts, sum_equation, 1)
                for goal, cuts in zip(wanted, lists, strict=True)
            )
    return False


def _is_multiple(step: Step, of: Multipliers, read: Read, facts: dict[int, Claim]) -> bool:
    if isinstance(step.claim, Divisible):
        if read is sum_equation:
            return False
        rest = _rest(ratio(step.claim.sizes, step.claim.by), of, read, facts)
        return rest is not None and all(value > 0 for value in rest.values())
    vector = read(step.number, step.claim)
    return vector is not None and _rest(vector, of, read, facts) == {}


def _rest(vector: Vector, of: Multipliers, read: Read, facts: dict[int, Claim]) -> Vector | None:
    """Take a multiple of facts from a vector; None if one of them is no equation here."""
    total = dict(vector)
    for fact, times in of.items():
        equation = read(fact, facts[fact])
        if equation is None:
            return None
        add_to(total, equation, -times)
    return total


def _is_divided(step: Step, of: Multipliers, facts: dict[int, Claim]) -> bool:
    match step.claim:
        case Divisible((size,), by) if all(isinstance(each, int) for each in by):
            divisor = prod(each for each in by if isinstance(each, int))
            rest = _rest(affine((1, size)), of, sum_equation, facts)
            return rest is not None and all(
                (value / divisor).denominator == 1 for value in rest.values()
            )
    return False


def _factors_fit(step: Step, of: Multipliers, facts: dict[int, Claim], dims: Dims) -> bool:
    if not isinstance(step.claim, AtMost):
        return False
    rest = _rest(log(step.claim.sizes), of, product_equation, facts)
    return rest is not None and is_within(rest, step.claim.limit, dims)


def _holds_of_primes(
    step: Step, lists: Mapping[int, tuple[tuple[Cut, ...], ...]], facts: dict[int, Claim]
) -> bool:
    claim = step.claim
    vector = (
        ratio(claim.sizes, claim.by)
        if isinstance(claim, Divisible)
        else product_equation(step.number, claim)
    )
    if vector is None:
        return False
    used = {at for each in lists.values() for cuts in each for cut in cuts for at in cut.equations}
    equations = {at: product_equation(at, facts[at]) for at in used}
    if None in equations.values():
        return False
    primes = {
        key for each in (vector, *equations.values()) for key in each or () if isinstance(key, int)
    }
    if not primes | {EVERY_OTHER} <= lists.keys():
        return False
    goal = {name: int(by) for name, by in vector.items() if isinstance(name, str)}
    for prime in primes | {EVERY_OTHER}:
        bound = -int(vector.get(prime, 0))
        wanted = [Cut({name: -by for name, by in goal.items()}, -bound)]
        if not isinstance(claim, Divisible):
            wanted.insert(0, Cut(goal, bound))
        if len(wanted) != len(lists[prime]):
            return False
        for each, cuts in zip(wanted, lists[prime], strict=True):
            if not _bounded(each, cuts, [], facts, product_equation, prime):
                return False
    return True


def _bounded(
    goal: Cut,
    cuts: Sequence[Cut],
    stated: list[Cut],
    facts: dict[int, Claim],
    read: Read,
    key: int,
) -> bool:
    known = list(stated)
    for cut in cuts:
        equations: dict[int, Equation] = {}
        for at in cut.equations:
            vector = read(at, facts[at])
            if vector is None:
                return False
            equations[at] = as_equation(at, vector, key)
        if any(at >= len(known) for at in cut.cuts) or not is_cut(cut, equations, known):
            return False
        known.append(cut)
    last = known[-1] if cuts else None
    if last is None:
        return False
    if not last.sum:
        return last.bound < 0 or (not goal.sum and last.bound <= goal.bound)
    return last.sum == goal.sum and last.bound <= goal.bound

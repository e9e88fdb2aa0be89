"""A certificate in words: each step, and the facts that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from mlc_course.dynamic_shape.ir import Constraint, SymbolicDim, said
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
)
from mlc_course.dynamic_shape.solve.ask import facts_in
from mlc_course.dynamic_shape.solve.systems import Dims


def explained(certificate: Certificate, dims: Dims, stated: Sequence[Constraint]) -> list[str]:
    """Return a line for each step: the claim, and the facts with their multiples that give it."""
    facts = [*(_range(dim) for dim in dims.values()), *map(said, stated)]
    names = dict(enumerate(facts))
    lines = []
    for step in certificate.steps:
        names[step.number] = said(step.claim)
        lines.append(f"{said(step.claim)}: {_how(step.proof, names)}")
    return lines


def _range(dim: SymbolicDim) -> str:
    low, high = dim.smallest, dim.largest
    return f"{dim.name} >= {low}" if high is None else f"{low} <= {dim.name} <= {high}"


def _how(proof: Proof, names: dict[int, str]) -> str:
    match proof:
        case ByProducts(facts):
            return _multiples(facts, names, "({fact})^{times}", "a product of ")
        case BySums(facts):
            return _multiples(facts, names, "{times}*({fact})", "a sum of ")
        case ByDivisors(facts):
            return _multiples(facts, names, "{times}*({fact})", "each term is a multiple, with ")
        case ByFactors(facts):
            by = f", with {_named(proof, names)}" if facts else ""
            return f"the product of the largest sizes{by}"
        case ByPrimes(cuts):
            primes = ", ".join(str(prime) for prime in cuts if prime != EVERY_OTHER)
            of = f"of {primes} and every other prime" if primes else "of every prime"
            return f"the exponents {of} keep it, with {_named(proof, names)}"
        case ByBounds():
            return f"no sizes are outside, with {_named(proof, names)}"


def _multiples(facts: dict[int, Fraction], names: dict[int, str], form: str, before: str) -> str:
    if not facts:
        return "the same on both sides"
    parts = [  # a negative multiple reads an equation from right to left
        names[fact] if abs(times) == 1 else form.format(fact=names[fact], times=abs(times))
        for fact, times in facts.items()
    ]
    return f"{before if len(parts) > 1 else 'from '}{', '.join(parts)}"


def _named(proof: Proof, names: dict[int, str]) -> str:
    used: Iterator[int] = facts_in(proof)
    return ", ".join(names[at] for at in dict.fromkeys(used)) or "nothing but sizes of at least 1"

"""Answers to a query, and the proofs that a positive one carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlc_course.dynamic_shape.ir import Constraint
from mlc_course.dynamic_shape.solve.echelon import Multipliers
from mlc_course.dynamic_shape.solve.integers import Cut

EVERY_OTHER = 0  # in the place of a prime: all those that no fact and no query names


@dataclass(frozen=True)
class ByProducts:
    """The claim's equation is a multiple of those of facts, in the system of products."""

    facts: Multipliers


@dataclass(frozen=True)
class BySums:
    """The claim's equation is a multiple of those of facts, in the system of sums."""

    facts: Multipliers


@dataclass(frozen=True)
class ByPrimes:
    """The claim holds of the exponents of each prime; the cuts begin with no stated inequality.

    An equation has two lists of cuts for a prime: the first bounds its sum, the second the sum's
    negative. A divisor has the second only.
    """

    cuts: Mapping[int, tuple[tuple[Cut, ...], ...]]


@dataclass(frozen=True)
class ByBounds:
    """The claim follows from bounds in the system of sums.

    The cuts begin with the inequalities of ``facts``; each list of cuts bounds one sum.
    """

    facts: tuple[int, ...]
    cuts: tuple[tuple[Cut, ...], ...]


@dataclass(frozen=True)
class ByDivisors:
    """The claim's sum, divided by its divisor, is whole after a multiple of facts is added."""

    facts: Multipliers


@dataclass(frozen=True)
class ByFactors:
    """The largest sizes of all factors have a product within the limit.

    The factors are those of the claim's product, or of one that a multiple of ``facts`` in the
    system of products makes equal to it; where it has divisors, these are as small as they can be.
    """

    facts: Multipliers = field(default_factory=dict)


Proof = ByProducts | BySums | ByPrimes | ByBounds | ByDivisors | ByFactors


@dataclass(frozen=True)
class Step:
    """A fact that is derived from those with smaller numbers."""

    number: int
    claim: Constraint
    proof: Proof


@dataclass(frozen=True)
class Certificate:
    """The steps from stated facts to a claim, which is that of the last step.

    Facts are numbered: first each dimension's range, then the stated constraints, then the steps.
    """

    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Proved:
    """The claim holds for all sizes that the facts allow."""

    certificate: Certificate


@dataclass(frozen=True)
class Refuted:
    """The claim does not hold: ``model`` has sizes that keep all facts, and not the claim."""

    model: Mapping[str, int]


@dataclass(frozen=True)
class Unknown:
    """Neither a proof nor a counter-example was found."""


Answer = Proved | Refuted | Unknown

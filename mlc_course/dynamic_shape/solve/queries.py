"""The queries that fusion and code generation ask of shapes, each made of claims on sizes.

A query is the conjunction of its claims, and ``ask_all`` decides it. ``reshape_kind`` also finds
out which axes become which, so it asks claims one after another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

from mlc_course.dynamic_shape.ir import LARGEST, AtMost, Constraint, Dim, Divisible, Eq, ProductEq
from mlc_course.dynamic_shape.solve.answers import Certificate, Proved, Refuted, Unknown
from mlc_course.dynamic_shape.solve.ask import Solver
from mlc_course.errors import ShapeError, UsageError

Claims = tuple[Constraint, ...]
Place = tuple[int, int]  # between two axes of an operand, and between two of a result
ReshapeKind = Literal["identity", "expand", "collapse", "general"]
NEVER = Eq(1, 2)


@dataclass(frozen=True)
class AllProved:
    """All claims of a query hold for all sizes that the facts allow: a certificate for each."""

    certificates: tuple[Certificate, ...]


def ask_all(solver: Solver, claims: Sequence[Constraint]) -> AllProved | Refuted | Unknown:
    """Decide the conjunction of some claims: proved if all are, refuted if one is.

    Raises what ``Solver.ask`` raises.
    """
    answers = []
    for claim in claims:
        answer = solver.ask(claim)
        if isinstance(answer, Refuted):
            return answer
        answers.append(answer)
    proofs = [answer.certificate for answer in answers if isinstance(answer, Proved)]
    return AllProved(tuple(proofs)) if len(proofs) == len(answers) else Unknown()


# Queries that are claims.


def equal_products(left: Sequence[Dim], right: Sequence[Dim]) -> Constraint:
    """Return the claim that two products are equal, without what they have in common."""
    ours, others = products_apart(left, right)
    first, second = sorted((ours or (1,), others or (1,)), key=lambda side: (-len(side), str(side)))
    if len(first) == len(second) == 1:
        return Eq(first[0], second[0])
    return ProductEq(first, second)


def products_apart(
    left: Sequence[Dim], right: Sequence[Dim]
) -> tuple[tuple[Dim, ...], tuple[Dim, ...]]:
    """Return what two products do not have in common; of two that are the same, nothing."""
    ours, others = Counter(left), Counter(right)
    sides = [
        [dim for dim in side.elements() if dim != 1] for side in (ours - others, others - ours)
    ]
    one, other = (prod(dim for dim in side if isinstance(dim, int)) for side in sides)
    if one == other:
        sides = [[dim for dim in side if isinstance(dim, str)] for side in sides]
    first, second = (tuple(sorted(side, key=str)) for side in sides)
    return first, second


def same_shape(left: Sequence[Dim], right: Sequence[Dim]) -> Claims:
    """Return the claims that two tensors have equal sizes, axis by axis."""
    if len(left) != len(right):
        return (NEVER,)
    pairs = zip(left, right, strict=True)
    return tuple(dict.fromkeys(Eq(one, other) for one, other in pairs if one != other))


def same_count(left: Sequence[Dim], right: Sequence[Dim]) -> Claims:
    """Return the claim that two tensors have equally many elements, so one loop serves both."""
    return (equal_products(left, right),)


def equal_prefixes(left: Sequence[Dim], i: int, right: Sequence[Dim], j: int) -> Claims:
    """Return the claim that ``i`` first axes of a tensor have as many rows as ``j`` of another.

    Raises ``ShapeError`` for more axes than there are.
    """
    for dims, count in ((left, i), (right, j)):
        if not 0 <= count <= len(dims):
            raise ShapeError("a number of first axes", expected=f"0 to {len(dims)}", got=count)
    return (equal_products(left[:i], right[:j]),)


def is_divisible(dims: Sequence[Dim], by: Dim) -> Claims:
    """Return the claim that a size divides the product of others, so a vector loop has no tail."""
    return (Divisible(tuple(dims), (by,)),)


def broadcast_is_redundant(
    operand: Sequence[Dim], result: Sequence[Dim], dims: Sequence[int]
) -> Claims:
    """Return the claims that a broadcast repeats no element, so a reshape can take its place.

    Axis i of the operand becomes axis ``dims[i]`` of the result: both are equal, and all other axes
    of the result have size 1. Raises ``ShapeError`` for axes that no broadcast can have.
    """
    if len(dims) != len(operand) or list(dims) != sorted(set(dims) & set(range(len(result)))):
        raise ShapeError(
            "a broadcast's axes",
            expected=f"{len(operand)} rising ones of 0 to {len(result) - 1}",
            got=list(dims),
        )
    source = dict(zip(dims, operand, strict=True))
    return same_shape([source.get(axis, 1) for axis in range(len(result))], result)


def fits(dims: Sequence[Dim], bytes_per_element: int, limit_in_bytes: int) -> Claims:
    """Return the claim that a tensor takes no more bytes than there are, for all sizes it may have.

    A proof rests on what is stated: upper bounds of ranges, which are facts here as constraints
    are, equal products, and for one unknown size sums and inequalities too. Likely sizes prove
    nothing. So a program that is given sizes outside its ranges may not use what was proved. Raises
    ``UsageError`` for numbers that are no numbers of bytes.
    """
    for number, least in ((bytes_per_element, 1), (limit_in_bytes, 0)):
        if not least <= number <= LARGEST:
            raise UsageError("bytes", expected=f"{least} to {LARGEST}", got=number)
    names = tuple(dim for dim in dims if isinstance(dim, str))
    if not names:
        return (AtMost((*dims, bytes_per_element), limit_in_bytes),)
    known = prod(dim for dim in dims if isinstance(dim, int)) * bytes_per_element
    return (AtMost(names, limit_in_bytes // known),)


# A query that finds its claims.


@dataclass(frozen=True)
class AxisGroup:
    """Neighbouring axes of an operand that a reshape makes neighbouring axes of its result.

    ``claim`` says that their products are equal, and ``certificate`` proves it.
    """

    operand: range
    result: range
    claim: Constraint
    certificate: Certificate


@dataclass(frozen=True)
class Reshape:
    """A reshape, divided into as many groups of axes as are proved to go with each other."""

    groups: tuple[AxisGroup, ...]

    @property
    def kind(self) -> ReshapeKind:
        """The kind that is proved of the reshape; ``general`` where no other is.

        identity: each axis remains; expand: each becomes one or more; collapse: the other way
        round.
        """
        pairs = [(len(group.operand), len(group.result)) for group in self.groups]
        if all(pair == (1, 1) for pair in pairs):
            return "identity"
        if all(before <= min(1, after) for before, after in pairs):
            return "expand"
        if all(after <= min(1, before) for before, after in pairs):
            return "collapse"
        return "general"


def reshape_kind(
    solver: Solver, operand: Sequence[Dim], result: Sequence[Dim]
) -> Reshape | Refuted | Unknown:
    """Return how a reshape groups axes, with proofs; refuted or unknown if the counts are.

    One scan over both shapes: the next group ends where as many elements are proved to lie on both
    sides, before and after. If no size is 1, at most one place fits each axis, so there is one
    finest grouping. A size of 1 fits anywhere: it goes with a size of 1 if both come next, and
    otherwise with the axis after it, or the last axis. What may be 1 is treated as if it were not.

    ``general`` says that no other kind is proved, not that none holds. Raises what ``Solver.ask``
    raises.
    """
    whole = solver.ask(equal_products(operand, result))
    if not isinstance(whole, Proved):
        return whole
    groups: list[AxisGroup] = []
    begin, end = (0, 0), (len(operand), len(result))
    while begin != end:
        for place in _places(begin, end):
            (i, j), (k, m) = begin, place
            claim = equal_products(operand[i:k], result[j:m])
            answer = solver.ask(claim)
            rest = equal_products(operand[k:], result[m:])
            if isinstance(answer, Proved) and isinstance(solver.ask(rest), Proved):
                groups.append(AxisGroup(range(i, k), range(j, m), claim, answer.certificate))
                begin = place
                break
    return Reshape(tuple(groups))


def _places(begin: Place, end: Place) -> Iterator[Place]:
    """Yield where a group can end, the nearest places first, and at last the end of both shapes."""
    inside = [(k, m) for k in range(begin[0] + 1, end[0]) for m in range(begin[1] + 1, end[1])]
    yield from sorted(inside, key=sum)
    yield end

"""Each sum of inputs that something reads becomes one variable, in the interval of the sum.

p - q has fewer values than p and q have pairs, and q - p is its negative. What is equal for all
values of the new variables is equal for all inputs. The reverse does not hold, as sums that share
inputs do not take all pairs of values: the new variables prove, and never refute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlc_course.deadline import check_time
from mlc_course.instruction_selection.integers import (
    Formula,
    substituted,
    var,
    variables,
    walk,
)
from mlc_course.instruction_selection.prove.inputs import count_inputs
from mlc_course.instruction_selection.prove.polynomials import (
    MOST_TERMS,
    Key,
    Terms,
    constant,
    key_of,
    plus,
    primitive,
    range_of,
    times,
)


@dataclass(frozen=True)
class Sum:
    """A sum, without factor and constant, and the signs with which it occurs."""

    terms: Terms
    signs: set[int] = field(default_factory=set)


def summed(roots: Sequence[Formula]) -> tuple[list[Formula], dict[Formula, Sum]]:
    """Return formulas over new variables, and the sum that each of those is.

    A sum is replaced where a shift, a minimum, a wrap ... reads it, and where it has fewer values
    than inputs; then wherever it occurs, with any factor and constant.
    """
    polynomials = _polynomials(roots)
    taken = {str(x) for x in variables(*roots)}
    fresh: dict[Key, Formula] = {}
    for each in walk(*roots):
        for x in () if each in polynomials else each.operands:
            terms = polynomials.get(x)
            if terms is None:
                continue
            g, base, c = primitive(terms)
            lo, hi = _range(x, g, c)
            low, high = range_of(base)
            lo, hi = max(lo, low), min(hi, high)
            if hi - lo + 1 < count_inputs(variables(x)):
                name = f"sum {len(fresh)}"
                while name in taken:
                    name += "'"
                fresh.setdefault(key_of(base), var(name, lo, hi))
    sums: dict[Formula, Sum] = {}
    changed: dict[Formula, Formula] = {}
    for each, terms in polynomials.items():
        g, base, c = primitive(terms)
        if (made := fresh.get(key_of(base))) is not None:
            sums.setdefault(made, Sum(base)).signs.add(1 if g > 0 else -1)
            changed[each] = made * g + c
    return substituted(roots, changed), sums


def _range(x: Formula, g: int, c: int) -> tuple[int, int]:
    """Return the range of y where g * y + c is a value of x."""
    lo, hi = (x.lo - c, x.hi - c) if g > 0 else (c - x.hi, c - x.lo)
    return -(-lo // abs(g)), hi // abs(g)


def _polynomials(roots: Sequence[Formula]) -> dict[Formula, Terms]:
    """Return the polynomial over inputs of each node that is one."""
    found: dict[Formula, Terms] = {}
    for each in walk(*roots):
        check_time()
        below = [found.get(x) for x in each.operands]
        match each.op, below:
            case "var", _:
                found[each] = {(each,): 1}
            case "const", _:
                found[each] = constant(each.lo)
            case "add", [dict() as a, dict() as b]:
                found[each] = plus(a, b)
            case "sub", [dict() as a, dict() as b]:
                found[each] = plus(a, b, -1)
            case "mul", [dict() as a, dict() as b] if len(a) * len(b) <= MOST_TERMS:
                found[each] = times(a, b)
    return found

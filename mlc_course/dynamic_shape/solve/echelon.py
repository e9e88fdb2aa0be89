"""Linear equations in reduced row echelon form, each with the facts that it was derived from.

A vector says that a sum is zero. Its keys are names of unknowns (text) and indeterminates that are
never solved for (numbers): 1 in a sum of sizes, primes where the unknowns are logarithms of sizes.
So ``x*y = 12`` is ``{"x": 1, "y": 1, 2: -2, 3: -1}``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

Vector = dict[str | int, Fraction]
Multipliers = dict[int, Fraction]  # of facts, by number
Key = TypeVar("Key", int, str, str | int)


def multiple(vector: Mapping[Key, Fraction], times: Fraction) -> dict[Key, Fraction]:
    """Return a multiple of a vector; by 1 and -1, which are most, without a multiplication."""
    if times == 1:
        return dict(vector)
    if times == -1:
        return {key: -value for key, value in vector.items()}
    return {key: times * value for key, value in vector.items()} if times else {}


def add_to(total: dict[Key, Fraction], more: Mapping[Key, Fraction], times: Fraction) -> None:
    """Add a multiple of a vector to another, which keeps no zeros."""
    for key, value in multiple(more, times).items():
        if now := total[key] + value if key in total else value:
            total[key] = now
        else:
            total.pop(key, None)


def unknowns(vector: Vector) -> Iterator[str]:
    """Yield the names of a vector's unknowns."""
    return (key for key in vector if isinstance(key, str))


class Echelon:
    """Rows of which each has an unknown of its own, its pivot, with the coefficient 1."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Vector, Multipliers]] = {}
        self.holders: defaultdict[str, set[str]] = defaultdict(set)  # pivots of an unknown's rows

    def reduce(self, vector: Vector) -> tuple[Vector, Multipliers]:
        """Return what is left of a vector, and of which facts the difference is a multiple."""
        rest, used = dict(vector), Multipliers()
        for name in [each for each in unknowns(vector) if each in self.rows]:
            row, of = self.rows[name]
            times = rest[name]
            add_to(rest, row, -times)
            add_to(used, of, times)
        return rest, used

    def add(self, vector: Vector, fact: int) -> tuple[Vector, Multipliers]:
        """Add an equation; return the row that it became, empty if it says nothing new.

        A row without unknowns is a contradiction, and is not kept.
        """
        rest, used = self.reduce(vector)
        of = {fact: Fraction(1)}
        add_to(of, used, Fraction(-1))
        pivot = min(unknowns(rest), key=lambda name: (len(self.holders[name]), name), default=None)
        if pivot is None:
            return rest, of
        row, of = (multiple(each, 1 / rest[pivot]) for each in (rest, of))
        for other in sorted(self.holders[pivot]):
            old, old_of = self.rows[other]
            times = -old[pivot]
            for name in unknowns(row):
                self.holders[name].discard(other)
            add_to(old, row, times)
            add_to(old_of, of, times)
            for name in unknowns(row):
                if name in old:
                    self.holders[name].add(other)
        self.rows[pivot] = row, of
        for name in unknowns(row):
            self.holders[name].add(pivot)
        return row, of

    def value_of(self, name: str) -> Vector:
        """Return what an unknown is equal to, in terms of those that are free."""
        if name not in self.rows:
            return {name: Fraction(1)}
        return {key: -value for key, value in self.rows[name][0].items() if key != name}

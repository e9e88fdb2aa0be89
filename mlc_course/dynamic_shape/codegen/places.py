"""Where is an element? Index maps between a result and its operands, with unknown sizes.

An element's place is a list of *atoms*, each a number that counts through the product of some
sizes; together they count through the tensor, the last atom fastest. A reshape leaves them as they
are. Only where an operator asks for an axis of its own must an atom be cut, by a division and a
remainder, and where sizes are known to be equal, axes begin and end with atoms and nothing is cut::

    z: [B, S, H] at (r, c), where r counts through T and c through H
        with T = B*S known      axes 0 and 1 are r, axis 2 is c
        without                 i = r*H + c; axis 2 is i % H
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType

from mlc_course.dynamic_shape.fusion import Knowledge
from mlc_course.dynamic_shape.ir import Dim, Divisible
from mlc_course.mugraph.kernels import ZERO, Expr, const, var, variables

Dims = tuple[Dim, ...]


@dataclass(frozen=True)
class Atom:
    """A number from 0 that counts through the product of some sizes, or ``is_part`` of it."""

    index: Expr
    sizes: Dims
    is_part: bool = False


@dataclass(frozen=True)
class Place:
    """An element of a tensor with sizes ``dims``."""

    dims: Dims
    atoms: tuple[Atom, ...]


class Places:
    """Index maps, simplified with what is known of sizes.

    Without ``folds``, each reshape makes one number of an index and takes it apart again, as it is
    written; the difference is what facts are worth in divisions. ``multiples`` are sizes that are
    assumed to be divided by a number, beside what is known.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        folds: bool = True,
        multiples: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.knowledge, self.folds, self.multiples = knowledge, folds, multiples

    def divides(self, sizes: Dims, by: int) -> bool:
        """Tell whether a number is known, or assumed, to divide a product of sizes."""
        assumed = (self.multiples.get(dim, 1) for dim in sizes if isinstance(dim, str))
        if by == 1 or any(each % by == 0 for each in assumed):
            return True
        return self.knowledge.holds(Divisible(sizes or (1,), (by,)))

    def linear(self, atoms: Sequence[Atom]) -> Expr:
        """Return the number of the element that atoms count to."""
        total = ZERO
        for atom in atoms:
            total = total * product(atom.sizes) + atom.index
        return total

    def reshaped(self, place: Place, dims: Dims) -> Place:
        """Return the place of the same element in a tensor of other sizes."""
        if self.folds:
            return Place(dims, place.atoms)
        return Place(dims, (Atom(self.linear(place.atoms), dims),))

    def renamed(self, place: Place, dims: Dims) -> Place:
        """Return the same element of a tensor whose axes are as long, one by one."""
        atoms: list[Atom] = []
        start = 0
        for atom in place.atoms:
            stop = start + len(atom.sizes)
            if atom.sizes != place.dims[start:stop]:
                return self.reshaped(place, dims)
            atoms.append(replace(atom, sizes=dims[start:stop]))
            start = stop
        return Place(dims, tuple(atoms)) if start == len(dims) else self.reshaped(place, dims)

    def part(self, place: Place, start: int, stop: int) -> tuple[Atom, ...]:
        """Return the atoms of some neighbouring axes alone."""
        cut, first = self._cut(place, start)
        cut, last = self._cut(cut, stop)
        _, first = self._cut(cut, start)
        return cut.atoms[first:last]

    def _cut(self, place: Place, axis: int) -> tuple[Place, int]:
        """Return a place with an atom's end in front of an axis, and the number of atoms there."""
        if (found := self._aligned(place, axis)) is not None:
            return place, found
        rank = len(place.dims)
        low = next(at for at in range(axis, -1, -1) if self._aligned(place, at) is not None)
        high = next(at for at in range(axis, rank + 1) if self._aligned(place, at) is not None)
        first, last = self._aligned(place, low) or 0, self._aligned(place, high) or 0
        before, after = place.dims[low:axis], place.dims[axis:high]
        group = place.atoms[first:last]
        index, by = self.linear(group), product(after)
        rest = index % by
        if len(group) == 1 and index.op == "%" and index.args[1] == product(group[0].sizes):
            rest = index.args[0] % by  # of a multiple of what is divided by now
        made = (Atom(index // by, before), Atom(rest, after))
        atoms = (*place.atoms[:first], *made, *place.atoms[last:])
        return Place(place.dims, atoms), first + 1

    def _aligned(self, place: Place, axis: int) -> int | None:
        """Return the number of atoms that end in front of an axis, if some do."""
        if axis == len(place.dims):
            return len(place.atoms)
        ahead: Dims = place.dims[:axis]
        counted: list[Dims] = [()]
        for atom in place.atoms:
            counted.append((*counted[-1], *atom.sizes))
        if ahead in counted:  # no question to the solver, where others may take long
            return counted.index(ahead)
        if self.folds:
            for number, sizes in enumerate(counted):
                if self.knowledge.are_equal(sizes, ahead):
                    return number
        return None


def product(dims: Sequence[Dim]) -> Expr:
    """Return a product of sizes as an expression, spelled the same in any order."""
    total = const(prod(dim for dim in dims if isinstance(dim, int)))
    for name in sorted(dim for dim in dims if isinstance(dim, str)):
        total = total * var(name)
    return total


def divisions(e: Expr, among: frozenset[str] = frozenset()) -> int:
    """Return how often an expression divides what depends on one of some variables, or at all."""
    own = e.op in ("//", "%") and (not among or bool(among & variables(e)))
    return own + sum(divisions(each, among) for each in e.args if isinstance(each, Expr))

"""Tests at the given sizes, in which exp, sqrt, log and max are uninterpreted functions.

Most fused graphs compute exp, sqrt and max of what their program computes them of, and rearrange
only what stands around them. To such graphs it does not matter which functions these are. So they
are replaced by random functions here: equal arguments have equal values, and nothing else is known.
Graphs that are equal for *all* functions are equal for exp, sqrt, log and max. Graphs that are not
may still be equal by a law of theirs, and ``equivalence`` goes on with tests that know exp.

Without exp one prime is enough for a test, and numbers of 31 bits are, which NumPy multiplies.
That makes the sizes affordable that the graphs were given, of which ``batch_sizes`` has made 1
whatever one index stands for.

**Theorem.** Let two entries be different rational functions of the inputs and of the values of the
functions, each distinct argument giving a variable of its own. Their difference has a numerator P
with whole coefficients, not all 0, of degree at most d and absolute sum at most w. A *round*
evaluates everything modulo g primes, each drawn from the N primes between 2**30 and 2**31, at
points drawn independently, where a function's value modulo each prime is drawn by its argument's
residues modulo all g primes. With E = d / 2**30 + ln(w) / (N ln 2**30), a round finds the entries
equal with probability at most

    E**g  +  sum over pairs of arguments of one function of  E'**g,

E' being that of the difference of these two arguments.

*Proof.* A coefficient of P that is not 0 is divided by at most ln(w) / ln(2**30) primes of the
list. For any other prime P is a polynomial modulo it that is not 0, and vanishes with probability
at most d / 2**30 (J. Schwartz 1980, R. Zippel 1979). The g draws are independent. That takes a
variable for each distinct argument; two that are different as formulas are taken for one only if
their difference vanishes modulo all g primes. []

*Square roots.* Constants such as 1/sqrt(d) are numbers in a field that extends the rationals by the
square roots of s primes. Only primes p are drawn modulo which all of these have roots, about one in
2**s, and each root is one of two. A coefficient that is not 0 has a norm, the product of 2**s
conjugates, so the second term of E is at most 4**s times as large.

Random functions are drawn by a keyed hash of 64 bits, whose own collisions are counted as well.
A round in which something is divided by zero says nothing and is repeated; how likely that is
raises the probability of a miss among the others.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, Number, Shape
from mlc_course.mugraph.verify.field import Field, Residues
from mlc_course.mugraph.verify.free_maxima import FreeMaxima
from mlc_course.mugraph.verify.primes import draw_anywhere

BITS = 30
LISTED = 50_697_537  # primes between 2**30 and 2**31
MOST = 4  # primes of a round
HASH = 2.0**-64  # two different arguments have the same hash


class Uninterpreted(FreeMaxima, Field):
    """Residues modulo the primes of one round; every function is a random one of all of them."""

    def __init__(
        self, primes: int, rng: random.Random, rooted: Collection[int] = frozenset()
    ) -> None:
        towers = [draw_anywhere(0, rng, rooted) for _ in range(primes)]
        super().__init__(towers, rng, 1)
        self._seeds: dict[str, int] = {}

    def residues(self, x: Residues) -> Residues:
        """Return what is compared of a result."""
        return x

    def exp(self, x: Residues) -> Residues:
        return self.function("exp", x)

    def function(self, name: str, x: Residues) -> Residues:
        seed = self._seeds.setdefault(name, self.rng.getrandbits(64))
        hashed = np.full(x.top[0].size, seed, np.uint64)
        for residues in x.top:
            hashed = _scrambled(hashed ^ residues.reshape(-1).astype(np.uint64))
        drawn = [
            _scrambled(hashed + np.uint64(_step(place))) % np.uint64(int(prime))
            for place, prime in enumerate(self.primes[0])
        ]
        top = np.stack(drawn).astype(np.int64).reshape(x.top.shape)
        void = None if x.void is None else np.broadcast_to(x.void.any(axis=0), x.void.shape)
        return Residues(self, [top], void)


def _scrambled(x: Array) -> Array:
    """Mix the bits of 64-bit numbers (G. Steele, D. Lea, C. Flood, 2014: SplitMix)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


def _step(place: int) -> int:
    """A hash of its own for each prime."""
    return 0x9E3779B97F4A7C15 * (place + 1) % 2**64


@dataclass(frozen=True)
class Divisor:
    """A factor of denominators: along which axes its entries differ, their degree and ln(w)."""

    axes: frozenset[int]
    degree: float
    ln: float


@dataclass(frozen=True)
class Growth:
    """Bounds on all entries of a tensor: degree and ln(w) of the numerator, and the divisors.

    ``depth`` counts nested exp.
    """

    bounds: Growths
    shape: Shape
    degree: float = 0
    ln: float = 0
    below: tuple[Divisor, ...] = ()
    depth: int = 0

    @property
    def bottom(self) -> tuple[float, float]:
        """Degree and ln(w) of the denominator."""
        return sum(each.degree for each in self.below), sum(each.ln for each in self.below)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def apart(self, other: Growth) -> tuple[float, float]:
        """Degree and ln(w) of the numerator of a difference."""
        (ours, ours_ln), (theirs, theirs_ln) = self.bottom, other.bottom
        return (
            max(self.degree + theirs, other.degree + ours),
            float(np.logaddexp(self.ln + theirs_ln, other.ln + ours_ln)),
        )

    def _joint(self, other: Growth, degree: float, ln: float) -> Growth:
        shape = self.shape or other.shape
        if self.shape and other.shape:
            shape = tuple(map(max, zip(self.shape, other.shape, strict=True)))
        below = _merged((*self.below, *other.below))
        return Growth(self.bounds, shape, degree, ln, below, max(self.depth, other.depth))

    def _of(self, other: Any) -> Growth:
        return other if isinstance(other, Growth) else self.bounds.integer(other)

    def __add__(self, other: Any) -> Growth:
        right = self._of(other)
        return self._joint(right, *self.apart(right))

    def __mul__(self, other: Any) -> Growth:
        right = self._of(other)
        return self._joint(right, self.degree + right.degree, self.ln + right.ln)

    def __truediv__(self, other: Any) -> Growth:
        return self * self.bounds.inverse(self._of(other))

    def __rtruediv__(self, other: Any) -> Growth:
        return self._of(other) / self

    def __neg__(self) -> Growth:
        return self

    __sub__ = __rsub__ = __radd__ = __add__
    __rmul__ = __mul__

    def __matmul__(self, other: Growth) -> Growth:
        rank, extent = len(self.shape), self.shape[-1]
        lead = tuple(map(max, zip(self.shape[:-2], other.shape[:-2], strict=True)))
        rows = tuple(_on(each, rank - 1, rank) for each in self.below)
        columns = tuple(_on(each, rank - 2, rank) for each in other.below)
        term = Growth(
            self.bounds,
            (*lead, self.shape[-2], other.shape[-1], extent),
            self.degree + other.degree,
            self.ln + other.ln,
            _merged((*rows, *columns)),
            max(self.depth, other.depth),
        )
        return replace(self.bounds.sum(term, rank), shape=term.shape[:-1])


def _on(divisor: Divisor, axis: int, place: int) -> Divisor:
    """The axis that is summed over becomes axis ``place`` of the terms."""
    moved = {place if each == axis else each for each in divisor.axes}
    return replace(divisor, axes=frozenset(moved))


def _merged(below: Sequence[Divisor]) -> tuple[Divisor, ...]:
    merged: dict[frozenset[int], Divisor] = {}
    for each in below:
        before = merged.get(each.axes, Divisor(each.axes, 0, 0))
        merged[each.axes] = Divisor(each.axes, before.degree + each.degree, before.ln + each.ln)
    return tuple(merged.values())


@dataclass
class Calls:
    """Arguments of one function: how many, and the degree and ln(w) of a difference of two."""

    count: int = 0
    degree: float = 0
    ln: float = 0
    bottom: float = 0
    bottom_ln: float = 0

    def add(self, x: Growth, count: int) -> None:
        """Count so many entries of ``x``, which are arguments."""
        bottom, bottom_ln = x.bottom
        self.count += count
        self.degree, self.ln = max(self.degree, x.degree), max(self.ln, x.ln)
        self.bottom, self.bottom_ln = max(self.bottom, bottom), max(self.bottom_ln, bottom_ln)

    @property
    def apart(self) -> tuple[float, float]:
        """Degree and ln(w) of the numerator of a difference of two of them."""
        return self.degree + self.bottom, self.ln + self.bottom_ln + math.log(2)


def vanishing(degree: float, ln: float, roots: int = 0) -> float:
    """Return E of the theorem, where w has square roots of so many primes in it."""
    return degree / 2.0**BITS + ln * 4.0**roots / (LISTED * BITS * math.log(2))


class Growths(FreeMaxima):
    """The arithmetic of these bounds; they add up over both graphs.

    ``divisors`` are the degrees and ln(w) of everything that is divided by, and ``roots`` the
    primes of which a square root is taken. ``functions`` names those of whose laws nothing is known
    to any test; exp is none of them. ``height`` is how deep exp is nested.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, Calls] = {}
        self.functions: set[str] = set()
        self.divisors = (0.0, 0.0)
        self.roots: set[int] = set()
        self.height = 0

    def random(self, shape: Shape) -> Growth:
        return Growth(self, shape, 1)

    def integer(self, n: int) -> Growth:
        return Growth(self, (), 0, math.log(max(1, abs(n))))

    def constant(self, number: Number) -> Growth:
        n, d = number.coefficient.numerator, number.coefficient.denominator
        below = (Divisor(frozenset(), 0, math.log(d)),) if d > 1 else ()
        self.roots |= set(number.roots)
        ln = math.log(max(1, abs(n))) + math.log(math.prod(number.roots)) / 2
        return Growth(self, (), len(number.roots), ln, below)

    def inverse(self, x: Growth) -> Growth:
        degree, ln = x.bottom
        degrees, lns = self.divisors
        self.divisors = degrees + x.size * x.degree, lns + x.size * x.ln
        axes = frozenset(axis for axis, extent in enumerate(x.shape) if extent > 1)
        return replace(x, degree=degree, ln=ln, below=(Divisor(axes, x.degree, x.ln),))

    def exp(self, x: Growth) -> Growth:
        self.height = max(self.height, x.depth + 1)
        self.calls.setdefault("exp", Calls()).add(x, x.size)
        return Growth(self, x.shape, 1, 0, (), x.depth + 1)

    def function(self, name: str, x: Growth) -> Growth:
        self.functions.add(name.removesuffix(" of"))
        self.calls.setdefault(name, Calls()).add(x, x.size)
        return Growth(self, x.shape, 1, 0, (), x.depth)

    def sum(self, x: Growth, axis: int) -> Growth:
        n, shape = x.shape[axis], (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        degree, ln, below = x.degree, x.ln + math.log(n), []
        for each in x.below:
            if axis in each.axes:  # each of the others multiplies the numerator
                degree, ln = degree + (n - 1) * each.degree, ln + (n - 1) * each.ln
                each = Divisor(each.axes - {axis}, n * each.degree, n * each.ln)
            below.append(each)
        return Growth(self, shape, degree, ln, _merged(below), x.depth)

    def count(self, x: Growth, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: Growth, shape: Shape) -> Growth:
        kept = kept_axes(x.shape, shape)
        new = frozenset(range(len(shape))) - frozenset(kept.values())
        return self._moved(x, shape, lambda axis: {kept[axis]} if axis in kept else new)

    def transpose(self, x: Growth, axes: Sequence[int]) -> Growth:
        places = {axis: place for place, axis in enumerate(axes)}
        shape = tuple(x.shape[axis] for axis in axes)
        return self._moved(x, shape, lambda axis: {places[axis]})

    def _moved(self, x: Growth, shape: Shape, to: Callable[[int], Any]) -> Growth:
        below = [
            replace(each, axes=frozenset(new for axis in each.axes for new in to(axis)))
            for each in x.below
        ]
        return replace(x, shape=shape, below=_merged(below))

    def concatenate(self, xs: Sequence[Growth], axis: int) -> Growth:
        shape = xs[0].shape
        extent = sum(each.shape[axis] for each in xs)
        below: dict[frozenset[int], Divisor] = {}
        for x in xs:  # an entry is one of one of these
            for each in self._moved(x, x.shape, lambda old: {old, axis}).below:
                old = below.get(each.axes, Divisor(each.axes, 0, 0))
                degree, ln = max(old.degree, each.degree), max(old.ln, each.ln)
                below[each.axes] = Divisor(each.axes, degree, ln)
        return Growth(
            self,
            (*shape[:axis], extent, *shape[axis + 1 :]),
            max(x.degree for x in xs),
            max(x.ln for x in xs),
            tuple(below.values()),
            max(x.depth for x in xs),
        )

    def take(self, x: Growth, place: tuple[slice, ...]) -> Growth:
        spans = zip(x.shape, place, strict=True)
        return replace(x, shape=tuple(len(range(n)[cut]) for n, cut in spans))

    def stored(self, x: Growth) -> Growth:
        return x

    def told_apart(self, x: Growth) -> None:
        """Count a tensor that is told from others by its residues."""
        self.calls.setdefault("tensors", Calls()).add(x, 1)

    def missed(self, primes: int, apart: Sequence[tuple[float, float]]) -> float:
        """Bound how likely a round of so many primes misses that some entries differ.

        ``apart`` are the degree and ln(w) of the differences of outputs.
        """
        roots = len(self.roots)
        total = max(vanishing(*each, roots) for each in apart) ** primes
        for each in self.calls.values():
            total += each.count**2 / 2 * (vanishing(*each.apart, roots) ** primes + HASH)
        void = primes * vanishing(*self.divisors, roots)
        return total / (1 - void) if void < 1 else math.inf


def kept_axes(old: Shape, new: Shape) -> dict[int, int]:
    """Map each axis to the one of a reshaped tensor that counts the same."""
    places = {
        (math.prod(new[:place]), extent): place for place, extent in enumerate(new) if extent > 1
    }
    found = ((axis, places.get((math.prod(old[:axis]), old[axis]))) for axis in range(len(old)))
    return {axis: place for axis, place in found if place is not None}

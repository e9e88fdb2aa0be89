"""Tensors of residues: many independent trials at once, each with a tower of primes of its own.

A value has one residue for each level of its tower, independent of each other by the Chinese
remainder theorem. ``+ - * /`` act on every level. ``exp`` takes the residue of level i to a power
of the root of unity of level i + 1; its lowest level becomes a hole, and whatever is made of a hole
is one. ``sqrt`` and ``log`` are random functions of the residue, ``max`` goes by a random order of
all residues of the top level, and where those are alike by the ones below. No operator is
approximated (``false_accept_bound`` says how much that proves).
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array, Number, Shape
from mlc_course.mugraph.verify.primes import SMALL, Tower, square_root

Level = Array | None  # trials along the first axis
EXACT = 1 << 20  # products of 32 bits, of which float64 holds the sum
FEW = 200  # residues, of which Python takes powers faster than NumPy, and NumPy draws at once


class Residues:
    """A tensor: one array of shape (trials, *shape) for each level, or None for a hole.

    ``void`` marks entries made of a quotient by zero, which say nothing; None if none is.
    """

    def __init__(self, field: Field, levels: Sequence[Level], void: Level = None) -> None:
        self.field, self.levels = field, levels
        self.void = (
            None if void is None else np.broadcast_to(_raised(void, self.top.ndim), self.top.shape)
        )

    @property
    def top(self) -> Array:
        """Residues of the highest level, which every value has."""
        top = self.levels[-1]
        assert top is not None
        return top

    @property
    def shape(self) -> Shape:
        return self.top.shape[1:]

    def _with(self, other: Any, action: Callable[[Array, Array, Array], Array]) -> Residues:
        ours, theirs = self, other if isinstance(other, Residues) else self.field.integer(other)
        void = _either(ours.void, theirs.void)
        levels: list[Level] = []
        for prime, a, b in zip(self.field.primes, ours.levels, theirs.levels, strict=True):
            if a is None or b is None:
                levels.append(None)
                continue
            rank = max(a.ndim, b.ndim)
            p = _raised(prime, rank)
            levels.append(action(_raised(a, rank), _raised(b, rank), p) % p)
        return Residues(self.field, levels, void)

    def __add__(self, other: Any) -> Residues:
        return self._with(other, lambda a, b, p: a + b)

    def __sub__(self, other: Any) -> Residues:
        return self._with(other, lambda a, b, p: a - b)

    def __mul__(self, other: Any) -> Residues:
        return self._with(other, lambda a, b, p: a * b)

    def __truediv__(self, other: Any) -> Residues:
        divisor = other if isinstance(other, Residues) else self.field.integer(other)
        return self * self.field.inverse(divisor)

    def __matmul__(self, other: Residues) -> Residues:
        rows, columns = _somewhere(self.void, -1), _somewhere(other.void, -2)
        made = Residues(self.field, self.levels)._with(Residues(self.field, other.levels), _product)
        return Residues(self.field, made.levels, _either(rows, columns))

    def __neg__(self) -> Residues:
        return self * -1

    def __rsub__(self, other: int) -> Residues:
        return self.field.integer(other) - self

    def __rtruediv__(self, other: int) -> Residues:
        return self.field.integer(other) / self

    __radd__, __rmul__ = __add__, __mul__


class Field:
    """The arithmetic of residues, for as many trials as there are ``towers``.

    ``bad`` marks the trials in which something was divided by zero. Random functions are
    polynomials with ``independence`` random coefficients, so that any that many of their values
    are independent.
    """

    def __init__(self, towers: Sequence[Tower], rng: random.Random, independence: int) -> None:
        self.rng, self.independence = rng, max(1, independence)
        self._draws = np.random.default_rng(rng.getrandbits(64))
        self.trials = len(towers)
        levels = list(zip(*(tower.primes for tower in towers), strict=True))
        self.small = max(levels[-1]) < 1 << SMALL
        self.primes = [self._array(primes) for primes in levels]
        self.roots = [self._array(r) for r in zip(*(t.roots for t in towers), strict=True)]
        self.bad = np.zeros(self.trials, bool)
        self._square_roots: dict[int, Residues] = {}
        self._functions: dict[tuple[str, int], list[Array]] = {}

    def _array(self, numbers: Sequence[int]) -> Array:
        return np.array(numbers, np.int64 if self.small else object)

    def random(self, shape: Shape) -> Residues:
        """Uniform and independent residues."""
        return Residues(self, [self._random(prime, shape) for prime in self.primes])

    def _random(self, prime: Array, shape: Shape) -> Array:
        if self.small and math.prod(shape) > FEW:  # NumPy is slow with an array of bounds
            return np.stack([self._draws.integers(0, p, shape) for p in prime])
        p = np.broadcast_to(_raised(prime, 1 + len(shape)), (self.trials, *shape))
        if self.small:
            return self._draws.integers(0, p)
        return np.asarray(np.frompyfunc(self.rng.randrange, 1, 1)(p))

    def integer(self, n: int) -> Residues:
        if self.small and abs(n) >= 1 << SMALL:
            return Residues(self, [self._array([n % int(p) for p in ps]) for ps in self.primes])
        return Residues(self, [n % prime for prime in self.primes])

    def inverse(self, x: Residues) -> Residues:
        """Modulo every level; a zero makes its trial ``bad`` and its entry void."""
        levels, void = list[Level](), x.void
        for prime, level in zip(self.primes, x.levels, strict=True):
            if level is None:
                levels.append(None)
                continue
            zero = np.asarray(level == 0, bool)
            if zero.any():
                self.bad |= zero.reshape(self.trials, -1).any(axis=1)
                void = _either(void, zero)
            p = _raised(prime, level.ndim)
            levels.append(_power(np.where(zero, 1, level), p - 2, p))
        return Residues(self, levels, void)

    def entered(self, x: Residues) -> Residues:
        return x

    def constant(self, number: Number) -> Residues:
        made = self.integer(number.coefficient.numerator) / number.coefficient.denominator
        for prime in number.roots:
            if prime not in self._square_roots:
                self._square_roots[prime] = self._square_root(prime)
            made = made * self._square_roots[prime]
        return made

    def _square_root(self, n: int) -> Residues:
        """One of the two roots modulo each prime; where n has none, one random residue for all."""
        found = [
            [square_root(n, int(prime), self.rng) for prime in primes] for primes in self.primes
        ]
        if any(each is None for level in found for each in level):
            return self.random(())
        return Residues(self, [self._array([each or 0 for each in level]) for level in found])

    def exp(self, x: Residues) -> Residues:
        levels: list[Level] = [None]
        for below, prime, root in zip(x.levels, self.primes[1:], self.roots[1:], strict=False):
            if below is None:
                levels.append(None)
            else:
                rank = below.ndim
                base = np.broadcast_to(_raised(root, rank), below.shape)
                levels.append(_power(base, below, _raised(prime, rank)))
        return Residues(self, levels, x.void)

    def function(self, name: str, x: Residues) -> Residues:
        levels = [self._at(name, i, level) for i, level in enumerate(x.levels)]
        return Residues(self, levels, x.void)

    def _at(self, name: str, level: int, x: Level) -> Level:
        """A random polynomial of the residue: one for each name, level and trial."""
        if x is None:
            return None
        prime = self.primes[level]
        coefficients = self._functions.setdefault(
            (name, level), [self._random(prime, ()) for _ in range(self.independence)]
        )
        p, value = _raised(prime, x.ndim), np.zeros_like(x)
        for each in coefficients:
            value = (value * x + _raised(each, x.ndim)) % p
        return value

    def maximum(self, x: Residues, y: Residues) -> Residues:
        return self._chosen(x, y, highest=True)

    def minimum(self, x: Residues, y: Residues) -> Residues:
        return self._chosen(x, y, highest=False)

    def _chosen(self, x: Residues, y: Residues, *, highest: bool) -> Residues:
        rank = max(x.top.ndim, y.top.ndim)
        void = _either(x.void, y.void)
        x, y = (Residues(self, [_lifted(level, rank) for level in v.levels]) for v in (x, y))
        first = self._first(x, y)
        pairs = zip(x.levels, y.levels, strict=True)
        return Residues(
            self,
            [
                None if a is None or b is None else np.where(first == highest, a, b)
                for a, b in pairs
            ],
            void,
        )

    def _rank(self, top: Array) -> Array:
        rank = self._at("the order", len(self.primes) - 1, top)
        assert rank is not None
        return rank

    def _keys(self, x: Residues) -> list[Level]:
        """The keys to compare, one after the other: no two values have all in common.

        The rank of the top residue and that residue, as one number, and the residues below.
        """
        p = _raised(self.primes[-1], x.top.ndim)
        return [self._rank(x.top) * p + x.top, *x.levels[-2::-1]]

    def _first(self, x: Residues, y: Residues) -> Array:
        """The entries at which x is the higher one, or ties."""
        first, tied = np.asarray(False), np.asarray(True)
        for a, b in zip(self._keys(x), self._keys(y), strict=True):
            if a is not None and b is not None and tied.any():
                first, tied = first | (tied & (a > b)), tied & (a == b)
        return np.asarray(first | tied, bool)

    def max(self, x: Residues, axis: int) -> Residues:
        highest = np.asarray(True)
        for key in self._keys(x):
            if key is not None:
                left = np.where(highest, key, -1)
                highest = left == left.max(axis=axis + 1, keepdims=True)
        best = np.expand_dims(highest.argmax(axis=axis + 1), axis + 1)
        void = _somewhere(x.void, axis + 1)
        largest = Residues(self, x.levels)
        largest = self._each(largest, lambda level: np.take_along_axis(level, best, axis + 1))
        return Residues(self, largest.levels, void)

    def sum(self, x: Residues, axis: int) -> Residues:
        void = _somewhere(x.void, axis + 1)
        summed = self._each(
            Residues(self, x.levels), lambda level: level.sum(axis=axis + 1, keepdims=True)
        )
        return Residues(self, (summed + 0).levels, void)  # modulo the primes

    def count(self, x: Residues, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: Residues, shape: Shape) -> Residues:
        return self._each(x, lambda level: level.reshape(self.trials, *shape))

    def transpose(self, x: Residues, axes: Sequence[int]) -> Residues:
        return self._each(x, lambda level: level.transpose(0, *(axis + 1 for axis in axes)))

    def concatenate(self, xs: Sequence[Residues], axis: int) -> Residues:
        levels: list[Level] = []
        for parts in zip(*(x.levels for x in xs), strict=True):
            known = [part for part in parts if part is not None]
            levels.append(np.concatenate(known, axis + 1) if len(known) == len(xs) else None)
        voids = [np.zeros(x.top.shape, bool) if x.void is None else x.void for x in xs]
        void = np.concatenate(voids, axis + 1) if any(x.void is not None for x in xs) else None
        return Residues(self, levels, void)

    def take(self, x: Residues, place: tuple[slice, ...]) -> Residues:
        return self._each(x, lambda level: level[(slice(None), *place)])

    def stored(self, x: Residues) -> Residues:
        return x

    def _each(self, x: Residues, action: Callable[[Array], Array]) -> Residues:
        levels = [None if level is None else action(level) for level in x.levels]
        return Residues(self, levels, None if x.void is None else action(x.void))


def _either(a: Level, b: Level) -> Level:
    """Mark the entries where one of two is void."""
    if a is None or b is None:
        return a if b is None else b
    rank = max(a.ndim, b.ndim)
    return np.asarray(_raised(a, rank) | _raised(b, rank), bool)


def _somewhere(void: Level, axis: int) -> Level:
    """Along an axis."""
    return None if void is None else np.asarray(void.any(axis=axis, keepdims=True))


def _raised(array: Array, rank: int) -> Array:
    """Insert axes of extent 1 after the first, so that scalars meet tensors."""
    return array.reshape(len(array), *[1] * (rank - array.ndim), *array.shape[1:])


def _lifted(level: Level, rank: int) -> Level:
    return None if level is None else _raised(level, rank)


def _power(base: Array, exponent: Array, p: Array) -> Array:
    """``base ** exponent`` modulo p, elementwise."""
    if base.dtype == object or base.size < FEW:
        return np.asarray(np.frompyfunc(pow, 3, 1)(base, exponent, p), base.dtype)
    exponent = np.broadcast_to(exponent, base.shape)
    result = np.ones_like(base)
    for bit in reversed(range(int(exponent.max(initial=0)).bit_length())):
        result = result * result % p
        result = np.where((exponent >> bit) & 1 == 1, result * base % p, result)
    return result


def _product(a: Array, b: Array, p: Array) -> Array:
    """Matrix product; halves of 16 bits keep it exact in float64, where it is fast."""
    if a.dtype == object:
        return np.asarray(a @ b)
    total: Array | None = None
    for start in range(0, a.shape[-1], EXACT):
        part = slice(start, start + EXACT)
        made = _short_product(a[..., part], b[..., part, :], p)
        total = made if total is None else total + made
    assert total is not None
    return total


def _short_product(a: Array, b: Array, p: Array) -> Array:
    high_a, low_a = (a >> 16).astype(float), (a & 0xFFFF).astype(float)
    high_b, low_b = (b >> 16).astype(float), (b & 0xFFFF).astype(float)
    high = (high_a @ high_b).astype(np.int64) % p
    middle = (high_a @ low_b + low_a @ high_b).astype(np.int64) % p
    low = (low_a @ low_b).astype(np.int64)
    return np.asarray(((high << 16) + middle) % p * (1 << 16) % p + low)

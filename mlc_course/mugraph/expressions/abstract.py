"""The abstract arithmetic: what an operator's ``meaning`` makes of abstract expressions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mlc_course.mugraph.expressions.normal_form import BESIDE, ONE, UNIT, ZERO, Expressions, Poly
from mlc_course.mugraph.ir import Number, Shape, reduced


class Abstract:
    """A tensor: its shape, and one expression for all its entries."""

    def __init__(self, among: Expressions, shape: Shape, poly: Poly) -> None:
        self.among, self.shape, self.poly = among, shape, poly

    def _with(self, shape: Shape, poly: Poly) -> Abstract:
        return Abstract(self.among, shape, poly)

    def _other(self, other: Any) -> Abstract:
        if isinstance(other, Abstract):
            return other
        return self._with((), ((UNIT, other),) if other else ZERO)

    def __add__(self, other: Any) -> Abstract:
        right = self._other(other)
        return self._with(_broadcast(self, right), self.among.add(self.poly, right.poly))

    def __neg__(self) -> Abstract:
        return self._with(self.shape, self.among.times(self.poly, -1))

    def __sub__(self, other: Any) -> Abstract:
        return self + -self._other(other)

    def __rsub__(self, other: int) -> Abstract:
        return -self + other

    def __mul__(self, other: Any) -> Abstract:
        if isinstance(other, int):
            return self._with(self.shape, self.among.times(self.poly, other))
        right = self._other(other)
        return self._with(_broadcast(self, right), self.among.mul(self.poly, right.poly))

    def __truediv__(self, other: Any) -> Abstract:
        if isinstance(other, int):
            return self._with(self.shape, self.among.times(self.poly, Fraction(1, other)))
        right = self._other(other)
        return self * right._with(right.shape, self.among.inverse(right.poly))

    def __rtruediv__(self, other: int) -> Abstract:
        inverse = self._with(self.shape, self.among.inverse(self.poly))
        return inverse if other == 1 else inverse * other

    def __matmul__(self, other: Abstract) -> Abstract:
        ahead = _broadcast(self._with(self.shape[:-2], ONE), self._with(other.shape[:-2], ONE))
        shape = (*ahead, self.shape[-2], other.shape[-1])
        return self._with(shape, self._contracted(other))

    def _contracted(self, other: Abstract) -> Poly:
        """Sums along the inner axis; [x | y] by [v above w] is x v + y w."""
        ours, theirs = self.among.pieces(self.poly), self.among.pieces(other.poly)
        if ours is None or theirs is None or ours[0] != theirs[0]:
            poly = self.among.mul(self.poly, other.poly)
            return self.among.times(poly, self.shape[-1])
        whole = ZERO
        for extent, left, right in zip(ours[0], ours[1], theirs[1], strict=True):
            part = self.among.times(self.among.mul(left, right), extent)
            whole = self.among.add(whole, part)
        return whole

    __radd__, __rmul__ = __add__, __mul__


def _broadcast(a: Abstract, b: Abstract) -> Shape:
    if not a.shape or not b.shape:
        return a.shape or b.shape
    return tuple(map(max, zip(a.shape, b.shape, strict=True)))


class AbstractArithmetic:
    """The arithmetic of expressions. A constant is an atom: only sums multiply coefficients.

    An expression without a term is zero, which nothing but a difference of running maxima is.
    """

    def __init__(self, among: Expressions) -> None:
        self.among = among

    def _made(self, shape: Shape, poly: Poly) -> Abstract:
        return Abstract(self.among, shape, poly)

    def constant(self, number: Number) -> Abstract:
        size, poly = abs(number.coefficient), ONE
        if number.coefficient == 0:
            return self._made((), ZERO)
        if size != 1:
            poly = self.among.atom(str(size))
        for root in number.roots:
            poly = self.among.mul(poly, self.among.atom(f"sqrt({root})"))
        return self._made((), self.among.times(poly, number.coefficient / size))

    def exp(self, x: Abstract) -> Abstract:
        return self._made(x.shape, self.among.atom("exp", x.poly) if x.poly else ONE)

    def function(self, name: str, x: Abstract) -> Abstract:
        return self._made(x.shape, self.among.atom(name, x.poly))

    def maximum(self, x: Abstract, y: Abstract) -> Abstract:
        return self._made(_broadcast(x, y), self._either("maximum", x.poly, y.poly))

    def minimum(self, x: Abstract, y: Abstract) -> Abstract:
        return self._made(_broadcast(x, y), self._either("minimum", x.poly, y.poly))

    def _either(self, name: str, x: Poly, y: Poly) -> Poly:
        return x if x == y else self.among.atom(name, *sorted((x, y)))

    def sum(self, x: Abstract, axis: int) -> Abstract:
        poly = self.among.times(x.poly, x.shape[axis])
        return self._made(reduced(x.shape, axis=axis), poly)

    def max(self, x: Abstract, axis: int) -> Abstract:
        return self._made(reduced(x.shape, axis=axis), self.among.largest(x.poly))

    def count(self, x: Abstract, axis: int) -> Any:
        """Return the reciprocal of the constant 1/n, so that a mean is a ``scale`` by 1/n."""
        return self._made((), self.among.inverse(self.among.atom(str(Fraction(1, x.shape[axis])))))

    def reshape(self, x: Abstract, shape: Shape) -> Abstract:
        return self._made(shape, x.poly)

    def transpose(self, x: Abstract, axes: Sequence[int]) -> Abstract:
        return self._made(tuple(x.shape[axis] for axis in axes), x.poly)

    def concatenate(self, xs: Sequence[Abstract], axis: int) -> Abstract:
        """Parts of one expression have it; other parts make an atom, of which each is a part."""
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        if len({x.poly for x in xs}) == 1:
            return self._made(tuple(shape), xs[0].poly)
        name = BESIDE + ",".join(str(x.shape[axis]) for x in xs)
        return self._made(tuple(shape), self.among.atom(name, *(x.poly for x in xs)))

    def take(self, x: Abstract, place: tuple[slice, ...]) -> Abstract:
        shape = tuple(len(range(n)[each]) for n, each in zip(x.shape, place, strict=True))
        return self._made(shape, x.poly)

    def stored(self, x: Abstract) -> Abstract:
        return x

"""Bounds on the formulas that a kernel computes, right or wrong, for the chance of a false accept.

``verify.Growth`` bounds a tensor's degree and the size of its coefficients. A kernel's buffers hold
parts of many tensors at different times, so one bound is kept for all elements of a buffer, and
where elements are added up, their denominators count as all different. That is coarse, and enough:
primes of 31 bits leave room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import GraphError
from mlc_course.mugraph.ir import Shape
from mlc_course.mugraph.kernel_checks.kernel_walk import Points, Step, Walk, copied, kept_axes
from mlc_course.mugraph.kernels import (
    Allocate,
    Apply,
    Axis,
    Compute,
    Constant,
    Copy,
    Count,
    Kernel,
    Lookup,
    Read,
    Select,
    Value,
)
from mlc_course.mugraph.verify import Divisor, Growth, Growths


@dataclass
class KernelGrowths:
    """Bounds on what the kernels of a graph compute, one after the other.

    What they call and divide by is counted in ``bounds``. ``members`` is ln of how many values a
    maximum may be taken of, each as often as it counts.
    """

    bounds: Growths
    members: float = 0.0

    def outputs(self, kernel: Kernel, inputs: Sequence[Growth]) -> list[Growth]:
        """Return the bounds of a kernel's outputs from those of its inputs, in its order."""
        run = _Run(kernel, inputs, self)
        run.run()
        return [any_tensor(run.of[each.name], each.shape) for each in kernel.outputs]


class _Run(Walk):
    def __init__(self, kernel: Kernel, inputs: Sequence[Growth], kept: KernelGrowths) -> None:
        super().__init__(kernel)
        self.kept, self.bounds = kept, kept.bounds
        names = (each.name for each in kernel.inputs)
        self.of = dict(zip(names, map(any_element, inputs), strict=True))
        for each in (*kernel.outputs, *kernel.shared):
            self.of[each.name] = self.bounds.integer(1)

    def step(self, statement: Step, points: Points) -> None:
        match statement:
            case Compute():
                self._compute(statement, points)
            case Copy():
                self._compute(copied(statement), points)
            case Allocate(buffer):
                self.of[buffer.name] = self.bounds.integer(1)

    def _compute(self, s: Compute, points: Points) -> None:
        count = math.prod(points.shape) * math.prod(axis.extent for axis in s.axes)
        value = self._reduced(self._value(s.value, count), s, kept_axes(s), count)
        before = self.of[s.target.name]
        match s.combine:
            case "add":
                value = before + value
            case "max" | "min":
                value = self._largest(s.combine, count, before, value)
        self.of[s.target.name] = covering(before, value)

    def _value(self, value: Value, count: int) -> Growth:
        match value:
            case Constant(number):
                return any_element(self.bounds.constant(number))
            case Read(buffer):
                return self.of[buffer.name]
            case Select(_, then, otherwise):
                return covering(self._value(then, count), self._value(otherwise, count))
            case Apply(name, args):
                return self._applied(name, [self._value(each, count) for each in args], count)
            case Count() | Lookup():
                raise GraphError("no bound for a number of an index, or of data", got=value)

    def _applied(self, name: str, args: list[Growth], count: int) -> Growth:
        many = [replace(each, shape=(count,)) for each in args]
        match name:
            case "add" | "sub":
                return args[0] + args[1]
            case "mul":
                return args[0] * args[1]
            case "div":
                return any_element(args[0] * any_element(self.bounds.inverse(many[1])))
            case "max" | "min":
                return self._largest(name, count, *args)
            case "exp":
                return any_element(self.bounds.exp(many[0]))
        return any_element(self.bounds.function(name, many[0]))

    def _reduced(self, value: Growth, s: Compute, kept: tuple[Axis, ...], count: int) -> Growth:
        summed = math.prod(axis.extent for axis in s.axes if axis not in kept)
        if summed == 1 or s.combine != "add":
            return value
        along = frozenset({0})
        below = tuple(replace(each, axes=along) for each in value.below)
        return any_element(self.bounds.sum(replace(value, shape=(summed,), below=below), 0))

    def _largest(self, name: str, count: int, *args: Growth) -> Growth:
        """Bound f of the sum of g of many values (``verify.FreeMaxima``)."""
        for each in args:
            self.bounds.function(f"{name} of", replace(each, shape=(count,)))
        self.kept.members += math.log(1 + count)
        ln = self.kept.members
        inside = replace(self.bounds.integer(1), degree=1, ln=ln, shape=(count,))
        return any_element(self.bounds.function(name, inside))


def any_element(x: Growth) -> Growth:
    """Return the bound of each element of a tensor, with one divisor in place of several."""
    degree, ln = x.bottom
    below = (Divisor(frozenset(), degree, ln),) if x.below else ()
    return replace(x, shape=(), below=below)


def any_tensor(x: Growth, shape: Shape) -> Growth:
    """Return the bound of a tensor from that of each element, whose divisors may all differ."""
    axes = frozenset(axis for axis, extent in enumerate(shape) if extent > 1)
    return replace(x, shape=shape, below=tuple(replace(each, axes=axes) for each in x.below))


def covering(a: Growth, b: Growth) -> Growth:
    """Return a bound on either of two elements."""
    (degree, ln), (other, other_ln) = a.bottom, b.bottom
    below = (Divisor(frozenset(), max(degree, other), max(ln, other_ln)),)
    return replace(
        a,
        degree=max(a.degree, b.degree),
        ln=max(a.ln, b.ln),
        below=below if a.below or b.below else (),
        depth=max(a.depth, b.depth),
    )

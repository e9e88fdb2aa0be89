"""A kernel for all sizes: loops, buffers and the grid depend on numbers that a launch is given.

With sizes filled in (``at``) it is an ordinary kernel, which the interpreters and checkers of
``kernel_checks`` know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

from mlc_course.mugraph.ir import Number, root
from mlc_course.mugraph.kernels.index_expressions import (
    CONST,
    ONE,
    UNBOUNDED,
    ZERO,
    Expr,
    ExprLike,
    evaluate,
    expr,
    substituted,
)
from mlc_course.mugraph.kernels.kernel_program import (
    Apply,
    Body,
    Buffer,
    Constant,
    Count,
    Guard,
    Kernel,
    Loop,
    Repeat,
    Threads,
)


@dataclass(frozen=True)
class SizedBuffer(Buffer):
    """A buffer of ``length`` elements in a row, a number that depends on sizes."""

    length: Expr = ONE

    @classmethod
    def of(cls, name: str, length: Expr, **given: Any) -> SizedBuffer:
        """Return a buffer; its shape holds for any length."""
        return cls(name, (UNBOUNDED,), length=length, **given)

    def __str__(self) -> str:
        return f"{self.name}[{self.length}]"


@dataclass(frozen=True)
class SizedTensor(SizedBuffer):
    """A tensor in memory whose ``extents`` depend on sizes, row by row; its indices are logical."""

    extents: tuple[Expr, ...] = ()

    @classmethod
    def shaped(cls, name: str, extents: Sequence[ExprLike]) -> SizedTensor:
        """Return a tensor that is everybody's; its shape holds for any extents."""
        made = tuple(map(expr, extents))
        shape = tuple(int(n.args[0]) if n.op == CONST else UNBOUNDED for n in made)
        length = math.prod(made, start=ONE)
        return cls(name, shape, "global", "storage", length=length, extents=made)

    def flat(self, index: Sequence[ExprLike]) -> Expr:
        """Return the place of an element in this memory."""
        total, step = ZERO, ONE
        for each, extent in reversed(list(zip(index, self.extents, strict=True))):
            total, step = expr(each) * step + total, step * extent
        return total

    def __str__(self) -> str:
        return f"{self.name}[{', '.join(map(str, self.extents))}]"


@dataclass(frozen=True)
class SizedKernel(Kernel):
    """A kernel whose only grid axis has ``count`` blocks; ``sizes`` are its other arguments."""

    sizes: tuple[str, ...] = ()
    count: Expr = ONE

    @property
    def grid_text(self) -> str:
        """The only axis, with the number of blocks."""
        return f"{self.grid[0][0]} < {self.count}"

    def at(self, sizes: Mapping[str, int]) -> Kernel:
        """Return the kernel for these sizes."""
        given = {name: sizes[name] for name in self.sizes}
        made = vars(self.where(given, ()))
        ((block, _),) = self.grid
        known = {each.name: made[each.name] for each in fields(Kernel)}
        known["grid"] = ((block, int(evaluate(made["count"], {}))),)
        for name in ("inputs", "outputs", "shared", "body"):
            known[name] = _plain(known[name])
        return Kernel(**known)

    def where(self, values: Mapping[str, ExprLike], sizes: tuple[str, ...]) -> SizedKernel:
        """Return the kernel with numbers, or expressions of other ``sizes``, for some sizes.

        Loops of a known number of turns are ordinary ones then, and those without any are left out.
        """
        made = {name: _filled(value, values) for name, value in vars(self).items()}
        made["body"] = _loops(made["body"])
        made["sizes"] = (*(name for name in self.sizes if name not in values), *sizes)
        return SizedKernel(**made)


def _plain(x: Any) -> Any:
    """Return statements with buffers of known lengths, and numbers in place of sizes."""
    match x:
        case tuple():
            return tuple(_plain(each) for each in x)
        case Count(at) if at.op == CONST:
            return Constant(Number(Fraction(at.args[0])))
        case Apply("sqrt", (Count(at),)) if at.op == CONST:
            return Constant(root(at.args[0]))  # exactly, as a graph has it
        case SizedTensor():
            return Buffer(x.name, tuple(int(evaluate(n, {})) for n in x.extents), x.scope, x.role)
        case SizedBuffer():
            return Buffer(x.name, (int(evaluate(x.length, {})),), x.scope, x.role)
        case Expr() | Buffer() | str() | int() | None:
            return x
    if not hasattr(x, "__dataclass_fields__"):
        return x
    return replace(x, **{name: _plain(value) for name, value in vars(x).items()})


def _filled(x: Any, sizes: Mapping[str, ExprLike]) -> Any:
    """Return a statement, a value or a buffer with expressions in place of sizes."""
    match x:
        case Expr():
            return substituted(x, sizes)
        case tuple():
            return tuple(_filled(each, sizes) for each in x)
        case SizedTensor():
            return SizedTensor.shaped(x.name, [substituted(n, sizes) for n in x.extents])
        case SizedBuffer():
            return replace(x, length=substituted(x.length, sizes))
        case Buffer() | str() | int() | None:
            return x
    if not hasattr(x, "__dataclass_fields__"):
        return x
    return replace(x, **{name: _filled(value, sizes) for name, value in vars(x).items()})


def _loops(body: Body) -> Body:
    """Return statements without loops of no turns; a known number of turns makes a ``Loop``."""
    found: list[Any] = []
    for each in body:
        match each:
            case Repeat(name, extent, inside, order) if extent.op == CONST:
                turns = int(extent.args[0])
                found += [Loop(name, turns, _loops(inside), order)] if turns else []
            case Loop() | Repeat() | Threads():
                found.append(replace(each, body=_loops(each.body)))
            case Guard(when, inside, otherwise) if when.op == CONST:
                found += _loops(inside if when.args[0] else otherwise)
            case Guard():
                parts = _loops(each.body), _loops(each.otherwise)
                found.append(replace(each, body=parts[0], otherwise=parts[1]))
            case _:
                found.append(each)
    return tuple(found)

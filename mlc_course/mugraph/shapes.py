"""Shapes of results from shapes of operands; each raises ``ShapeError`` where they do not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlc_course.errors import ShapeError
from mlc_course.mugraph.arithmetic import Shape
from mlc_course.mugraph.constants import Number


def elementwise(*shapes: Shape, **_: object) -> Shape:
    """Equal extents, or 1, which is repeated; every operand has the same number of axes."""
    for extents in zip(*shapes, strict=False):
        if len(set(extents) - {1}) > 1:
            break
    else:
        if len({len(shape) for shape in shapes}) == 1:
            return tuple(map(max, zip(*shapes, strict=True)))
    raise ShapeError(
        "elementwise: extents",
        expected="the same number of axes, of equal extent or 1",
        got=", ".join(map(str, shapes)),
    )


def product(a: Shape, b: Shape) -> Shape:
    """Of matrices (m, k) and (k, n), with equal axes, or 1, before them."""
    if len(a) < 2 or len(a) != len(b):
        raise ShapeError("matmul(A, B): axes", expected="two or more, as many", got=f"{a}, {b}")
    if a[-1] != b[-2]:
        raise ShapeError(
            "matmul(A, B): inner dimensions",
            expected=f"B.shape[-2] == A.shape[-1] == {a[-1]}",
            got=f"A {a}, B {b}",
            hint="swap the last two axes of B" if a[-1] == b[-1] else None,
        )
    return (*elementwise(a[:-2], b[:-2]), a[-2], b[-1])


def checked_axis(shape: Shape, axis: int) -> int:
    """The axis; it has to be one of 0 .. rank - 1."""
    if not 0 <= axis < len(shape):
        raise ShapeError("no such axis", expected=f"0 to {len(shape) - 1} of {shape}", got=axis)
    return axis


def reduced(shape: Shape, *, axis: int, **_: object) -> Shape:
    """One axis becomes 1."""
    checked_axis(shape, axis)
    return (*shape[:axis], 1, *shape[axis + 1 :])


def folded(shape: Shape, *, axis: int, to: int) -> Shape:
    """One axis is cut into pieces of ``to``, which are added up: out[j] = x[j] + x[j + to] + ..."""
    checked_axis(shape, axis)
    if shape[axis] % to:
        raise ShapeError(
            f"fold: pieces of axis {axis}", expected=f"{to} divides {shape[axis]}", got=shape
        )
    return (*shape[:axis], to, *shape[axis + 1 :])


def along(shape: Shape, *, axis: int, **_: object) -> Shape:
    """Unchanged; it has that axis."""
    checked_axis(shape, axis)
    return shape


def repeated(shape: Shape, *, axis: int, times: int) -> Shape:
    """One axis becomes ``times`` as long."""
    checked_axis(shape, axis)
    return (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])


def reshaped(old: Shape, *, shape: Shape) -> Shape:
    """As many elements as before."""
    if math.prod(old) != math.prod(shape):
        raise ShapeError(
            "reshape: elements",
            expected=f"{math.prod(old)}, as in {old}",
            got=f"{math.prod(shape)} in {shape}",
        )
    return shape


def transposed(shape: Shape, *, axes: Sequence[int]) -> Shape:
    """Axis i of the result is axis ``axes[i]`` of the operand."""
    if sorted(axes) != list(range(len(shape))):
        raise ShapeError("transpose: axes", expected=f"each of {len(shape)} once", got=list(axes))
    return tuple(shape[axis] for axis in axes)


def joined(*shapes: Shape, axis: int) -> Shape:
    """Extents add up on one axis and are equal on the others."""
    checked_axis(shapes[0], axis)
    others = {(len(shape), shape[:axis], shape[axis + 1 :]) for shape in shapes}
    if len(others) != 1:
        raise ShapeError(
            f"concat: shapes along axis {axis}",
            expected="equal on the other axes",
            got=", ".join(map(str, shapes)),
        )
    return (*shapes[0][:axis], sum(shape[axis] for shape in shapes), *shapes[0][axis + 1 :])


def part_of(shape: Shape, *, axis: int, parts: int, part: int) -> Shape:
    """One of ``parts`` equal pieces."""
    checked_axis(shape, axis)
    if parts < 1 or shape[axis] % parts or not 0 <= part < parts:
        raise ShapeError(
            "split: parts",
            expected=f"parts that divide {shape[axis]}, a part below them",
            got=f"part {part} of {parts}",
        )
    return (*shape[:axis], shape[axis] // parts, *shape[axis + 1 :])


def not_irrational(number: Number) -> None:
    """Raises ``ShapeError`` for a number that only its name is known of."""
    if number.roots:
        raise ShapeError("a rational constant is needed", expected="such as 0.5", got=number)

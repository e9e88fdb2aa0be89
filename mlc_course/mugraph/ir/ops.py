"""The operators of mu-graphs, each in one place: one shape rule, one formula.

A shape rule takes the shapes of the operands and raises ``ShapeError`` where they do not fit.
``meaning`` is a formula over any arithmetic (``arithmetic.Arithmetic``); floats, residues and
bounds follow from it. To add an operator, write one more ``Op`` and give it to ``parse``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from mlc_course.errors import ShapeError
from mlc_course.mugraph.ir.arithmetic import Arithmetic, Shape, Tensor
from mlc_course.mugraph.ir.constants import Constant, Number


def elementwise(*shapes: Shape, **_: object) -> Shape:
    """Shape of operands with equal extents, or 1, which is repeated, on equally many axes."""
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


def rescaled(x: Shape, r: Shape) -> Shape:
    """Shape of a sum that is scaled by numbers for its elements, or for some of them at a time."""
    if elementwise(x, r) != x:
        raise ShapeError(
            "accumulate_rescaled(X, R): extents", expected=f"those of X {x}, or 1", got=f"R {r}"
        )
    return x


def product(a: Shape, b: Shape) -> Shape:
    """Shape of a product of matrices (m, k) and (k, n), with equal axes, or 1, before them."""
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
    """Shape with one axis reduced to 1."""
    checked_axis(shape, axis)
    return (*shape[:axis], 1, *shape[axis + 1 :])


def folded(shape: Shape, *, axis: int, to: int) -> Shape:
    """Shape with one axis cut into pieces of ``to``, added up: out[j] = x[j] + x[j + to] + ..."""
    checked_axis(shape, axis)
    if shape[axis] % to:
        raise ShapeError(
            f"fold: pieces of axis {axis}", expected=f"{to} divides {shape[axis]}", got=shape
        )
    return (*shape[:axis], to, *shape[axis + 1 :])


def along(shape: Shape, *, axis: int, **_: object) -> Shape:
    """Shape unchanged, after checking that it has that axis."""
    checked_axis(shape, axis)
    return shape


def repeated(shape: Shape, *, axis: int, times: int) -> Shape:
    """Shape with one axis ``times`` as long."""
    checked_axis(shape, axis)
    return (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])


def reshaped(old: Shape, *, shape: Shape) -> Shape:
    """Shape with as many elements as before."""
    if math.prod(old) != math.prod(shape):
        raise ShapeError(
            "reshape: elements",
            expected=f"{math.prod(old)}, as in {old}",
            got=f"{math.prod(shape)} in {shape}",
        )
    return shape


def transposed(shape: Shape, *, axes: Sequence[int]) -> Shape:
    """Shape whose axis i is axis ``axes[i]`` of the operand."""
    if sorted(axes) != list(range(len(shape))):
        raise ShapeError("transpose: axes", expected=f"each of {len(shape)} once", got=list(axes))
    return tuple(shape[axis] for axis in axes)


def joined(*shapes: Shape, axis: int) -> Shape:
    """Shape in which extents add up on one axis and are equal on the others."""
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
    """Shape of one of ``parts`` equal pieces."""
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


Kind = Literal["axis", "axes", "count", "constant", "size", "sizes", "map"]


@dataclass(frozen=True, eq=False)
class Op:
    """An operator; it equals itself only, so that graphs are quick to compare and to hash.

    ``shape`` gives the shape of its result from those of its operands and its attributes, or raises
    ``ShapeError``. ``meaning(m, *operands, **attributes)`` gives its value in the arithmetic m.
    ``attributes`` says which there are and of which kind; ``defaults`` are for those left out.

    An operator with ``carried`` stands in a looped block graph and is asked once an iteration, with
    what it said the time before (first None) ahead of its operands: ``accumulate`` gives a value
    after the loop, ``running`` one in each iteration. ``result`` takes the value out of that.
    """

    name: str
    shape: Callable[..., Shape]
    meaning: Callable[..., Tensor]
    operands: int | None = 1  # None: any number
    attributes: Mapping[str, Kind] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    carried: Literal["", "accumulate", "running"] = ""
    result: Callable[[Any], Tensor] = lambda said: said

    @property
    def elementwise(self) -> bool:
        """True where each element of the result depends on one element of each operand."""
        return self.shape is elementwise and not self.carried

    def __repr__(self) -> str:
        return self.name

    def __call__(self, *operands: Any, **attributes: Any) -> Any:
        """Apply it to values of a graph that is being built (``builder``)."""
        return operands[0].builder.apply(self, operands, attributes)


def _mean(m: Arithmetic, x: Tensor, axis: int) -> Tensor:
    return m.sum(x, axis) / m.count(x, axis)


def _softmax(m: Arithmetic, x: Tensor, axis: int) -> Tensor:
    e = m.exp(x)
    return e / m.sum(e, axis)


def _tanh(m: Arithmetic, x: Tensor) -> Tensor:
    return 1 - 2 / (m.exp(x + x) + 1)


def _gelu(m: Arithmetic, x: Tensor) -> Tensor:
    """D. Hendrycks, K. Gimpel (2016), the form with tanh, with sqrt(2/pi) as float64 has it."""
    u = m.constant(ROOT_OF_2_BY_PI) * (x + x * x * x * 44715 / 1000000)
    return x * (1 + _tanh(m, u)) / 2


ROOT_OF_2_BY_PI = Number(Fraction("0.7978845608028654"))


def _clamp(m: Arithmetic, x: Tensor, low: Number, high: Number) -> Tensor:
    return m.minimum(m.maximum(x, m.constant(low)), m.constant(high))


def _rms_norm(m: Arithmetic, x: Tensor, axis: int, eps: Number) -> Tensor:
    return x / m.function("sqrt", _mean(m, x * x, axis) + m.constant(eps))


def _part(m: Arithmetic, x: Tensor, axis: int, parts: int, part: int) -> Tensor:
    extent = x.shape[axis] // parts
    place = [slice(None)] * len(x.shape)
    place[axis] = slice(part * extent, (part + 1) * extent)
    return m.take(x, tuple(place))


def _fold(m: Arithmetic, x: Tensor, axis: int, to: int) -> Tensor:
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    pieces = m.reshape(x, (*before, x.shape[axis] // to, to, *after))
    return m.reshape(m.sum(pieces, axis), (*before, to, *after))


def _rescaled(m: Arithmetic, before: Any, x: Tensor, r: Tensor) -> Any:
    """The sum so far and the r it is scaled to: M. Milakov, N. Gimelshein (2018)."""
    return (x if before is None else before[0] * m.exp(before[1] - r) + x), r


ANY = elementwise
AXIS: Mapping[str, Kind] = {"axis": "axis"}
BY: Mapping[str, Kind] = {"by": "constant"}
ZERO = Constant(Fraction())

OPERATORS: tuple[Op, ...] = (
    matmul := Op("matmul", product, lambda m, a, b: a @ b, 2),
    add := Op("add", ANY, lambda m, x, y: x + y, 2),
    sub := Op("sub", ANY, lambda m, x, y: x - y, 2),
    mul := Op("mul", ANY, lambda m, x, y: x * y, 2),
    div := Op("div", ANY, lambda m, x, y: x / y, 2),
    maximum := Op("maximum", ANY, lambda m, x, y: m.maximum(x, y), 2),
    neg := Op("neg", ANY, lambda m, x: -x),
    exp := Op("exp", ANY, lambda m, x: m.exp(x)),
    log := Op("log", ANY, lambda m, x: m.function("log", x)),
    square := Op("square", ANY, lambda m, x: x * x),
    sqrt := Op("sqrt", ANY, lambda m, x: m.function("sqrt", x)),
    sigmoid := Op("sigmoid", ANY, lambda m, x: 1 / (1 + m.exp(-x))),
    silu := Op("silu", ANY, lambda m, x: x / (1 + m.exp(-x))),
    tanh := Op("tanh", ANY, _tanh),
    gelu := Op("gelu", ANY, _gelu),
    relu := Op("relu", ANY, lambda m, x: m.maximum(x, m.constant(Number(Fraction())))),
    clamp := Op("clamp", ANY, _clamp, 1, {"low": "constant", "high": "constant"}),
    scale := Op("scale", ANY, lambda m, x, by: x * m.constant(by), 1, BY),
    shift := Op("shift", ANY, lambda m, x, by: x + m.constant(by), 1, BY),
    reduce_sum := Op("sum", reduced, lambda m, x, axis: m.sum(x, axis), 1, AXIS),
    reduce_mean := Op("mean", reduced, _mean, 1, AXIS),
    reduce_max := Op("max", reduced, lambda m, x, axis: m.max(x, axis), 1, AXIS),
    fold := Op("fold", folded, _fold, 1, {**AXIS, "to": "size"}),  # piece upon piece
    rms_norm := Op("rms_norm", along, _rms_norm, 1, {**AXIS, "eps": "constant"}, {"eps": ZERO}),
    softmax := Op("softmax", along, _softmax, 1, AXIS),
    stable_softmax := Op(
        "stable_softmax",
        along,
        lambda m, x, axis: _softmax(m, x - m.max(x, axis), axis),
        1,
        AXIS,
    ),
    repeat := Op(
        "repeat",
        repeated,
        lambda m, x, axis, times: m.concatenate([x] * times, axis),
        1,
        {**AXIS, "times": "size"},
    ),
    reshape := Op(
        "reshape",
        reshaped,
        lambda m, x, shape: m.reshape(x, shape),
        1,
        {"shape": "sizes"},
    ),
    transpose := Op(
        "transpose",
        transposed,
        lambda m, x, axes: m.transpose(x, axes),
        1,
        {"axes": "axes"},
    ),
    concat := Op("concat", joined, lambda m, *xs, axis: m.concatenate(xs, axis), None, AXIS),
    split := Op("split", part_of, _part, 1, {**AXIS, "parts": "count", "part": "count"}),
    accumulate := Op(
        "accumulate",
        ANY,
        lambda m, before, x: x if before is None else before + x,
        1,
        {"fmap": "map"},
        {"fmap": ()},
        carried="accumulate",
    ),
    accumulate_max := Op(
        "accumulate_max",
        ANY,
        lambda m, before, x: x if before is None else m.maximum(before, x),
        carried="accumulate",
    ),
    accumulate_rescaled := Op(
        "accumulate_rescaled",
        rescaled,
        _rescaled,
        2,
        carried="accumulate",
        result=lambda said: said[0],
    ),
    running_max := Op(
        "running_max",
        ANY,
        lambda m, before, x: x if before is None else m.maximum(before, x),
        carried="running",
    ),
)
BY_NAME: Mapping[str, Op] = {op.name: op for op in OPERATORS}

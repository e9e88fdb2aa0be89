"""Operations counted by shapes alone are those that are done element by element."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mlc_course.mugraph.cost.operation_counts import Operations, operations
from mlc_course.mugraph.ir import Number, Op, ops

Array = NDArray[Any]
DONE: Counter[str] = Counter()


class Element:
    """A number that counts what is done with it."""

    def _with(self, other: object) -> Element:
        DONE["elements"] += 1
        return self

    def _over(self, other: object) -> Element:
        DONE["special"] += isinstance(other, Element)
        return self._with(other)

    def __rtruediv__(self, other: object) -> Element:
        DONE["special"] += 1
        return self._with(other)

    def special(self) -> Element:
        DONE["special"] += 1
        return self._with(self)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _with
    __truediv__ = _over

    def __neg__(self) -> Element:
        return self._with(self)


class ElementByElement:
    """An arithmetic on arrays of elements. A constant is a plain number."""

    def constant(self, number: Number) -> Any:
        return float(number)

    def exp(self, x: Array) -> Any:
        return np.vectorize(Element.special, otypes=[object])(x)

    def function(self, name: str, x: Array) -> Any:
        return self.exp(x)

    def maximum(self, x: Any, y: Any) -> Any:
        return np.vectorize(lambda a, b: a._with(b), otypes=[object])(x, y)

    minimum = maximum

    def sum(self, x: Array, axis: int) -> Any:
        DONE["elements"] += x.size
        return np.take(x, [0], axis=axis)

    max = sum

    def count(self, x: Array, axis: int) -> int:
        return x.shape[axis]

    def reshape(self, x: Array, shape: Sequence[int]) -> Any:
        return x.reshape(shape)

    def transpose(self, x: Array, axes: Sequence[int]) -> Any:
        return x.transpose(axes)

    def concatenate(self, xs: Sequence[Array], axis: int) -> Any:
        return np.concatenate(xs, axis)

    def take(self, x: Array, place: Any) -> Any:
        return x[place]


def elements(shape: Sequence[int]) -> Array:
    return np.array([Element() for _ in range(int(np.prod(shape)))], object).reshape(shape)


ATTRIBUTES: dict[str, Any] = {
    "axis": 1, "to": 2, "times": 3, "parts": 2, "part": 1, "shape": (8, 3), "axes": (1, 0),
    "by": Number(Fraction(3)), "low": Number(Fraction(0)), "high": Number(Fraction(6)),
    "eps": Number(Fraction(1, 8)),
}  # fmt: skip
PLAIN = [op for op in ops.OPERATORS if op is not ops.matmul and not op.carried]


@pytest.mark.parametrize("op", PLAIN, ids=str)
def test_an_operator_does_as_much_as_is_counted(op: Op) -> None:
    given = {name: ATTRIBUTES[name] for name in op.attributes}
    shapes = [(6, 4), (6, 1) if op is not ops.concat else (6, 2)][: op.operands or 2]
    DONE.clear()
    op.meaning(ElementByElement(), *map(elements, shapes), **given)
    counted = operations(op, shapes, given)
    assert (counted.elements, counted.special) == (DONE["elements"], DONE["special"])
    assert counted.matrix == 0


@pytest.mark.parametrize("op", [op for op in ops.OPERATORS if op.carried], ids=str)
def test_an_accumulator_is_counted_in_an_iteration_that_has_one_before(op: Op) -> None:
    shapes = [(6, 4), (6, 1)][: op.operands]
    tensors = [elements(shape) for shape in shapes]
    state = op.meaning(ElementByElement(), None, *tensors)
    DONE.clear()
    op.meaning(ElementByElement(), state, *tensors)
    counted = operations(op, shapes, {})
    assert (counted.elements, counted.special) == (DONE["elements"], DONE["special"])
    assert counted.elements > 0


def test_a_product_is_counted_in_whole_tiles() -> None:
    assert operations(ops.matmul, [(5, 10, 20), (1, 20, 30)], {}) == Operations(
        2 * 5 * 10 * 20 * 30
    )
    tiled = operations(ops.matmul, [(10, 20), (20, 30)], {}, (16, 8, 16))
    assert tiled == Operations(2 * 16 * 32 * 32)


@pytest.mark.parametrize("op", [ops.softmax, ops.gelu, ops.add, ops.rms_norm, ops.matmul], ids=str)
def test_many_tiles_at_once_are_counted_as_one_by_one(op: Op) -> None:
    given = {name: ATTRIBUTES[name] for name in op.attributes}
    rows, columns = np.array([1, 4, 9]), np.array([2, 3, 5])
    second = (columns, rows) if op is ops.matmul else (rows, 1)
    many = operations(op, [(rows, columns), second][: op.operands], given)
    for place in range(3):
        shapes = [
            tuple(int(np.ravel(each)[place if np.size(each) > 1 else 0]) for each in shape)
            for shape in [(rows, columns), second][: op.operands]
        ]
        one = operations(op, shapes, given)
        for name in ("matrix", "elements", "special"):
            found = np.broadcast_to(getattr(many, name), 3)[place]
            assert found == getattr(one, name)

"""Labels of axes: which dimension of the program lies along which axis of a value.

An axis that is cut by a grid or a loop has a label, the name of the dimension; an axis of extent 1
has none. Values fit together where their labels do: extents alone would let a row of one matrix
meet a column of another that happens to be as long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from mlc_course.mugraph.ir import KernelGraph, Op, ops

Dims = tuple[str, ...]
NONE = ""
JOIN = "+"  # along "d+r" lie tiles of d and of r, one after the other
UNKNOWN = "?"  # an axis whose elements come from several dimensions in another way


def result_dims(
    op: Op, operands: Sequence[Dims], attributes: Mapping[str, Any], rank: int | None = None
) -> Dims:
    """Return the labels of the result; ``rank`` is its number of axes, if not the operand's."""
    first = operands[0]
    match op.shape:
        case ops.elementwise:
            return tuple(map(_either, zip(*operands, strict=True)))
        case ops.product:
            ahead = map(_either, zip(first[:-2], operands[1][:-2], strict=True))
            return (*ahead, first[-2], operands[1][-1])
        case ops.reduced:
            axis = attributes["axis"]
            return (*first[:axis], NONE, *first[axis + 1 :])
        case ops.along:
            return first
        case ops.transposed:
            return tuple(first[axis] for axis in attributes["axes"])
        case ops.joined:
            axis = attributes["axis"]
            along = [dims[axis] for dims in operands]
            label = JOIN.join(along) if all(along) and UNKNOWN not in along else UNKNOWN
            return (*first[:axis], label, *first[axis + 1 :])
        case ops.part_of | ops.repeated | ops.folded:
            axis = attributes["axis"]
            return (*first[:axis], UNKNOWN, *first[axis + 1 :])
    return (UNKNOWN,) * (len(first) if rank is None else rank)


def _either(labels: Sequence[str]) -> str:
    return next((label for label in labels if label), NONE)


def summed(op: Op, operands: Sequence[Dims], attributes: Mapping[str, Any]) -> Dims:
    """Return the labels of axes along which elements are added up or compared."""
    if op.shape is ops.product:
        return (operands[0][-1],)
    axis = attributes.get("axis")
    return () if axis is None or op.shape is ops.joined else (operands[0][axis],)


def met(op: Op, operands: Sequence[Dims], attributes: Mapping[str, Any]) -> set[str]:
    """Return the dimensions whose elements an operator combines: a grid cannot cut these."""
    labels = summed(op, operands, attributes)
    if op.shape is ops.joined:
        labels = tuple(dims[attributes["axis"]] for dims in operands)
    return {dim for label in labels for dim in label.split(JOIN)}


def single(label: str) -> bool:
    """Tell whether a label is one dimension, which a grid or a loop could cut."""
    return label not in (NONE, UNKNOWN) and JOIN not in label


def extent(label: str, sizes: Mapping[str, Any]) -> Any:
    """Return the extent of an axis with this label; 1 for one without."""
    return sum(sizes.get(dim, 1) for dim in label.split(JOIN))


def fit(op: Op, a: Dims, b: Dims) -> bool:
    """Tell whether the operator can take operands with these labels."""
    if len(a) != len(b):
        return False
    if op is ops.matmul:
        return len(a) > 1 and a[-1] == b[-2] != NONE and _match(a[:-2], b[:-2])
    return _match(a, b)


@lru_cache(maxsize=4096)  # few labels, asked of each pair of values
def _match(a: Dims, b: Dims) -> bool:
    return all(x == y or not x or not y for x, y in zip(a, b, strict=True))


class Classes:
    """Classes of dimensions' names: names that meet along an axis are one dimension.

    ``names`` are those of the axes of each input, if not the program's.
    """

    def __init__(self, program: KernelGraph, names: Sequence[Dims] = ()) -> None:
        self.names = names or [each.dims for each in program.inputs]
        self._parent = {name: name for dims in self.names for name in dims}
        self.program = program
        self.of_value: list[Dims] = []
        while self._pass():  # until nothing new meets
            continue

    def root(self, name: str) -> str:
        while self._parent.get(name, name) != name:
            name = self._parent[name]
        return name

    def _join(self, a: str, b: str) -> bool:
        a, b = self.root(a), self.root(b)
        if a == b or not single(a) or not single(b):
            return False
        self._parent[b] = a
        return True

    def _pass(self) -> bool:
        """Labels of every value; True when two names met."""
        values: list[Dims] = [
            tuple(self.root(name) if n > 1 else NONE for name, n in zip(names, shape, strict=True))
            for names, shape in zip(self.names, self.program.shapes, strict=False)
        ]
        met = False
        for equation in self.program.equations:
            op, operands = equation.op, [values[n] for n in equation.operands]
            assert isinstance(op, Op)
            rank = len(self.program.shapes[len(values)])
            values.append(result_dims(op, operands, dict(equation.attributes), rank))
            for axes in _meeting(op, operands):
                met |= any([self._join(axes[0], other) for other in axes[1:]])
        self.of_value = values
        return met

    def along(self, *those: Op) -> set[str]:
        """Dimensions along which the program adds up or takes a maximum, or these operators do."""
        found: set[str] = set()
        for equation in self.program.equations:
            assert isinstance(equation.op, Op)
            if those and equation.op not in those:
                continue
            operands = [self.of_value[n] for n in equation.operands]
            found |= set(summed(equation.op, operands, dict(equation.attributes)))
        return set(filter(single, found))


def apart(program: KernelGraph) -> KernelGraph:
    """Rename dimensions so that axes of inputs share a name only where they meet.

    The d of X[b, d] and that of V[h, d] may be two dimensions of one extent. As one, neither could
    be cut alone, and a sum along one would pass for a sum along the other.
    """
    places = [
        tuple(f"{each.name} {axis}" for axis in range(len(each.dims))) for each in program.inputs
    ]
    classes, owner, inputs = Classes(program, places), dict[str, str](), []
    for each, place in zip(program.inputs, places, strict=True):
        roots = map(classes.root, place)
        dims = (_name(*pair, owner, program.size_of) for pair in zip(each.dims, roots, strict=True))
        inputs.append(replace(each, dims=tuple(dims)))
    axes = zip((dim for each in inputs for dim in each.dims), _extents(program), strict=True)
    return replace(program, inputs=tuple(inputs), sizes=tuple(dict(axes).items()))


def _name(name: str, root: str, owner: dict[str, str], given: Collection[str]) -> str:
    """The name itself, or with a number where another dimension owns it."""
    found, number = name, 1
    while owner.setdefault(found, root) != root or (number > 1 and found in given):
        number += 1
        found = f"{name}_{number}"
    return found


def _extents(program: KernelGraph) -> Iterator[int]:
    for shape, _ in zip(program.shapes, program.inputs, strict=False):
        yield from shape


def _meeting(op: Op, operands: Sequence[Dims]) -> list[Dims]:
    """Labels that lie along the same axis."""
    if op.shape is ops.product:
        a, b = operands
        return [(a[-1], b[-2]), *((x, y) for x, y in zip(a[:-2], b[:-2], strict=True))]
    if op.shape is ops.elementwise:
        return [
            tuple(filter(None, labels)) for labels in zip(*operands, strict=True) if any(labels)
        ]
    return []

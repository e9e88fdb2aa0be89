"""The parts of a mu-graph: equations, thread graphs, block graphs with their maps.

Each graph is a flat list of equations over numbered values: first what comes in, then what each
equation makes. A kernel graph's tensors are in device memory, a block graph's in shared memory, a
thread graph's in registers (M. Wu et al., Mirage, OSDI 2025, section 2). These are data only:
``check`` says what fits, and ``graph.KernelGraph`` is a whole program that has been checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

from mlc_course.errors import GraphError, check_known
from mlc_course.mugraph.ir.constants import Constant, constant
from mlc_course.mugraph.ir.ops import Op

AxisMap: TypeAlias = tuple[tuple[str, int], ...]  # (grid axis or loop, dimension of the tensor)
Axes: TypeAlias = tuple[tuple[str, int], ...]  # (name, extent), outermost first


@dataclass(frozen=True)
class Input:
    """A tensor that comes in. A dimension without a name of its own is named by its digits."""

    name: str
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Equation:
    """One operator and the numbers of the values it reads; ``names`` are those of its results."""

    op: Op | BlockGraph | ThreadGraph
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    names: tuple[str, ...] = field(default=("",), compare=False)

    def __str__(self) -> str:
        return f"{', '.join(self.names)} = {self.op.name}"


@dataclass(frozen=True)
class ThreadGraph:
    """Elementwise operators in registers, one after the other; the last value is the result."""

    operands: tuple[str, ...] = field(compare=False)  # what its operands are called
    equations: tuple[Equation, ...]
    name, carried = "thread", ""


@dataclass(frozen=True)
class Load:
    """A tile of an operand: the dimension that each grid axis (imap) and each loop (fmap) cuts.

    An axis or loop that is not named replicates: every block, every iteration gets the same.
    """

    imap: AxisMap = ()
    fmap: AxisMap = ()
    name: str = field(default="", compare=False)


@dataclass(frozen=True)
class Store:
    """A value that the block gives out; omap: the dimension along which blocks of each axis lie."""

    value: int
    omap: AxisMap = ()


@dataclass(frozen=True)
class BlockGraph:
    """The program of one block of a grid, with its loops. Load i reads operand i of its equation.

    Where several axes cut one dimension, grid axes come before loops, each in the order given.
    """

    grid: Axes
    loops: Axes
    loads: tuple[Load, ...]
    equations: tuple[Equation, ...]
    stores: tuple[Store, ...]
    name, carried = "block", ""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every value inside."""
        return value_names((load.name for load in self.loads), self.equations)


def value_names(entering: Iterable[str], equations: Sequence[Equation]) -> tuple[str, ...]:
    """Return the names of all values of a graph: those that come in, then those it makes."""
    return (*entering, *(name for equation in equations for name in equation.names))


def thread_graph(
    equations: Sequence[Equation], made: Sequence[int], names: Sequence[str]
) -> tuple[ThreadGraph, tuple[int, ...]]:
    """Return a thread graph of some equations, and the numbers of its operands as it reads them.

    ``made`` are the numbers of the values that the equations make, one each; ``names`` has the
    names of all values. What the equations read besides is an operand, in the order of reading.
    """
    numbers = (number for each in equations for number in each.operands)
    read = tuple(dict.fromkeys(number for number in numbers if number not in made))
    place = {number: n for n, number in enumerate((*read, *made))}
    inner = (replace(e, operands=tuple(place[n] for n in e.operands)) for e in equations)
    return ThreadGraph(tuple(names[n] for n in read), tuple(inner)), read


EXPECTED = {
    "constant": "a number such as 2, 1/3 or 1/d",
    "size": "a size such as 4*d",
    "sizes": "sizes such as [2, 4*d]",
    "axis": "a whole number",
    "count": "a whole number",
    "axes": "whole numbers such as [1, 0]",
    "map": "a map such as {k: 1}",
}


def kept(op: Op, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """Return attributes as a graph keeps them: constants exact, axes and maps as tuples.

    Raises ``GraphError`` for one that the operator does not have, or that is of another kind.
    """
    for name in given:
        check_known(f"{op.name}: no attribute", name, op.attributes, GraphError)
    found = {}
    for name, value in given.items():
        try:
            found[name] = _kept(op.attributes[name], value)
        except GraphError as error:
            error.add_note(f"in {op.name}({name}={value})")
            raise
    return tuple(
        (name, found[name])
        for name in op.attributes
        if name in found and found[name] != op.defaults.get(name)
    )


def _kept(kind: str, value: Any) -> Any:
    match kind, value:
        case _, bool():
            pass
        case "constant" | "size", str() | int() | float() | Fraction() | Constant():
            return constant(value)
        case "sizes", [*sizes]:
            return tuple(constant(each) for each in sizes)
        case "axis" | "count", int():
            return value
        case "axes", [*axes] if all(isinstance(each, int) for each in axes):
            return tuple(axes)
        case "map", Mapping():
            return kept_map(value)
    raise GraphError("not such an attribute", expected=EXPECTED[kind], got=repr(value))


def kept_map(cuts: Mapping[str, int] | None, order: Sequence[str] = ()) -> AxisMap:
    """Return a map as a graph keeps it: pairs in the ``order`` of the axes, unknown axes last."""
    for axis, dim in (cuts or {}).items():
        if not isinstance(axis, str) or not isinstance(dim, int):
            raise GraphError("a map", expected=EXPECTED["map"], got=cuts)
    rank = {axis: place for place, axis in enumerate(order)}
    return tuple(sorted((cuts or {}).items(), key=lambda cut: rank.get(cut[0], len(rank))))

"""The parts of a mu-graph: equations, thread graphs, block graphs with their maps.

Each graph is a flat list of equations over numbered values: first what comes in, then what each
equation makes. A kernel graph's tensors are in device memory, a block graph's in shared memory, a
thread graph's in registers (M. Wu et al., Mirage, OSDI 2025, section 2). These are data only;
``check.py`` says what fits, and ``kernel.py`` holds the whole that has been checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mlc_course.mugraph.ops import Op

AxisMap: TypeAlias = tuple[tuple[str, int], ...]  # (grid axis or loop, dimension of the tensor)
Axes: TypeAlias = tuple[tuple[str, int], ...]  # (name, extent), outermost first


@dataclass(frozen=True)
class Input:
    """A tensor that comes in. A dimension without a name of its own is named by its digits."""

    name: str
    dims: tuple[str, ...]


@dataclass(frozen=True)
class Equation:
    """One operator and the numbers of the values it reads; ``names`` are what it makes."""

    op: Op | BlockGraph | ThreadGraph
    operands: tuple[int, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    names: tuple[str, ...] = field(default=("",), compare=False)

    def __str__(self) -> str:
        return f"{', '.join(self.names)} = {self.op.name}"


@dataclass(frozen=True)
class ThreadGraph:
    """Elementwise operators in registers, one after the other; the last one's value comes out."""

    operands: tuple[str, ...] = field(compare=False)  # what its operands are called
    equations: tuple[Equation, ...]
    name = "thread"


@dataclass(frozen=True)
class Load:
    """A tile of an operand: which grid axis, and which loop, cuts which of its dimensions.

    An axis or loop that is not named replicates: every block, every iteration gets the same.
    """

    imap: AxisMap = ()
    fmap: AxisMap = ()
    name: str = field(default="", compare=False)


@dataclass(frozen=True)
class Store:
    """A value inside that goes out: each grid axis says along which dimension blocks lie."""

    value: int
    omap: AxisMap = ()


@dataclass(frozen=True)
class BlockGraph:
    """What one block of a grid does, ``loops`` times over. Load i reads operand i of its equation.

    Where several axes cut one dimension, grid axes come before loops, each in the order given.
    """

    grid: Axes
    loops: Axes
    loads: tuple[Load, ...]
    equations: tuple[Equation, ...]
    stores: tuple[Store, ...]
    name = "block"

    @property
    def names(self) -> tuple[str, ...]:
        """Of every value inside."""
        made = (name for equation in self.equations for name in equation.names)
        return (*(load.name for load in self.loads), *made)

"""What was found, for every grid and every extent: block graphs whose tiles have labels.

They say which dimensions lie along the axes of a tile; a ``Structure`` becomes a graph by choosing
numbers (``instances.py``).
"""

from __future__ import annotations

from dataclasses import dataclass

from mlc_course.mugraph.ir import Equation
from mlc_course.mugraph.search.labels import Dims, single
from mlc_course.mugraph.search.nest import Nest


@dataclass(frozen=True)
class Stage:
    """One block graph: equations over numbered tiles, first those of ``loads``.

    ``loads`` are names of inputs or of what an earlier stage stores; ``stores`` are numbers of
    tiles with the names under which they go out. ``dims`` has the labels of each tile. ``loop`` are
    the dimensions that the loop cuts. With ``in_parts`` the outermost reduction is a grid axis; its
    results lie side by side along their last axis. With ``over_parts`` it is the loop.
    """

    loads: tuple[str, ...]
    names: tuple[str, ...]
    equations: tuple[Equation, ...]
    stores: tuple[tuple[str, int], ...]
    dims: tuple[Dims, ...]
    loop: tuple[str, ...]
    in_parts: bool = False
    over_parts: bool = False


@dataclass(frozen=True)
class Structure:
    """One block graph, or two of which the second adds up what parts of the first found."""

    nest: Nest
    stages: tuple[Stage, ...]
    meeting: frozenset[str]  # dimensions whose elements meet: a grid cannot cut them

    @property
    def cuttable(self) -> tuple[str, ...]:
        """Dimensions that grid axes can cut: those of every output."""
        last = self.stages[-1]
        stores = [last.dims[n] for _, n in last.stores]
        everywhere = set[str](stores[0]).intersection(*stores) - self.meeting
        return tuple(dim for dim in stores[0] if dim in everywhere and single(dim))

    @property
    def operators(self) -> int:
        """How many there are, without loads and stores."""
        return sum(
            len(getattr(equation.op, "equations", (equation,)))
            for stage in self.stages
            for equation in stage.equations
        )

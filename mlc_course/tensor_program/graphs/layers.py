"""Where the operators of a graph stand in its picture: rows from top to bottom, and columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mlc_course.tensor_program.graphs.graph import Graph

Place = tuple[int, int]  # column, row
Edge = tuple[str, str]  # an operator, one that reads it


@dataclass
class Layout:
    """Column and row of every operator.

    ``routes`` are the columns of an arrow that passes rows without stopping there, row by row.
    """

    places: dict[str, Place] = field(default_factory=dict)
    routes: dict[Edge, tuple[int, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return 1 + max((row for _, row in self.places.values()), default=-1)

    @property
    def columns(self) -> int:
        passed = (column for route in self.routes.values() for column in route)
        return 1 + max((*(column for column, _ in self.places.values()), *passed), default=-1)

    def _above(self, name: str, reader: str) -> int:
        """The column where the arrow between the two is, in the row before."""
        return (self.places[name][0], *self.routes.get((name, reader), ()))[-1]


def layout(graph: Graph) -> Layout:
    """An operator's row is one below the lowest of what it reads.

    Within a row, operators and passing arrows stand below what leads to them, or to the right of
    that (a short form of the layers and dummies of K. Sugiyama et al., 1981).
    """
    rows: dict[str, int] = {}
    for node in graph.nodes:
        above = [rows[name] for name in node.operands if name in rows]
        rows[node.name] = 1 + max(above, default=-1)
    made = Layout()
    for row in range(1 + max(rows.values(), default=-1)):
        taken: set[int] = set()
        for wish, name, passing in sorted(
            _wishes(graph, rows, row, made), key=lambda each: each[0]
        ):
            column = next(c for c in range(wish, wish + len(taken) + 1) if c not in taken)
            taken.add(column)
            if passing:
                made.routes[passing] = (*made.routes.get(passing, ()), column)
            else:
                made.places[name] = column, row
    return made


def _wishes(
    graph: Graph, rows: dict[str, int], row: int, made: Layout
) -> Iterator[tuple[int, str, Edge | None]]:
    """(preferred column, operator, arrow if it only passes) for all in a row, operators first."""
    passing = []
    for node in graph.nodes:
        above = [name for name in dict.fromkeys(node.operands) if rows.get(name, row) < row]
        if rows[node.name] == row:
            yield min((made._above(name, node.name) for name in above), default=0), node.name, None
        elif rows[node.name] > row:
            passing += [(made._above(name, node.name), name, (name, node.name)) for name in above]
    yield from passing

"""Where is a row kept for a later pass? In a result that is not written yet, if there is one.

Memory of its own is made and given back for each few rows, which costs as much as a short row's
work; and a result's row is in the cache when it is written::

    softmax of x         pass 1 keeps scores, pass 2 keeps exp(scores - max), pass 3 writes y
    with memory          row0[c] = ..., then row1[c] = ..., then y[r*C + c] = row1[c] / total
    in the result        y[r*C + c] = ..., three times
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mlc_course.dynamic_shape.codegen.passes import Pass, Tile
from mlc_course.dynamic_shape.fusion import Knowledge
from mlc_course.mugraph.kernels import Buffer, Compute, Expr, Read, SizedBuffer, reads, walk


def placed_in_results(
    passes: Sequence[Pass], rows: Sequence[SizedBuffer], knowledge: Knowledge
) -> list[SizedBuffer]:
    """Put rows that passes keep into results where nothing is lost; return the other rows."""
    results = [
        (Read(buffer, (index,)), knowledge.key(each.columns))
        for each in passes
        for buffer, index in each.stored.values()
    ]
    guests: defaultdict[Buffer, list[Buffer]] = defaultdict(list)
    homes: dict[Buffer, Read] = {}
    for row in rows:
        columns = next(knowledge.key(each.columns) for each in passes if _writes(each, row))
        for home, others in results:
            result, are_alike = home.buffer, columns == others and row.role == home.buffer.role
            if are_alike and _keeps_all(passes, result, [*guests[result], row]):
                guests[result].append(row)
                homes[row] = home
                break
    for each in passes:
        for tile in each.tiles:
            tile.scope.statements = list(_moved(tuple(tile.scope.statements), homes))
    return [row for row in rows if row not in homes]


def _computes(tile: Tile) -> list[Compute]:
    """The formulas of a tile, in order."""
    return [each for each in walk(tuple(tile.scope.statements)) if isinstance(each, Compute)]


def _writes(visit: Pass, buffer: Buffer) -> bool:
    return any(each.target == buffer for tile in visit.tiles for each in _computes(tile))


def _keeps_all(passes: Sequence[Pass], result: Buffer, guests: Sequence[Buffer]) -> bool:
    """Tell whether, in one memory, each is read before another one is written over it.

    A column's elements meet no others, so it is enough to follow one column through any tiles.
    """
    there: set[Buffer | None] = {None}
    for each in passes:
        after: set[Buffer | None] = set()
        for tile in each.tiles:
            for now in there:
                for compute in _computes(tile):
                    for read in reads(compute.value):
                        if read.buffer in (result, *guests) and read.buffer != now:
                            return False
                    if compute.target in (result, *guests):
                        now = compute.target
                after.add(now)
        there = after
    return there == {result}


def _moved(x: Any, homes: dict[Buffer, Read]) -> Any:
    """Return statements, or a value, in which rows are at home in results."""
    match x:
        case Read(buffer) if buffer in homes:
            return homes[buffer]
        case Compute(target) if target in homes:
            home = homes[target]
            return replace(x, target=home.buffer, index=home.index, value=_moved(x.value, homes))
        case tuple():
            return tuple(_moved(each, homes) for each in x)
        case Buffer() | Expr():
            return x
    if not hasattr(x, "__dataclass_fields__"):
        return x
    return replace(x, **{name: _moved(value, homes) for name, value in vars(x).items()})

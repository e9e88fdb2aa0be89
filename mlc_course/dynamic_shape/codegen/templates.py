"""From statements on a template's tile to those on vectors of a width, and to whole kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlc_course.dynamic_shape.codegen.places import divisions
from mlc_course.dynamic_shape.codegen.points import LANES, Names, Points
from mlc_course.mugraph.kernels import (
    CONST,
    SUM_BYTES,
    ZERO,
    Axis,
    Buffer,
    Expr,
    Loop,
    Repeat,
    SizedKernel,
    Statement,
    substituted,
    var,
    variables,
)


@dataclass(frozen=True)
class Lowered:
    """A kernel for all sizes, and the values that its arguments are.

    ``lookups`` are pairs of values: numbers of rows, and the table that it looks them up in.
    ``widths`` are sizes of which it would be good to know that they are multiples of a width.
    """

    kernel: SizedKernel
    values: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    lookups: tuple[tuple[int, int], ...]
    widths: Mapping[str, int]


def lowered_of(
    name: str,
    points: Points,
    shared: Sequence[Buffer],
    count: Expr,
    body: Sequence[Statement],
    widths: Mapping[str, int],
    threads: int = 1,
) -> Lowered:
    """Return the kernel with this body, which reads and writes what ``points`` have asked for.

    Sizes that are known to be equal are given once, so that indices that are equal are spelled so.
    """
    outputs = points.kernel.outputs
    inputs = tuple(value for value in points.buffers if value not in outputs)
    made = SizedKernel(
        name,
        ((points.names.row, 1),),
        threads,
        tuple(points.buffers[value] for value in inputs),
        tuple(points.buffers[value] for value in outputs),
        tuple(shared),
        tuple(body),
        offsets=tuple((each.name, 0) for each in shared) if threads > 1 else (),
        shared_bytes=SUM_BYTES * sum(each.size for each in shared) if threads > 1 else 0,
        storage_bytes=SUM_BYTES,
        count=count,
    )
    shared_names = points.places.knowledge.shared_names()
    made = made.where({name: var(other) for name, other in shared_names.items()}, ())
    widths = {shared_names.get(name, name): by for name, by in widths.items()}
    used = {used for e in expressions(made) for used in variables(e)}
    sizes = tuple(sorted(used & set(points.places.knowledge.dims)))
    return Lowered(
        replace(made, sizes=sizes),
        points.kernel.values,
        inputs,
        outputs,
        tuple(points.lookups),
        {name: by for name, by in widths.items() if name in sizes},
    )


def lanes(names: Names, width: int) -> tuple[tuple[Expr, ...], tuple[Axis, ...]]:
    """Return the index and the axes of so many lanes."""
    lane = names.lane
    return ((var(lane),), (Axis(lane, width, width),)) if width > 1 else ((ZERO,), ())


def loop(name: str, steps: Expr, body: Sequence[Statement]) -> Statement:
    """Return a loop, of a number of turns that is known or not."""
    if steps.op == CONST:
        return Loop(name, int(steps.args[0]), tuple(body))
    return Repeat(name, steps, tuple(body))


def at_width(statements: Sequence[Any], names: Names, width: int, start: Expr) -> list[Statement]:
    """Return a template's statements for so many columns, from ``start`` on."""
    lane = var(names.lane) if width > 1 else ZERO
    numbers = {names.start: start, names.lane: lane}
    return [_at_width(each, numbers, width, names.lane) for each in statements]


def tile_of(buffer: Buffer, width: int) -> Buffer:
    """Return a template's registers for vectors of a width."""
    return replace(buffer, name=f"{buffer.name}x{width}", shape=(width,))


def _at_width(x: Any, numbers: dict[str, Expr], width: int, lane: str) -> Any:
    match x:
        case Expr():
            return substituted(x, numbers)
        case tuple():
            kept = [each for each in x if not (isinstance(each, Axis) and width == 1)]
            return tuple(_at_width(each, numbers, width, lane) for each in kept)
        case Axis(name) if name == lane:
            return replace(x, extent=width, lanes=width)
        case Buffer(_, shape, "registers") if shape == (LANES,):
            return tile_of(x, width)
        case Buffer() | Axis() | str() | int() | None:
            return x
    if not hasattr(x, "__dataclass_fields__"):
        return x
    changed = {name: _at_width(value, numbers, width, lane) for name, value in vars(x).items()}
    return replace(x, **changed)


def expressions(x: Any) -> list[Expr]:
    """Return all index expressions of a statement, a value or a kernel, and lengths of buffers."""
    if isinstance(x, Expr):
        return [x]
    if isinstance(x, tuple | list):
        return [e for each in x for e in expressions(each)]
    if hasattr(x, "__dataclass_fields__"):
        return [e for each in vars(x).values() for e in expressions(each)]
    return []


def divisions_in(x: Any, among: frozenset[str] = frozenset()) -> int:
    """Return how often indices divide what depends on one of some variables, or at all."""
    return sum(divisions(e, among) for e in expressions(x))

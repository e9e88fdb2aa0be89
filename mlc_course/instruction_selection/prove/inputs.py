"""Formulas computed on inputs: on all of them, or on extremes and random ones.

All inputs are a proof. Others refute quickly: programs that are wrong are mostly wrong at ends of
ranges, next to constants of the formulas, or at many random inputs.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlc_course.deadline import check_time
from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import Formula, compiled, walk
from mlc_course.instruction_selection.prove.exact import exact_value

Row: TypeAlias = "dict[Formula, int]"
Array: TypeAlias = "npt.NDArray[np.integer[Any]]"
run_of = compiled.__wrapped__  # without the cache: a proof computes each formula once
BLOCK = 1 << 17  # inputs computed at a time: their arrays stay in the cache


def count_inputs(inputs: Sequence[Formula]) -> int:
    """Return how many inputs there are."""
    return math.prod(each.hi - each.lo + 1 for each in inputs)


def first_difference(x: Formula, y: Formula, inputs: Sequence[Formula]) -> Row | None:
    """Compute two formulas on all inputs; return one on which they differ.

    Raises:
        SizeError: no NumPy integer type holds every intermediate value.
        OutOfTime: the deadline has passed.
    """
    run = run_of((x, y), tuple(inputs))
    for box in _boxes(inputs, BLOCK):
        check_time()
        values = run(*box)
        different = values[0] != values[1]
        if different.any():
            shape = np.broadcast_shapes(*(each.shape for each in box))
            at = int(np.broadcast_to(different, shape).argmax())
            return _row(inputs, box, shape, at)
    return None


def first_exact_difference(x: Formula, y: Formula, inputs: Sequence[Formula]) -> Row | None:
    """Return what ``first_difference`` does, with Python's integers, which hold every value.

    Raises:
        OutOfTime: the deadline has passed.
    """
    for values in itertools.product(*(range(each.lo, each.hi + 1) for each in inputs)):
        check_time()
        row = dict(zip(inputs, values, strict=True))
        if exact_value(x, row) != exact_value(y, row):
            return row
    return None


def grid(inputs: Sequence[Formula]) -> list[Array]:
    """Return all inputs as arrays that broadcast together, an axis a variable."""
    (box,) = _boxes(inputs, count_inputs(inputs))
    return box


def _dtype(each: Formula) -> type[np.int64 | np.uint64]:
    return np.int64 if each.hi < 1 << 63 else np.uint64


def _boxes(inputs: Sequence[Formula], room: int) -> Iterator[list[Array]]:
    """Yield all inputs as such arrays, block by block, each of at most ``room`` inputs."""
    parts: list[list[Array]] = []
    for axis, each in reversed(list(enumerate(inputs))):
        step = max(1, min(room, each.hi - each.lo + 1))
        room //= step
        shape = [1] * len(inputs)
        shape[axis] = -1
        of = _dtype(each)
        parts.append(
            [
                (np.arange(min(step, each.hi - start + 1)).astype(of) + of(start)).reshape(shape)
                for start in range(each.lo, each.hi + 1, step)
            ]
        )
    for box in itertools.product(*reversed(parts)):
        yield list(box)


def _row(inputs: Sequence[Formula], box: Sequence[Array], shape: tuple[int, ...], at: int) -> Row:
    return {
        each: int(np.broadcast_to(values, shape).flat[at])
        for each, values in zip(inputs, box, strict=True)
    }


def sampled_difference(
    x: Formula, y: Formula, inputs: Sequence[Formula], count: int, seed: int
) -> Row | None:
    """Compute two formulas on ``count`` inputs, extremes and random ones; return a difference.

    Formulas that no NumPy type holds are computed with Python's integers, on fewer inputs.

    Raises:
        OutOfTime: the deadline has passed.
    """
    pools = [_pool(each, (x, y)) for each in inputs]
    try:
        run = run_of((x, y), tuple(inputs))
        rng = np.random.default_rng(seed)
        for start in range(0, count, BLOCK):
            check_time()
            size = min(BLOCK, count - start)
            columns = _columns(inputs, pools, size, rng)
            values = run(*columns)
            different = values[0] != values[1]
            if different.any():
                at = int(np.broadcast_to(different, (size,)).argmax())
                return {each: int(c[at]) for each, c in zip(inputs, columns, strict=True)}
    except SizeError:
        return _sampled_exactly(x, y, inputs, pools, min(count, 2000), seed)
    return None


def _pool(each: Formula, roots: Sequence[Formula]) -> list[int]:
    """Return values of a variable at which something may change, its ends first.

    These are the ends of its range, zero, powers of two, and constants of the formulas, also
    shifted as far as the formulas shift, each with its two neighbours.
    """
    nodes = list(walk(*roots))
    constants = {x.lo for x in nodes if x.op == "const"}
    shifts = {int(str(x.params[0])) for x in nodes if x.op == "shr"}
    shifted = {c << k for c in constants for k in shifts if k < 64}
    rounded = {c + (1 << k >> 1) * sign for c in shifted for k in shifts for sign in (1, -1)}
    powers = {sign << k for k in range(each.hi.bit_length() + 1) for sign in (1, -1)}
    centres = {each.lo, each.hi, 0} | powers | constants | shifted | rounded
    near = {c + d for c in centres for d in (-1, 0, 1) if each.lo <= c + d <= each.hi}
    return [each.lo, each.hi, *sorted(near - {each.lo, each.hi})]


def _columns(
    inputs: Sequence[Formula],
    pools: Sequence[Sequence[int]],
    size: int,
    rng: np.random.Generator,
) -> list[Array]:
    """Return an array a variable: an eighth of the rows has ends alone, an eighth values of the
    pools alone, a quarter is mixed, and half is random."""
    columns: list[Array] = []
    for each, pool in zip(inputs, pools, strict=True):
        of = _dtype(each)
        drawn = rng.integers(each.lo, each.hi, size, dtype=of, endpoint=True)
        chosen = np.array(pool, of)
        eighth = size // 8
        drawn[:eighth] = chosen[rng.integers(0, min(2, len(pool)), eighth)]
        drawn[eighth : 2 * eighth] = chosen[rng.integers(0, len(pool), eighth)]
        mixed = slice(2 * eighth, 4 * eighth)
        taken = rng.random(2 * eighth) < 0.5
        drawn[mixed] = np.where(taken, chosen[rng.integers(0, len(pool), 2 * eighth)], drawn[mixed])
        columns.append(drawn)
    return columns


def _sampled_exactly(
    x: Formula,
    y: Formula,
    inputs: Sequence[Formula],
    pools: Sequence[Sequence[int]],
    count: int,
    seed: int,
) -> Row | None:
    drawn = random.Random(seed)
    for at in range(count):
        check_time()
        row: Row = {}
        for each, pool in zip(inputs, pools, strict=True):
            few = pool[:2] if at % 4 == 0 else pool
            row[each] = (
                drawn.randint(each.lo, each.hi) if at % 4 == 3 else few[drawn.randrange(len(few))]
            )
        if exact_value(x, row) != exact_value(y, row):
            return row
    return None


def named(row: Mapping[Formula, int]) -> dict[str, int]:
    """Return a row by the names of its variables."""
    return {str(each): value for each, value in row.items()}

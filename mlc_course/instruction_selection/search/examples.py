"""Tests and constants: the inputs on which values are told apart, and the numbers worth trying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from mlc_course.instruction_selection.integers import Formula, IntType, evaluate, walk
from mlc_course.instruction_selection.search.bank import TEST_STEP
from mlc_course.instruction_selection.spec import Cell


def first_tests(
    cell: Cell, rng: np.random.Generator, *, extreme: int = TEST_STEP, random: int = TEST_STEP
) -> npt.NDArray[np.int64]:
    """Return inputs, one row a test and one column a variable: extremes, and telling random ones.

    A saturated goal has one value on most inputs, and tests with this value tell little. So random
    inputs are taken of which the goal has few alike.
    """
    inputs = variables_of(cell)
    ends = np.array([[x.lo, x.hi] for x in inputs], dtype=np.int64)
    chosen = rng.integers(0, 2, (extreme, len(inputs)))
    at_ends = ends[np.arange(len(inputs)), chosen]
    drawn = _telling(cell, random, rng)
    half = min(extreme, random) // 2  # so that the first few tests are of both kinds
    return np.concatenate([at_ends[:half], drawn[:half], at_ends[half:], drawn[half:]])


def tests_around(
    cell: Cell, model: Mapping[str, int], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return a counter-example and neighbours that differ from it in one variable."""
    inputs = variables_of(cell)
    rows = np.tile(
        np.array([model.get(str(x), max(0, x.lo)) for x in inputs], dtype=np.int64), (TEST_STEP, 1)
    )
    for row in rows[1:]:
        at = int(rng.integers(len(inputs)))
        row[at] = rng.integers(inputs[at].lo, inputs[at].hi, endpoint=True)
    return rows


def variables_of(cell: Cell) -> list[Formula]:
    """Return the variables of all operands of a cell, in their order."""
    return [x for lanes in cell.inputs.values() for x in lanes]


def _telling(cell: Cell, count: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return inputs on which the goal has values as different as some draws allow."""
    inputs = variables_of(cell)
    drawn = np.concatenate([_drawn(inputs, 4 * count, rng), _drawn(inputs, 4 * count, rng, True)])
    values = evaluate(cell.goal, dict(zip(inputs, drawn.T, strict=True)))
    _, kind, alike = np.unique(
        np.broadcast_to(values, len(drawn)), return_inverse=True, return_counts=True
    )
    return drawn[np.argsort(alike[kind], kind="stable")[:count]]


def _drawn(
    inputs: Sequence[Formula], count: int, rng: np.random.Generator, near_zero: bool = False
) -> npt.NDArray[np.int64]:
    """Return random inputs; ``near_zero`` draws the number of their bits first."""
    columns = []
    for x in inputs:
        column = rng.integers(x.lo, x.hi, count, endpoint=True)
        if near_zero:
            shifts = rng.integers(0, max(x.hi, -x.lo, 1).bit_length(), count)
            column = np.clip(column >> shifts, x.lo, x.hi)
        columns.append(column)
    return np.stack(columns, 1).astype(np.int64)


def numbers_in(goal: Formula) -> tuple[set[int], set[int]]:
    """Return the numbers in a formula, and the amounts of its shifts."""
    numbers = {x.lo for x in walk(goal) if x.op == "const"}
    return numbers, {int(str(x.params[0])) for x in walk(goal) if x.op == "shr"}


def constants_for(goal: Formula, widths: Sequence[int]) -> dict[int, list[tuple[int, ...]]]:
    """Return constants to try for each width of a lane: repeating patterns of one or two numbers.

    They are the numbers of the goal, the ends of the type, 0, 1 and -1, the factors that stand for
    the goal's shifts in a high product, masks of half a lane, and pairs of small numbers.
    """
    numbers, shifts = numbers_in(goal)
    found = {}
    for bits in widths:
        of = IntType(signed=True, bits=bits)
        tried = {0, 1, -1, of.lo, of.hi} | numbers
        tried |= {1 << (bits - 1 - k) for k in shifts if 0 < k < bits}
        if bits == 16 and 8 in widths:
            tried |= {255, -256}
        single = {of.wrapped(x) for x in tried if of.lo <= x < 1 << bits}
        pairs: set[tuple[int, ...]] = set()
        if bits < 32:
            small = sorted({of.wrapped(x) for x in numbers | {1} if of.lo <= x <= of.hi} - {0})
            pairs = {(a, b) for a in small for b in small if a != b}
        found[bits] = sorted((x,) for x in single) + sorted(pairs)
    return found


def shifts_for(goal: Formula) -> list[int]:
    """Return the amounts of shifts to try: those of the goal, 1 and 8."""
    return sorted({k for k in numbers_in(goal)[1] if k > 0} | {1, 8})

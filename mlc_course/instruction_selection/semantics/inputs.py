"""The inputs on which a row is tried, and what its meaning says they give.

A trial is the lanes that one lane of the result reads. Where they have at most 16 bits together,
all values are tried; otherwise extremes, values near them, and values drawn evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlc_course.errors import SizeError
from mlc_course.instruction_selection.integers import Formula, IntType, compiled, walk
from mlc_course.instruction_selection.isa import Instruction

Array = npt.NDArray[np.signedinteger | np.unsignedinteger]

COUNT = 1 << 16  # lanes of the result
ALL_BITS = 16  # up to so many bits, every input is tried
PRODUCTS = 1 << 13  # up to so many combinations of extremes, all of them are tried


@dataclass(frozen=True)
class Trials:
    """Values of each variable of a formula, one array each, all of the same length.

    ``distinct`` is the number of different inputs among them where ``complete``, which says that
    there are no others.
    """

    values: tuple[Array, ...]
    complete: bool
    distinct: int

    def __len__(self) -> int:
        return len(self.values[0])


def immediates(row: Instruction) -> Sequence[int | None]:
    """Return the immediate of a row, or all that it may have where none is fixed."""
    return row.immediates if row.immediate is None else (row.immediate,)


def variables_of(row: Instruction) -> tuple[Formula, ...]:
    """Return the variables of a row's meaning in one sequence, operand by operand."""
    return tuple(each for part in row.variables for each in part)


def trials(row: Instruction, *, count: int = COUNT, seed: int = 0) -> Trials:
    """Return the inputs to try a row on: every one, or ``count`` of them.

    A third of those are extremes, for all variables at once; a third near extremes, or one for some
    variables; the rest is drawn evenly.
    """
    every = all_trials(row, most=ALL_BITS, count=count)
    if every is not None:
        return every
    types = _types(row)
    rng = np.random.default_rng(seed)
    third = count // 3
    ends = [_extremes(each, row) for each in types]
    near = [_near(rng, each, end, third) for each, end in zip(types, ends, strict=True)]
    even = [_even(rng, each, count - 2 * third) for each in types]
    together = zip(_together(rng, ends, third), near, even, strict=True)
    arrays = tuple(
        np.concatenate(parts).astype(each.numpy)
        for parts, each in zip(together, types, strict=True)
    )
    return Trials(arrays, False, count)


def all_trials(row: Instruction, *, most: int = 24, count: int = 0) -> Trials | None:
    """Return every input of a row; ``None`` where its lanes have more than ``most`` bits together.

    Inputs are repeated where there are fewer than ``count``.
    """
    types = _types(row)
    bits = sum(each.bits for each in types)
    if bits > most:
        return None
    numbers = np.arange(max(count, 1 << bits), dtype=np.uint64) % (1 << bits)
    values, shift = [], 0
    for each in reversed(types):
        values.append(_bits_as(numbers >> np.uint64(shift), each))
        shift += each.bits
    return Trials(tuple(reversed(values)), True, 1 << bits)


def _types(row: Instruction) -> list[IntType]:
    return [read.type for read in row.reads for _ in range(read.lanes)]


def _bits_as(numbers: npt.NDArray[np.uint64], of: IntType) -> Array:
    unsigned: Array = numbers.astype(f"uint{of.bits}")
    return unsigned.view(of.numpy)


def _extremes(of: IntType, row: Instruction) -> Array:
    """Return the ends of a type, of its halves and of the result's, and what is next to them."""
    ends = [of.lo, of.hi, 0, of.hi // 2, of.hi // 2 + 1, of.lo // 2]
    shift = row.immediate or 0
    for end in (row.result.lo, row.result.hi):
        ends += [end << shift, (end << shift) + (1 << shift >> 1)]
    beside = {end + step for end in ends for step in (-1, 0, 1)}
    return np.array(sorted(x for x in beside if of.holds(x, x)), dtype=of.numpy)


def _together(rng: np.random.Generator, ends: Sequence[Array], count: int) -> list[Array]:
    """Return extremes of all variables at once, every combination where these are few.

    Every combination of least and greatest values comes first where even those are few: pmaddwd
    wraps where all four lanes are -32768, and nowhere else.
    """
    corners = _combinations([each[[0, -1]] for each in ends])
    rest = _combinations(ends) or [rng.choice(each, count) for each in ends]
    if corners is not None:
        rest = [np.concatenate(pair) for pair in zip(corners, rest, strict=True)]
    return [np.resize(each, count) for each in rest]


def _combinations(ends: Sequence[Array]) -> list[Array] | None:
    """Return every combination of one value each; ``None`` where there are too many."""
    if math.prod(map(len, ends)) > PRODUCTS:
        return None
    grid = np.meshgrid(*ends, indexing="ij")
    return [each.ravel() for each in grid]


def _near(rng: np.random.Generator, of: IntType, ends: Array, count: int) -> Array:
    """Return values near extremes, mixed with values drawn evenly."""
    steps = rng.integers(-3, 4, count)
    unsigned = f"uint{of.bits}"
    moved = (rng.choice(ends, count).view(unsigned) + steps.astype(unsigned)).view(of.numpy)
    return np.where(rng.random(count) < 0.75, moved, _even(rng, of, count))


def _even(rng: np.random.Generator, of: IntType, count: int) -> Array:
    return rng.integers(of.lo, of.hi, count, dtype=of.numpy, endpoint=True)


def values_of(formula: Formula, variables: Sequence[Formula], tried: Trials) -> Array:
    """Return the value of a formula on each trial.

    It is computed in NumPy's integers where they hold every intermediate value, and otherwise in
    Python's, which hold any: 40 times as slow, and never wrong without a word.
    """
    try:
        (found,) = compiled((formula,), tuple(variables))(*tried.values)
    except SizeError:
        return exact_values(formula, variables, tried)
    return np.broadcast_to(found, len(tried))


def exact_values(formula: Formula, variables: Sequence[Formula], tried: Trials) -> Array:
    """Return the value of a formula on each trial, computed in Python's integers."""
    at = {each: i for i, each in enumerate(variables)}
    rows = zip(*(each.tolist() for each in tried.values), strict=True)
    nodes = tuple(walk(formula))
    found = [_exact(nodes, at, row) for row in rows]
    return np.array(found, dtype="uint64" if formula.lo >= 0 else "int64")


def _exact(nodes: Sequence[Formula], at: dict[Formula, int], row: Sequence[int]) -> int:
    known: dict[Formula, int] = {}
    for each in nodes:
        operands = [known[x] for x in each.operands]
        known[each] = row[at[each]] if each.op == "var" else _value(each, operands)
    return known[nodes[-1]]


def _value(each: Formula, operands: Sequence[int]) -> int:
    match each.op:
        case "add":
            return operands[0] + operands[1]
        case "sub":
            return operands[0] - operands[1]
        case "mul":
            return operands[0] * operands[1]
        case "and":
            return operands[0] & operands[1]
        case "or":
            return operands[0] | operands[1]
        case "xor":
            return operands[0] ^ operands[1]
        case "min":
            return min(operands)
        case "max":
            return max(operands)
        case "eq":
            return int(operands[0] == operands[1])
        case "gt":
            return int(operands[0] > operands[1])
        case "where":
            return operands[1] if operands[0] else operands[2]
        case "const":
            return each.lo
        case "shr":
            return operands[0] >> _number(each, 0)
        case "wrap":
            return _type(each).wrapped(operands[0])
        case "slice":
            index, bits = _number(each, 0), _number(each, 1)
            return (operands[0] >> (index * bits)) & ((1 << bits) - 1)
        case "concat":
            bits = _type(each).bits // len(operands)
            return _type(each).wrapped(sum(x << (bits * i) for i, x in enumerate(operands)))
        case "var":
            raise AssertionError(each)


def _number(each: Formula, at: int) -> int:
    value = each.params[at]
    assert isinstance(value, int)
    return value


def _type(each: Formula) -> IntType:
    of = each.params[0]
    assert isinstance(of, IntType)
    return of

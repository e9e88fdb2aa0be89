"""Does a matrix unit compute what a product's formula says? Its threads hand elements around.

A product's meaning is the sum that each thread has of its own elements. On a matrix unit a warp
loads rows, the hardware hands their elements out, multiplies, and hands out the sums. Where each
element goes is written here once more, from NVIDIA's description of ``ldmatrix`` and
``mma.m16n8k16`` (PTX ISA), and compared with the formula, element by element.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.kernels import (
    DEPTH,
    EIGHT,
    ROW,
    SIXTEEN,
    WARP,
    Apply,
    Axis,
    Compute,
    Expr,
    Fragments,
    MatrixLoad,
    Read,
    evaluate,
    loads_whole_rows,
    matrix_product,
    turns,
    var,
    variables,
)

ELEMENT = "element"


def matrix_fault(s: Compute, numbers: Mapping[str, int], threads: int, here: Array) -> str:
    """Return what is wrong with a product on the matrix unit, "" if it is right.

    ``numbers`` are those of the loops around it, ``here`` tells which threads run it.
    """
    of = s.fragments
    assert of
    if threads % WARP or not _is_of_warps(here):
        return "is computed by a part of a warp"
    if not _has_the_form(s, of):
        return "is not a product with the axes of a matrix unit"
    if not loads_whole_rows(s, threads):
        return "has rows that are not 8 neighbours in shared memory"
    sixteen, eight, deep = map(range, turns(s))
    faults = (
        _instruction_fault(s, of, at, numbers, here)
        for at in itertools.product(sixteen, eight, deep)
    )
    return next(filter(None, faults), "")


def _is_of_warps(here: Array) -> bool:
    by_warp = here.reshape(-1, WARP)
    return bool((by_warp == by_warp[:, :1]).all())


def _has_the_form(s: Compute, of: Fragments) -> bool:
    axes = {axis.name: axis for axis in s.axes}
    if len(axes) < len(s.axes) or of.thread in axes:
        return False
    is_product = (
        isinstance(s.value, Apply)
        and s.value.name == "mul"
        and len(s.value.args) == 2
        and all(isinstance(each, Read) for each in s.value.args)
    )
    named = [name for name in (of.inner, of.rows, of.columns, of.neighbour) if name]
    if s.combine != "add" or not is_product or sorted(axes) != sorted(named):
        return False
    rows, neighbour = axes.get(of.rows, Axis("", 1)), axes.get(of.neighbour, Axis("", 1))
    return (
        of.inner in axes
        and axes[of.inner].extent % DEPTH == 0
        and rows.extent % 2 == 0
        and neighbour.extent == 2
        and s.target.scope == "registers"
        and s.target.role == "sum"
    )


def _instruction_fault(
    s: Compute,
    of: Fragments,
    at: tuple[int, int, int],
    numbers: Mapping[str, int],
    here: Array,
) -> str:
    m, n, k = at
    threads = len(here)
    product = matrix_product(s, m, n, k, var(ELEMENT))
    used = {**dict.fromkeys(_names(s), 0), **numbers}
    # the element of the tile that the hardware multiplies, by warp, row or column, and term
    for load in (product.sixteen, product.eight):
        if not _lies_in_one_row(load, used, of.thread, here):
            return f"loads rows of {load.read.buffer.name} that are not 16 bytes in one place"
    sixteen = _handed_out(product.sixteen, used, of.thread, threads, SIXTEEN)
    eight = _handed_out(product.eight, used, of.thread, threads, EIGHT)
    assert isinstance(s.value, Apply)
    left, right = s.value.args
    assert isinstance(left, Read) and isinstance(right, Read)
    of_sixteen, of_eight = (left, right) if of.side == "rows" else (right, left)
    lane, warp = np.arange(threads) % WARP, np.arange(threads) // WARP
    term = np.arange(DEPTH)
    for place, register in enumerate(product.sums):
        row, column = lane // 4 + 8 * (place // 2), 2 * (lane % 4) + place % 2
        own = _own_turn(s, of, register, at, place)
        values = {**used, **own, of.thread: np.arange(threads)[:, None], of.inner: DEPTH * k + term}
        for read, handed in ((of_sixteen, sixteen[warp, row]), (of_eight, eight[warp, column])):
            wanted = np.broadcast_to(_number(read, values), (threads, DEPTH))
            if (wanted != handed)[here].any():
                return f"gets other elements of {read.buffer.name} from the matrix unit"
    return ""


def _own_turn(
    s: Compute, of: Fragments, register: Read, at: tuple[int, int, int], place: int
) -> dict[str, int]:
    """The numbers of the axes at which the formula's sum is the one in this register."""
    extents = {axis.name: axis.extent for axis in s.axes if axis.name != of.inner}
    names = list(extents)
    for point in np.ndindex(*extents.values()):
        numbers = dict(zip(names, map(int, point), strict=True))
        if all(_same(a, b, numbers) for a, b in zip(s.index, register.index, strict=True)):
            return numbers
    raise AssertionError(f"no sum of {s.target.name} is in register {place} of instruction {at}")


def _same(formula: Expr, cell: Expr, numbers: Mapping[str, int]) -> bool:
    zeros = dict.fromkeys(variables(formula) | variables(cell), 0)
    return bool(evaluate(formula, {**zeros, **numbers}) == evaluate(cell, zeros))


def _lies_in_one_row(
    load: MatrixLoad, numbers: Mapping[str, Any], thread: str, here: Array
) -> bool:
    """Tell whether each row of 8 elements lies together in memory, and begins where 16 bytes do."""
    values = {**numbers, thread: np.arange(len(here))[:, None], ELEMENT: np.arange(ROW)}
    flat = evaluate(load.read.buffer.flat(load.read.index), values)
    places = np.broadcast_to(flat, (len(here), ROW))[here]
    return not (places[:, 0] % ROW).any() and bool((np.diff(places, axis=1) == 1).all())


def _handed_out(
    load: MatrixLoad, numbers: Mapping[str, Any], thread: str, threads: int, side: int
) -> Array:
    """Return the element of each warp's tile: [warp, row of 16 or column of 8, term].

    ``ldmatrix`` takes the rows of its matrix ``j`` from threads ``8*j`` to ``8*j + 7``. Register
    ``j`` of a thread gets two neighbours of a row, or of a column if the matrix is transposed. Of
    the registers of the operand of 16 rows the second is for the lower rows, the third for the
    later terms; of the other operand the second is for the later terms.
    """
    values = {**numbers, thread: np.arange(threads)[:, None], ELEMENT: np.arange(ROW)}
    rows = np.broadcast_to(_number(load.read, values), (threads, ROW)).reshape(-1, WARP, ROW)
    line, term = np.arange(side)[:, None], np.arange(DEPTH)[None, :]
    matrix = line // ROW + 2 * (term // ROW) if side == SIXTEEN else term // ROW + 0 * line
    first, second = line % ROW, term % ROW
    if load.transposed:
        first, second = second, first
    return np.asarray(rows[:, matrix * ROW + first, second + 0 * first])


def _number(read: Read, values: Mapping[str, Any]) -> Array:
    """Return the numbers of elements of a buffer, row by row, whatever its layout."""
    total: Any = 0
    for each, extent in zip(read.index, read.buffer.shape, strict=True):
        total = total * extent + evaluate(each, values)
    return np.asarray(total)


def _names(s: Compute) -> frozenset[str]:
    assert isinstance(s.value, Apply)
    found = frozenset[str]().union(*map(variables, s.index))
    for each in s.value.args:
        assert isinstance(each, Read)
        found = found.union(*map(variables, each.index))
    return found

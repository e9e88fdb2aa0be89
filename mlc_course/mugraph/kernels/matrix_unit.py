"""Products on a matrix unit: a warp of 32 threads multiplies a 16 x 16 tile by a 16 x 8 tile.

Each operand comes from shared memory, in matrices of 8 rows of 8 neighbours: every thread of the
warp gives the address of a row, and gets the elements that its place in the product needs. So the
addresses follow from the formula of the product itself, with the numbers of other threads in it.

The tile of which an instruction takes 16 rows may be the product's rows, or its columns: a product
of few rows is computed as its transpose. NVIDIA, PTX ISA: ``mma.m16n8k16`` and ``ldmatrix`` say
which element each thread has. Thread ``t`` has, of the 16 x 8 sums, those at rows ``t // 4`` and
``t // 4 + 8`` and at columns ``2 * (t % 4)`` and ``2 * (t % 4) + 1``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mlc_course.mugraph.kernels.index_expressions import (
    ExprLike,
    evaluate,
    expr,
    substituted,
    var,
    variables,
)
from mlc_course.mugraph.kernels.kernel_program import Apply, Compute, Read, with_indices

WARP = 32
ROW = 8  # elements of a matrix's row, and rows of a matrix
DEPTH = 16  # terms that one instruction adds up
SIXTEEN, EIGHT = 16, 8  # sums along the two sides of one instruction


@dataclass(frozen=True)
class MatrixLoad:
    """A warp loads matrices: each thread gives the address of a row of 8 elements.

    ``read`` is the element of that row with the number ``element``, by the thread's number.
    ``transposed`` matrices are handed out as if rows were columns.
    """

    read: Read
    matrices: Literal[2, 4]
    transposed: bool


@dataclass(frozen=True)
class MatrixProduct:
    """One instruction's part of a product: two loads, and the places of four sums of a thread."""

    sixteen: MatrixLoad
    eight: MatrixLoad
    sums: tuple[Read, Read, Read, Read]


def turns(s: Compute) -> tuple[int, int, int]:
    """Return how many instructions a warp needs: along sixteen, along eight, along the depth."""
    assert s.fragments
    extents = {axis.name: axis.extent for axis in s.axes}
    of = s.fragments
    rows, columns = extents.get(of.rows, 1), extents.get(of.columns, 1)
    depth = extents[of.inner] // DEPTH
    return (rows // 2, columns, depth) if of.side == "rows" else (columns, rows // 2, depth)


def matrix_product(
    s: Compute, sixteen: ExprLike, eight: ExprLike, depth: ExprLike, element: ExprLike = 0
) -> MatrixProduct:
    """Return an instruction of a product, by its number along the two sides and the depth.

    The left operand is the side of 16 where that are the rows; otherwise the right one is. What is
    loaded of the right one may depend on the rows: on the matrix that they are of.
    """
    assert s.fragments and isinstance(s.value, Apply)
    of, (left, right) = s.fragments, s.value.args
    assert isinstance(left, Read) and isinstance(right, Read)
    lane, start = var(of.thread) % WARP, var(of.thread) // WARP * WARP
    row, second, deep = lane % ROW, lane // ROW % 2, lane // (2 * ROW)
    m, n, k, e = expr(sixteen), expr(eight), expr(depth) * DEPTH, expr(element)

    def load(read: Read, numbers: Mapping[str, ExprLike], matrices: Literal[2, 4],
             *, transposed: bool) -> MatrixLoad:  # fmt: skip
        return MatrixLoad(_at(read, numbers), matrices, transposed)

    t, inner, i, j, c = of.thread, of.inner, of.rows, of.columns, of.neighbour
    if of.side == "rows":
        a = load(
            left,
            {t: start + row * 4, i: m * 2 + second, inner: k + deep * ROW + e},
            4,
            transposed=False,
        )
        b = load(
            right,
            {t: start + e // 2, c: e % 2, i: m * 2, j: n, inner: k + lane % DEPTH},
            2,
            transposed=True,
        )
        places = [{i: m * 2 + p, j: n, c: expr(q)} for p in (0, 1) for q in (0, 1)]
    else:
        a = load(
            right,
            {t: start + e * 4, c: second, i: n * 2, j: m, inner: k + deep * ROW + row},
            4,
            transposed=True,
        )
        b = load(
            left,
            {t: start + row // 2, i: n * 2 + row % 2, inner: k + second * ROW + e},
            2,
            transposed=False,
        )
        places = [{i: n * 2 + q, j: m, c: expr(p)} for p in (0, 1) for q in (0, 1)]
    first, *others = (_at(Read(s.target, s.index), numbers) for numbers in places)
    return MatrixProduct(a, b, (first, others[0], others[1], others[2]))


def matrix_products(s: Compute) -> Iterator[MatrixProduct]:
    """Yield every instruction of a product."""
    along_sixteen, along_eight, deep = turns(s)
    for k in range(deep):
        for m in range(along_sixteen):
            for n in range(along_eight):
                yield matrix_product(s, m, n, k)


def loads_whole_rows(s: Compute, threads: int) -> bool:
    """Tell whether each row that is loaded is 8 neighbours in shared memory, of two bytes each."""
    assert s.fragments and isinstance(s.value, Apply)
    for read in s.value.args:
        if not isinstance(read, Read) or read.buffer.shape[-1] % ROW:
            return False
        if (read.buffer.scope, read.buffer.role) != ("shared", "storage"):
            return False
    shape, element = (threads, ROW), var("element")
    for m, n, k in itertools.product(*({0, count - 1} for count in turns(s))):
        product = matrix_product(s, m, n, k, element)
        for load in (product.sixteen, product.eight):
            used = frozenset[str]().union(*map(variables, load.read.index))
            numbers: dict[str, Any] = dict.fromkeys(used, 0)  # of the loops around it
            numbers[s.fragments.thread] = np.arange(threads)[:, None]
            numbers["element"] = np.arange(ROW)
            index = [np.broadcast_to(evaluate(e, numbers), shape) for e in load.read.index]
            steps = [np.diff(each, axis=1) for each in index]
            if any(each.any() for each in steps[:-1]) or (steps[-1] != 1).any():
                return False
            if (index[-1][:, 0] % ROW).any():
                return False
    return True


def _at(read: Read, numbers: Mapping[str, ExprLike]) -> Read:
    kept = {name: number for name, number in numbers.items() if name}
    found: Read = with_indices(read, lambda e: substituted(e, kept))
    return found

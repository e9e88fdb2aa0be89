"""Problems for the lesson on parallel loops: equal tasks and unequal ones.

A task is a row or a column of the result, so that a grain, a layout and a load can be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mlc_course.errors import SizeError, check_known
from mlc_course.tensor_program.problems import Array, Operand, Workload, placeholders
from mlc_course.tensor_program.tir import PrimFunc, T, te, tirx

LOADS = ("uniform", "triangular", "one heavy")
WINDOW = 8  # what every word but one looks at in the load "one heavy"


@dataclass(frozen=True)
class Scripted(Workload):
    """A workload whose naive program is written in TVMScript and not in expressions."""

    script: PrimFunc | None = None

    def program(self) -> PrimFunc:
        """The program of this load, as ``Workload.program`` has it."""
        assert self.script is not None
        return self.script


def column_sums(rows: int = 4096, columns: int = 256) -> Workload:
    """S[j] = sum of column j of X (rows, columns): the gradient of a bias, from a batch's."""
    operands = (Operand("X", (rows, columns)),)

    def expression() -> list[te.Tensor]:
        (x,) = placeholders(operands)
        k = te.reduce_axis((0, rows), name="k")
        s = te.compute((columns,), lambda j: te.sum(x[k, j], axis=[k]), name="S")
        return [x, s]

    return Workload(
        name="column_sums",
        sizes={"rows": rows, "columns": columns},
        operands=operands,
        result=Operand("S", (columns,)),
        expression=expression,
        numpy=lambda x, out: np.sum(x, axis=0, out=out),
        exact=lambda x: x.sum(axis=0),
        flops=rows * columns,
    )


def columns_of(load: str, rows: int) -> list[int]:
    """Return how many words each of ``rows`` words looks at under this load.

    "uniform": at the first half. "triangular": at itself and all before it, as in a language model.
    "one heavy": at the first ``WINDOW``, but the word in the middle at all. Raises ``UsageError``
    for another load, ``SizeError`` for fewer rows than ``WINDOW``.
    """
    check_known("no such load", load, LOADS)
    if rows < WINDOW:
        raise SizeError("too few rows", expected=f"{WINDOW} or more", got=rows)
    if load == "uniform":
        return [rows // 2] * rows
    if load == "triangular":
        return [row + 1 for row in range(rows)]
    return [rows if row == rows // 2 else WINDOW for row in range(rows)]


def scores(load: str = "triangular", rows: int = 128, depth: int = 64, before: int = 0) -> Workload:
    """R[i] = t + sum of q[i] . k[j] over the words j that word i looks at; Q and K (rows, depth).

    Word i looks at the first ``columns_of(load, rows)[i]`` words. t is a sum of ``before`` such
    products, q[u] . k[u] with u from 0 on, again and again. Block ``R`` has one loop, i; a task is
    a word. Block ``t`` comes first and is serial. Raises what ``columns_of`` raises.
    """
    counts = columns_of(load, rows)
    seen = np.arange(rows) < np.array(counts)[:, None]
    rounds = np.bincount(np.arange(before) % rows, minlength=rows)

    def exact(q: Array, k: Array) -> Array:
        t = np.sum((q * k).sum(axis=1) * rounds)
        found: Array = t + (q @ k.T).sum(axis=1, where=seen)
        return found

    def numpy(q: Array, k: Array, out: Array) -> None:
        out[...] = exact(q, k)

    return Scripted(
        name="scores",
        sizes={"rows": rows, "depth": depth},
        operands=(Operand("Q", (rows, depth), depth**-0.5), Operand("K", (rows, depth))),
        result=Operand("R", (rows,)),
        expression=list,
        numpy=numpy,
        exact=exact,
        flops=2 * depth * (before + sum(counts)),
        script=(_scores if before else _parallel_scores)(load, rows, depth, before),
    )


def _looks_at(load: str, rows: int, i: Any, j: Any) -> Any:
    """The condition under which word i looks at word j."""
    if load == "uniform":
        return j < rows // 2
    if load == "triangular":
        return j <= i
    return tirx.Or(j < WINDOW, i.equal(rows // 2))


def _parallel_scores(load: str, rows: int, depth: int, _before: int) -> PrimFunc:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        Q: T.Buffer((rows, depth), "float32"),  # type: ignore[valid-type]
        K: T.Buffer((rows, depth), "float32"),  # type: ignore[valid-type]
        R: T.Buffer((rows,), "float32"),  # type: ignore[valid-type]
    ):
        T.func_attr({"tirx.noalias": True})
        for i in range(rows):
            with T.sblock("R"):
                v_i = T.axis.spatial(rows, i)
                T.reads(Q[v_i, 0:depth], K[0:rows, 0:depth])
                T.writes(R[v_i])
                R[v_i] = T.float32(0)
                for j in range(rows):
                    if _looks_at(load, rows, v_i, j):
                        for d in range(depth):
                            R[v_i] = R[v_i] + Q[v_i, d] * K[j, d]

    return main.with_attr("global_symbol", "main")


def _scores(load: str, rows: int, depth: int, before: int) -> PrimFunc:
    @T.prim_func(s_tir=True)  # type: ignore[untyped-decorator]
    def main(  # type: ignore[no-untyped-def]
        Q: T.Buffer((rows, depth), "float32"),  # type: ignore[valid-type]
        K: T.Buffer((rows, depth), "float32"),  # type: ignore[valid-type]
        R: T.Buffer((rows,), "float32"),  # type: ignore[valid-type]
    ):
        T.func_attr({"tirx.noalias": True})
        t = T.sblock_alloc_buffer((1,))
        for u, d in T.grid(before, depth):
            with T.sblock("t"):
                v_u, v_d = T.axis.remap("RR", [u, d])
                with T.init():
                    t[0] = T.float32(0)
                t[0] = t[0] + Q[v_u % rows, v_d] * K[v_u % rows, v_d]
        for i in range(rows):
            with T.sblock("R"):
                v_i = T.axis.spatial(rows, i)
                T.reads(t[0], Q[v_i, 0:depth], K[0:rows, 0:depth])
                T.writes(R[v_i])
                R[v_i] = t[0]
                for j in range(rows):
                    if _looks_at(load, rows, v_i, j):
                        for d in range(depth):
                            R[v_i] = R[v_i] + Q[v_i, d] * K[j, d]

    return main.with_attr("global_symbol", "main")

"""Small kernels with threads, barriers, planned memory and copies under way, written by hand."""

from __future__ import annotations

from fractions import Fraction

from mlc_course.mugraph.ir import Number
from mlc_course.mugraph.kernels.index_expressions import Expr, const, var
from mlc_course.mugraph.kernels.kernel_program import (
    Allocate,
    Apply,
    AwaitCopies,
    Axis,
    Barrier,
    Body,
    Buffer,
    CommitCopies,
    Compute,
    Constant,
    Copy,
    Guard,
    Kernel,
    Loop,
    Read,
    Threads,
)

ZERO = Constant(Number(Fraction(0)))
X, K, T, R, C, L, J = map(var, "xktrclj")


def transposition(threads: int = 8) -> Kernel:
    """Two blocks transpose a tile each, through shared memory with a padded pitch."""
    a = Buffer("A", (threads, 2 * threads), "global", "storage")
    b = Buffer("B", (2 * threads, threads), "global", "storage")
    tile = Buffer("tile", (threads, threads), "shared", "storage", (threads + 1, 1))
    axes = (Axis("j", threads),)
    return Kernel(
        "transposition", (("x", 2),), threads, (a,), (b,), (tile,),
        (
            Threads("t", threads, (
                Compute(tile, (T, J), Read(a, (T, X * threads + J)), axes),
            )),
            Barrier(),
            Threads("t", threads, (
                Compute(b, (X * threads + T, J), Read(tile, (J, T)), axes),
            )),
        ),
        offsets=(("tile", 0),), shared_bytes=2 * tile.size,
    )  # fmt: skip


def row_sums(threads: int = 8) -> Kernel:
    """Each thread adds up a column of a tile; one thread adds up theirs, and all divide by it.

    ``parts`` are no longer needed when ``whole`` is written, and ``late`` lies where they were.
    """
    a = Buffer("A", (4, threads), "global", "storage")
    b = Buffer("B", (4, threads), "global", "storage")
    parts = Buffer("parts", (threads,), "shared", "sum")
    whole = Buffer("whole", (1,), "shared", "sum")
    late = Buffer("late", (threads,), "shared", "sum")
    one, four = const(0), (Axis("r", 4),)
    return Kernel(
        "row_sums", (), threads, (a,), (b,), (parts, whole, late),
        (
            Threads("t", threads, (
                Compute(parts, (T,), ZERO),
                Compute(parts, (T,), Read(a, (R, T)), four, "add"),
            )),
            Barrier(),
            Threads("t", threads, (
                Guard(T.is_equal(0), (
                    Compute(whole, (one,), ZERO),
                    Compute(whole, (one,), Read(parts, (L,)), (Axis("l", threads),), "add"),
                )),
            )),
            Barrier(),
            Threads("t", threads, (
                Compute(late, (T,), Apply("mul", (Read(whole, (one,)), Read(a, (one, T))))),
            )),
            Barrier(),
            Threads("t", threads, (
                Compute(b, (R, T), Apply("add", (
                    Read(late, ((T + 1) % threads,)), Read(a, (R, T)),
                )), four),
            )),
        ),
        offsets=(("parts", 0), ("whole", 4 * threads), ("late", 0)),
        shared_bytes=4 * threads + 4,
    )  # fmt: skip


def ring(stages: int, iterations: int) -> Kernel:
    """Y = X W, with tiles of W copied ahead into a ring of stages.

    One barrier a step: it says that the copies of all threads have landed, and that the readers of
    the stage that is filled next are done.
    """
    threads, rows, depth, columns = 4, 2, 2, 4
    x = Buffer("X", (rows, depth * iterations), "global", "storage")
    w = Buffer("W", (depth * iterations, 2 * columns), "global", "storage")
    y = Buffer("Y", (rows, 2 * columns), "global", "storage")
    tile = Buffer("tile", (stages, depth, columns), "shared", "storage", swizzle=(2, 2))
    sums = Buffer("sums", (rows,), "registers")

    def filled(step: Expr) -> Body:
        """Each thread copies half a row, which is a chunk of the swizzle."""
        row, column = T // 2, (T % 2) * 2
        source = (step * depth + row, X * columns + column)
        return (Copy(tile, (step % stages, row, column), w, source, 2),)

    ahead = stages - 1
    begun = [
        Threads("t", threads, (*filled(const(n)), CommitCopies()))
        for n in range(min(ahead, iterations))
    ]
    product = Apply("mul", (Read(x, (R, K * depth + L)), Read(tile, (K % stages, L, T))))
    axes = (Axis("l", depth), Axis("r", rows))
    step = Loop("k", iterations, (
        Threads("t", threads, (AwaitCopies(max(0, ahead - 1)),)),
        Barrier(),
        Threads("t", threads, (
            Guard(iterations - ahead > K, filled(K + ahead)),
            CommitCopies(),
            Compute(sums, (R,), product, axes, "add"),
        )),
    ))  # fmt: skip
    return Kernel(
        "ring", (("x", 2),), threads, (x, w), (y,), (tile,),
        (
            Allocate(sums),
            Threads("t", threads, (Compute(sums, (R,), ZERO, (Axis("r", rows),)),)),
            *begun,
            step,
            Threads("t", threads, (
                Compute(y, (R, X * columns + T), Read(sums, (R,)), (Axis("r", rows),)),
            )),
        ),
        offsets=(("tile", 0),), shared_bytes=2 * tile.size,
    )  # fmt: skip


def kernels() -> dict[str, Kernel]:
    """Every kernel by its name, with rings of two and three stages and iterations of all kinds."""
    rings = {
        f"ring of {stages}, {iterations} iterations": ring(stages, iterations)
        for stages, iterations in ((2, 3), (3, 4), (3, 5))
    }
    return {"transposition": transposition(), "row sums": row_sums(), **rings}

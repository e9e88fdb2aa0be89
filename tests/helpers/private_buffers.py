"""Programs whose buffer is used in one loop only, so that TVM gives each iteration its own."""

# mypy: ignore-errors
from __future__ import annotations

from mlc_course.tensor_program.tir import T


@T.prim_func(s_tir=True)
def temporary(X: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32")):
    """Y = 2 X, Z = Y + 1."""
    Y = T.sblock_alloc_buffer((8,))
    for i in range(8):
        with T.sblock("Y"):
            v = T.axis.spatial(8, i)
            Y[v] = X[v] * T.float32(2)
        with T.sblock("Z"):
            v = T.axis.spatial(8, i)
            Z[v] = Y[v] + T.float32(1)


@T.prim_func(s_tir=True)
def carried(X: T.Buffer((8,), "float32"), Z: T.Buffer((8,), "float32")):
    """Each iteration reads what the one before has left in Y."""
    Y = T.sblock_alloc_buffer((9,))
    for i in range(8):
        with T.sblock("Y"):
            v = T.axis.spatial(8, i)
            Y[v + 1] = X[v] * T.float32(2)
        with T.sblock("Z"):
            v = T.axis.spatial(8, i)
            Z[v] = T.if_then_else(v > 0, Y[v], T.float32(0))

"""Small programs with one block of interest each, to look at: four honest ones, and four that lie.

They are written by hand, so that they may declare what is not true. TVM takes all of them.
"""

# TVMScript is read as text by TVM; its annotations are no types.
# mypy: disable-error-code="untyped-decorator,no-untyped-def,valid-type"

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlc_course.tensor_program.tir import PrimFunc, T


@dataclass(frozen=True)
class Small:
    """A program, and in a sentence what is to be seen in it."""

    program: PrimFunc
    remark: str


@T.prim_func(s_tir=True)
def product(X: T.Buffer((3, 5)), W: T.Buffer((5, 4)), P: T.Buffer((3, 4))):
    """P = X W"""
    for m, n, k in T.grid(3, 4, 5):
        with T.sblock("P"):
            v_m, v_n, v_k = T.axis.remap("SSR", [m, n, k])
            with T.init():
                P[v_m, v_n] = T.float32(0)
            P[v_m, v_n] = P[v_m, v_n] + X[v_m, v_k] * W[v_k, v_n]


@T.prim_func(s_tir=True)
def linear_relu(
    X: T.Buffer((2, 4)),
    W: T.Buffer((4, 5)),
    b: T.Buffer((5,)),
    Y: T.Buffer((2, 5)),
):
    """Y = max(X W + b, 0)"""
    P = T.sblock_alloc_buffer((2, 5))
    S = T.sblock_alloc_buffer((2, 5))
    for m, n, k in T.grid(2, 5, 4):
        with T.sblock("P"):
            v_m, v_n, v_k = T.axis.remap("SSR", [m, n, k])
            with T.init():
                P[v_m, v_n] = T.float32(0)
            P[v_m, v_n] = P[v_m, v_n] + X[v_m, v_k] * W[v_k, v_n]
    for m, n in T.grid(2, 5):
        with T.sblock("S"):
            v_m, v_n = T.axis.remap("SS", [m, n])
            S[v_m, v_n] = P[v_m, v_n] + b[v_n]
    for m, n in T.grid(2, 5):
        with T.sblock("Y"):
            v_m, v_n = T.axis.remap("SS", [m, n])
            Y[v_m, v_n] = T.max(S[v_m, v_n], T.float32(0))


@T.prim_func(s_tir=True)
def row_sums(X: T.Buffer((4, 6)), Y: T.Buffer((4,))):
    """Y[m] = sum over k of X[m, k]"""
    for m, k in T.grid(4, 6):
        with T.sblock("Y"):
            v_m, v_k = T.axis.remap("SR", [m, k])
            with T.init():
                Y[v_m] = T.float32(0)
            Y[v_m] = Y[v_m] + X[v_m, v_k]


@T.prim_func(s_tir=True)
def broadcast_add(P: T.Buffer((4, 6)), b: T.Buffer((6,)), S: T.Buffer((4, 6))):
    """S = P + b, b added to every row"""
    for m, n in T.grid(4, 6):
        with T.sblock("S"):
            v_m, v_n = T.axis.remap("SS", [m, n])
            S[v_m, v_n] = P[v_m, v_n] + b[v_n]


@T.prim_func(s_tir=True)
def convolution(X: T.Buffer((2, 8)), W: T.Buffer((3, 2, 3)), Y: T.Buffer((3, 6))):
    """Y[o, i] = sum over c and r of X[c, i + r] W[o, c, r]"""
    for o, i, c, r in T.grid(3, 6, 2, 3):
        with T.sblock("Y"):
            v_o, v_i, v_c, v_r = T.axis.remap("SSRR", [o, i, c, r])
            with T.init():
                Y[v_o, v_i] = T.float32(0)
            Y[v_o, v_i] = Y[v_o, v_i] + X[v_c, v_i + v_r] * W[v_o, v_c, v_r]


@T.prim_func(s_tir=True)
def wrong_kind(X: T.Buffer((4, 6)), Y: T.Buffer((4,))):
    """The row sums, with k declared spatial"""
    for m, k in T.grid(4, 6):
        with T.sblock("Y"):
            v_m, v_k = T.axis.remap("SS", [m, k])
            with T.init():
                Y[v_m] = T.float32(0)
            Y[v_m] = Y[v_m] + X[v_m, v_k]


@T.prim_func(s_tir=True)
def collision(X: T.Buffer((3, 4)), Y: T.Buffer((12,))):
    """Y = the rows of X one after the other, with 3 in place of 4"""
    for m, n in T.grid(3, 4):
        with T.sblock("Y"):
            v_m, v_n = T.axis.remap("SS", [m, n])
            Y[v_m * 3 + v_n] = X[v_m, v_n]


@T.prim_func(s_tir=True)
def visited_twice(X: T.Buffer((10,)), Y: T.Buffer((10,))):
    """Y = 2 X in three tiles of four that overlap"""
    for i, j in T.grid(3, 4):
        with T.sblock("Y"):
            v = T.axis.spatial(10, i * 3 + j)
            Y[v] = X[v] * T.float32(2)


@T.prim_func(s_tir=True)
def hole(X: T.Buffer((10,)), Y: T.Buffer((10,))):
    """Y = 2 X in tiles of four, and ten is no multiple of four"""
    for i, j in T.grid(2, 4):
        with T.sblock("Y"):
            v = T.axis.spatial(10, i * 4 + j)
            Y[v] = X[v] * T.float32(2)


SMALL: Mapping[str, Small] = {
    "matmul": Small(product, "P of lesson 1, small: two spatial axes and a sum."),
    "linear_relu": Small(linear_relu, "Three blocks; each has axes, reads and writes of its own."),
    "row sums": Small(row_sums, "One spatial axis, and a sum along the other."),
    "broadcast add": Small(broadcast_add, "b has no index for m: every row reads it again."),
    "convolution": Small(convolution, "A filter slides: X is read at v_i + v_r, and two axes sum."),
    "wrong kind": Small(wrong_kind, "The row sums, but k is declared spatial."),
    "collision": Small(collision, "Rows of X laid end to end, with 3 where 4 belongs."),
    "overlap": Small(visited_twice, "Tiles of four, three apart: some elements are done twice."),
    "hole": Small(hole, "Two tiles of four, for ten elements."),
}

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlc_course.errors import CourseError, GraphError
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.builder import Builder
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.programs import published


def test_operators_of_python_are_operators_of_the_graph() -> None:
    g = Builder("p")
    x, y = g.input("X", "n=4", "n"), g.input("Y", "n", "n")
    z = -(x @ y + x - y) * x / y
    w = 2 * (z / 3 * "1/n" + 1) - 0.5
    assert str(g.returns(w)) == "\n".join(
        [
            "p(X[n=4, n], Y[n, n]):",
            "  t2 = matmul(X, Y)",
            "  t3 = add(t2, X)",
            "  t4 = sub(t3, Y)",
            "  t5 = neg(t4)",
            "  t6 = mul(t5, X)",
            "  t7 = div(t6, Y)",
            "  t8 = scale(t7, by=1/3)",
            "  t9 = scale(t8, by=1/n)",
            "  t10 = shift(t9, by=1)",
            "  t11 = scale(t10, by=2)",
            "  t12 = shift(t11, by=-1/2)",
            "  return t12",
        ]
    )


def test_the_published_graph_in_python() -> None:
    g = Builder("rms_norm_matmul")
    x, gain = g.input("X", "b=16", "d=4096"), g.input("G", 1, "d")
    w = g.input("W", "d", "n=6144")
    with g.block(grid={"x": 256}, loop={"k": 32}) as t:
        x_tile, g_tile = t.load(x, fmap={"k": 1}), t.load(gain, fmap={"k": 1})
        w_tile = t.load(w, imap={"x": 1}, fmap={"k": 0})
        product = ops.accumulate((x_tile * g_tile) @ w_tile)
        total = ops.accumulate(ops.reduce_sum(ops.square(x_tile), axis=1))
        y = t.thread(lambda r, p: p / ops.sqrt(r * "1/d"), total, product)
        out = t.store(y, omap={"x": 1}, name="Y")
    assert g.returns(out) == published("rms_norm_matmul_fused")


def test_a_thread_graph_has_its_operands_in_the_order_in_which_it_reads_them() -> None:
    g = Builder()
    x, y = g.input("X", "8"), g.input("Y", "8")
    with g.block(grid={"x": 2}) as t:
        a, b = t.load(x, imap={"x": 0}, name="r1"), t.load(y, imap={"x": 0}, name="b")
        out = t.store(t.thread(lambda p, q, r: ops.exp(q) / p, a, b, a), omap={"x": 0})
    graph = g.returns(out)
    assert parse(str(graph)) == graph
    ((_, block),) = graph.blocks
    assert block.equations[0].operands == (1, 0)


def test_values_have_names_of_their_own() -> None:
    g = Builder()
    x = g.input("X", "8")
    y = ops.exp(x).called("t2")
    z = ops.exp(y)
    assert [str(each) for each in (x, y, z)] == ["X", "t2", "t3"]
    with g.block(grid={"x": 2}) as t:
        tiles = [t.load(x, imap={"x": 0}) for _ in range(2)]
        assert str(tiles[0]) == "x_tile" != str(tiles[1])
        t.store(tiles[0] * tiles[1], omap={"x": 0})


def _outside(g: Builder, x: Any) -> None:
    with g.block(grid={"x": 1}) as t:
        t.load(x)
        t.store(x)


def _late_load(g: Builder, x: Any) -> None:
    with g.block(grid={"x": 1}) as t:
        ops.exp(t.load(x))
        t.load(x, name="again")


def _no_store(g: Builder, x: Any) -> None:
    with g.block(grid={"x": 1}) as t:
        t.load(x)


def _matmul_in_a_thread(g: Builder, x: Any) -> None:
    with g.block(grid={"x": 1}) as t:
        t.thread(lambda a: a @ a, t.load(x))


def _renamed(g: Builder, x: Any) -> None:
    g.returns(ops.exp(ops.exp(x).called("X")))


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda g, x: g.input("Y", "e"), "e=SIZE"),
        (lambda g, x: g.input("Y", "d=8"), "size d"),
        (lambda g, x: g.input("Y", "d=1.5"), "a whole number"),
        (lambda g, x: g.input("X", "d"), "X is made twice"),
        (lambda g, x: (ops.exp(x), g.input("Y", "d")), "all inputs before the first operator"),
        (lambda g, x: x @ Builder().input("Y", "4", "4"), "belongs to another graph"),
        (lambda g, x: ops.add(x, 2), "values of a graph"),
        (lambda g, x: ops.reduce_sum(x, axis="d"), "a whole number"),
        (lambda g, x: ops.reduce_sum(x, dim=1), "no attribute 'dim'"),
        (lambda g, x: ops.reshape(x, shape=16), "sizes such as [2, 4*d]"),
        (lambda g, x: x * "1/e", "no size 'e'"),
        (lambda g, x: x / 0, "not a constant"),
        (lambda g, x: g.block(grid={"w": 2}).__enter__(), "x | y | z"),
        (lambda g, x: g.block(grid={"x": 0}).__enter__(), "1 or more"),
        (lambda g, x: g.block(grid={"x": 1}).load(x, imap={"x": "0"}), "a map such as"),
        (_outside, "belongs to another graph"),
        (_late_load, "all loads before the first operator"),
        (_no_store, "stores nothing"),
        (_matmul_in_a_thread, "elementwise operators only"),
        (_renamed, "each once"),
        (lambda g, x: g.returns(), "returns nothing"),
    ],
)
def test_a_mistake_is_refused_where_it_is_made(
    act: Callable[[Builder, Any], Any], words: str
) -> None:
    g = Builder()
    x = g.input("X", "d=4", "d")
    with pytest.raises(CourseError) as caught:
        act(g, x)
    assert words in str(caught.value)


def test_an_error_of_the_student_inside_a_block_is_their_own() -> None:
    g = Builder()
    x = g.input("X", "8")
    with pytest.raises(ZeroDivisionError), g.block(grid={"x": 2}) as t:
        t.load(x)
        raise ZeroDivisionError
    with pytest.raises(GraphError, match="returns nothing"):
        g.returns()


def test_the_order_of_the_axes_of_a_map_does_not_matter() -> None:
    def graph(imap: dict[str, int]) -> KernelGraph:
        g = Builder("f")
        x = g.input("X", "m=4", "n=6")
        with g.block(grid={"x": 2, "y": 2}) as t:
            y = t.store(ops.exp(t.load(x, imap=imap)), omap=imap)
        return g.returns(y)

    assert graph({"y": 0, "x": 1}) == graph({"x": 1, "y": 0})

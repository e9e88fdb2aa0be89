"""What a kernel graph, a block graph, a thread graph must not be, and the words that say so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from mlc_course.errors import CourseError
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.nodes import BlockGraph, Equation, Input, Load, Store, ThreadGraph
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.programs import published

PRODUCT = parse("""product(X[b=16, d=64], W[d, n=32]):
  block grid(x=2, y=4) loop(k=8):
    x = load(X, imap={x: 0}, fmap={k: 1})
    w = load(W, imap={y: 1}, fmap={k: 0})
    p = matmul(x, w)
    P = accumulate(p)
    Y = store(P, omap={x: 0, y: 1})
  return Y""")
EXP, P, PAIR = ops.BY_NAME["exp"], ops.accumulate, ops.add


def block(graph: KernelGraph = PRODUCT) -> BlockGraph:
    """Its first block graph."""
    return next(op for _, op in graph.blocks)


def with_block(changed: BlockGraph) -> KernelGraph:
    """The product with another block graph."""
    return replace(PRODUCT, equations=(replace(PRODUCT.equations[0], op=changed),))


def with_load(number: int, load: Load) -> KernelGraph:
    """The product with another load."""
    loads = list(block().loads)
    loads[number] = load
    return with_block(replace(block(), loads=tuple(loads)))


def with_inside(*equations: Equation, store: Store | None = None) -> KernelGraph:
    """The product with other equations on its two tiles, the last of which is stored."""
    last = Store(1 + len(equations), (("x", 0), ("y", 1)))
    return with_block(replace(block(), equations=equations, stores=(store or last,)))


def made(op: ops.Op, *operands: int, name: str = "", **attributes: object) -> Equation:
    """An equation inside a block graph."""
    return Equation(op, operands, tuple(attributes.items()), (name,))


def thread(*equations: Equation, operands: tuple[str, ...] = ("P",)) -> KernelGraph:
    """The product, and a thread graph on it before it is stored."""
    inside = (*block().equations, Equation(ThreadGraph(operands, equations), (3,), (), ("t",)))
    return with_inside(*inside)


TABLE: list[tuple[str, Callable[[], KernelGraph], list[str]]] = [
    (
        "imap: no such dimension",
        lambda: with_load(0, Load((("x", 2),), (("k", 1),), "x")),
        ["load x: imap x -> 2", "a dimension of (16, 64), 0 to 1"],
    ),
    (
        "imap: negative dimension",
        lambda: with_load(0, Load((("x", -1),), (("k", 1),), "x")),
        ["load x: imap x -> -1"],
    ),
    (
        "imap: no such axis",
        lambda: with_load(0, Load((("z", 0),), (("k", 1),), "x")),
        ["load x: imap: no axis 'z'", "x | y"],
    ),
    (
        "imap: a loop",
        lambda: with_load(0, Load((("k", 0),), (), "x")),
        ["load x: imap: no axis 'k'"],
    ),
    (
        "imap: axes out of order",
        lambda: with_load(0, Load((("y", 0), ("x", 0)), (("k", 1),), "x")),
        ["load x: imap: axes", "in order, each once"],
    ),
    (
        "imap: tiles that are not equal",
        lambda: with_block(replace(block(), grid=(("x", 3), ("y", 4)))),
        ["load x: imap x -> 0: not equal tiles", "x = 3 divides 16", "(16, 64)"],
    ),
    (
        "fmap: no such dimension",
        lambda: with_load(1, Load((("y", 1),), (("k", 2),), "w")),
        ["load w: fmap k -> 2", "a dimension of (64, 32)"],
    ),
    (
        "fmap: tiles that are not equal",
        lambda: with_block(replace(block(), loops=(("k", 7),))),
        ["load x: fmap k -> 1: not equal tiles", "k = 7 divides 64"],
    ),
    (
        "fmap: the wrong dimension",
        lambda: with_load(1, Load((("y", 1),), (("k", 1),), "w")),
        ["matmul(A, B): inner dimensions", "A (8, 8), B (64, 1)"],
    ),
    (
        "omap: no such dimension",
        lambda: with_block(replace(block(), stores=(Store(3, (("x", 0), ("y", 2))),))),
        ["store(P): omap y", "(16, 8)"],
    ),
    (
        "omap: blocks overwrite each other",
        lambda: with_block(replace(block(), stores=(Store(3, (("x", 0),)),))),
        ["store(P): all 4 blocks along y write the same place", "(8, 8)"],
    ),
    (
        "omap: a loop",
        lambda: with_block(replace(block(), stores=(Store(3, (("x", 0), ("k", 1))),))),
        ["store(P): omap: no axis 'k'"],
    ),
    (
        "a store of nothing",
        lambda: with_block(replace(block(), stores=(Store(4, (("x", 0), ("y", 1))),))),
        ["store: no such value", "below 4"],
    ),
    (
        "no store",
        lambda: with_block(replace(block(), stores=())),
        ["block graph: stores nothing"],
    ),
    (
        "no accumulator",
        lambda: with_inside(made(ops.matmul, 0, 1, name="p")),
        ["store(p): it changes in every iteration", "an accumulator between"],
    ),
    (
        "a running value is none",
        lambda: with_inside(made(ops.matmul, 0, 1), made(ops.running_max, 2, name="r")),
        ["store(r): it changes in every iteration"],
    ),
    (
        "two accumulators",
        lambda: with_inside(made(ops.matmul, 0, 1), made(P, 2, name="a"), made(P, 3)),
        ["a second accumulator on a path", "one between a looped input and an output", "a"],
    ),
    (
        "a running value after the loop",
        lambda: with_inside(made(ops.matmul, 0, 1), made(P, 2), made(ops.running_max, 3)),
        ["a second accumulator on a path"],
    ),
    (
        "in the loop and after it",
        lambda: with_inside(
            made(ops.matmul, 0, 1, name="p"), made(P, 2, name="a"), made(PAIR, 2, 3, name="s")
        ),
        ["s = add: one operand is in the loop, another after it", "p, a"],
    ),
    (
        "an accumulator's fmap: no such loop",
        lambda: with_inside(made(ops.matmul, 0, 1), made(P, 2, name="a", fmap=(("j", 0),))),
        ["a = accumulate: fmap: no axis 'j'", "k"],
    ),
    (
        "an accumulator's fmap: no such dimension",
        lambda: with_inside(made(ops.matmul, 0, 1), made(P, 2, fmap=(("k", 2),))),
        ["accumulate: fmap k -> 2", "(8, 8)"],
    ),
    (
        "a sum that is scaled by more numbers than it has",
        lambda: with_inside(made(ops.reduce_sum, 0, axis=1), made(ops.accumulate_rescaled, 2, 0)),
        ["accumulate_rescaled(X, R): extents", "or 1"],
    ),
    (
        "an operand that is not there yet",
        lambda: with_inside(made(ops.matmul, 0, 2), made(P, 2)),
        ["no such value yet", "0 to 1"],
    ),
    (
        "as many loads as operands",
        lambda: replace(PRODUCT, equations=(replace(PRODUCT.equations[0], operands=(0,)),)),
        ["block graph: loads"],
    ),
    (
        "a block graph in a block graph",
        lambda: with_inside(Equation(block(), (0, 1), (), ("b",))),
        ["a block graph inside a block graph"],
    ),
    (
        "two values of one name",
        lambda: with_inside(made(ops.matmul, 0, 1, name="x"), made(P, 2)),
        ["block graph: names of values", "words, each once", "'x'"],
    ),
    (
        "a name that is no word",
        lambda: with_inside(made(ops.matmul, 0, 1, name="x w"), made(P, 2)),
        ["'x w'"],
    ),
    (
        "a grid axis twice",
        lambda: with_block(replace(block(), grid=(("x", 2), ("x", 4)))),
        ["an axis twice", "got       x"],
    ),
    (
        "a grid axis and a loop of one name",
        lambda: with_block(replace(block(), loops=(("x", 8),))),
        ["an axis twice"],
    ),
    (
        "a fourth grid axis",
        lambda: with_block(replace(block(), grid=(("w", 2), ("y", 4)))),
        ["grid: no axis", "x | y | z"],
    ),
    (
        "an empty grid axis",
        lambda: with_block(replace(block(), grid=(("x", 0), ("y", 4)))),
        ["axis x: its extent", "1 or more"],
    ),
    ("a thread graph: empty", lambda: thread(), ["thread graph: operands", "0 equations"]),
    (
        "a thread graph: not elementwise",
        lambda: thread(made(ops.reduce_sum, 0, axis=0)),
        ["elementwise operators only", "sum"],
    ),
    (
        "a thread graph: an accumulator",
        lambda: thread(made(P, 0)),
        ["elementwise operators only", "accumulate"],
    ),
    (
        "a thread graph: an operand that it does not read",
        lambda: thread(made(EXP, 0), made(EXP, 1), operands=("P", "Q")),
        ["each of them read, in this order"],
    ),
    (
        "a thread graph: a value that is not there yet",
        lambda: thread(made(EXP, 0), made(PAIR, 0, 2)),
        ["no such value yet", "0 to 1"],
    ),
    (
        "a thread graph: a name that its operand has",
        lambda: thread(made(EXP, 0, name="P"), made(EXP, 1)),
        ["thread graph: values", "'P'"],
    ),
    (
        "a dimension without a size",
        lambda: replace(PRODUCT, sizes=PRODUCT.sizes[:2]),
        ["product: sizes", "one for each dimension: b, d, n"],
    ),
    (
        "a size of nothing",
        lambda: replace(PRODUCT, sizes=(*PRODUCT.sizes, ("m", 2))),
        ["product: sizes"],
    ),
    ("a size of 0", lambda: PRODUCT.resized({"n": 0}), ["size n", "1 or more"]),
    ("a size that is not divided", lambda: PRODUCT.resized({"d": 12}), ["k = 8 divides 12"]),
    (
        "an input twice",
        lambda: replace(PRODUCT, inputs=(Input("X", ("b", "d")), Input("X", ("d", "n")))),
        ["product: values", "'X'"],
    ),
    (
        "a name for each result",
        lambda: replace(PRODUCT, equations=(replace(PRODUCT.equations[0], names=("Y", "Z")),)),
        ["names", "expected  1"],
    ),
    ("an output of nothing", lambda: replace(PRODUCT, outputs=(3,)), ["no such value yet"]),
    ("no output", lambda: replace(PRODUCT, outputs=()), ["returns nothing"]),
    (
        "an attribute that is missing",
        lambda: replace(PRODUCT, equations=(made(ops.scale, 0),), outputs=(2,)),
        ["scale: attributes", "expected  by"],
    ),
]


@pytest.mark.parametrize(("make", "words"), [row[1:] for row in TABLE], ids=[r[0] for r in TABLE])
def test_a_malformed_graph_is_refused(make: Callable[[], KernelGraph], words: list[str]) -> None:
    with pytest.raises(CourseError) as caught:
        make()
    for each in words:
        assert each in str(caught.value)


def test_an_error_names_the_equations_around_it() -> None:
    with pytest.raises(CourseError) as caught:
        with_load(1, Load((("y", 1),), (("k", 1),), "w"))
    assert caught.value.__notes__ == ["in p = matmul", "in Y = block"]


def test_graphs_are_equal_but_for_names() -> None:
    text = str(PRODUCT).replace("product", "other").replace("p = ", "q = ").replace("(p)", "(q)")
    assert parse(text) == PRODUCT
    assert hash(parse(text)) == hash(PRODUCT)
    assert PRODUCT.resized({"n": 64}) != PRODUCT
    assert with_block(replace(block(), loops=(("k", 4),))) != PRODUCT


def test_a_resized_graph_keeps_its_constants_right() -> None:
    graph = published("rms_norm_matmul_fused").resized({"d": 64, "n": 512})
    assert graph.output_shapes == ((16, 512),)
    assert graph.tiles(0).shapes[:3] == ((16, 2), (1, 2), (2, 2))
    assert "by=1/d" in str(graph)


def test_shared_memory_holds_every_tile() -> None:
    tiles = PRODUCT.tiles(0)
    assert tiles.shapes == ((8, 8), (8, 8), (8, 8), (8, 8))
    assert tiles.stages == ("in the loop",) * 3 + ("after the loop",)
    assert tiles.shared_bytes() == 2 * 4 * 64
    assert tiles.shared_bytes(itemsize=4) == 4 * 4 * 64


def test_the_sizes_of_a_graph_stand_in_the_order_of_its_inputs() -> None:
    assert replace(PRODUCT, sizes=PRODUCT.sizes[::-1]) == PRODUCT

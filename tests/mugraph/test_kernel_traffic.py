"""What the maps say is loaded is what the interpreter loads."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from mlc_course.mugraph.examples import NAMES, example
from mlc_course.mugraph.floats import FLOAT64
from mlc_course.mugraph.interpret import Access, evaluate
from mlc_course.mugraph.kernel import KernelGraph
from mlc_course.mugraph.text import parse
from mlc_course.mugraph.traffic import Traffic, kilobytes, table, total, traffic

TWO_LOOPS = """
in_portions(A[m=8, d=12], B[d, n=6]):
  block grid(x=2, y=3) loop(i=2, k=4):
    a = load(A, imap={x: 0}, fmap={i: 0, k: 1})
    b = load(B, imap={y: 1}, fmap={k: 0})
    p = matmul(a, b)
    c = accumulate(p, fmap={i: 0})
    C = store(c, omap={x: 0, y: 1})
  return C
"""
ROWS_AND_WHOLE = """
rows_and_whole(A[m=8, d=12], B[d, n=6]):
  block grid(x=2) loop(i=2, k=4):
    a = load(A, imap={x: 0}, fmap={i: 0})
    b = load(B)
    p = matmul(a, b)
    c = accumulate(p, fmap={i: 0})
    C = store(c, omap={x: 0})
  S = sum(C, axis=0)
  return S
"""
SQUARED = "f(X[b=4, d=8]):\n  block grid(x=2):\n    x = load(X, imap={x: 0})\n    y = load(X)\n"
TWICE = SQUARED + "    z = mul(x, x)\n    Z = store(z, omap={x: 0})\n  return Z"


def watched(graph: KernelGraph) -> list[tuple[int, int]]:
    """Elements loaded and stored by each block graph, as the interpreter goes along."""
    held: dict[tuple[int, tuple[int, ...], int], tuple[slice, ...]] = {}
    moved: Counter[tuple[int, str]] = Counter()

    def watch(access: Access) -> None:
        owner = (access.place, access.block, access.number)
        if access.kind == "load":
            if held.get(owner) == access.slices:
                return
            held[owner] = access.slices
        moved[access.place, access.kind] += math.prod(c.stop - c.start for c in access.slices)

    shapes = graph.shapes[: len(graph.inputs)]
    evaluate(graph, [np.ones(shape) for shape in shapes], FLOAT64, watch)
    return [(moved[place, "load"], moved[place, "store"]) for place, _ in graph.blocks]


@pytest.mark.parametrize(
    "text", [*map(example, NAMES), TWO_LOOPS, ROWS_AND_WHOLE, TWICE], ids=lambda t: t.split("(")[0]
)
def test_the_maps_say_what_the_interpreter_moves(text: str) -> None:
    graph = parse(text)
    of_blocks = [each for each in traffic(graph, itemsize=1) if each.shared]
    assert [(each.loaded, each.stored) for each in of_blocks] == watched(graph)


def test_a_predefined_operator_reads_each_operand_once() -> None:
    graph = parse("f(X[b=4, d=8]):\n  Y = mul(X, X)\n  return Y")
    assert traffic(graph) == (Traffic("mul", 1, 64, 64, 64, 0),)


def test_a_block_loads_its_share() -> None:
    (product,) = traffic(parse(example("product")))
    assert product.loaded_by_block == 2 * (16 * 512 + 512 * 96)
    assert product.operands == 2 * (64 * 512 + 512 * 384)
    assert product.shared == parse(example("product")).tiles(0).shared_bytes()


def test_kernels_add_up() -> None:
    kernels = traffic(parse(example("seven_kernels")))
    whole = total(kernels)
    assert whole.name == "7 kernels"
    assert whole.loaded == sum(each.loaded for each in kernels)
    assert total(kernels[:1]).name == "1 kernel"


def test_the_table_has_a_line_a_kernel_and_a_sum() -> None:
    lines = table(parse(ROWS_AND_WHOLE)).splitlines()
    assert [line.split()[0] for line in lines] == ["kernel", "block", "sum", "2"]
    assert len(table(parse(TWO_LOOPS)).splitlines()) == 2


def test_a_kilobyte_is_a_thousand_bytes() -> None:
    assert kilobytes(1_234_567) == "1,234.6 kB"

"""What the maps say is loaded is what the interpreter loads."""

from __future__ import annotations

import pytest
from small_graphs import copied_elements

from mlc_course.lessons.lesson_16_mu_graphs import NAMES, example
from mlc_course.mugraph.cost.memory_traffic import Traffic, kilobytes, table, total, traffic
from mlc_course.mugraph.ir import parse

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


@pytest.mark.parametrize(
    "text", [*map(example, NAMES), TWO_LOOPS, ROWS_AND_WHOLE, TWICE], ids=lambda t: t.split("(")[0]
)
def test_the_maps_say_what_the_interpreter_moves(text: str) -> None:
    graph = parse(text)
    of_blocks = [each for each in traffic(graph, itemsize=1) if each.shared]
    loaded, stored = copied_elements(graph)
    expected = [(loaded[place], stored[place]) for place, _ in graph.blocks]
    assert [(each.loaded, each.stored) for each in of_blocks] == expected


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

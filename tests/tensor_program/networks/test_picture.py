"""The picture of a graph: everything has its place, and kernels are framed truthfully."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from mlc_course.tensor_program.networks import passes
from mlc_course.tensor_program.networks.graphs import Graph, graph
from mlc_course.tensor_program.networks.picture import graph_svg, layout
from mlc_course.tensor_program.tir import dataflow, library_call, op


def residual(bb: Any, x: Any, w: Any) -> Any:
    e = bb.emit(op.exp(x), "e")
    s = bb.emit(op.sum(e, axis=[1], keepdims=True), "s")
    m = bb.emit(op.matmul(e, w), "m")
    d = bb.emit(op.divide(m, s), "d")
    o = bb.emit(library_call("sort", d, shape=(16, 16)), "o")
    return op.add(o, e)


@pytest.fixture
def drawn() -> Graph:
    module = dataflow(residual, x=(16, 16), w=(16, 16))
    return graph(passes.run(module, *passes.LOWERING, passes.FUSE_OPS))


def test_no_two_operators_share_a_place_and_none_stands_above_what_it_reads(drawn: Graph) -> None:
    found = layout(drawn)
    assert len(set(found.places.values())) == len(drawn.nodes)
    for node in drawn.nodes:
        for name in node.operands:
            if name in found.places:
                assert found.places[name][1] < found.places[node.name][1]


def test_no_arrow_passes_through_an_operator(drawn: Graph) -> None:
    found = layout(drawn)
    assert found.routes, "an arrow of this graph passes a row"
    for (source, _), columns in found.routes.items():
        rows = range(found.places[source][1] + 1, found.places[source][1] + 1 + len(columns))
        assert not set(zip(columns, rows, strict=True)) & set(found.places.values())


def test_every_operator_and_tensor_is_named(drawn: Graph) -> None:
    svg = graph_svg(drawn)
    ET.fromstring(svg)  # it is well-formed
    for node in drawn.nodes:
        assert f'id="node-{node.name}"' in svg
    for words in ("x  16 x 16, 1.02 kB", "out-fusable", "5 kernels to launch", "output"):
        assert words in svg


def test_a_frame_holds_no_operator_of_another_kernel(drawn: Graph) -> None:
    """matmul and divide are one kernel, and sum stands beside them: a halo, not a frame."""
    shared = [nodes for nodes in drawn.kernels.values() if len(nodes) > 1]
    assert [[node.op for node in nodes] for nodes in shared] == [["matmul", "divide"]]
    assert 'fill="none" stroke="var(--mlc-tint' in graph_svg(drawn)
    chain = dataflow(lambda bb, x: op.nn.relu(bb.emit(op.exp(x), "e")), x=(16, 16))
    framed = graph_svg(graph(passes.run(chain, *passes.LOWERING, passes.FUSE_OPS)))
    assert 'fill="none" stroke="var(--mlc-tint' not in framed
    assert "one kernel" in framed


def test_bars_share_a_scale(drawn: Graph) -> None:
    assert graph_svg(drawn) != graph_svg(drawn, scale=10**6)
    assert 'width="1.0" height="22"' in graph_svg(drawn, scale=10**9)


def test_colours_are_the_page_s_own_and_text_is_large(drawn: Graph) -> None:
    svg = graph_svg(drawn)
    assert "var(--mlc-ink" in svg
    assert "var(--mlc-paper" in svg
    sizes = {int(each.get("font-size", "15")) for each in ET.fromstring(svg).iter() if each.text}
    assert min(sizes) >= 14


def test_a_graph_without_operators_can_be_drawn() -> None:
    empty = Graph((), (), (), ())
    assert "0 kernels to launch" in graph_svg(empty)


def test_the_same_graph_gives_the_same_text(drawn: Graph) -> None:
    assert graph_svg(drawn) == graph_svg(drawn)


def test_a_wide_graph_has_its_panel_below_so_that_letters_stay_large(drawn: Graph) -> None:
    wide = ET.fromstring(graph_svg(drawn)).get("viewBox", "").split()
    assert 12 * int(wide[2]) <= 14 * 1000

"""The picture of a kernel graph has all that the graph has, and nothing lies on anything else."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import hypothesis
import matplotlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.ft2font import FT2Font
from small_graphs import every_graph

from mlc_course.drawing import GAP, place, svg
from mlc_course.lessons.lesson_16_mu_graphs import NAMES as EXAMPLES
from mlc_course.lessons.lesson_16_mu_graphs import example
from mlc_course.mugraph.ir import (
    BlockGraph,
    Equation,
    KernelGraph,
    ThreadGraph,
    call,
    map_text,
    parse,
    thread_lines,
)
from mlc_course.mugraph.picture.kernel_graph import graph_svg
from mlc_course.mugraph.programs import published

SMALL_GRAPH = parse("""
rms(X[b=8, d=64], W[d, n=32]):
  block grid(x=4) loop(k=2):
    x = load(X, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    p = matmul(x, w)
    P = accumulate(p)
    s = square(x)
    r = sum(s, axis=1)
    R = accumulate(r)
    thread:
      m = scale(R, by=1/d)
      q = sqrt(m)
      y = div(P, q)
    Y = store(y, omap={x: 1})
  return Y
""")
MIXED = parse("""
mixed(X[b=8, d=64], W[d, n=32], U[n, d], I[4, 4]):
  p = matmul(X, W)
  q = relu(p)
  block grid(x=4):
    a = load(q, imap={x: 0})
    u = load(U)
    h = matmul(a, u)
    thread:
      h2 = square(h)
      y = add(h2, h)
    Y = store(y, omap={x: 0})
    Z = store(h, omap={x: 0})
  t = add(X, Y)
  r = mul(t, Z)
  return r, Y
""")
NOTHING = parse("""
nothing(X[b=8, d=64]):
  return X
""")
GRAPHS = [
    SMALL_GRAPH,
    MIXED,
    NOTHING,
    *(parse(example(name)) for name in EXAMPLES),
    *every_graph(),
]
all_graphs = pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: graph.name)

NS = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Box(NamedTuple):
    """A rectangle with the words in it."""

    name: str
    left: float
    top: float
    right: float
    bottom: float
    words: tuple[str, ...]


def boxes(drawn: str) -> list[Box]:
    """The boxes of operators and the cards of tensors."""
    return [
        box(group.find(f"{NS}rect"), group.get("id", "again"), words(group))
        for group in ET.fromstring(drawn).iter(f"{NS}g")
    ]


def box(rect: ET.Element | None, name: str = "", inside: tuple[str, ...] = ()) -> Box:
    assert rect is not None
    x, y, wide, high = (float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
    return Box(name, x, y, x + wide, y + high, inside)


def words(part: ET.Element) -> tuple[str, ...]:
    return tuple("".join(each.itertext()) for each in part.iter(f"{NS}text"))


def named(drawn: str, name: str) -> Box:
    (found,) = (each for each in boxes(drawn) if each.name == name)
    return found


def frames(drawn: str) -> list[Box]:
    """The boxes of block graphs and of loops."""
    return [box(rect) for rect in ET.fromstring(drawn).findall(f"{NS}rect")[1:]]


# --- everything is there --------------------------------------------------------------------------


def facts(graph: KernelGraph) -> Iterator[str]:
    """What has to stand in a box of its own, or in a line of one."""
    for name, shape in zip(graph.names[len(graph.inputs) :], results(graph), strict=True):
        yield f"{name} {list(shape)}"
    for each in graph.inputs:
        dims = (d if d == str(graph.size_of[d]) else f"{d}={graph.size_of[d]}" for d in each.dims)
        yield f"{each.name} [{', '.join(dims)}]"
    for place_, equation in enumerate(graph.equations):
        operands = [graph.names[n] for n in equation.operands]
        if isinstance(equation.op, BlockGraph):
            yield from inner_facts(graph, place_, equation.op, operands)
        else:
            yield from lines(equation, operands)


def results(graph: KernelGraph) -> tuple[tuple[int, ...], ...]:
    return graph.shapes[len(graph.inputs) :]


def lines(equation: Equation, operands: list[str]) -> Iterator[str]:
    if isinstance(equation.op, ThreadGraph):
        yield from thread_lines(equation.op, operands, equation.names[0])
    else:
        yield call(equation, operands)


def inner_facts(
    graph: KernelGraph, place_: int, block: BlockGraph, operands: list[str]
) -> Iterator[str]:
    tiles = graph.tiles(place_)
    yield "grid " + ", ".join(f"{axis}={extent}" for axis, extent in block.grid)
    if block.loops:
        yield "loop " + ", ".join(f"{loop}={extent}" for loop, extent in block.loops)
    yield from (f"{name} {list(s)}" for name, s in zip(block.names, tiles.shapes, strict=True))
    for load, tensor in zip(block.loads, operands, strict=True):
        yield f"load({tensor})"
        yield from (f"imap {map_text(cuts)}" for cuts in (load.imap,) if cuts)
        yield from (f"fmap {map_text(cuts)}" for cuts in (load.fmap,) if cuts)
    for equation in block.equations:
        yield from lines(equation, [block.names[n] for n in equation.operands])
    for store in block.stores:
        yield f"store({block.names[store.value]})"
        yield from (f"omap {map_text(cuts)}" for cuts in (store.omap,) if cuts)


@all_graphs
def test_every_name_shape_operator_and_map_stands_in_the_picture(graph: KernelGraph) -> None:
    said = [text.removesuffix(" output") for text in words(ET.fromstring(graph_svg(graph)))]
    said = [text.removesuffix(" again, output").removesuffix(" again") for text in said]
    missing = [fact for fact in facts(graph) if fact not in said]
    assert not missing


def test_a_fact_of_another_graph_is_missed() -> None:
    said = words(ET.fromstring(graph_svg(SMALL_GRAPH)))
    assert "load(X)" in said
    assert "p [8, 32]" not in said  # of MIXED
    assert "imap {x: 0}" not in said


@all_graphs
def test_outputs_are_marked_and_nothing_else(graph: KernelGraph) -> None:
    said = words(ET.fromstring(graph_svg(graph)))
    marked = {text.split()[0] for text in said if text.endswith("output")}
    assert marked == {graph.names[number] for number in graph.outputs}


# --- nothing lies on anything else ----------------------------------------------------------------


@all_graphs
def test_no_two_boxes_overlap(graph: KernelGraph) -> None:
    for one, other in combinations(boxes(graph_svg(graph)), 2):
        wide = min(one.right, other.right) - max(one.left, other.left)
        high = min(one.bottom, other.bottom) - max(one.top, other.top)
        assert wide <= 0 or high <= 4.2, (one, other)  # a card begins a little inside its box


@all_graphs
def test_words_fit_their_boxes(graph: KernelGraph) -> None:
    for each in boxes(graph_svg(graph)):
        for line in each.words:
            assert svg.width(line, svg.SMALL) <= each.right - each.left - 6, each


@all_graphs
def test_words_beside_the_loop_touch_neither_it_nor_its_way_back(graph: KernelGraph) -> None:
    root = ET.fromstring(graph_svg(graph))
    loops = [r for r in root.findall(f"{NS}rect") if r.get("fill") == svg.AMBER]
    for text in root.findall(f"{NS}text"):
        left, y = float(text.get("x", "")), float(text.get("y", ""))
        right = left + svg.width(text.text or "", svg.SMALL, bold="font-weight" in text.attrib)
        for loop in map(box, loops):
            if loop.top <= y <= loop.bottom:
                assert right <= loop.left - 17, text.text


@all_graphs
def test_all_is_inside_the_page_and_every_letter_can_be_read(graph: KernelGraph) -> None:
    drawn = graph_svg(graph)
    root = ET.fromstring(drawn)
    _, _, wide, high = map(float, root.get("viewBox", "").split())
    assert "nan" not in drawn.lower()
    assert 0 < wide <= 1000 * svg.SMALL / 11.9  # letters of 12 pixels on a page of 1000
    for each in (*boxes(drawn), *frames(drawn)):
        assert each.left >= 0 and each.top >= 0
        assert each.right <= wide and each.bottom <= high
    assert {int(float(text.get("font-size", "0"))) for text in root.iter(f"{NS}text")} == {14}


@all_graphs
def test_arrows_go_down_and_around_boxes(graph: KernelGraph) -> None:
    drawn = graph_svg(graph)
    inner = boxes(drawn)
    for path in ET.fromstring(drawn).findall(f"{NS}path"):
        if path.get("stroke") != svg.PAGE_INK:
            continue
        points = list(sampled(path.get("d", "")))
        assert all(a[1] <= b[1] + 0.2 for a, b in zip(points, points[1:], strict=False))
        for x, y in points:
            for each in inner:
                within = each.left + 3 < x < each.right - 3 and each.top + 3 < y < each.bottom - 3
                assert not within, (each.name, path.get("d"))


def sampled(path: str) -> Iterator[tuple[float, float]]:
    """Points on a path of M, C and V."""
    x = y = 0.0
    for letter, given_ in re.findall(r"([MCV])([^MCV]*)", path):
        n = [float(each) for each in NUMBER.findall(given_)]
        if letter == "M":
            x, y = n
        elif letter == "V":
            yield from ((x, y + (n[0] - y) * t / 8) for t in range(9))
            y = n[0]
        else:
            ends = [(x, y), *zip(n[::2], n[1::2], strict=True)]
            for t in (step / 12 for step in range(13)):
                weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
                px, py = (sum(w * e[i] for w, e in zip(weights, ends, strict=True)) for i in (0, 1))
                yield px, py
            x, y = ends[-1]


# --- what the places say --------------------------------------------------------------------------


def test_the_picture_of_a_small_graph() -> None:
    """Its rows from top to bottom; the boxes of one row from left to right."""
    rows: dict[int, list[Box]] = {}
    for each in boxes(graph_svg(SMALL_GRAPH)):
        rows.setdefault(round(each.bottom), []).append(each)
    assert [
        [" / ".join(each.words) for each in sorted(row, key=lambda each: each.left)]
        for _, row in sorted(rows.items())
    ] == GOLDEN


GOLDEN = [
    ["X [b=8, d=64]", "W [d=64, n=32]"],
    ["load(X) / fmap {k: 1} / same for all x", "load(W) / imap {x: 1} / fmap {k: 0}"],
    ["x [8, 32]", "w [32, 8]"],
    ["square(x)", "matmul(x, w)"],
    ["s [8, 32]", "p [8, 8]"],
    ["sum(s, axis=1)"],
    ["r [8, 1]"],
    ["accumulate(r)", "accumulate(p)"],
    ["R [8, 1]", "P [8, 8]"],
    ["thread graph, in registers / m = scale(R, by=1/d) / q = sqrt(m) / y = div(P, q)"],
    ["y [8, 8]"],
    ["store(y) / omap {x: 1}"],
    ["Y [8, 32] output"],
]


def test_accumulators_stand_on_the_end_of_the_loop_and_stores_on_the_edge_of_the_block() -> None:
    drawn = graph_svg(SMALL_GRAPH)
    *_, block, loop = frames(drawn)  # sheets of other blocks lie behind
    for name in ("R", "P"):
        assert loop.top < named(drawn, f"op-{name}").top
        assert named(drawn, f"tensor-{name}").top == pytest.approx(loop.bottom, abs=0.2)
    assert named(drawn, "op-p").bottom < loop.bottom < named(drawn, "op-y").top
    assert named(drawn, "tensor-Y").top == pytest.approx(block.bottom, abs=0.2)
    assert named(drawn, "tensor-X").bottom < block.top < named(drawn, "op-x").top


def test_one_block_has_no_sheets_behind_it_and_no_loop_has_no_frame() -> None:
    text = str(SMALL_GRAPH).replace("grid(x=4)", "grid(x=1)")
    assert len(frames(graph_svg(SMALL_GRAPH))) == 4
    assert len(frames(graph_svg(parse(text)))) == 2
    assert len(frames(graph_svg(MIXED))) == 3


def test_a_tensor_that_is_read_far_below_is_drawn_again() -> None:
    drawn = graph_svg(MIXED)
    assert [each.words for each in boxes(drawn) if each.name == "again"] == [
        ("X [b=8, d=64] again",)
    ]
    assert named(drawn, "tensor-I").words == ("I [4, 4]",)  # nobody reads it


def test_letters_are_no_wider_than_they_are_taken_for() -> None:
    fonts = matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans"
    for file, bold in ((f"{fonts}.ttf", False), (f"{fonts}-Bold.ttf", True)):
        font = FT2Font(file)
        font.set_size(100, 72)
        for line in ("matmul(xg, w)", "imap {x: 1, y: 0}", "W [d=4096, n=6144]", "block graph"):
            true = sum(font.load_char(ord(c)).linearHoriAdvance / 65536 for c in line)
            assert true <= svg.width(line, 100, bold=bold) <= 1.25 * true


# --- the layout -----------------------------------------------------------------------------------


@st.composite
def dags(draw: st.DrawFn) -> tuple[list[float], list[int], list[tuple[int, int]]]:
    """Widths, rows and edges that go down."""
    rows = draw(st.lists(st.integers(0, 5), min_size=1, max_size=14))
    widths = [draw(st.floats(10, 300)) for _ in rows]
    downward = [(a, b) for a in range(len(rows)) for b in range(len(rows)) if rows[a] < rows[b]]
    edges = draw(st.lists(st.sampled_from(downward), unique=True, max_size=20)) if downward else []
    return widths, rows, edges


@settings(max_examples=60, deadline=None)
@given(dags())
@hypothesis.example(  # igraph gives two boxes of a row one place
    (
        [10.0] * 14,
        [2, 3, 5, 4, 3, 1, 4, 0, 2, 2, 3, 5, 2, 4],
        [(6, 11), (12, 11), (0, 1), (13, 11), (12, 4)],
    )
)
def test_boxes_of_a_row_stand_apart_and_arrows_pass_beside_them(
    dag: tuple[list[float], list[int], list[tuple[int, int]]],
) -> None:
    widths, rows, edges = dag
    found = place(widths, rows, edges)
    standing = [(row, x, wide) for row, x, wide in zip(rows, found.x, widths, strict=True)]
    for (source, target), route in zip(edges, found.routes, strict=True):
        assert len(route) == rows[target] - rows[source] - 1
        standing += ((rows[source] + 1 + n, x, 0.0) for n, x in enumerate(route))
    for (row, x, wide), (other_row, other_x, other_wide) in combinations(standing, 2):
        if row == other_row:
            assert abs(x - other_x) >= (wide + other_wide) / 2 + GAP - 1e-6
    for x, wide in zip(found.x, widths, strict=True):
        assert x - wide / 2 >= -1e-6 and x + wide / 2 <= found.width + 1e-6


def test_the_first_row_keeps_its_order_where_that_costs_nothing() -> None:
    found = place([50, 50, 50], [0, 0, 1], [(0, 2), (1, 2)])
    assert found.x[0] < found.x[2] < found.x[1]


def test_the_picture_in_the_readme_is_the_one_that_is_drawn() -> None:
    drawn = graph_svg(published("rms_norm_matmul_fused"))
    kept = Path(__file__).parents[3] / "docs" / "rms_norm_matmul_fused.svg"
    assert kept.read_text(encoding="utf-8") == drawn + "\n"

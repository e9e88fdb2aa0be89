"""One block at work: what is filled is what the maps say, to scale, inside its sheet."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
from small_graphs import every_graph

from mlc_course.drawing import svg
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs import GridMap
from mlc_course.mugraph.cost import tiles
from mlc_course.mugraph.ir import KernelGraph, indices, parse
from mlc_course.mugraph.picture.block_tiles import (
    FINEST,
    GAP,
    MARGIN,
    NOW,
    PART,
    WIDTH,
    Stage,
    tiles_svg,
)

NS = "{http://www.w3.org/2000/svg}"
HUGE = parse("""
huge(X[b=16, d=4096], W[d, n=65536]):
  block grid(x=4096) loop(k=1024):
    x = load(X, fmap={k: 1})
    w = load(W, imap={x: 1}, fmap={k: 0})
    p = matmul(x, w)
    P = accumulate(p)
    Y = store(P, omap={x: 1})
  return Y
""")
SMALL = parse("""
product(A[m=64, d=48], B[d, n=96]):
  block grid(x=3, y=2) loop(k=4):
    a = load(A, imap={y: 0}, fmap={k: 1})
    b = load(B, imap={x: 1}, fmap={k: 0})
    p = matmul(a, b)
    c = accumulate(p)
    C = store(c, omap={x: 1, y: 0})
  return C
""")
HEADS = parse("""
heads(Q[h=32, m=16, d=8]):
  block grid(x=32, y=2):
    q = load(Q, imap={x: 0, y: 1})
    s = square(q)
    S = store(s, omap={x: 0, y: 1})
  return S
""")
ALL_HEADS = parse("""
all_heads(Q[h=3, m=16, d=8]):
  block grid(x=2):
    q = load(Q, imap={x: 1})
    s = square(q)
    S = store(s, omap={x: 1})
  return S
""")
BLOCKS = [
    (graph, place) for graph in (HUGE, SMALL, HEADS, *every_graph()) for place, _ in graph.blocks
]
all_blocks = pytest.mark.parametrize(
    ("graph", "place"), BLOCKS, ids=[f"{graph.name}-{place}" for graph, place in BLOCKS]
)


def rects(drawn: str, opacity: float) -> list[tuple[float, ...]]:
    """The filled boxes of one strength in the lit part: x, y, width, height."""
    lit = next(g for g in ET.fromstring(drawn).iter(f"{NS}g") if g.get("id") == "lit")
    return [
        tuple(float(rect.get(key, "nan")) for key in ("x", "y", "width", "height"))
        for rect in lit.iter(f"{NS}rect")
        if rect.get("fill-opacity") == str(opacity)
    ]


def test_the_tile_of_a_block_and_an_iteration_stands_where_the_maps_say() -> None:
    drawn = tiles_svg(SMALL, 0, (1, 0), (2,))
    stage = Stage(SMALL, 0)
    a, b, c = stage.panels
    assert rects(drawn, NOW) == [
        pytest.approx((a.x + a.wide / 2, a.y, a.wide / 4, a.high / 2), abs=0.1),
        pytest.approx((b.x + b.wide / 3, b.y + b.high / 2, b.wide / 3, b.high / 4), abs=0.1),
    ]
    assert rects(drawn, PART) == [
        pytest.approx((a.x, a.y, a.wide, a.high / 2), abs=0.1),
        pytest.approx((b.x + b.wide / 3, b.y, b.wide / 3, b.high), abs=0.1),
        pytest.approx((c.x + c.wide / 3, c.y, c.wide / 3, c.high / 2), abs=0.1),
    ]


def test_what_is_stored_lights_up_after_the_loop_alone() -> None:
    c = Stage(SMALL, 0).panels[-1]
    assert rects(tiles_svg(SMALL, 0, (1, 0)), NOW) == [
        pytest.approx((c.x + c.wide / 3, c.y, c.wide / 3, c.high / 2), abs=0.1)
    ]
    assert len(rects(tiles_svg(HEADS, 0, (0, 0)), NOW)) == 2  # no loop: it loads and stores


def test_the_words_say_the_same() -> None:
    said = [
        "".join(text.itertext())
        for text in ET.fromstring(tiles_svg(SMALL, 0, (1, 0), (2,))).iter(f"{NS}text")
    ]
    for words in (
        "block x=1, y=0, iteration k=2",
        "A [m=64, d=48]",
        "[0:32, 24:36]",
        "B [d=48, n=96]",
        "[24:36, 32:64]",
        "C [64, 96]",
        "[0:32, 32:64]",
        "imap {y: 0}: m in 2 parts",
        "fmap {k: 1}: d in 4 parts",
        "same for all x",
        "omap {x: 1}: 3 parts",
    ):
        assert words in said


def test_the_same_extent_is_as_long_in_every_tensor() -> None:
    a, b, c = Stage(SMALL, 0).panels
    assert (a.wide, a.high, b.wide) == (b.high, c.high, c.wide)
    assert b.wide > a.high > a.wide  # 96, 64, 48


@all_blocks
def test_filled_boxes_lie_on_their_sheets_and_can_be_seen(graph: KernelGraph, place: int) -> None:
    block, stage = dict(graph.blocks)[place], Stage(graph, place)
    last = tuple(extent - 1 for _, extent in block.grid)
    middle = tuple(extent // 2 for _, extent in block.loops)
    for index, iteration in ((tuple(0 for _ in last), middle), (last, middle), (last, ())):
        drawn = tiles_svg(graph, place, index, iteration)
        assert "nan" not in drawn.lower()
        for x, y, wide, high in (*rects(drawn, NOW), *rects(drawn, PART)):
            assert wide >= 5.9 and high >= 5.9
            assert any(
                p.x - 0.1 <= x
                and x + wide <= p.x + p.stack + p.wide + 0.1
                and p.y - p.stack - 0.1 <= y
                and y + high <= p.y + p.high + 0.1
                for p in stage.panels
            )
        lit = [tile for tile in tiles(graph, place, index, iteration) if tile.now is not None]
        assert len(rects(drawn, NOW)) >= len(lit)


@all_blocks
def test_panels_stand_apart_on_the_page(graph: KernelGraph, place: int) -> None:
    stage = Stage(graph, place)
    for number, one in enumerate(stage.panels):
        assert one.x >= MARGIN
        assert one.x + one.width <= WIDTH
        assert one.top + one.height <= stage.height
        for other in stage.panels[number + 1 :]:
            beside = one.x + one.width + GAP <= other.x + 0.1
            assert beside or one.top + one.height <= other.top


def test_a_huge_grid_has_a_sensible_number_of_lines() -> None:
    drawn = tiles_svg(HUGE, 0, (4095,), (1023,))
    lines = sum(path.get("d", "").count("M") for path in ET.fromstring(drawn).iter(f"{NS}path"))
    assert lines < 6 * WIDTH / FINEST
    assert len(drawn) < 30_000


def test_blocks_that_differ_are_drawn_at_different_places() -> None:
    places = {rects(tiles_svg(HUGE, 0, (x,), (0,)), NOW)[1] for x in range(0, 4096, 256)}
    assert len(places) == 16


def test_the_sheets_of_a_stack_that_a_tile_lies_on_are_filled() -> None:
    assert len(rects(tiles_svg(HEADS, 0, (5, 0)), NOW)) == 2  # one sheet of each tensor
    assert len(rects(tiles_svg(ALL_HEADS, 0, (1,)), NOW)) == 6  # all three of each
    near, far = (rects(tiles_svg(HEADS, 0, (x, 0)), NOW)[0] for x in (0, 31))
    assert far[0] > near[0] and far[1] < near[1]


def test_a_block_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no such block"):
        tiles_svg(SMALL, 0, (3, 0), (0,))
    with pytest.raises(UsageError, match="no block graph at 4"):
        tiles_svg(SMALL, 4, (0, 0), (0,))


# --- the map of the grid --------------------------------------------------------------------------

GRIDS = [
    (("x", 1),),
    (("x", 16),),
    (("x", 256),),
    (("x", 100_000),),
    (("x", 4), ("y", 4)),
    (("x", 500), ("y", 300)),
    (("x", 2), ("y", 8), ("z", 16)),
    (("x", 64), ("y", 64), ("z", 64)),
    (("x", 1), ("y", 7)),
]


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_every_block_has_a_cell_on_the_page(grid: tuple[tuple[str, int], ...]) -> None:
    found = GridMap(grid)
    drawn = {rect.get("id") for rect in ET.fromstring(found.svg).iter(f"{NS}rect")}
    firsts = {tuple(map(int, name.split("-")[1:])) for name in drawn if name and "block-" in name}
    assert len(firsts) == math.prod(found.shape) or found.bins != (1, 1, 1) or len(grid) == 1
    assert len(firsts) <= 64 * 20
    cells = {found.cell(block) for block in firsts}
    assert len(cells) == len(firsts)
    for x, y, side in cells:
        assert x >= 0 and x + side <= WIDTH and y + side <= found.height
        assert side >= 8
    blocks = indices(tuple((name, min(extent, 70)) for name, extent in grid))
    assert {found.cell(block) for block in blocks} <= cells
    last = tuple(extent - 1 for _, extent in grid)
    assert found.cell(last) in cells


def test_keys_walk_along_the_axes_that_are_there() -> None:
    assert GridMap((("x", 4), ("y", 4))).moves["ArrowDown"] == (1, 1)
    assert GridMap((("x", 256),)).moves["ArrowDown"] == (0, 64)
    assert "PageDown" not in GridMap((("x", 4), ("y", 4))).moves
    assert GridMap((("x", 4), ("y", 4), ("z", 2))).moves["PageDown"] == (2, 1)


def test_a_map_says_how_many_blocks_share_a_cell() -> None:
    assert "blocks in a cell" not in GridMap((("x", 256),)).said
    count = re.search(r"(\d+) blocks in a cell", GridMap((("x", 100_000),)).svg)
    assert count and int(count[1]) >= 100_000 / (64 * 20)
    assert svg.SMALL >= 12

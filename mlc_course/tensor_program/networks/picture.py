"""The picture of a graph: operators from top to bottom, tensors as arrows, kernels as boxes.

Beside it are the number of kernels to launch and the bytes that kernels write for others.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

from mlc_course.drawing import INK, OURS, PAPER, THEME, TINT
from mlc_course.tensor_program.networks.graphs import Graph, Node, Value
from mlc_course.units import plural, size_text

Place = tuple[int, int]  # column, row
Edge = tuple[str, str]  # an operator, one that reads it


@dataclass
class Layout:
    """Column and row of every operator.

    ``routes`` are the columns of an arrow that passes rows without stopping there, row by row.
    """

    places: dict[str, Place] = field(default_factory=dict)
    routes: dict[Edge, tuple[int, ...]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return 1 + max((row for _, row in self.places.values()), default=-1)

    @property
    def columns(self) -> int:
        passed = (column for route in self.routes.values() for column in route)
        return 1 + max((*(column for column, _ in self.places.values()), *passed), default=-1)

    def _above(self, name: str, reader: str) -> int:
        """The column of the arrow between the two in the row before."""
        return (self.places[name][0], *self.routes.get((name, reader), ()))[-1]


def layout(graph: Graph) -> Layout:
    """Place each operator one row below the lowest of what it reads.

    Within a row, operators and passing arrows are placed below what leads to them, or to the right
    of that (a short form of the layers and dummies of K. Sugiyama et al., 1981).
    """
    rows: dict[str, int] = {}
    for node in graph.nodes:
        above = [rows[name] for name in node.operands if name in rows]
        rows[node.name] = 1 + max(above, default=-1)
    made = Layout()
    for row in range(1 + max(rows.values(), default=-1)):
        taken: set[int] = set()
        for wish, name, passing in sorted(
            _wishes(graph, rows, row, made), key=lambda each: each[0]
        ):
            column = next(c for c in range(wish, wish + len(taken) + 1) if c not in taken)
            taken.add(column)
            if passing:
                made.routes[passing] = (*made.routes.get(passing, ()), column)
            else:
                made.places[name] = column, row
    return made


def _wishes(
    graph: Graph, rows: dict[str, int], row: int, made: Layout
) -> Iterator[tuple[int, str, Edge | None]]:
    """(preferred column, operator, arrow if it only passes) for all in a row, operators first."""
    passing = []
    for node in graph.nodes:
        above = [name for name in dict.fromkeys(node.operands) if rows.get(name, row) < row]
        if rows[node.name] == row:
            yield min((made._above(name, node.name) for name in above), default=0), node.name, None
        elif rows[node.name] > row:
            passing += [(made._above(name, node.name), name, (name, node.name)) for name in above]
    yield from passing


LEFT, COLUMN, ROW = 280, 380, 88  # the first column's middle, from one to the next, row to row
ARROWS_W = 240  # a column of arrows that only pass is narrower
BOX_W, BOX_H, TOP, PAD = 170, 42, 22, 8
LEDGER_W, LEDGER_H, BAR_W = 340, 110, 230
WIDEST = 1160  # where the letters are still 12 pixels high on a page of 1000
SMALL, NORMAL = 14, 15
LONGEST = 22  # letters of an operator's name in its box

Point = tuple[float, float]


def graph_svg(graph: Graph, *, scale: int | None = None) -> str:
    """A graph as SVG text; ``scale`` is the bytes of a full bar, by default the graph's own.

    The box of the operator that makes ``h`` has the id ``node-h``.
    """
    at = _Drawing(layout(graph))
    drawn_w = at.x[-1] + 260
    drawn_h = TOP + ROW * at.layout.rows
    beside = drawn_w + LEDGER_W <= WIDEST
    width = drawn_w + LEDGER_W if beside else drawn_w
    height = max(drawn_h, 250) if beside else drawn_h + LEDGER_H
    parts = [
        *_kernels(graph, at),
        *_arrows(graph, at),
        *(part for node in graph.nodes for part in _node(graph, node, at)),
        *_ledger(graph, scale, corner=(drawn_w, 0) if beside else (30, drawn_h), beside=beside),
    ]
    ink = _variable(INK)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(_said(graph))}" font-family="sans-serif" font-size="{NORMAL}" '
        f'fill="{ink}" color="{ink}" stroke="none">'
        f'<rect width="{width}" height="{height}" fill="{_variable(PAPER)}"/>'
        f"{''.join(parts)}</svg>"
    )


def _said(graph: Graph) -> str:
    """The picture in words."""
    return (
        f"{len(graph.nodes)} operators in {len(graph.kernels)} kernels; "
        f"{size_text(graph.bytes_between)} written by one kernel for another"
    )


@dataclass(frozen=True)
class _Drawing:
    """A layout in pixels."""

    layout: Layout

    @functools.cached_property
    def x(self) -> tuple[int, ...]:
        """The middle of each column."""
        filled = {column for column, _ in self.layout.places.values()}
        x = [LEFT]
        for column in range(1, self.layout.columns):
            x.append(x[-1] + (COLUMN if column in filled else ARROWS_W))
        return tuple(x)

    def middle(self, name: str) -> tuple[int, int]:
        """The middle of the upper edge of an operator's box."""
        column, row = self.layout.places[name]
        return self.x[column], TOP + ROW * row

    def way(self, source: str, reader: str) -> Iterator[Point]:
        """The corners of an arrow: to the right at once, to the left as late as possible."""
        x, y = self.middle(source)
        last = self.middle(reader)
        passed = enumerate(self.layout.routes.get((source, reader), ()), start=1)
        stops = [*((self.x[column], y + ROW * row) for row, column in passed), last]
        aside = stops[0][0] > x
        yield (x + BOX_W // 2, y + BOX_H // 2) if aside else (x, y + BOX_H)
        y += BOX_H // 2 if aside else BOX_H
        for to_x, to_y in stops:
            middle = to_y + BOX_H // 2
            if to_x < x:
                yield x, middle
                yield (to_x + BOX_W // 2 if (to_x, to_y) == last else to_x), middle
            else:
                yield to_x, y
                yield to_x, to_y if (to_x, to_y) == last else middle
            x, y = to_x, middle


# --- the parts ----------------------------------------------------------------------------------


def _node(graph: Graph, node: Node, at: _Drawing) -> Iterator[str]:
    x, y = at.middle(node.name)
    left = x - BOX_W // 2
    yield (
        f'<g id="node-{escape(node.name)}"><rect x="{left}" y="{y}" width="{BOX_W}" '
        f'height="{BOX_H}" rx="5" fill="{_variable(PAPER)}" stroke="currentColor" '
        f'stroke-width="1.6"/>'
    )
    name, below = _names(node)
    yield _text(x, y + (18 if below else 27), name, middle=True, bold=True)
    yield _text(x, y + 36, below, middle=True, size=SMALL)
    yield "</g>"
    made, values = {each.name for each in graph.nodes}, graph.values
    outside = [values[name] for name in dict.fromkeys(node.operands) if name not in made]
    for place, value in enumerate(outside):
        middle = y + BOX_H / 2 + 17 * (place - (len(outside) - 1) / 2)
        yield _text(left - 16, middle + 5, _label(value), end=True, size=SMALL)
        yield _line((left - 12, middle), (left - 1, middle))
    if node.name in graph.outputs:
        yield _arrow((x, y + BOX_H), (x, y + ROW - 8))
        yield _text(x + 12, y + ROW - 12, f"{_label(node.result)}, output", size=SMALL)


def _names(node: Node) -> tuple[str, str]:
    """The two lines in a box: an operator and its kind, or what a fused kernel is made of."""
    words = [word for word in node.op.split("_") if word not in ("relax", "nn", "tir")]
    if words[0] == "fused":
        return "fused", _shortened(" + ".join(words[1:]))
    return _shortened(" ".join(words).removeprefix("nn.")), node.kind


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2]} …"


def _arrows(graph: Graph, at: _Drawing) -> Iterator[str]:
    for node in graph.nodes:
        readers = graph.readers(node.name)
        for reader in readers:
            yield _arrow(*at.way(node.name, reader.name))
        if readers and node.name not in graph.outputs:
            x, y = at.middle(node.name)
            yield _text(x + 15, y + (BOX_H + ROW) / 2 + 5, _label(node.result), size=SMALL)


def _kernels(graph: Graph, at: _Drawing) -> Iterator[str]:
    """A frame around the operators of each kernel that has several."""
    for nodes in graph.kernels.values():
        if len(nodes) < 2:
            continue
        columns, rows = zip(*(at.layout.places[node.name] for node in nodes), strict=True)
        strangers = (
            node
            for node in graph.nodes
            if node.kernel != nodes[0].kernel
            and min(columns) <= at.layout.places[node.name][0] <= max(columns)
            and min(rows) <= at.layout.places[node.name][1] <= max(rows)
        )
        if any(strangers):
            yield from _halo(graph, nodes, at)
        else:
            yield from _frame(nodes, at)


def _frame(nodes: Sequence[Node], at: _Drawing) -> Iterator[str]:
    places = [at.middle(node.name) for node in nodes]
    left = min(x for x, _ in places) - BOX_W // 2 - PAD
    right = max(x for x, _ in places) + BOX_W // 2 + 115
    top, bottom = min(y for _, y in places) - PAD, max(y for _, y in places) + BOX_H + PAD
    yield (
        f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" rx="10" '
        f'fill="{_variable(TINT)}" stroke="{_variable(OURS)}" stroke-width="2.5"/>'
    )
    yield _text(right - 10, top + 20, "one kernel", end=True, size=SMALL, bold=True)


def _halo(graph: Graph, nodes: Sequence[Node], at: _Drawing) -> Iterator[str]:
    """A frame close around boxes and arrows, for an operator of another kernel is between them."""
    names = {node.name for node in nodes}
    ways = [
        tuple(at.way(name, node.name))
        for node in nodes
        for name in dict.fromkeys(node.operands)
        if name in names
    ]
    for colour, wider in ((OURS, 2.5), (TINT, 0.0)):
        paint = f'fill="none" stroke="{_variable(colour)}" stroke-width="{20 + 2 * wider}"'
        for way in ways:
            yield f'<path d="M{_corners(way)}" {paint}/>'
        for x, y in (at.middle(name) for name in sorted(names)):
            pad = PAD + wider
            yield (
                f'<rect x="{x - BOX_W / 2 - pad}" y="{y - pad}" width="{BOX_W + 2 * pad}" '
                f'height="{BOX_H + 2 * pad}" rx="10" fill="{_variable(colour)}"/>'
            )
    x, y = at.middle(nodes[-1].name)
    yield _text(x - BOX_W / 2 - 16, y + BOX_H + 18, "one kernel", end=True, size=SMALL, bold=True)


def _ledger(
    graph: Graph, scale: int | None, *, corner: tuple[int, int], beside: bool
) -> Iterator[str]:
    """The panel with the counts: a column beside the graph, or a row below it."""
    between, inside, constant = graph.bytes_between, graph.bytes_inside, graph.bytes_constant
    full, count, (x, top) = scale or max(between, inside, 1), len(graph.kernels), corner
    launches = f"{plural(count, 'kernel')} to launch"
    places = [(x, top + 74), (x, top + 140), (x, top + 206)]
    if not beside:
        places = [(x + 260, top + 36), (x + 580, top + 36), (x, top + 74)]
    yield _text(x, top + 36, launches, bold=True, size=18)
    rows = (
        ("written by one kernel for another", between, "solid"),
        ("written and read inside a kernel", inside, "hatched"),
    )
    for (what, size, fill), (at, y) in zip(rows, places[:2], strict=True):
        width = BAR_W * min(size / full, 1)
        yield _text(at, y, f"{what}:", size=SMALL)
        yield _bar(at, y + 8, width, fill)
        yield _text(at + width + 8, y + 24, size_text(size), bold=True)
    yield _text(*places[2], f"constants in the program: {size_text(constant)}", size=SMALL)


def _bar(x: float, y: float, width: float, fill: str) -> str:
    ours = _variable(OURS)
    solid = f'fill="{ours}"' if fill == "solid" else 'fill="none"'
    bar = (
        f'<rect x="{x}" y="{y}" width="{max(width, 1):.1f}" height="22" {solid} '
        f'stroke="{ours}" stroke-width="2"/>'
    )
    if fill == "solid":
        return bar
    strokes = (
        f'<path d="M{x + at:.0f},{y + 22} l{min(11, width - at):.0f},-22" stroke="{ours}" '
        f'stroke-width="2"/>'
        for at in range(0, int(width) - 10, 11)
    )
    return bar + "".join(strokes)


def _label(value: Value) -> str:
    return f"{value}, {size_text(value.bytes)}" if value.shape else value.name


def _text(
    x: float,
    y: float,
    text: str,
    *,
    middle: bool = False,
    end: bool = False,
    bold: bool = False,
    size: int = NORMAL,
) -> str:
    anchor = "middle" if middle else "end" if end else "start"
    weight = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}"{weight}>'
        f"{escape(text)}</text>"
    )


def _corners(points: Iterable[Point]) -> str:
    return " L".join(f"{x:.0f},{y:.0f}" for x, y in points)


def _variable(colour: str) -> str:
    """A colour that the page may set itself, for a dark theme."""
    return f"var({THEME[colour]}, {colour})"


def _line(*points: Point) -> str:
    return f'<path d="M{_corners(points)}" stroke="currentColor" stroke-width="1.8" fill="none"/>'


def _arrow(*points: Point) -> str:
    """A line with a head, which points where its last part leads: down or to the left."""
    (from_x, _), (x, y) = points[-2:]
    head = "l9,-5 l0,10 z" if from_x > x else "l-5,-9 l10,0 z"
    return _line(*points) + f'<path d="M{x:.0f},{y:.0f} {head}" fill="currentColor"/>'

"""The boxes of a picture: an operator in words of the text form, and a card with its result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from mlc_course.drawing import AMBER, GREEN, PAGE_INK, PAGE_OURS, PAGE_PAPER, PAGE_TINT, SMALL, svg
from mlc_course.mugraph.ir import (
    AxisMap,
    BlockGraph,
    Equation,
    KernelGraph,
    Load,
    ThreadGraph,
    call,
    map_text,
    thread_lines,
)
from mlc_course.words import marked, tr

Kind = Literal["tensor", "operator", "load", "shared", "accumulator", "thread", "store", "passing"]
LINE, PAD, CARD = 18, 12, 28  # pixels: a line of letters, room beside letters, a card's height
INSET = 4  # by so much is a box narrower than its card, on each side
THREAD = marked("thread graph, in registers")
# Of a box: the colour of its line, the line's width, what kind of line it is.
BOXES = {
    "load": (PAGE_OURS, 1.4, ""),
    "store": (PAGE_OURS, 1.4, ""),
    "accumulator": (AMBER, 3.0, ""),
    "thread": (GREEN, 2.2, 'stroke-dasharray="2 3"'),
}


@dataclass(frozen=True)
class Node:
    """``lines`` say what an operator does; none for a tensor that comes in.

    ``card`` is the name and the shape of what it makes, ``note`` what else there is to say of that.
    ``outside`` tells tensors of device memory from those inside a block. A "passing" node is the
    place where an arrow from above enters. ``again`` marks a tensor that has been drawn before.
    """

    kind: Kind
    lines: tuple[str, ...] = ()
    card: tuple[str, str] = ("", "")
    note: str = ""
    outside: bool = True
    title: str = ""  # in words, for who asks
    again: bool = False

    @property
    def width(self) -> float:
        """The extent of box and card, in pixels."""
        if self.kind == "passing":
            return 10
        letters = [svg.width(line, SMALL, bold=line == THREAD) for line in self.lines]
        name, shape = self.card
        beside = f" {shape} {self.note}" if self.note else f" {shape}"
        card = svg.width(name, SMALL, bold=True) + svg.width(beside, SMALL)
        return max(46, *letters, card) + 2 * PAD

    @property
    def box_height(self) -> float:
        """The height of the box without its card."""
        return LINE * len(self.lines) + 10 if self.lines else 0

    @property
    def height(self) -> float:
        """The extent of box and card, in pixels."""
        return 0 if self.kind == "passing" else self.box_height + CARD

    def drawn(self, x: float, bottom: float) -> str:
        """The node with its middle at ``x``, standing at ``bottom``."""
        name = escape(self.card[0])
        box = self._box(x, bottom - self.height) if self.lines else ""
        title = f"<title>{escape(self.title)}</title>" if self.title else ""
        own = "" if self.again else f' id="tensor-{name}"'
        operator = f'<g id="op-{name}">{title}{box}</g>' if box else ""
        return f"{operator}<g{own}>{self._card(x, bottom - CARD)}</g>"

    def _box(self, x: float, top: float) -> str:
        wide, high = self.width - 2 * INSET, self.box_height
        left = x - wide / 2
        stroke, line, more = BOXES.get(self.kind, (PAGE_INK, 1.4, ""))
        box = svg.rect(left, top, wide, high + 4, stroke=stroke, line=line, round_by=9, more=more)
        rows = enumerate(self.lines)
        text = "".join(self._line(x, top + 19 + LINE * row, line) for row, line in rows)
        turn = _turn(left + wide - 3, top + 3) if self.kind == "accumulator" else ""
        return box + text + turn

    def _line(self, x: float, y: float, line: str) -> str:
        if self.kind == "thread":
            left = x - self.width / 2 + PAD
            return svg.text(left, y, line, size=SMALL, bold=line == THREAD, anchor="start")
        return svg.text(x, y, line, size=SMALL)

    def _card(self, x: float, top: float) -> str:
        fill, stroke, line = (
            (PAGE_PAPER, PAGE_INK, 2.0) if self.outside else (PAGE_TINT, PAGE_OURS, 1.4)
        )
        more = 'stroke-dasharray="4 3"' if self.again else ""
        name, shape = self.card
        note = f' <tspan font-style="italic">{self.note}</tspan>' if self.note else ""
        card = svg.rect(
            x - self.width / 2,
            top,
            self.width,
            CARD,
            fill=fill,
            stroke=stroke,
            line=line,
            round_by=0,
            more=more,
        )
        return (
            f'{card}<text x="{x:.1f}" y="{top + 19:.1f}" font-size="{SMALL}" text-anchor="middle">'
            f'<tspan font-weight="bold">{escape(name)}</tspan> {escape(shape)}{note}</text>'
        )


def _turn(x: float, y: float) -> str:
    """The sign of what is kept from one iteration to the next: a circle that is an arrow."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{PAGE_PAPER}" stroke="none"/>'
        f'<path d="M{x + 6:.1f} {y:.1f}a6 6 0 1 1 -6 -6" fill="none" stroke="{AMBER}" '
        f'stroke-width="2.4"/><path d="M{x + 6:.1f} {y - 6:.1f}l-7 -4.5v9z" fill="{AMBER}"/>'
    )


def shaped(shape: tuple[int, ...]) -> str:
    """``[16, 4096]``."""
    return f"[{', '.join(map(str, shape))}]"


def dimensions(graph: KernelGraph, number: int) -> tuple[str, ...]:
    """The extents of a value, those of an input with their names: ``b=16``."""
    if number >= len(graph.inputs):
        return tuple(map(str, graph.shapes[number]))
    sizes = graph.size_of
    return tuple(
        dim if dim == str(sizes[dim]) else f"{dim}={sizes[dim]}"
        for dim in graph.inputs[number].dims
    )


def tensor_node(graph: KernelGraph, number: int, *, again: bool = False) -> Node:
    """A tensor of device memory that comes in, or that is drawn ``again``."""
    card = graph.names[number], f"[{', '.join(dimensions(graph, number))}]"
    note = ", ".join(filter(None, (tr("again") if again else "", _note(graph, number))))
    return Node("tensor", (), card, note, again=again)


def operator_node(graph: KernelGraph, equation: Equation, value: int) -> Node:
    """A predefined operator, or a thread graph, of a kernel graph."""
    kind: Kind = "thread" if isinstance(equation.op, ThreadGraph) else "operator"
    lines = _lines(equation, [graph.names[n] for n in equation.operands])
    return Node(kind, lines, _card(graph, value), _note(graph, value))


def load_node(load: Load, tensor: str, tile: tuple[int, ...], block: BlockGraph) -> Node:
    """A load with its maps, and the tile that it makes."""
    maps = [
        f"{kind} {map_text(cuts)}"
        for kind, cuts in (("imap", load.imap), ("fmap", load.fmap))
        if cuts
    ]
    same = same_for_all(block, (*load.imap, *load.fmap))
    lines = (f"load({tensor})", *maps, *([same] if same else []))
    said = " ".join(_in_words(load, tensor, block))
    return Node("load", lines, (load.name, shaped(tile)), outside=False, title=said)


def same_for_all(block: BlockGraph, cuts: AxisMap) -> str:
    """Name the axes and loops of a block graph along which a tensor is replicated."""
    cut = dict(cuts)
    alike = [axis for axis, extent in (*block.grid, *block.loops) if extent > 1 and axis not in cut]
    return tr("same for all {axes}", axes=", ".join(alike)) if alike else ""


def inner_node(equation: Equation, block: BlockGraph, value: int, shape: tuple[int, ...]) -> Node:
    """An operator, an accumulator or a thread graph inside a block graph."""
    lines = _lines(equation, [block.names[n] for n in equation.operands])
    card = block.names[value], shaped(shape)
    if isinstance(equation.op, ThreadGraph):
        return Node("thread", lines, card, outside=False)
    if equation.op.carried:
        kept = tr("Kept from one iteration to the next.")
        return Node("accumulator", lines, card, outside=False, title=kept)
    return Node("shared", lines, card, outside=False)


def store_node(graph: KernelGraph, value: int, inside: str, omap: AxisMap) -> Node:
    """A store with its map, and the tensor of device memory that all blocks make together."""
    lines = (f"store({inside})", *([f"omap {map_text(omap)}"] if omap else []))
    said = " ".join(
        tr("Blocks along {axis} lie side by side along dimension {dim}.", axis=axis, dim=dim)
        for axis, dim in omap
    )
    return Node("store", lines, _card(graph, value), _note(graph, value), title=said)


def _card(graph: KernelGraph, value: int) -> tuple[str, str]:
    return graph.names[value], f"[{', '.join(dimensions(graph, value))}]"


def _note(graph: KernelGraph, number: int) -> str:
    return tr("output") if number in graph.outputs else ""


def _lines(equation: Equation, operands: Sequence[str]) -> tuple[str, ...]:
    if isinstance(equation.op, ThreadGraph):
        return tr(THREAD), *thread_lines(equation.op, operands, equation.names[0])
    return (call(equation, operands),)


def _in_words(load: Load, tensor: str, block: BlockGraph) -> Iterator[str]:
    part = (
        marked("Each block along {axis} has its part of dimension {dim} of {tensor}."),
        marked("Each iteration along {axis} has its part of dimension {dim} of {tensor}."),
    )
    same = (
        marked("Every block along {axis} has the same."),
        marked("Every iteration along {axis} has the same."),
    )
    both = ((block.grid, load.imap), (block.loops, load.fmap))
    for (axes, cuts), own, alike in zip(both, part, same, strict=True):
        for axis, extent in axes:
            if axis in dict(cuts):
                yield tr(own, axis=axis, dim=dict(cuts)[axis], tensor=tensor)
            elif extent > 1:
                yield tr(alike, axis=axis)

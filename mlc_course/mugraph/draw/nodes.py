"""One operator of a picture: a box that says what it does, and under it a card: what it makes."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

from mlc_course.mugraph.draw import svg
from mlc_course.mugraph.draw.svg import AMBER, GREEN, INK, OURS, PAPER, SMALL, TINT

Kind = Literal["tensor", "operator", "load", "shared", "accumulator", "thread", "store", "passing"]
LINE, PAD, CARD = 18, 12, 28  # pixels: a line of letters, room beside letters, a card's height
INSET = 4  # by so much is a box narrower than its card, on each side
THREAD = "thread graph, in registers"
# Of a box: the colour of its line, the line's width, what kind of line it is.
BOXES = {
    "load": (OURS, 1.4, ""),
    "store": (OURS, 1.4, ""),
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
        """Of box and card, in pixels."""
        if self.kind == "passing":
            return 10
        letters = [svg.width(line, SMALL, bold=line == THREAD) for line in self.lines]
        name, shape = self.card
        beside = f" {shape} {self.note}" if self.note else f" {shape}"
        card = svg.width(name, SMALL, bold=True) + svg.width(beside, SMALL)
        return max(46, *letters, card) + 2 * PAD

    @property
    def box_height(self) -> float:
        """Of the box without its card."""
        return LINE * len(self.lines) + 10 if self.lines else 0

    @property
    def height(self) -> float:
        """Of box and card, in pixels."""
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
        stroke, line, more = BOXES.get(self.kind, (INK, 1.4, ""))
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
        fill, stroke, line = (PAPER, INK, 2.0) if self.outside else (TINT, OURS, 1.4)
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
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{PAPER}" stroke="none"/>'
        f'<path d="M{x + 6:.1f} {y:.1f}a6 6 0 1 1 -6 -6" fill="none" stroke="{AMBER}" '
        f'stroke-width="2.4"/><path d="M{x + 6:.1f} {y - 6:.1f}l-7 -4.5v9z" fill="{AMBER}"/>'
    )


def shaped(shape: tuple[int, ...]) -> str:
    """``[16, 4096]``."""
    return f"[{', '.join(map(str, shape))}]"

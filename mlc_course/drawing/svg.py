"""Pieces of SVG text: colours that a page may set, letters whose width is known, boxes, arrows.

Blue, amber and green are Okabe and Ito's, which the colour-blind can tell apart; what a
colour says is always said by a word or a line's kind too.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from mlc_course.words import language

PAGE_INK, PAGE_PAPER = "var(--mlc-ink, #222221)", "var(--mlc-paper, #fffffe)"
PAGE_TINT, PAGE_OURS = "var(--mlc-tint, #e6eef5)", "var(--mlc-ours, #0072b2)"
AMBER, GREEN = "#e69f00", "#009e73"
SMALL, NORMAL = 14, 15
HEAD = 7  # pixels of an arrow's head
# Beside those of a browser's own choice, which may be of another country's characters.
FONTS = {"zh": "'PingFang SC', 'Microsoft YaHei', 'Noto Sans CJK SC', sans-serif"}

# Widths in hundredths of the letters' size, of DejaVu Sans, the widest of the fonts that pages use.
_WIDTHS = {
    29: "'ijl",
    33: " ,./:;\\|IJ",
    40: "-f()[]!tr",
    53: '"*_`sz?',
    60: "cFkvxyPLTYao",
    64: "eESbdghnpqu0123456789$",
    70: "KAVBRXZC{}",
    79: "UHNDGOQ&",
    86: "w#+<=>^~M",
}
_WIDTH = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
WIDEST, BOLDER = 100, 1.16

Point = tuple[float, float]


def width(words: str, size: float = NORMAL, *, bold: bool = False) -> float:
    """The largest width of a text, in pixels, in any common font without serifs."""
    hundredths = sum(_WIDTH.get(letter, WIDEST) for letter in words)
    return hundredths / 100 * size * (BOLDER if bold else 1.0)


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float = NORMAL,
    bold: bool = False,
    anchor: str = "middle",
    colour: str = "",
) -> str:
    """A text on the line at ``y``; ``anchor`` says which part of it is at ``x``."""
    weight = ' font-weight="bold"' if bold else ""
    fill = f' fill="{colour}"' if colour else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}"'
        f"{weight}{fill}>{escape(words)}</text>"
    )


def rect(
    x: float,
    y: float,
    wide: float,
    high: float,
    *,
    fill: str = PAGE_PAPER,
    stroke: str = PAGE_INK,
    line: float = 1.4,
    round_by: float = 4,
    more: str = "",
) -> str:
    """A box; ``more`` holds further attributes."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high:.1f}" rx="{round_by:g}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{line:g}"{" " + more if more else ""}/>'
    )


def curve(start: Point, end: Point, stops: Sequence[tuple[float, float, float]] = ()) -> str:
    """A line downwards; at each stop (x, top, bottom) it goes straight from top to bottom."""
    x, y = start
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x, top, bottom in (*stops, (*end, end[1])):
        bend = (top - y) / 2
        path.append(f"C{x:.1f} {y + bend:.1f} {to_x:.1f} {top - bend:.1f} {to_x:.1f} {top:.1f}")
        if bottom > top:
            path.append(f"V{bottom:.1f}")
        x, y = to_x, bottom
    return f'<path d="{"".join(path)}" fill="none" stroke="{PAGE_INK}" stroke-width="1.3"/>'


def arrow(start: Point, end: Point, stops: Sequence[tuple[float, float, float]] = ()) -> str:
    """A curve with a head."""
    x, y = end
    head = f'<path d="M{x:.1f} {y:.1f}l-4 -{HEAD}h8z" fill="{PAGE_INK}"/>'
    return curve(start, (x, y - HEAD), stops) + head


def fonts() -> str:
    """The fonts of a picture: those without serifs that a page has for its language."""
    return FONTS.get(language(), "sans-serif")


def document(wide: float, high: float, said: str, parts: Sequence[str]) -> str:
    """A whole picture, no wider than its own size; ``said`` describes it in words."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" '
        f'aria-label="{escape(said)}" style="width: 100%; max-width: {wide:.0f}px; height: auto" '
        f'font-family="{fonts()}" font-size="{NORMAL}" fill="{PAGE_INK}">'
        f'<rect width="{wide:.0f}" height="{high:.0f}" fill="{PAGE_PAPER}"/>{"".join(parts)}</svg>'
    )

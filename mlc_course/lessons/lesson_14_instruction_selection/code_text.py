"""Programs as text in a picture: letters of one width, broken between operands, struck out."""

from __future__ import annotations

from html import escape

LETTER = 0.61  # the widest letter of a common font of letters of one width, in sizes
SIZE = 14.0


def code(x: float, y: float, words: str, *, bold: bool = False, struck: bool = False) -> str:
    """A line of a program that begins at ``x``; spaces in front of it are kept."""
    weight = ' font-weight="bold"' if bold else ""
    line = ' text-decoration="line-through"' if struck else ""
    indent = len(words) - len(words.lstrip())
    return (
        f'<text x="{x + indent * LETTER * SIZE:.1f}" y="{y:.1f}" font-family="monospace" '
        f'font-size="{SIZE:g}"{weight}{line}>{escape(words.lstrip())}</text>'
    )


def code_lines(program: str, wide: float) -> list[str]:
    """Return a program in lines of at most ``wide`` pixels; all but the first are indented."""
    most = int(wide / (LETTER * SIZE))
    lines, rest = [], program
    while len(rest) > most:
        at = rest.rfind(", ", 3, most)
        if at < 0:
            break
        lines.append(rest[: at + 1])
        rest = "  " + rest[at + 2 :]
    return [*lines, rest]

"""The tree of a search as a picture: the inputs on the left, a column for each depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlc_course.drawing import GREEN, PAGE_INK, PAGE_OURS, PAGE_PAPER, PAGE_TINT, SMALL, svg
from mlc_course.lessons.lesson_18_superoptimization.opened_tree import Column, Opened, Row

WIDE, LOW = 1000.0, 440.0  # pixels; the picture is as high as it has to be
TOP, HIGH, ROW, MORE = 56.0, 39.0, 45.0, 22.0
ROOT, COLUMN, BOX, INSET = 110.0, 222.0, 192.0, 10.0
SHOWN = 4  # columns, those nearest to the chosen place
DASHED = 'stroke-dasharray="5 4"'


@dataclass(frozen=True)
class _Laid:
    """A row and where it is; ``chosen``, or on the way there."""

    row: Row
    x: float
    y: float
    wide: float
    chosen: bool
    on_path: bool

    @property
    def middle(self) -> float:
        return self.y + HIGH / 2


def tree_svg(opened: Opened) -> str:
    """Draw the opened tree; what can be pointed at has an id, ``at-`` and its place."""
    first = max(0, len(opened.columns) - SHOWN)
    names = " ".join(each.name for each in opened.tree.program.inputs)
    root = Row("root", "alive", names, f"{first} more" if first else "inputs")
    above = _Laid(root, 4, TOP, ROOT - 32, opened.chosen == "root", True)
    parts, low = [*_drawn(above)], LOW
    for number in range(first, len(opened.columns)):
        left = ROOT + (number - first) * COLUMN
        laid = _column(opened, number, left)
        parts += _heading(opened.columns[number], number + 1, left, opened.tree.most)
        links = [each for each in laid if not each.row.inside and each.row.kind != "more"]
        parts += [_link(above, each) for each in links]
        parts += [part for each in laid for part in _drawn(each)]
        low = max([low, *(each.y + ROW for each in laid)])
        above = next((each for each in links if each.on_path), above)
    where = opened.path[-1].step.text if opened.path else "its root"
    return svg.document(WIDE, low, f"The tree of a search, opened at {where}", parts)


def _column(opened: Opened, number: int, left: float) -> list[_Laid]:
    laid, y = [], TOP
    for row in opened.rows(number):
        shift = INSET if row.inside else 0
        on_path = row.place in opened.on_path and row.kind != "more"
        chosen = on_path and row.place == opened.chosen
        laid.append(_Laid(row, left + shift, y, BOX - shift, chosen, on_path))
        y += MORE if row.kind == "more" else ROW
    return laid


def _heading(column: Column, operators: int, left: float, most: int) -> Iterator[str]:
    if column.alive or column.groups:
        cut = sum(len(each) for _, each in column.groups)
        words = f"{operators} operator{'s' * (operators != 1)}"
        yield svg.text(left + BOX / 2, 20, words, bold=True)
        yield svg.text(left + BOX / 2, 41, f"{len(column.alive)} alive, {cut} cut", size=SMALL)
    else:
        words = "No more is needed." if column.node.found else f"{most} operators: the limit."
        yield svg.text(left, TOP + 23, words, size=SMALL, anchor="start")


def _link(above: _Laid, below: _Laid) -> str:
    x, y, to_x, to_y = above.x + above.wide, above.middle, below.x, below.middle
    bend = (x + to_x) / 2
    colour, wide, opacity = (PAGE_OURS, 4, 1) if below.on_path else (PAGE_INK, 1, 0.5)
    return (
        f'<path d="M{x:.1f} {y:.1f}C{bend:.1f} {y:.1f} {bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"'
        f' fill="none" stroke="{colour}" stroke-width="{wide}" stroke-opacity="{opacity}"/>'
    )


# --- one row --------------------------------------------------------------------------------------


def _drawn(laid: _Laid) -> Iterator[str]:
    row, x, y = laid.row, laid.x, laid.y
    yield f'<g id="at-{row.place}">'
    if row.kind == "more":
        yield svg.rect(x, y, laid.wide, MORE - 4, stroke="none")
        yield svg.text(x + laid.wide / 2, y + 13, row.words, size=SMALL)
    else:
        yield _frame(laid)
        yield from _sign(row.kind, x + laid.wide - 16, laid.middle)
        bold = row.kind == "group"
        room = laid.wide - (36 if row.kind in ("found", "cut") else 14)
        below = "a solution" if row.kind == "found" else row.below
        for line, words, heavy in ((16, row.words, bold), (32, below, row.kind == "found")):
            words = clipped(words, room, bold=heavy)
            yield svg.text(x + 8, y + line, words, size=SMALL, bold=heavy, anchor="start")
    yield "</g>"


def _frame(laid: _Laid) -> str:
    """Solutions have a second frame, what is cut is dashed."""
    row, x, y = laid.row, laid.x, laid.y
    stroke, line = (PAGE_OURS, 4.0 if laid.chosen else 2.6) if laid.on_path else (PAGE_INK, 1.2)
    fill = PAGE_TINT if laid.on_path else PAGE_PAPER
    more = DASHED if row.kind in ("cut", "group") else ""
    round_by = 9 if row.kind in ("alive", "found") else 0
    box = svg.rect(
        x, y, laid.wide, HIGH, fill=fill, stroke=stroke, line=line, round_by=round_by, more=more
    )
    if row.kind != "found":
        return box
    inner = svg.rect(
        x + 3.5, y + 3.5, laid.wide - 7, HIGH - 7, fill="none", stroke=GREEN, line=2.4, round_by=6
    )
    return box + inner


def _sign(kind: str, x: float, y: float) -> Iterator[str]:
    """A star for a solution, a cross for what is cut."""
    if kind == "found":
        yield star(x, y)
    if kind == "cut":
        yield (
            f'<path d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10" stroke="{PAGE_INK}" '
            f'stroke-width="2.5"/>'
        )


def star(x: float, y: float) -> str:
    """The sign of a solution."""
    return (
        f'<path d="M{x:.1f} {y - 10:.1f}l2.9 6.1l6.7 .9l-4.9 4.7l1.2 6.6l-5.9 -3.2l-5.9 3.2'
        f'l1.2 -6.6l-4.9 -4.7l6.7 -.9z" fill="{GREEN}"/>'
    )


def clipped(words: str, room: float, *, bold: bool = False) -> str:
    """Shorten a text to the room that there is."""
    if svg.width(words, SMALL, bold=bold) <= room:
        return words
    while words and svg.width(words + "…", SMALL, bold=bold) > room:
        words = words[:-1]
    return words.rstrip() + "…"

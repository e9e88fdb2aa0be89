"""What a tile leaves over: 1,000 columns in pieces that do not divide them, in four ways."""

from __future__ import annotations

from collections.abc import Callable

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, PAGE_PAPER, document, text
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

DEPTH = 64
WIDTH, WHOLE, COLUMNS = 96, 960, 1000

Apply = Callable[[Schedule], None]


def cut(width: int, *, padded: int = 0) -> Apply:
    """Return a schedule in tiles of so many columns, with a guard or a padded copy of B."""

    def apply(sch: Schedule) -> None:
        if padded:
            steps.pad(sch, "C", n=padded)
        steps.split(sch, "C", "k", DEPTH, partial=True)
        steps.split(sch, "C", "n", width, partial=True)
        steps.reorder(sch, "C", "n_0", "k_0", "m", "k_1", "n_1")
        steps.hoist_init(sch, "C", "k_0")

    return apply


def partition(sch: Schedule) -> None:
    """Cut the columns into 960, in tiles, and the last 40, each with a loop nest of its own."""
    m, n, k = sch.get_loops(sch.get_sblock("C"))
    sch.reorder(n, k, m)
    sch.loop_partition(n, [WHOLE, None])
    for block in ("C_n0", "C_n1"):
        n, k, m = sch.get_loops(sch.get_sblock(block))[-3:]
        columns = sch.split(n, [None, WIDTH]) if block == "C_n0" else [n]
        k_0, k_1 = sch.split(k, [None, DEPTH])
        sch.reorder(*columns[:-1], k_0, m, k_1, columns[-1])
        sch.decompose_reduction(sch.get_sblock(block), k_0)


WAYS: dict[str, Apply] = {
    "guard, 96": cut(WIDTH),
    "pad to 1,056": cut(WIDTH, padded=WIDTH),
    "divide, 100": cut(100),
    "partition": partition,
}


def guard_of(sch: Schedule) -> str:
    """Return the condition in a program's text under which its body runs; empty without one."""
    lines = (line.strip() for line in sch.mod.script().splitlines())
    return next((line for line in lines if line.startswith("T.where")), "")


ROW, LEFT, SCALE = 34, 120, 0.56


def ways_svg() -> str:
    """Draw the columns of the iteration space as each of the four ways cuts them."""
    parts = [text(8, 20, "1,000 columns, four ways", size=15, bold=True, anchor="start")]
    drawn = {
        "guard, 96": ([WIDTH] * 10, [(40, "computed"), (56, "asked, skipped")]),
        "pad to 1,056": ([WIDTH] * 10, [(40, "computed"), (56, "zeros, computed")]),
        "divide, 100": ([100] * 10, []),
        "partition": ([WIDTH] * 10, [(40, "a second loop nest")]),
    }
    for place, (name, (tiles, rest)) in enumerate(drawn.items()):
        x, y = float(LEFT), 34 + ROW * place
        parts.append(text(LEFT - 10, y + 17, name, size=14, anchor="end"))
        for tile in tiles:
            parts.append(_piece(x, y, tile, PAGE_OURS, 0.35))
            x += SCALE * tile
        for length, what in rest:
            extra = what != "computed"
            parts.append(
                _piece(x, y, length, AMBER if extra else PAGE_OURS, 0.8 if extra else 0.35)
            )
            x += SCALE * length
        last = rest[-1][1] if rest else "10 tiles that end inside a line"
        parts.append(text(max(x, LEFT + SCALE * 1056) + 10, y + 17, last, size=13, anchor="start"))
    end = LEFT + SCALE * COLUMNS
    below = 34 + ROW * len(drawn)
    path = f'<path d="M{end} 28V{below}" stroke="{PAGE_INK}" stroke-width="2" fill="none"/>'
    parts += [path, text(end, below + 14, "1,000", size=13)]
    said = "1,000 columns cut by 96 with a guard, padded to 1,056, cut by 100, or 960 and 40 apart"
    return document(900, below + 22, said, parts)


def _piece(x: float, y: float, length: int, fill: str, opacity: float) -> str:
    box = f'x="{x:.1f}" y="{y}" width="{SCALE * length:.1f}" height="{ROW - 10}"'
    return (
        f'<rect {box} fill="{PAGE_PAPER}"/><rect {box} fill="{fill}" fill-opacity="{opacity}" '
        f'stroke="{PAGE_INK}" stroke-width="1"/>'
    )

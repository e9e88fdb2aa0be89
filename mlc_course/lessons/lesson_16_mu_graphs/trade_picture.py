"""What a cut costs: bytes that all blocks load, beside the shared memory that each one needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mlc_course.drawing import DASHED, GREEN, PAGE_OURS, SMALL, document, line, rect, text
from mlc_course.errors import UsageError
from mlc_course.mugraph.cost import kilobytes
from mlc_course.words import tr

ROW, TOP, LABEL, WIDE, GAP, FIGURE = 34.0, 62.0, 230.0, 210.0, 110.0, 86.0


def trade_svg(cuts: Mapping[str, tuple[int, int]], *, limit: int) -> str:
    """Draw two bars for each cut: bytes loaded by all blocks, shared memory of one block.

    A dashed line shows the ``limit`` on shared memory, in bytes. Raises ``UsageError`` for no cut.
    """
    if not cuts:
        raise UsageError("cuts to draw", expected="one or more", got="none")
    loaded = {name: each[0] for name, each in cuts.items()}
    shared = {name: each[1] for name, each in cuts.items()}
    foot = TOP + len(cuts) * ROW
    second = LABEL + WIDE + GAP
    parts = [
        text(12, 44, tr("grid and iterations"), size=SMALL, anchor="start"),
        *_bars(LABEL, tr("loaded by all blocks together"), loaded, max(loaded.values())),
        *_bars(second, tr("shared memory of one block"), shared, max(limit, *shared.values())),
    ]
    for row, name in enumerate(cuts):
        parts.append(text(12, TOP + row * ROW + 21, name, anchor="start"))
    at = second + WIDE * limit / max(limit, *shared.values())
    parts.append(line((at, TOP - 6), (at, foot + 6), colour=GREEN, wide=2.2, more=DASHED))
    words = tr("most on an H100: {limit}", limit=kilobytes(limit))
    parts.append(text(at, foot + 24, words, size=SMALL, anchor="end", bold=True))
    said = "; ".join(
        tr(
            "{name}: {loaded} loaded, {shared} of shared memory",
            name=name,
            loaded=kilobytes(loaded[name]),
            shared=kilobytes(shared[name]),
        )
        for name in cuts
    )
    return document(second + WIDE + FIGURE + 10, foot + 36, said, parts)


def _bars(left: float, title: str, sizes: Mapping[str, int], most: int) -> Iterator[str]:
    yield text(left, 44, title, size=SMALL, anchor="start", bold=True)
    for row, size in enumerate(sizes.values()):
        y, wide = TOP + row * ROW, max(2.0, WIDE * size / most)
        yield rect(left, y + 4, wide, ROW - 10, fill=PAGE_OURS, stroke=PAGE_OURS, round_by=0)
        yield text(left + wide + 7, y + 21, kilobytes(size), size=SMALL, anchor="start")

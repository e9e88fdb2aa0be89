"""The picture of all pairs of statements: which of them must keep their order?"""

from __future__ import annotations

import numpy as np

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, document, rect, text
from mlc_course.lessons.lesson_02_tensor_program_abstraction.order_freedom import pairs
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule

LEFT, TOP, SIDE = 40, 40, 432


def pairs_svg(program: IRModule | PrimFunc | Schedule) -> str:
    """A square for each pair of statements: full if its order matters, ringed if of one sum.

    Raises what ``order_freedom.pairs`` raises.
    """
    kept, sums = pairs(program)
    count = len(kept)
    cell = SIDE / count
    parts = [
        rect(LEFT, TOP, SIDE, SIDE, line=0.6, round_by=0),
        f'<path d="M{LEFT} {TOP}V{TOP + SIDE}H{LEFT + SIDE}Z" fill="{PAGE_INK}" '
        'fill-opacity="0.12"/>',
        text(LEFT + SIDE / 2, 26, "the statement that runs later", size=14),
        text(LEFT, TOP - 8, "1", size=13),
        text(LEFT + SIDE, TOP - 8, str(count), size=13),
        f'<text transform="translate(24 {TOP + SIDE / 2}) rotate(-90)" text-anchor="middle" '
        'font-size="14">the statement that runs earlier</text>',
    ]
    for matrix, fill, stroke in ((kept, PAGE_OURS, "none"), (sums, "none", AMBER)):
        for first, second in np.argwhere(matrix).tolist():
            x, y = LEFT + cell * second, TOP + cell * first
            parts.append(rect(x, y, cell, cell, fill=fill, stroke=stroke, line=1.4, round_by=0))
    free = count * (count - 1) // 2 - int(kept.sum()) - int(sums.sum())
    legend = (
        (PAGE_OURS, "none", f"{int(kept.sum()):,} pairs keep their order"),
        ("none", AMBER, f"{int(sums.sum()):,} pairs are terms of one sum"),
        ("none", PAGE_INK, f"{free:,} pairs are free (blank)"),
        (PAGE_INK, "none", "the same pairs again"),
    )
    for place, (fill, stroke, words) in enumerate(legend):
        y = TOP + 40 + 34 * place
        faint = 'fill-opacity="0.12"' if fill == PAGE_INK else ""
        parts.append(
            rect(500, y, 16, 16, fill=fill, stroke=stroke, line=1.6, round_by=0, more=faint)
        )
        parts.append(text(526, y + 14, words, size=15, anchor="start"))
    said = f"All pairs of {count} statements. " + "; ".join(words for *_, words in legend[:3])
    return document(800, TOP + SIDE + 12, said, parts)

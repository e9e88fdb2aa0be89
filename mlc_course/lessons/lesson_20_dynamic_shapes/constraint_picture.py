"""The constraint graph of a program: dimensions, facts between them, and who states each."""

from __future__ import annotations

from IPython.display import HTML

from mlc_course.drawing import (
    PAGE_INK,
    PAGE_OURS,
    PAGE_TINT,
    document,
    path,
    rect,
    text,
)
from mlc_course.dynamic_shape.ir import Constraint, Module, ProductEq, dims_of, said
from mlc_course.lessons.kit import charts

ROW, LEFT, MIDDLE, RIGHT = 34.0, 60.0, 280.0, 460.0
BOX, HIGH = 60.0, 26.0
WIDE = 720


def constraint_graph(module: Module) -> HTML:
    """Draw the dimensions of a program on the left, and on the right what is known of them."""
    svg = constraint_svg(module)
    return HTML(f'<div class="mlc">{charts(svg)}</div>')  # type: ignore[no-untyped-call]


def _facts(module: Module) -> dict[Constraint, str]:
    """Each fact once, also where two operators state it, the one or the other way round."""
    found: dict[Constraint, list[str]] = {}
    for fact, where in module.origins().items():
        turned = ProductEq(fact.right, fact.left) if isinstance(fact, ProductEq) else fact
        found.setdefault(turned if turned in found else fact, []).append(where)
    return {fact: ", ".join(where) for fact, where in found.items()}


def constraint_svg(module: Module) -> str:
    """Return the drawing as SVG text: a line from each fact to the dimensions that it names."""
    names = [dim.name for dim in module.dims]
    facts = list(_facts(module).items())
    rows = max(len(names), len(facts))
    high = ROW * rows + 40
    at = {name: 40 + ROW * (n + 0.5) * rows / len(names) for n, name in enumerate(names)}
    parts = [
        text(LEFT, 20, "dimensions", bold=True, anchor="middle"),
        text(MIDDLE, 20, "facts", bold=True, anchor="start"),
        text(RIGHT, 20, "stated by", bold=True, anchor="start"),
    ]
    for n, (fact, where) in enumerate(facts):
        y = 40 + ROW * (n + 0.5) * rows / max(len(facts), 1)
        for name in dict.fromkeys(dim for dim in dims_of(fact) if isinstance(dim, str)):
            ends = [(LEFT + BOX / 2, at[name]), (MIDDLE - 8, y)]
            parts.append(path(ends, colour=PAGE_OURS, wide=1.6))
        parts.append(text(MIDDLE, y + 5, said(fact), anchor="start"))
        parts.append(text(RIGHT, y + 5, where, anchor="start"))
    for name, y in at.items():
        parts.append(rect(LEFT - BOX / 2, y - HIGH / 2, BOX, HIGH, fill=PAGE_TINT, stroke=PAGE_INK))
        parts.append(text(LEFT, y + 5, name, anchor="middle"))
    told = "; ".join(f"{said(fact)}, stated by {where}" for fact, where in facts)
    return document(WIDE, high, f"What is known of {', '.join(names)}: {told}", parts)

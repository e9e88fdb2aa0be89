"""Tables whose rows are never broken: words to the left, numbers to the right."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from IPython.display import HTML

from mlc_course.lessons.kit import charts

NUMBER = re.compile(r"[+−-]?[\d,]+(\.\d+)?")
CELL = "padding: 1px 14px 1px 2px; white-space: pre"
WORDS, CODE = "text-align: left", "text-align: left; font-family: monospace"


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[object]], *, code: bool = False
) -> HTML:
    """Return a table; ``code`` writes its words in letters of one width."""
    words = CODE if code else WORDS
    styles = [
        "text-align: right" if all(NUMBER.fullmatch(str(row[column])) for row in rows) else words
        for column in range(len(head))
    ]

    def line(tag: str, cells: Sequence[object]) -> str:
        made = zip(cells, styles, strict=True)
        return "".join(
            f'<{tag} style="{CELL}; {style}">{html.escape(str(cell))}</{tag}>'
            for cell, style in made
        )

    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return HTML(  # type: ignore[no-untyped-call]
        f'<div class="mlc" style="overflow-x: auto"><table><thead><tr>{line("th", head)}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def shown(svg: str, label: str) -> HTML:
    """Return a picture with the text that stands in for it where it is not seen."""
    return HTML(  # type: ignore[no-untyped-call]
        f'<div class="mlc" role="img" aria-label="{html.escape(label)}">{charts(svg)}</div>'
    )

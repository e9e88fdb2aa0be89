"""Two programs side by side, line against line, with what changed in colour."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from mlc_course.words import marked, tr, trn

BOILERPLATE = ("#", "@I.ir_module", "class Module:")  # how TVM begins every program
# Both tints let the page's own colours through, so they hold on light and dark pages.
CSS = """
.mlc-diff { width: 100%; table-layout: fixed; border-collapse: collapse; margin: 0;
  font: 12px/1.45 var(--jp-code-font-family, monospace); color: inherit; }
.mlc-diff tr { background: none !important; }
.mlc-diff th, .mlc-diff td { padding: 0 6px; text-align: left !important;
  vertical-align: top; }
.mlc-diff td { white-space: pre-wrap; overflow-wrap: anywhere; text-indent: -4ch; }
.mlc-diff td + td, .mlc-diff th + th { border-left: 1px solid #8888; }
.mlc-diff td::before { content: "    "; }
.mlc-diff td.gone { background: #d55e0033; } .mlc-diff td.gone::before { content: "  - "; }
.mlc-diff td.new { background: #0072b233; } .mlc-diff td.new::before { content: "  + "; }
.mlc-diff td.skipped { text-align: center !important; background: #8882; text-indent: 0; }
.mlc-diff td.skipped::before { content: ""; }
"""


@dataclass(frozen=True)
class Row:
    """A line of each program, None where one has no counterpart; ``skipped`` counts equal lines."""

    before: str | None
    after: str | None
    changed: bool = False
    skipped: int = 0


def side_by_side(
    before: str,
    after: str,
    *,
    titles: tuple[str, str] = (marked("before"), marked("after")),
    context: int | None = 5,
) -> str:
    """HTML of two programs in TVMScript, with what differs coloured and marked - or +.

    Of what is equal, ``context`` lines around each change are shown; all of them with None.
    """
    head = "".join(f"<th>{html.escape(tr(title))}</th>" for title in titles)
    rows = aligned_rows(program_lines(before), program_lines(after), context=context)
    return (
        f"<style>{CSS}</style>"
        f'<table class="mlc-diff"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(map(_row, rows))}</tbody></table>"
    )


def one_program(program: str, *, title: str) -> str:
    """HTML of a program that stands alone, in the form of ``side_by_side``."""
    lines = "".join(f"<tr>{_cell(line, 'same')}</tr>" for line in program_lines(program))
    return (
        f"<style>{CSS}</style>"
        f'<table class="mlc-diff"><thead><tr><th>{html.escape(title)}</th></tr></thead>'
        f"<tbody>{lines}</tbody></table>"
    )


def program_lines(script: str) -> list[str]:
    """The lines of the function itself, without what TVM writes above every program.

    They are indented by four columns a level, also where the program has two.
    """
    lines = script.splitlines()
    while lines and (not lines[0].strip() or lines[0].startswith(BOILERPLATE)):
        del lines[0]
    lines = textwrap.dedent("\n".join(lines)).splitlines()
    steps = [len(line) - len(line.lstrip(" ")) for line in lines]
    if 2 not in steps:
        return lines
    return [" " * step + line for step, line in zip(steps, lines, strict=True)]


def aligned_rows(before: list[str], after: list[str], *, context: int | None) -> Iterator[Row]:
    """The rows of the table, in order."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    enough = len(before) + len(after) if context is None else context
    shown = 0  # lines of ``before`` that are done
    for group in matcher.get_grouped_opcodes(enough):
        yield from _gap(group[0][1] - shown)
        for tag, i, i_end, j, j_end in group:
            for left, right in zip_longest(before[i:i_end], after[j:j_end]):
                yield Row(left, right, changed=tag != "equal")
        shown = group[-1][2]
    yield from _gap(len(before) - shown)


def _gap(lines: int) -> Iterator[Row]:
    if lines:
        yield Row(None, None, skipped=lines)


def _row(row: Row) -> str:
    if row.skipped:
        said = trn("{count} equal line", "{count} equal lines", row.skipped)
        return f'<tr><td class="skipped" colspan="2">{said}</td></tr>'
    left = _cell(row.before, "gone" if row.changed else "same")
    right = _cell(row.after, "new" if row.changed else "same")
    return f"<tr>{left}{right}</tr>"


def _cell(line: str | None, kind: str) -> str:
    if line is None:
        return "<td></td>"
    code = line.lstrip(" ")
    indent = (len(line) - len(code)) // 2  # two columns a level, so that more fits on a line
    return f'<td class="{kind}" style="padding-left: {indent + 5}ch">{html.escape(code)}</td>'

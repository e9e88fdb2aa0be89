"""Docstrings of the course as reStructuredText: prose stays prose, and columns stay columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LITERAL = re.compile(r"(``.+?``)")
ITEM = re.compile(r"(- |\d+\. )")
SPECIAL = re.compile(r"(?<![\w*])(\*\w[^*]*\w\*)(?![\w*])|([*|\\]|_(?!\w))")  # but *emphasis*


def to_rst(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a docstring, so that nothing in it is markup but literals and lists."""
    in_columns = False
    for block in paragraphs(lines):
        if is_layout(block):
            if not in_columns:
                yield from ("::", "")
            yield from (f"    {line}" for line in block)
        else:
            yield from map(escaped, block)
        in_columns = is_layout(block)
        yield ""


def paragraphs(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the runs of lines between empty ones."""
    block: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line.rstrip())
        elif block:
            yield block
            block = []


def is_layout(block: Sequence[str]) -> bool:
    """Return whether the place of words in their line matters: code, tables, formulas."""
    if ITEM.match(block[0]):
        return False
    return any(
        line[0] == " " or line.startswith(">>>") or re.search(r"\S {2,}\S", line) for line in block
    )


def escaped(line: str) -> str:
    """Return a line of prose in which only double backticks are markup."""
    parts = LITERAL.split(re.sub(r"::$", ":", line))
    for at, part in enumerate(parts):
        if at % 2:
            before, after = parts[at - 1][-1:], parts[at + 1][:1]
            part = f"``{part[2:-2].strip()}``"  # a literal begins and ends with a letter
            parts[at] = "\\ " * before.isalnum() + part + "\\ " * after.isalnum()
        else:
            plain = SPECIAL.sub(lambda found: found[1] or f"\\{found[2]}", part)
            parts[at] = re.sub(r"`([^`]+)`", r"``\1``", plain)
    return "".join(parts)

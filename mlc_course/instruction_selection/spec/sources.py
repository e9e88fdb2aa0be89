"""A specification from what a user has: a name, a line."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import replace

from mlc_course.instruction_selection.spec.catalogue import CATALOGUE, entry
from mlc_course.instruction_selection.spec.line import read_line
from mlc_course.instruction_selection.spec.loop import Specification, from_line

_NAME = re.compile(r"\s*\w+\s*")


def specification(
    source: str,
    *,
    name: str | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> Specification:
    """Return the specification that a line says, or the one of the catalogue with that name.

    ``ranges`` replace the promised ranges, by the name of an operand.

    Raises:
        TextError: a line cannot be read; the message names the column.
        UsageError: an unknown name, or a line that is no specification.
    """
    if not _NAME.fullmatch(source):
        line = read_line(source, ranges)
        same = (each.name for each in CATALOGUE.values() if each.specification.line == line.text)
        return from_line(line, name or next(same, f"line_{zlib.crc32(line.text.encode()):08x}"))
    found = entry(source.strip())
    if ranges:
        return from_line(read_line(found.line, ranges), name or found.name, found.sentence)
    return replace(found.specification, name=name) if name else found.specification

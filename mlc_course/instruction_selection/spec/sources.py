"""A specification from what a user has: a name, a line, a PrimFunc, a file."""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mlc_course.errors import CourseError, UsageError
from mlc_course.instruction_selection.spec.blocks import prim_func_specification
from mlc_course.instruction_selection.spec.catalogue import CATALOGUE, entry
from mlc_course.instruction_selection.spec.line import read_line
from mlc_course.instruction_selection.spec.loop import Specification, from_line
from mlc_course.instruction_selection.spec.script import read_admitted
from mlc_course.tensor_program.tir import PrimFunc

_NAME = re.compile(r"\s*\w+\s*")
_WORD = re.compile(r"[^\s:]+")  # no line, and so a name, right or wrong
LINES, PROGRAMS = (".txt",), (".py",)


def specification(
    source: str | PrimFunc,
    *,
    name: str | None = None,
    ranges: Mapping[str, tuple[int, int]] | None = None,
) -> Specification:
    """Return the specification that a line says, that a PrimFunc with one block is, or the one of
    the catalogue with that name.

    ``ranges`` are promised by the name of an operand of a line, in place of those that the line
    promises, and by the name of a buffer of a PrimFunc.

    Raises:
        TextError: a line cannot be read; the message names the column.
        UsageError, BlockError, AxisError: an unknown name, or what is no specification.
    """
    if isinstance(source, PrimFunc):
        return prim_func_specification(source, name=name, ranges=ranges)
    if not isinstance(source, str):
        raise UsageError(
            "a specification is made from something else",
            expected="a name of the catalogue, a line, or a PrimFunc",
            got=type(source).__name__,
            hint="block_specification(sch, block) for a block of a schedule",
        )
    if not _NAME.fullmatch(source):
        line = read_line(source, ranges)
        same = (each.name for each in CATALOGUE.values() if each.specification.line == line.text)
        return from_line(line, name or next(same, f"line_{zlib.crc32(line.text.encode()):08x}"))
    found = entry(source.strip())
    if ranges:
        return from_line(read_line(found.line, ranges), name or found.name, found.sentence)
    return replace(found.specification, name=name) if name else found.specification


def file_specification(
    path: Path, *, ranges: Mapping[str, tuple[int, int]] | None = None
) -> Specification:
    """Return the specification in a file, which has the file's name.

    A ``.txt`` holds a line, of which any number of lines of text make one; those that begin with
    ``#`` are its sentence. A ``.py`` holds one ``@T.prim_func`` in TVMScript. It is read as text
    and never run: it may hold loops, blocks and integer arithmetic, and nothing else.

    Raises:
        UsageError: the file cannot be read, or is of another kind.
        TextError: its text cannot be read; what ``specification`` raises otherwise.
    """
    if path.suffix not in (*LINES, *PROGRAMS):
        raise UsageError(
            f"{path}: not a file of a specification",
            expected="a .txt that holds a line, or a .py that holds one @T.prim_func",
            got=path.suffix or "no suffix",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read", expected="text", got=error) from None
    name = re.sub(r"\W", "_", path.stem)
    try:
        if path.suffix in PROGRAMS:
            return prim_func_specification(read_admitted(text), name=name, ranges=ranges)
        lines = text.splitlines()
        sentence = " ".join(x.lstrip("# ") for x in lines if x.startswith("#"))
        line = " ".join(x for x in lines if not x.startswith("#"))
        return from_line(read_line(line, ranges), name, sentence)
    except CourseError as error:
        error.add_note(f"in {path}")
        raise


def named_specification(
    source: str, *, ranges: Mapping[str, tuple[int, int]] | None = None
) -> Specification:
    """Return the specification that an argument of a command is: a name, a line, or a file.

    Raises:
        UsageError, TextError: what ``specification`` and ``file_specification`` raise.
    """
    if "->" in source:
        return specification(source, ranges=ranges)
    if Path(source).suffix or (source not in CATALOGUE and os.path.exists(source)):
        return file_specification(Path(source), ranges=ranges)
    if _WORD.fullmatch(source):
        entry(source)  # the nearest name, not the column where a line ends
    return specification(source, ranges=ranges)

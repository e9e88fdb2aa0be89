"""A printer of programs in a few lines: the nests of loops, and the statement inside each.

What TVM prints is complete, and long. Here a block is its one statement, written with the names of
its axes, and loops directly inside each other share a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir.traversal import main_function
from mlc_course.tensor_program.tir.tvm import (
    ITERATOR_PREFIX,
    SBlockRealize,
    TensorProgram,
    tirx,
)

INDENT = "    "
# TVMScript's way to write it -> the short one.
SHORTER = (
    (re.compile(rf"\b{ITERATOR_PREFIX}"), ""),
    (re.compile(r"T\.float32\(([^()]*)\)"), r"\1"),
    (re.compile(r"\bT\."), ""),
)
SUM = re.compile(r"(.+\]) = \1 \+ (.*)", re.DOTALL)


def outline(program: TensorProgram) -> str:
    """The loops and statements of a program, without its inits and loops of one iteration.

    for m in 1024, l in 1024, k in 2048:
        C[m, l] += A[m, k] * B[k, l]

    Raises ``UsageError`` for statements that are neither loops, blocks nor stores.
    """
    return "\n".join(_lines(main_function(program).body, ""))


def _lines(stmt: Any, indent: str) -> Iterator[str]:
    match stmt:
        case tirx.SeqStmt():
            for each in stmt.seq:
                yield from _lines(each, indent)
        case tirx.For():
            loops = []
            while isinstance(stmt, tirx.For):
                loops.append(stmt)
                stmt = stmt.body
            said = ", ".join(_loop(each) for each in loops if not _once(each))
            if said:
                yield f"{indent}for {said}:"
            yield from _lines(stmt, indent + INDENT if said else indent)
        case SBlockRealize():
            yield from _lines(stmt.block.body, indent)
        case tirx.BufferStore():
            yield indent + _statement(str(stmt))
        case _:
            raise UsageError(
                "outline: a kind of statement that it does not print",
                expected="loops, blocks, stores",
                got=type(stmt).__name__,
            )


def _once(loop: Any) -> bool:
    return isinstance(loop.extent, tirx.IntImm) and int(loop.extent) == 1


def _loop(loop: Any) -> str:
    kind = "" if loop.kind == tirx.ForKind.SERIAL else f" {tirx.ForKind(loop.kind).name.lower()}"
    extent = int(loop.extent) if isinstance(loop.extent, tirx.IntImm) else loop.extent
    return f"{loop.loop_var.name} in {extent}{kind}"


def _statement(text: str) -> str:
    """A store in short: without TVM's prefixes, sums with ``+=``."""
    text = text.splitlines()[-1].strip()  # above it, TVM may declare the buffers
    for long, short in SHORTER:
        text = long.sub(short, text)
    return SUM.sub(r"\1 += \2", text)

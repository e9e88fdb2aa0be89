"""Programs on a cell as text, the way they print: ``pavgb(B, paddb(A, psubb(D, pavgb(A, D))))``.

A constant is a number in braces, or several that repeat, ``{1, 0}``: of the type that its
instruction reads. An immediate follows the name: ``psraw #8(A)``. Where several rows of the table
have one name, the one whose lanes hold the constant and are as wide as those of the first operand
is taken; ``pand:u16(A, {255})`` names another one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from mlc_course.errors import TextError, UsageError, check_known
from mlc_course.instruction_selection.integers import IntType, int_type
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    level_of,
    program_of,
)
from mlc_course.instruction_selection.spec import Cell

LONGEST = 600  # characters
DEEPEST = 30
_TOKEN = re.compile(r"\s*(\{[^{}]*\}|[A-Za-z][\w.]*(?::\w+)?(?:\s*#\s*\d+)?|[(),])")
Value = int | tuple[int, ...]  # the number of an equation, or a constant without a type


def read_program(text: str, cell: Cell, level: str = "avx2") -> CellProgram:
    """Return the program that a text says, over the operands of a cell.

    Raises:
        TextError: the text has no such form; it says where.
        UsageError: no such instruction or operand, or another number of lanes or operands.
    """
    if len(text) > LONGEST:
        raise TextError("the program is too long", expected=f"at most {LONGEST} characters")
    tokens = _Tokens(text)
    reader = _Reader(cell, level_of(level).rows)
    value = reader.value(tokens, 0)
    tokens.end()
    if not isinstance(value, int):
        raise UsageError(
            "a constant alone is no program",
            expected=f"an instruction of {', '.join(each.name for each in cell.operands)}",
            got=text,
        )
    found = program_of(reader.equations)
    if found.result.bytes != cell.result.bytes:
        raise UsageError(
            "the result has another number of bits",
            expected=f"one output of {cell.result}, {cell.result.bits} bits",
            got=f"{found.result.lanes} of {found.result.type}, {8 * found.result.bytes} bits",
            hint="packs halve the bits of a lane, unpacks double them",
        )
    return found


class _Tokens:
    def __init__(self, text: str) -> None:
        self.text = text
        self.words = list(self._split(text))
        self.at = 0

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                rest = text[place:].strip()
                raise TextError(
                    "this is no part of a program",
                    expected="names, parentheses, commas, and constants in braces such as {128}",
                    got=rest[:20],
                )
            yield found[1], found.start(1)
            place = found.end()

    @property
    def next(self) -> str:
        return self.words[self.at][0] if self.at < len(self.words) else ""

    def take(self) -> str:
        word = self.next
        self.at += 1
        return word

    def expect(self, *wanted: str) -> str:
        word = self.take()
        if word not in wanted:
            self.refuse(word, " or ".join(wanted))
        return word

    def refuse(self, word: str, expected: str) -> NoReturn:
        """Raise ``TextError`` for the word that was taken last."""
        before = self.text[: self.words[self.at - 1][1]] if word else self.text
        raise TextError(
            "the program goes on in another way",
            expected=expected,
            got=f"{word or 'the end'} after {before.strip()[-24:] or 'nothing'}",
        )

    def end(self) -> None:
        if self.next:
            raise TextError("there is more after the program", expected="its end", got=self.next)


class _Reader:
    def __init__(self, cell: Cell, rows: Sequence[Instruction]) -> None:
        self.operands = {each.name: each for each in cell.operands}
        self.rows = rows
        self.equations: list[Equation] = []

    def value(self, tokens: _Tokens, depth: int) -> Value:
        if depth > DEEPEST:
            raise TextError("the program is too deep", expected=f"at most {DEEPEST} calls")
        word = tokens.take()
        if word == "(":
            inner = self.value(tokens, depth + 1)
            tokens.expect(")")
            return inner
        if word in ("", ",", ")"):
            tokens.refuse(word, "an operand, a constant or an instruction")
        if word.startswith("{"):
            return _numbers(word)
        if word in self.operands:
            operand = self.operands[word]
            return self.add(Equation(Input(word), (), operand.type, operand.lanes))
        name, immediate, kind = _parts(word)
        names = [*self.operands, *dict.fromkeys(row.name for row in self.rows)]
        check_known("no operand and no instruction of the table", name, names)
        if tokens.next != "(":
            raise TextError(f"{name} has no operands", expected=f"{name}(...)", got=word)
        tokens.take()
        values = [self.value(tokens, depth + 1)]
        while tokens.expect(",", ")") == ",":
            values.append(self.value(tokens, depth + 1))
        return self.add(self.applied(name, immediate, kind, values))

    def add(self, equation: Equation) -> int:
        self.equations.append(equation)
        return len(self.equations) - 1

    def applied(
        self, name: str, immediate: int | None, kind: str, values: Sequence[Value]
    ) -> Equation:
        row = self.row(name, immediate, kind, values)
        sizes = {self.equations[x].bytes for x in values if isinstance(x, int)}
        if len(sizes) > 1:
            raise UsageError(
                f"the operands of {name} have other numbers of bits",
                expected="values of one output, equally wide",
                got=" and ".join(f"{8 * x} bits" for x in sorted(sizes)),
            )
        size = sizes.pop() if sizes else row.reads[0].bytes
        if size % row.reads[0].bytes:
            raise UsageError(
                f"{name} reads more than the cell has",
                expected=f"a multiple of {8 * row.reads[0].bytes} bits",
                got=f"{8 * size} bits",
            )
        numbers = []
        for value, read in zip(values, row.reads, strict=True):
            if not isinstance(value, int):
                value = self.add(_constant(value, row, read.type, size))
            numbers.append(value)
        count = size // row.reads[0].bytes
        if row.kind == "interleave":
            count *= len(numbers)
        return Equation(row, tuple(numbers), row.result, count)

    def row(
        self, name: str, immediate: int | None, kind: str, values: Sequence[Value]
    ) -> Instruction:
        rows = [row for row in self.rows if row.name == name]
        if kind:
            types = [str(row.reads[0].type) for row in rows]
            check_known(f"{name} reads no lanes of", str(int_type(kind)), types)
            rows = [row for row in rows if row.reads[0].type == int_type(kind)]
        widths = [self.equations[x].type.bits for x in values if isinstance(x, int)]
        if widths:
            rows.sort(key=lambda row: row.reads[0].type.bits != widths[0])
        rows.sort(key=lambda row: not _fits(row, values))
        row = rows[0]
        if len(values) != len(row.reads):
            raise UsageError(
                f"{name} takes another number of operands",
                expected=f"{len(row.reads)}: {row.signature}",
                got=len(values),
            )
        if row.has_immediate != (immediate is not None):
            raise UsageError(
                f"{name} {'lacks its shift' if row.has_immediate else 'takes no shift'}",
                expected=f"{name} #8(...)" if row.has_immediate else f"{name}(...)",
                got="none" if immediate is None else f"#{immediate}",
            )
        if immediate is None:
            return row
        if not 0 < immediate < row.reads[0].type.bits:
            raise UsageError(
                f"{name}: a shift that leaves nothing",
                expected=f"#1 to #{row.reads[0].type.bits - 1}",
                got=f"#{immediate}",
            )
        return row.with_immediate(immediate)


def _parts(word: str) -> tuple[str, int | None, str]:
    """Return name, immediate and type of ``pand:u16`` or ``psraw #8``."""
    named, sign, number = word.partition("#")
    name, _, kind = named.strip().partition(":")
    return name, int(number) if sign else None, kind


def _numbers(word: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in word[1:-1].split(","))
    except ValueError:
        raise TextError(
            "this is no constant", expected="whole numbers in braces: {128} or {1, 0}", got=word
        ) from None


def _bounds(of: IntType) -> tuple[int, int]:
    """Return the numbers that a lane can be given as, with or without a sign."""
    return -(1 << (of.bits - 1)), (1 << of.bits) - 1


def _fits(row: Instruction, values: Sequence[Value]) -> bool:
    pairs = zip(values, row.reads, strict=False)
    return all(
        isinstance(each, int) or all(lo <= x <= hi for x in each)
        for each, (lo, hi) in ((value, _bounds(read.type)) for value, read in pairs)
    )


def _constant(values: tuple[int, ...], row: Instruction, of: IntType, size: int) -> Equation:
    lanes = size // of.bytes
    if lanes % len(values):
        raise UsageError(
            f"the constant of {row.name} does not fill the cell",
            expected=f"a number of lanes that divides {lanes}",
            got=len(values),
        )
    lo, hi = _bounds(of)
    outside = [x for x in values if not lo <= x <= hi]
    if outside:
        raise UsageError(
            f"the constant of {row.name} has too many bits",
            expected=f"{lo} to {hi}: {of.bits} bits, with or without a sign",
            got=outside[0],
        )
    return Equation(Constant(tuple(map(of.wrapped, values))), (), of, lanes)

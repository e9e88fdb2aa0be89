"""The parser of a graph's text form, which ``printer`` shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from mlc_course.errors import CourseError, GraphError, check_known
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.builder import BlockBuilder, Builder, Equations, Value
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.ops import Op

_HEAD = re.compile(r"(\w+)\s*\((.*)\):$")
_INPUT = re.compile(r"\s*(\w+)\s*\[([^\]]*)\]\s*(?:,|$)")
_BLOCK = re.compile(r"block\s+grid\(([^)]*)\)(?:\s+loop\(([^)]*)\))?:$")
_EQUATION = re.compile(r"(\w+)\s*=\s*(\w+)\((.*)\)$")
_RETURN = re.compile(r"return\s+(.*)$")


@dataclass(frozen=True)
class _Line:
    number: int
    depth: int
    text: str


def parse(text: str, operators: Iterable[Op] = ops.OPERATORS) -> KernelGraph:
    """The graph that a text describes; ``parse(str(graph)) == graph``.

    A text may be indented as a whole. Raises ``GraphError`` or ``ShapeError``, with the number and
    the text of the line.
    """
    lines = [
        _Line(number, (len(line) - len(line.lstrip())) // 2, line.split("#")[0].strip())
        for number, line in enumerate(dedent(text).splitlines(), 1)
        if line.split("#")[0].strip()
    ]
    return _Reader(lines, {op.name: op for op in operators}).graph()


class _Reader:
    def __init__(self, lines: list[_Line], operators: Mapping[str, Op]) -> None:
        self.lines, self.operators, self.place = lines, operators, 0

    def graph(self) -> KernelGraph:
        if not self.lines:
            raise GraphError("an empty text", expected="NAME(INPUT[SIZES], ...):", got="nothing")
        line = self.lines[0]
        try:
            return self._graph()
        except CourseError as error:
            line = self.lines[min(self.place, len(self.lines) - 1)]
            error.add_note(f"in line {line.number}: {line.text}")
            raise

    def _graph(self) -> KernelGraph:
        name, inputs = self._match(_HEAD, "NAME(INPUT[SIZES], ...):")
        builder = Builder(name)
        rest = inputs
        while rest.strip():
            found = _INPUT.match(rest)
            if not found:
                raise GraphError("an input", expected="NAME[SIZE, SIZE=16, ...]", got=rest)
            builder.input(found[1], *(each.strip() for each in found[2].split(",")))
            rest = rest[found.end() :]
        self.place += 1
        while self._depth() == 1:
            if found := _RETURN.match(self._text()):
                values = [self._value(builder, each.strip()) for each in found[1].split(",")]
                if self.place + 1 < len(self.lines):
                    self.place += 1
                    raise GraphError("text after return", got=self._text())
                return builder.returns(*values)
            if re.match(r"block\b(?!\s*=)", self._text()):
                self._block(builder)
            else:
                self._equation(builder)
        raise GraphError("no return", expected="return VALUE, ... two spaces in", got=self._text())

    def _block(self, outer: Builder) -> None:
        grid, loop = self._match(_BLOCK, "block grid(x=8) loop(k=32):")
        header = self.place
        with outer.block(grid=_axes(grid), loop=_axes(loop or "")) as block:
            self.place += 1
            while self._depth() == 2:
                if self._text() == "thread:":
                    self._thread(block)
                else:
                    self._equation(block)
            after, self.place = self.place, header  # what is wrong with it as a whole
        self.place = after

    def _thread(self, block: BlockBuilder) -> None:
        header = self.place
        self.place += 1
        first = self.place
        while self._depth() == 3:
            self.place += 1
        inside = self.lines[first : self.place]
        parts = []
        for self.place, line in enumerate(inside, first):
            parts.append(self._parts(line))
        if not parts:
            self.place = header
            raise GraphError("an empty thread graph", expected="equations, two spaces further in")
        made = [name for name, *_ in parts]
        read = [each for _, _, names, _ in parts for each in names if each not in made]
        operands = [self._value(block, each) for each in dict.fromkeys(read)]

        def formula(*values: Value) -> Value:
            known = {str(value): value for value in values}
            for place, (name, op, names, given) in enumerate(parts):
                self.place = first + place
                builder = values[0].builder
                known[name] = builder.apply(op, [known[each] for each in names], given, name)
            self.place = header  # what is wrong with it as a whole
            return known[made[-1]]

        block.thread(formula, *operands, name=made[-1])
        self.place = first + len(parts)

    def _equation(self, builder: Builder | BlockBuilder) -> None:
        found = _EQUATION.match(self._text())
        if found and isinstance(builder, BlockBuilder) and found[2] in ("load", "store"):
            operand, given = self._arguments(found[3])
            scope: Equations = builder.outer if found[2] == "load" else builder
            if len(operand) != 1:
                raise GraphError(f"{found[2]}: operands", expected="one", got=found[3])
            value = self._value(scope, operand[0])
            try:
                getattr(builder, found[2])(value, **given, name=found[1])
            except TypeError:
                raise GraphError(
                    f"{found[2]}: maps",
                    expected="imap={}, fmap={}" if found[2] == "load" else "omap={}",
                    got=", ".join(given),
                ) from None
        else:
            name, op, names, given = self._parts(self.lines[self.place])
            builder.apply(op, [self._value(builder, each) for each in names], given, name)
        self.place += 1

    def _parts(self, line: _Line) -> tuple[str, Op, list[str], dict[str, Any]]:
        found = _EQUATION.match(line.text)
        if not found:
            raise GraphError("an equation", expected="NAME = OPERATOR(VALUE, ...)", got=line.text)
        check_known("no operator", found[2], self.operators, GraphError)
        return found[1], self.operators[found[2]], *self._arguments(found[3])

    def _arguments(self, text: str) -> tuple[list[str], dict[str, Any]]:
        operands, given = [], dict[str, Any]()
        for each in re.findall(r"(?:[^,\[{(]|\[[^\]]*\]|\{[^}]*\}|\([^)]*\))+", text):
            key, equals, value = (part.strip() for part in each.partition("="))
            if equals:
                given[key] = _literal(value)
            else:
                operands.append(key)
        return operands, given

    def _value(self, builder: Equations, name: str) -> Value:
        check_known("nothing is called", name, builder.names, GraphError)
        return Value(builder, builder.names.index(name))

    def _match(self, form: re.Pattern[str], expected: str) -> tuple[Any, ...]:
        found = form.match(self._text())
        if not found:
            raise GraphError("cannot be read", expected=expected, got=self._text())
        return found.groups()

    def _text(self) -> str:
        return self.lines[self.place].text if self.place < len(self.lines) else "the end"

    def _depth(self) -> int:
        return self.lines[self.place].depth if self.place < len(self.lines) else -1


def _axes(text: str) -> dict[str, int]:
    axes: dict[str, int] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, _, extent = (part.strip() for part in each.partition("="))
        if not extent.isdecimal() or name in axes:
            raise GraphError("axes", expected="NAME=EXTENT, each name once", got=text)
        axes[name] = int(extent)
    return axes


def _literal(text: str) -> Any:
    """``{k: 1}``, ``[2, n*m]``, or a number; anything else stays a text, for a constant."""
    if text.startswith("{"):
        pairs = [part.partition(":") for part in text[1:-1].split(",") if part.strip()]
        if not all(dim.strip().isdecimal() for _, _, dim in pairs):
            raise GraphError("a map", expected="{AXIS: DIMENSION, ...}", got=text)
        return {axis.strip(): int(dim) for axis, _, dim in pairs}
    if text.startswith("["):
        return [_scalar(part.strip()) for part in text[1:-1].split(",")]
    return _scalar(text)


def _scalar(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text

"""The JSON form of a kernel graph, which other programs can read and write.

::

    {"mugraph": 1, "name": "scaled", "sizes": {"b": 16, "d": 64},
     "inputs": [{"name": "X", "dims": ["b", "d"]}],
     "equations": [{"op": "scale", "operands": [0], "attributes": {"by": "1/d"}, "names": ["Y"]}],
     "outputs": [1]}

Values are numbered as in ``nodes``. Where order matters, pairs are in a list. An equation has
``op``, the name of an operator; or ``thread``, ``{"operands": [NAME], "equations": []}``; or
``block``, with ``grid``, ``loops``, ``loads``, ``equations`` and ``stores``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from mlc_course.errors import CourseError, GraphError, check_known
from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.nodes import (
    BlockGraph,
    Equation,
    Input,
    Load,
    Store,
    ThreadGraph,
    kept,
)
from mlc_course.mugraph.ir.ops import Op

VERSION = 1
Json = dict[str, Any]
T = TypeVar("T")


def to_json(graph: KernelGraph) -> Json:
    """The graph in dicts, lists, texts and whole numbers."""
    return {
        "mugraph": VERSION,
        "name": graph.name,
        "sizes": dict(graph.sizes),
        "inputs": [{"name": each.name, "dims": list(each.dims)} for each in graph.inputs],
        "equations": [_equation(each) for each in graph.equations],
        "outputs": list(graph.outputs),
    }


def _equation(equation: Equation) -> Json:
    match equation.op:
        case BlockGraph() as block:
            kind: Json = {"block": _block(block)}
        case ThreadGraph() as thread:
            inside = [_equation(each) for each in thread.equations]
            kind = {"thread": {"operands": list(thread.operands), "equations": inside}}
        case op:
            given = {
                name: _value(value, op.attributes[name]) for name, value in equation.attributes
            }
            kind = {"op": op.name} | ({"attributes": given} if given else {})
    return {**kind, "operands": list(equation.operands), "names": list(equation.names)}


def _block(block: BlockGraph) -> Json:
    return {
        "grid": _pairs(block.grid),
        "loops": _pairs(block.loops),
        "loads": [
            {"name": each.name, "imap": _pairs(each.imap), "fmap": _pairs(each.fmap)}
            for each in block.loads
        ],
        "equations": [_equation(each) for each in block.equations],
        "stores": [{"value": each.value, "omap": _pairs(each.omap)} for each in block.stores],
    }


def _pairs(pairs: Iterable[tuple[str, int]]) -> list[list[str | int]]:
    return [[name, number] for name, number in pairs]


def _value(value: Any, kind: ops.Kind) -> Any:
    match kind:
        case "axis" | "count":
            return value
        case "axes":
            return list(value)
        case "constant" | "size":
            return str(value)
        case "sizes":
            return [str(each) for each in value]
        case "map":
            return _pairs(value)


def from_json(data: object, operators: Iterable[Op] = ops.OPERATORS) -> KernelGraph:
    """The graph that ``to_json`` gave; anything else raises ``GraphError`` or ``ShapeError``."""
    whole = _Part(data, "a graph")
    if whole.field("mugraph").number() != VERSION:
        raise GraphError("mugraph: version", expected=VERSION, got=whole.field("mugraph").value)
    return KernelGraph(
        whole.field("name").text(),
        tuple(
            Input(each.field("name").text(), each.field("dims").all(_Part.text))
            for each in whole.field("inputs").items()
        ),
        _read_equations(whole.field("equations"), {op.name: op for op in operators}),
        whole.field("outputs").all(_Part.number),
        tuple((name, size.number()) for name, size in whole.field("sizes").fields()),
    )


class _Part:
    """A part of the data, with the way to it; its errors say what was expected there."""

    def __init__(self, value: object, place: str) -> None:
        self.value, self.place = value, place

    def field(self, name: str) -> _Part:
        """A part of an object."""
        value = self._of(dict, f"an object with {name!r}")
        if name not in value:
            raise self._not(f"an object with {name!r}")
        return _Part(value[name], f"{self.place}, {name}")

    def fields(self) -> Iterator[tuple[str, _Part]]:
        """Yield all parts of an object."""
        for name in self._of(dict, "an object"):
            yield name, self.field(name)

    def has(self, name: str) -> bool:
        return name in self._of(dict, "an object")

    def items(self) -> Iterator[_Part]:
        """The parts of a list."""
        for number, value in enumerate(self._of(list, "a list")):
            yield _Part(value, f"{self.place} {number}")

    def all(self, read: Callable[[_Part], T]) -> tuple[T, ...]:
        """Read every part of a list in the same way."""
        return tuple(read(each) for each in self.items())

    def text(self) -> str:
        return str(self._of(str, "a text"))

    def number(self) -> int:
        if isinstance(self.value, bool):
            raise self._not("a whole number")
        return int(self._of(int, "a whole number"))

    def pair(self) -> tuple[str, int]:
        parts = list(self.items())
        if len(parts) != 2:
            raise self._not('["NAME", NUMBER]')
        return parts[0].text(), parts[1].number()

    def pairs(self) -> tuple[tuple[str, int], ...]:
        return self.all(_Part.pair)

    def _of(self, kind: type, expected: str) -> Any:
        if not isinstance(self.value, kind):
            raise self._not(expected)
        return self.value

    def _not(self, expected: str) -> GraphError:
        text = repr(self.value)
        return GraphError(
            f"JSON: {self.place}",
            expected=expected,
            got=text if len(text) < 80 else f"{text[:77]}...",
            hint="mlc_course.mugraph.ir.json_form shows the form",
        )


def _read_equations(part: _Part, operators: Mapping[str, Op]) -> tuple[Equation, ...]:
    return part.all(lambda each: _read_equation(each, operators))


def _read_equation(part: _Part, operators: Mapping[str, Op]) -> Equation:
    op: Op | BlockGraph | ThreadGraph
    given: tuple[tuple[str, Any], ...] = ()
    if part.has("block"):
        op = _read_block(part.field("block"), operators)
    elif part.has("thread"):
        inside = part.field("thread")
        op = ThreadGraph(
            inside.field("operands").all(_Part.text),
            _read_equations(inside.field("equations"), operators),
        )
    else:
        op = _read_operator(part.field("op"), operators)
        given = _read_attributes(part, op)
    names = part.field("names").all(_Part.text)
    return Equation(op, part.field("operands").all(_Part.number), given, names)


def _read_operator(part: _Part, operators: Mapping[str, Op]) -> Op:
    check_known("no operator", part.text(), operators, GraphError)
    return operators[part.text()]


def _read_attributes(part: _Part, op: Op) -> tuple[tuple[str, Any], ...]:
    if not part.has("attributes"):
        return ()
    given = dict(part.field("attributes").fields())
    try:
        return kept(
            op,
            {
                name: dict(each.pairs()) if op.attributes.get(name) == "map" else each.value
                for name, each in given.items()
            },
        )
    except CourseError as error:
        error.add_note(f"in {part.place}")
        raise


def _read_block(part: _Part, operators: Mapping[str, Op]) -> BlockGraph:
    return BlockGraph(
        part.field("grid").pairs(),
        part.field("loops").pairs(),
        tuple(
            Load(each.field("imap").pairs(), each.field("fmap").pairs(), each.field("name").text())
            for each in part.field("loads").items()
        ),
        _read_equations(part.field("equations"), operators),
        tuple(
            Store(each.field("value").number(), each.field("omap").pairs())
            for each in part.field("stores").items()
        ),
    )

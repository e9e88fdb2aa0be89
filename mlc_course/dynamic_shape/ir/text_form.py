"""The text form of a module, written and read; ``parse(text(module)) == module``.

It is that of BladeDISC's design: a function whose types name symbolic dimensions, one block for
each dimension, and a function of constraints. There, a dimension is bound to the axis of an input
that it is read from when the program runs, or is computed from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar, assert_never

from mlc_course.dynamic_shape.ir.constraints import (
    AffineEq,
    AtMost,
    Constraint,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
)
from mlc_course.dynamic_shape.ir.dims import LARGEST, Dim, SymbolicDim
from mlc_course.dynamic_shape.ir.module import Equation, Function, Input, Module
from mlc_course.dynamic_shape.ir.operators import BY_NAME, DTYPES, Attributes, Type, Value
from mlc_course.errors import CourseError, TextError, check_known

GRAPH = "@shape_constraint_graph"
Found = TypeVar("Found")


# Writing.


def type_text(found: Type) -> str:
    """Return a type such as ``tensor<?x64xf32, [@S0, 64]>``."""
    sizes = "".join(f"{dim if isinstance(dim, int) else '?'}x" for dim in found.dims)
    kind = "memref" if found.is_buffer else "tensor"
    if all(isinstance(dim, int) for dim in found.dims):
        return f"{kind}<{sizes}{found.dtype}>"
    return f"{kind}<{sizes}{found.dtype}, [{', '.join(map(_dim_text, found.dims))}]>"


def text(module: Module) -> str:
    """Return the text form of a module."""
    return "\n".join(_lines(module)) + "\n"


def _dim_text(dim: Dim) -> str:
    return str(dim) if isinstance(dim, int) else f"@{dim}"


def _lines(module: Module) -> Iterator[str]:
    function = module.function
    inputs = ", ".join(f"%{each.name}: {type_text(each.type)}" for each in function.inputs)
    yield f"func @{function.name}({inputs}) {{"
    for at, equation in enumerate(function.equations, len(function.inputs)):
        operands = ", ".join(map(function.name_of, equation.operands))
        given = ", ".join(f"{name} = {_value_text(value)}" for name, value in equation.attributes)
        more = f" {{{given}}}" if given else ""
        computed = f"{equation.op.name}({operands}){more} : {type_text(equation.type)}"
        yield f"  {function.name_of(at)} = {computed}"
    yield f"  return {', '.join(map(function.name_of, function.results))}"
    yield "}"
    for dim in module.dims:
        yield f"SymbolicDim @{dim.name} {{"
        if dim.ranges != ((1, None),):
            bounds = ", ".join(
                f"[{low}, {'?' if high is None else high}]" for low, high in dim.ranges
            )
            yield f"  range list: [{bounds}]"
        if dim.likely:
            yield f"  likely_values: [{', '.join(map(str, dim.likely))}]"
        yield f"  symbolic_shape_graph: {GRAPH}"
        yield "}"
    yield f"func {GRAPH}() {{"
    numbers = {dim.name: f"%{at}" for at, dim in enumerate(module.dims)}
    for dim in module.dims:
        bound = module.binding(dim.name)
        of = f"bind_dim(%{bound[0].name}, {bound[1]})" if bound else "dim()"
        yield f"  {numbers[dim.name]} = {of} {{ref: @{dim.name}}} : index"
    for constraint in module.constraints:
        yield f"  {_predicate(constraint, lambda dim: numbers.get(str(dim), str(dim)))}"
    yield "}"


def _value_text(value: Value) -> str:
    return f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else repr(value)


def _predicate(constraint: Constraint, of: Callable[[Dim], str]) -> str:
    def listed(sizes: Sequence[Dim]) -> str:
        return f"[{', '.join(map(of, sizes))}]"

    match constraint:
        case Eq(left, right):
            return f"tie_predicate_eq({of(left)}, {of(right)})"
        case Less(small, large):
            return f"tie_predicate_lt({of(small)}, {of(large)})"
        case Divisible(sizes, by):
            return f"tie_predicate_divisible({listed(sizes)}, {listed(by)})"
        case MulEq(size, factors):
            return f"tie_predicate_mul_eq({', '.join(map(of, (size, *factors)))})"
        case ProductEq(left, right):
            return f"tie_predicate_product_eq({listed(left)}, {listed(right)})"
        case AffineEq(size, terms, constant):
            named = ", ".join(map(of, (size, *(dim for _, dim in terms))))
            times = ", ".join(str(each) for each, _ in terms)
            return f"tie_predicate_affine_eq({named}) {{affine = [{times}] + {constant}}}"
        case AtMost(sizes, limit):
            return f"tie_predicate_at_most({listed(sizes)}, {limit})"
    assert_never(constraint)


# Reading.


def parse(source: str) -> Module:
    """Return the module that a text describes.

    Raises ``TextError`` with line and column for a text that is not well formed, and otherwise
    what ``Module`` raises.
    """
    return _Reader(source).module()


class _Reader:
    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0
        self.values: dict[str, int] = {}
        self.types: list[Type] = []
        self.symbols: list[tuple[str, int]] = []  # in types, and where

    # Pieces of text.

    def wrong(self, expected: str, at: int | None = None) -> TextError:
        at = self.at if at is None else at
        line = self.line(at)
        column = at - (self.source.rfind("\n", 0, at) + 1) + 1
        got = self.source[at:].split("\n")[0][:40].strip() or "the end of the line"
        return TextError(f"line {line}, column {column}", expected=expected, got=got)

    def line(self, at: int) -> int:
        return self.source.count("\n", 0, at) + 1

    def skip(self) -> None:
        found = re.compile(r"(?:\s|//[^\n]*)*").match(self.source, self.at)
        assert found
        self.at = found.end()

    def peek(self, pattern: str) -> str | None:
        self.skip()
        found = re.compile(pattern).match(self.source, self.at)
        return found[0] if found else None

    def take(self, pattern: str, expected: str) -> str:
        found = self.peek(pattern)
        if found is None:
            raise self.wrong(expected)
        self.at += len(found)
        return found

    def word(self, *words: str) -> str:
        return self.take("|".join(map(re.escape, words)), " or ".join(words))

    def maybe(self, mark: str) -> bool:
        if self.peek(re.escape(mark)) is None:
            return False
        self.word(mark)
        return True

    def listed(self, item: Callable[[], Found], opening: str, closing: str) -> tuple[Found, ...]:
        self.word(opening)
        found: list[Found] = []
        while not self.maybe(closing):
            if found:
                self.word(",")
            found.append(item())
        return tuple(found)

    def symbol(self) -> str:
        return self.take(r"@[^\W\d]\w*", "a symbol such as @S0")[1:]

    def value(self) -> str:
        return self.take(r"%\w+", "a value such as %0")

    def whole(self) -> int:
        return int(self.take(r"-?[0-9]{1,40}(?![0-9])", "a whole number of up to 40 digits"))

    def known_size(self) -> int:
        self.skip()
        at, found = self.at, self.whole()
        if not 1 <= found <= LARGEST:
            raise self.wrong(f"a size, 1 to {LARGEST}", at)
        return found

    # A module.

    def module(self) -> Module:
        function = self.function()
        dims: list[SymbolicDim] = []
        while self.peek(r"SymbolicDim\b"):
            at, found = self.at, self.dim()
            if found.name in {dim.name for dim in dims}:
                raise self.wrong(f"one block for @{found.name}", at)
            dims.append(found)
        declared = {dim.name for dim in dims}
        for name, end in self.symbols:
            if name not in declared:
                raise self.wrong(
                    f"a symbol with a block SymbolicDim @{name} {{", end - len(name) - 1
                )
        constraints: tuple[Constraint, ...] = ()
        if self.peek("func"):
            constraints = self.graph(function, dims)
        if self.peek(r"\S"):
            raise self.wrong("the end, or SymbolicDim @NAME {, or func " + GRAPH)
        return Module(function, tuple(dims), constraints)

    def function(self) -> Function:
        self.word("func")
        name = self.symbol()
        inputs = self.listed(self.input, "(", ")")
        for each in inputs:
            self.name(f"%{each.name}", each.type)
        self.word("{")
        equations = []
        while self.peek(r"return\b") is None:
            equations.append(self.equation())
        self.word("return")
        results = [self.operand()]
        while self.maybe(","):
            results.append(self.operand())
        self.word("}")
        return Function(name, inputs, tuple(equations), tuple(results))

    def name(self, name: str, type_: Type, at: int | None = None) -> None:
        if name in self.values:
            raise self.wrong("a name that no other value has", at)
        self.values[name] = len(self.values)
        self.types.append(type_)

    def input(self) -> Input:
        name = self.value()
        self.word(":")
        return Input(name[1:], self.type())

    def operand(self) -> int:
        self.skip()
        at, name = self.at, self.value()
        if name not in self.values:
            raise self.wrong(f"one of {', '.join(self.values) or 'no value'}", at)
        return self.values[name]

    def equation(self) -> Equation:
        self.skip()
        begin, name = self.at, self.value()
        self.word("=")
        self.skip()
        at = self.at
        op = self.take(r"[a-z_]\w*", "an operator")
        try:
            check_known("no operator", op, BY_NAME)
        except CourseError as error:
            raise self.wrong(error.hint or "an operator", at) from None
        operator = BY_NAME[op]
        operands = self.listed(self.operand, "(", ")")
        wanted = operator.count
        if len(operands) != wanted and (wanted is not None or not operands):
            raise self.wrong(f"{op} of {wanted or 'one or more'} operands", at)
        given = self.attributes(operator.attributes)
        self.word(":")
        type_ = self.type()
        self.name(name, type_, begin)
        try:
            list(operator.asserted([self.types[each] for each in operands], type_, dict(given)))
        except CourseError as error:
            error.add_note(f"in line {self.line(begin)}: {name} = {op}(...)")
            raise
        return Equation(operator, operands, type_, given)

    def attributes(self, names: tuple[str, ...]) -> Attributes:
        found: list[tuple[str, Value]] = []
        self.skip()
        at = self.at
        if self.peek(r"\{"):
            found += self.listed(self.attribute, "{", "}")
        if tuple(name for name, _ in found) != names:
            wanted = ", ".join(f"{name} = .." for name in names)
            raise self.wrong(f"{{{wanted}}}" if names else "no attributes", at)
        return tuple(found)

    def attribute(self) -> tuple[str, Value]:
        name = self.take(r"\w+", "an attribute's name")
        self.word("=")
        if self.peek(r"\["):
            return name, self.listed(self.whole, "[", "]")
        number = self.take(
            r"-?(?:inf|[0-9]{1,40}(?:\.[0-9]*)?(?:e[+-]?[0-9]{1,3})?)", "a number, or [numbers]"
        )
        return name, int(number) if re.fullmatch(r"-?[0-9]+", number) else float(number)

    def type(self) -> Type:
        is_buffer = self.word("tensor", "memref") == "memref"
        self.word("<")
        sizes: list[int | None] = []
        while size := self.peek(r"(?:\?|0*[1-9][0-9]{0,12})x"):
            self.take(re.escape(size), size)
            sizes.append(None if size == "?x" else int(size[:-1]))
        dtype = self.take("|".join(DTYPES), "an element type: " + ", ".join(DTYPES))
        dims: tuple[Dim, ...]
        if self.maybe(","):
            self.skip()
            at = self.at
            dims = self.listed(self.size, "[", "]")
            given = [dim if isinstance(dim, int) else None for dim in dims]
            if given != sizes:
                raise self.wrong(f"{len(sizes)} sizes, a symbol for each ?", at)
        else:
            if None in sizes:
                raise self.wrong(", and a symbol for each ?")
            dims = tuple(size for size in sizes if size is not None)
        self.word(">")
        return Type(dtype, dims, is_buffer)

    def size(self) -> Dim:
        if self.peek("@") is None:
            return self.known_size()
        self.symbols.append((self.symbol(), self.at))
        return self.symbols[-1][0]

    def dim(self) -> SymbolicDim:
        at = self.at
        self.word("SymbolicDim")
        name = self.symbol()
        seen: set[str] = set()
        ranges: tuple[tuple[int, int | None], ...] = ((1, None),)
        likely: tuple[int, ...] = ()
        self.word("{")
        while not self.maybe("}"):
            self.skip()
            begin, line = self.at, self.word("range list", "likely_values", "symbolic_shape_graph")
            if line in seen:
                raise self.wrong(f"one line for {line}", begin)
            seen.add(line)
            match line:
                case "range list":
                    self.word(":")
                    ranges = self.listed(self.range, "[", "]")
                case "likely_values":
                    self.word(":")
                    likely = self.listed(self.whole, "[", "]")
                case _:
                    self.word(":")
                    self.word(GRAPH)
        try:
            return SymbolicDim(name, ranges, likely)
        except CourseError as error:
            raise self.wrong(f"{error.what}: {error.expected}", at) from None

    def range(self) -> tuple[int, int | None]:
        self.word("[")
        low = self.whole()
        self.word(",")
        high = None if self.maybe("?") else self.whole()
        self.word("]")
        return low, high

    # The constraints.

    def graph(self, function: Function, dims: Sequence[SymbolicDim]) -> tuple[Constraint, ...]:
        self.word("func")
        self.word(GRAPH)
        self.listed(self.value, "(", ")")
        self.word("{")
        names: dict[str, str] = {}
        while self.peek("%"):
            self.skip()
            at = self.at
            value, name = self.bound(function)
            if name not in {dim.name for dim in dims}:
                raise self.wrong(f"a declared symbol, not @{name}", at)
            if value in names:
                raise self.wrong("a name that no other dimension has", at)
            names[value] = name
        found: list[Constraint] = []
        while not self.maybe("}"):
            found.append(self.predicate(names))
        return tuple(found)

    def bound(self, function: Function) -> tuple[str, str]:
        value = self.value()
        self.word("=")
        self.skip()
        at, axis = self.at, None
        if self.word("bind_dim", "dim") == "bind_dim":
            self.word("(")
            operand = self.operand()
            self.word(",")
            axis = self.whole()
        else:
            self.word("(")
        self.word(")")
        self.word("{")
        self.word("ref")
        self.word(":")
        name = self.symbol()
        self.word("}")
        self.word(":")
        self.word("index")
        if axis is not None:
            dims = function.types[operand].dims
            if operand >= len(function.inputs) or not 0 <= axis < len(dims) or dims[axis] != name:
                raise self.wrong(f"an input's axis of size @{name}", at)
        return value, name

    def predicate(self, names: dict[str, str]) -> Constraint:
        def one() -> Dim:
            self.skip()
            at = self.at
            if self.peek("%") is None:
                return self.known_size()
            value = self.value()
            if value not in names:
                raise self.wrong(f"one of {', '.join(names) or 'no dimension'}", at)
            return names[value]

        def many() -> tuple[Dim, ...]:
            return self.listed(one, "[", "]") if self.peek(r"\[") else (one(),)

        kinds = ("eq", "lt", "divisible", "mul_eq", "product_eq", "affine_eq", "at_most")
        kind = self.take(
            rf"(?:disc_shape\.)?tie_predicate_(?:{'|'.join(kinds)})\b",
            " | ".join(f"tie_predicate_{each}" for each in kinds),
        ).partition("tie_predicate_")[2]
        self.skip()
        begin = self.at
        if kind in ("mul_eq", "affine_eq"):
            sizes = self.listed(one, "(", ")")
            if not sizes:
                raise self.wrong("a size, and those that it is made of", begin)
            size, *rest = sizes
            if kind == "mul_eq":
                return MulEq(size, tuple(rest))
            return self.affine(size, rest)
        self.word("(")
        first = many()
        self.word(",")
        if kind == "at_most":
            limit = self.whole()
            self.word(")")
            return AtMost(first, limit)
        second = many()
        self.word(")")
        if kind == "divisible":
            return Divisible(first, second)
        if kind == "product_eq":
            return ProductEq(first, second)
        if len(first) != 1 or len(second) != 1:
            raise self.wrong("one size on each side", begin)
        return Eq(first[0], second[0]) if kind == "eq" else Less(first[0], second[0])

    def affine(self, size: Dim, rest: Sequence[Dim]) -> AffineEq:
        self.word("{")
        self.word("affine")
        self.word("=")
        self.skip()
        at = self.at
        by = self.listed(self.whole, "[", "]")
        if len(by) != len(rest):
            raise self.wrong(f"{len(rest)} factors", at)
        self.word("+")
        constant = self.whole()
        self.word("}")
        return AffineEq(size, tuple(zip(by, rest, strict=True)), constant)

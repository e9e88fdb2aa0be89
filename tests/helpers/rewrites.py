"""Random formulas, and rewrites of them: sound ones, which keep the function, and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from mlc_course.mugraph.ir import Builder, KernelGraph, Value, ops

Formula = tuple[Any, ...]  # an operator's name and what it is applied to
SHAPE = ("a=4", "b=6")  # of the inputs X, Y, Z

leaves = st.sampled_from([("X",), ("Y",), ("Z",)])
ONE_OPERAND = ("exp", "square", "silu", "sigmoid", "relu", "neg", "half", "rows", "tanh")
TWO_OPERANDS = ("add", "sub", "mul", "div", "maximum")
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(ONE_OPERAND), inner),
        st.tuples(st.sampled_from(TWO_OPERANDS), inner, inner),
    ),
    max_leaves=4,
)


def depth(formula: Formula) -> int:
    """How many exponentials are one in the other."""
    own = formula[0] in ("exp", "silu", "sigmoid", "tanh")
    return own + max(map(depth, formula[1:]), default=0)


def maxima(formula: Formula) -> int:
    """How many maxima there are; each entry of ``rows`` has six."""
    inner = sum(map(maxima, formula[1:]))
    return (6 if formula[0] == "rows" else 1) * inner + (formula[0] in ("relu", "maximum"))


def graph(formula: Formula) -> KernelGraph:
    """Its graph, one operator an equation."""
    builder = Builder("drawn")
    inputs = {name: builder.input(name, *SHAPE) for name in "XYZ"}
    return builder.returns(_made(formula, inputs))


def _made(formula: Formula, inputs: dict[str, Value]) -> Value:
    name, *operands = formula
    if not operands:
        return ops.scale(inputs[name], by=1)
    return MAKERS[name](*(_made(each, inputs) for each in operands))


MAKERS: dict[str, Callable[..., Any]] = {
    **{name: ops.BY_NAME[name] for name in (*ONE_OPERAND, *TWO_OPERANDS) if name in ops.BY_NAME},
    "half": lambda x: ops.scale(x, by="1/2"),
    "rows": lambda x: ops.sub(x, ops.reduce_sum(x, axis=1)),
    "1/": lambda x: ops.div(ops.scale(ops.exp(ops.sub(x, x)), by=1), x),
    "rows by parts": lambda x: ops.sub(
        x,
        ops.add(*(ops.reduce_sum(ops.split(x, axis=1, parts=2, part=n), axis=1) for n in (1, 0))),
    ),
    "turned": lambda x: ops.transpose(ops.scale(ops.transpose(x, axes=[1, 0]), by=1), axes=[1, 0]),
    "flat": lambda x: ops.reshape(ops.reshape(x, shape=["a*b"]), shape=["a", "b"]),
    "rows in blocks": lambda x: _rows_in_blocks(x),
}


def _rows_in_blocks(x: Value) -> Value:
    with x.builder.block(grid={"x": 2}, loop={"k": 3}) as block:
        tile = block.load(x, imap={"x": 0}, fmap={"k": 1})
        total = ops.accumulate(ops.reduce_sum(tile, axis=1))
        side = ops.accumulate(tile, fmap={"k": 1})
        made = block.store(ops.sub(side, total), omap={"x": 0})
    return made


# Each takes a formula to an equal one, or to None where it does not apply.

Rewrite = Callable[[Formula], "Formula | None"]


def _commuted(f: Formula) -> Formula | None:
    return (f[0], f[2], f[1]) if f[0] in ("add", "mul", "maximum") else None


def _associated(f: Formula) -> Formula | None:
    if f[0] in ("add", "mul", "maximum") and f[1][0] == f[0]:
        return (f[0], f[1][1], (f[0], f[1][2], f[2]))
    return None


def _distributed(f: Formula) -> Formula | None:
    if f[0] in ("mul", "div") and f[1][0] in ("add", "sub"):
        return (f[1][0], (f[0], f[1][1], f[2]), (f[0], f[1][2], f[2]))
    return None


def _exp_of_sum(f: Formula) -> Formula | None:
    if f[0] == "exp" and f[1][0] in ("add", "sub"):
        return ("mul" if f[1][0] == "add" else "div", ("exp", f[1][1]), ("exp", f[1][2]))
    return None


def _by(name: str, other: Callable[..., Formula]) -> Rewrite:
    return lambda f: other(*f[1:]) if f[0] == name else None


SOUND: dict[str, Rewrite] = {
    "commute": _commuted,
    "associate": _associated,
    "distribute": _distributed,
    "exp of a sum": _exp_of_sum,
    "x/y = x * (1/y)": _by("div", lambda x, y: ("mul", x, ("1/", y))),
    "x - y = x + (-y)": _by("sub", lambda x, y: ("add", x, ("neg", y))),
    "square": _by("square", lambda x: ("mul", x, x)),
    "silu": _by("silu", lambda x: ("mul", ("sigmoid", x), x)),
    "half": _by("half", lambda x: ("sub", x, ("half", x))),
    "sum by parts": _by("rows", lambda x: ("rows by parts", x)),
    "sum in blocks": _by("rows", lambda x: ("rows in blocks", x)),
    "there and back": lambda f: ("turned", f),
    "flat and back": lambda f: ("flat", f),
}
UNSOUND: dict[str, Rewrite] = {
    "operands exchanged": lambda f: (f[0], f[2], f[1]) if f[0] in ("sub", "div") else None,
    "exp of a product": _by("exp", lambda x: ("exp", ("mul", x, x))),
    "exp of half": _by("exp", lambda x: ("exp", ("half", x))),
    "product for sum": _by("add", lambda x, y: ("mul", x, y)),
    "difference for sum": _by("add", lambda x, y: ("sub", x, y)),
    "sum for maximum": _by("maximum", lambda x, y: ("add", x, y)),
    "first of a maximum": _by("maximum", lambda x, y: x),
    "relu dropped": _by("relu", lambda x: x),
    "silu for relu": _by("relu", lambda x: ("silu", x)),
    "sigmoid for silu": _by("silu", lambda x: ("sigmoid", x)),
    "no row sum": _by("rows", lambda x: x),
    "negated": lambda f: ("neg", f),
    "another input": lambda f: {"X": ("Y",), "Y": ("Z",), "Z": ("X",)}.get(f[0]),
}


@st.composite
def rewritten(draw: st.DrawFn, formula: Formula, rules: dict[str, Rewrite]) -> Formula:
    """The formula with one of the rules applied in one of the places where it applies."""
    places = [
        (path, made)
        for path, inner in _inner(formula, ())
        for rule in rules.values()
        if (made := rule(inner)) is not None
    ]
    if not places:
        return formula
    path, made = draw(st.sampled_from(places))
    return _with(formula, path, made)


def _inner(formula: Formula, path: tuple[int, ...]) -> list[tuple[tuple[int, ...], Formula]]:
    found = [(path, formula)]
    for place, operand in enumerate(formula[1:], 1):
        found += _inner(operand, (*path, place))
    return found


def _with(formula: Formula, path: tuple[int, ...], made: Formula) -> Formula:
    if not path:
        return made
    first, *rest = path
    return (*formula[:first], _with(formula[first], tuple(rest), made), *formula[first + 1 :])


@st.composite
def products(draw: st.DrawFn) -> tuple[KernelGraph, KernelGraph]:
    """A matrix product, and the same in a block graph with maps, grids and loops as drawn."""
    rows, columns = draw(st.sampled_from([2, 4])), draw(st.sampled_from([3, 6]))
    loops = draw(st.sampled_from([{"k": 4}, {"j": 2, "k": 2}, {"k": 2, "j": 4}]))
    by_columns = draw(st.booleans())
    grid = {"x": columns, "y": rows} if by_columns else {"x": rows, "y": columns}
    row, column = ("y", "x") if by_columns else ("x", "y")
    builder = Builder("product")
    a, b = builder.input("A", "m=8", "k=16"), builder.input("B", "k", "n=12")
    with builder.block(grid=grid, loop=loops) as block:
        left = block.load(a, imap={row: 0}, fmap=dict.fromkeys(loops, 1))
        right = block.load(b, imap={column: 1}, fmap=dict.fromkeys(loops, 0))
        if draw(st.booleans()):
            turned = (ops.transpose(each, axes=[1, 0]) for each in (right, left))
            part = ops.transpose(ops.matmul(*turned), axes=[1, 0])
        else:
            part = left @ right
        omap = {axis: 0 if axis == row else 1 for axis in grid}
        made = block.store(ops.accumulate(part), omap=omap)
    tiled = builder.returns(ops.exp(made))
    plain = Builder("plain")
    whole = plain.returns(ops.exp(plain.input("A", "m=8", "k=16") @ plain.input("B", "k", "n=12")))
    return tiled, whole

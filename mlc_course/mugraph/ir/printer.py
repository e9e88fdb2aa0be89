"""The text printer: a graph in its text form, one equation a line, maps beside what they cut.

::

    scaled_sum(X[b=16, d=4096], W[d, n=64]):
      block grid(x=8) loop(k=32):
        x = load(X, fmap={k: 1})
        w = load(W, imap={x: 1}, fmap={k: 0})
        p = matmul(x, w)
        a = accumulate(p)
        s = scale(a, by=1/d)
        Y = store(s, omap={x: 1})
      return Y

A thread graph is ``thread:`` and its equations, two spaces further in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlc_course.mugraph.ir.constants import Constant
from mlc_course.mugraph.ir.nodes import (
    Axes,
    AxisMap,
    BlockGraph,
    Equation,
    Input,
    ThreadGraph,
    value_names,
)

STEP = "  "


def graph_text(
    name: str,
    inputs: Sequence[Input],
    equations: Sequence[Equation],
    outputs: Sequence[int],
    sizes: Mapping[str, int],
) -> str:
    """Return the parts of a kernel graph in the text form, which ``parser.parse`` reads back."""
    known: set[str] = set()
    head = []
    for each in inputs:
        dims = ", ".join(_dim(dim, sizes, known) for dim in each.dims)
        head.append(f"{each.name}[{dims}]")
    names = value_names((each.name for each in inputs), equations)
    lines = [f"{name}({', '.join(head)}):"]
    lines += (STEP + line for line in _equations(equations, names))
    returned = ", ".join(names[number] for number in outputs)
    return "\n".join([*lines, f"{STEP}return {returned}"])


def _dim(name: str, sizes: Mapping[str, int], known: set[str]) -> str:
    if name.isdecimal() and sizes[name] == int(name):
        return name
    if name in known:
        return name
    known.add(name)
    return f"{name}={sizes[name]}"


def _equations(equations: Sequence[Equation], names: Sequence[str]) -> Iterator[str]:
    for equation in equations:
        operands = [names[number] for number in equation.operands]
        match equation.op:
            case BlockGraph() as block:
                yield from _block(block, operands, equation.names)
            case ThreadGraph() as thread:
                yield "thread:"
                made = equation.names[0]
                yield from (STEP + line for line in thread_lines(thread, operands, made))
            case _:
                yield f"{equation.names[0]} = {call(equation, operands)}"


def thread_lines(thread: ThreadGraph, operands: Sequence[str], made: str) -> Iterator[str]:
    """Yield a thread graph's equations on operands of these names; the last one makes ``made``."""
    names = [*operands, *(name for each in thread.equations for name in each.names)]
    names[-1] = made
    for place, each in enumerate(thread.equations, len(operands)):
        yield f"{names[place]} = {call(each, [names[number] for number in each.operands])}"


def call(equation: Equation, operands: Sequence[str]) -> str:
    """Return an operator on operands of these names, such as ``sum(x, axis=1)``."""
    given = [f"{key}={_attribute(value)}" for key, value in equation.attributes]
    return f"{equation.op.name}({', '.join([*operands, *given])})"


def _block(block: BlockGraph, operands: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    loops = f" loop{_axes(block.loops)}" if block.loops else ""
    yield f"block grid{_axes(block.grid)}{loops}:"
    for load, operand in zip(block.loads, operands, strict=True):
        maps = (("imap", load.imap), ("fmap", load.fmap))
        given = [f"{kind}={map_text(cuts)}" for kind, cuts in maps if cuts]
        yield f"{STEP}{load.name} = load({', '.join([operand, *given])})"
    yield from (STEP + line for line in _equations(block.equations, block.names))
    for store, result in zip(block.stores, results, strict=True):
        omap = [f"omap={map_text(store.omap)}"] if store.omap else []
        yield f"{STEP}{result} = store({', '.join([block.names[store.value], *omap])})"


def _axes(extents: Axes) -> str:
    """Return axes with their extents, such as ``(x=8, y=2)``."""
    return f"({', '.join(f'{name}={extent}' for name, extent in extents)})"


def map_text(cuts: AxisMap) -> str:
    """Return each axis and the dimension that it cuts, such as ``{x: 1, y: 0}``."""
    return "{" + ", ".join(f"{axis}: {dim}" for axis, dim in cuts) + "}"


def _attribute(value: Any) -> str:
    match value:
        case Constant() | int():
            return str(value)
        case ((str(), int()), *_):
            return map_text(value)
        case _:
            return "[" + ", ".join(str(each) for each in value) + "]"

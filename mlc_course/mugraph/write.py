"""The text form of a graph: one equation a line, maps beside the tensor that they cut.

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

from mlc_course.mugraph.constants import Constant
from mlc_course.mugraph.ir import Axes, AxisMap, BlockGraph, Equation, ThreadGraph

STEP = "  "


def written(graph: Any) -> str:
    """A kernel graph (``kernel.py``) as text; ``text.parse`` reads it back."""
    known: set[str] = set()
    inputs = []
    for each in graph.inputs:
        dims = ", ".join(_dim(name, graph.size_of, known) for name in each.dims)
        inputs.append(f"{each.name}[{dims}]")
    lines = [f"{graph.name}({', '.join(inputs)}):"]
    lines += (STEP + line for line in _equations(graph.equations, graph.names))
    returned = ", ".join(graph.names[number] for number in graph.outputs)
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
    """A thread graph's equations on operands of these names, the last of which makes ``made``."""
    names = [*operands, *(name for each in thread.equations for name in each.names)]
    names[-1] = made
    for place, each in enumerate(thread.equations, len(operands)):
        yield f"{names[place]} = {call(each, [names[number] for number in each.operands])}"


def call(equation: Equation, operands: Sequence[str]) -> str:
    """``sum(x, axis=1)``: an operator on operands of these names."""
    given = [f"{key}={_value(value)}" for key, value in equation.attributes]
    return f"{equation.op.name}({', '.join([*operands, *given])})"


def _block(block: BlockGraph, operands: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    loops = f" loop{axes(block.loops)}" if block.loops else ""
    yield f"block grid{axes(block.grid)}{loops}:"
    for load, operand in zip(block.loads, operands, strict=True):
        maps = (("imap", load.imap), ("fmap", load.fmap))
        given = [f"{kind}={axis_map(cuts)}" for kind, cuts in maps if cuts]
        yield f"{STEP}{load.name} = load({', '.join([operand, *given])})"
    yield from (STEP + line for line in _equations(block.equations, block.names))
    for store, result in zip(block.stores, results, strict=True):
        omap = [f"omap={axis_map(store.omap)}"] if store.omap else []
        yield f"{STEP}{result} = store({', '.join([block.names[store.value], *omap])})"


def axes(extents: Axes) -> str:
    """``(x=8, y=2)``."""
    return f"({', '.join(f'{name}={extent}' for name, extent in extents)})"


def axis_map(cuts: AxisMap) -> str:
    """``{x: 1, y: 0}``: each axis and the dimension that it cuts."""
    return "{" + ", ".join(f"{axis}: {dim}" for axis, dim in cuts) + "}"


def _value(value: Any) -> str:
    match value:
        case Constant() | int():
            return str(value)
        case ((str(), int()), *_):
            return axis_map(value)
        case _:
            return "[" + ", ".join(str(each) for each in value) + "]"

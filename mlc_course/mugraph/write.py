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
    if name.isdigit() and sizes[name] == int(name):
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
                inner = [*operands, *(n for each in thread.equations for n in each.names)]
                inner[-1] = equation.names[0]
                yield "thread:"
                yield from (STEP + line for line in _thread(thread, inner, len(operands)))
            case op:
                given = [f"{key}={_value(value)}" for key, value in equation.attributes]
                yield f"{equation.names[0]} = {op.name}({', '.join([*operands, *given])})"


def _thread(thread: ThreadGraph, names: Sequence[str], inputs: int) -> Iterator[str]:
    for place, each in enumerate(thread.equations):
        operands = [names[number] for number in each.operands]
        given = [f"{key}={_value(value)}" for key, value in each.attributes]
        assert not isinstance(each.op, BlockGraph)
        yield f"{names[inputs + place]} = {each.op.name}({', '.join([*operands, *given])})"


def _block(block: BlockGraph, operands: Sequence[str], results: Sequence[str]) -> Iterator[str]:
    loops = f" loop{_axes(block.loops)}" if block.loops else ""
    yield f"block grid{_axes(block.grid)}{loops}:"
    for load, operand in zip(block.loads, operands, strict=True):
        maps = (("imap", load.imap), ("fmap", load.fmap))
        given = [f"{kind}={_map(cuts)}" for kind, cuts in maps if cuts]
        yield f"{STEP}{load.name} = load({', '.join([operand, *given])})"
    yield from (STEP + line for line in _equations(block.equations, block.names))
    for store, result in zip(block.stores, results, strict=True):
        omap = [f"omap={_map(store.omap)}"] if store.omap else []
        yield f"{STEP}{result} = store({', '.join([block.names[store.value], *omap])})"


def _axes(axes: Axes) -> str:
    return f"({', '.join(f'{name}={extent}' for name, extent in axes)})"


def _map(cuts: AxisMap) -> str:
    return "{" + ", ".join(f"{axis}: {dim}" for axis, dim in cuts) + "}"


def _value(value: Any) -> str:
    match value:
        case Constant() | int():
            return str(value)
        case ((str(), int()), *_):
            return _map(value)
        case _:
            return "[" + ", ".join(str(each) for each in value) + "]"

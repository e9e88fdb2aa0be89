"""Partitions of a graph into kernels by hand: is one possible, and which bytes does it move?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlc_course.errors import UsageError
from mlc_course.tensor_program.graphs.graph import Graph, Node, Value

Row = tuple[str, str, str, tuple[str, ...], tuple[int, ...]]


def sketch(inputs: Mapping[str, tuple[int, ...]], rows: Sequence[Row]) -> Graph:
    """A graph from rows (name, operator, kind, operands, shape); the last one is the output."""
    values = tuple(Value(name, shape) for name, shape in inputs.items())
    nodes = tuple(
        Node(op, tuple(operands), Value(name, tuple(shape)), kind, kernel=name, function=op)
        for name, op, kind, operands, shape in rows
    )
    return Graph(values, (), nodes, (nodes[-1].name,) if nodes else ())


def partitioned(graph: Graph, kernels: Sequence[Sequence[str]]) -> Graph:
    """The graph with these kernels, each a list of names.

    Raises ``UsageError`` when an operator is in no kernel, in two, or unknown, and when kernels
    wait for each other.
    """
    names = [name for kernel in kernels for name in kernel]
    known = [node.name for node in graph.nodes]
    if sorted(names) != sorted(known):
        wrong = sorted({name for name in (*names, *known) if names.count(name) != 1})
        unknown = sorted(set(names) - set(known))
        raise UsageError(
            "not a partition",
            expected=f"each of {', '.join(known)} in exactly one kernel",
            got=f"unknown: {', '.join(unknown)}" if unknown else f"not once: {', '.join(wrong)}",
        )
    of = {name: kernel[0] for kernel in kernels for name in kernel}
    made = replace(graph, nodes=tuple(replace(n, kernel=of[n.name]) for n in graph.nodes))
    waiting = _waiting(made)
    if waiting:
        raise UsageError(
            "kernels that wait for each other: neither can run first",
            expected="an order of the kernels",
            got=" and ".join(f"[{', '.join(n.name for n in made.kernels[k])}]" for k in waiting),
        )
    return made


def _waiting(graph: Graph) -> tuple[str, ...]:
    """The kernels that are left when all that can run have run."""
    needs = {
        kernel: {graph.node(r).kernel for n in nodes for r in n.operands if r in _made(graph)}
        - {kernel}
        for kernel, nodes in graph.kernels.items()
    }
    while ready := [kernel for kernel, needed in needs.items() if not needed]:
        for kernel in ready:
            del needs[kernel]
        for needed in needs.values():
            needed.difference_update(ready)
    return tuple(needs)


def _made(graph: Graph) -> set[str]:
    return {node.name for node in graph.nodes}


def traffic(graph: Graph) -> int:
    """Bytes that the kernels read and write.

    A kernel reads each tensor from outside once, and writes each of its own that somebody outside
    reads or that is an output. What stays inside counts nothing.
    """
    values = graph.values
    total = 0
    for nodes in graph.kernels.values():
        own = {node.name for node in nodes}
        outside = {name for node in nodes for name in node.operands} - own
        total += sum(values[name].bytes for name in outside)
        total += sum(node.result.bytes for node in nodes if _needed(graph, node, own))
    return total


def _needed(graph: Graph, node: Node, own: set[str]) -> bool:
    return node.name in graph.outputs or any(r.name not in own for r in graph.readers(node.name))

"""A graph as values: which operator makes which tensor, from what, in which kernel.

A graph is a flat list of nodes, in the order of execution. ``graph_reader`` makes it of Relax.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from mlc_course.errors import UsageError

# What TVM's AnnotateTIROpPattern finds out about a kernel, by the number that it writes down.
KINDS = {
    0: "elementwise",
    1: "broadcast",
    2: "injective",
    3: "reduction",
    4: "out-fusable",
    8: "opaque",
}


@dataclass(frozen=True)
class Value:
    """A tensor on its way from one operator to others."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"

    @property
    def bytes(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize

    def __str__(self) -> str:
        return f"{self.name}  {' x '.join(map(str, self.shape)) or 'a number'}"


@dataclass(frozen=True)
class Node:
    """One operator. ``kind`` is one of ``KINDS``, or empty before it is known.

    Nodes with the same ``kernel`` run as one kernel, the function ``function``. ``scratch`` is the
    bytes of the tensors that stand inside the kernel's own program.
    """

    op: str
    operands: tuple[str, ...]
    result: Value
    kind: str = ""
    kernel: str = ""
    function: str = ""
    scratch: int = 0

    @property
    def name(self) -> str:
        return self.result.name


@dataclass(frozen=True)
class Graph:
    """Parameters, constants, operators in order, and the names of what is returned.

    Raises ``UsageError`` when an operator reads what nobody has made before it.
    """

    inputs: tuple[Value, ...]
    constants: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        made = {each.name for each in (*self.inputs, *self.constants)}
        for node in self.nodes:
            late = [name for name in node.operands if name not in made]
            if late:
                raise UsageError(f"{node.name} reads what is not made yet", got=", ".join(late))
            made.add(node.name)
        unknown = [name for name in self.outputs if name not in made]
        if unknown:
            raise UsageError("an output that nobody makes", got=", ".join(unknown))

    @property
    def values(self) -> dict[str, Value]:
        """Every tensor by its name."""
        results = (node.result for node in self.nodes)
        return {each.name: each for each in (*self.inputs, *self.constants, *results)}

    def node(self, name: str) -> Node:
        """The operator that makes this; raises ``UsageError`` when there is none."""
        found = {node.name: node for node in self.nodes}
        if name not in found:
            raise UsageError(f"no operator makes {name!r}", expected=", ".join(found), got=name)
        return found[name]

    def readers(self, name: str) -> tuple[Node, ...]:
        """The operators that read a tensor."""
        return tuple(node for node in self.nodes if name in node.operands)

    @property
    def kernels(self) -> dict[str, tuple[Node, ...]]:
        """The operators of each kernel, in order."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            found.setdefault(node.kernel, []).append(node)
        return {kernel: tuple(nodes) for kernel, nodes in found.items()}

    @property
    def between(self) -> tuple[Value, ...]:
        """The intermediate tensors that one kernel writes and another one reads."""
        crossing = (node for node in self.nodes if self._leaves(node))
        return tuple(node.result for node in crossing if node.name not in self.outputs)

    def _leaves(self, node: Node) -> bool:
        readers = self.readers(node.name)
        return not readers or any(each.kernel != node.kernel for each in readers)

    @property
    def bytes_between(self) -> int:
        """Bytes of intermediates written by one kernel for another."""
        return sum(value.bytes for value in self.between)

    @property
    def bytes_inside(self) -> int:
        """Bytes of intermediates that never leave a kernel, as long as it keeps them as arrays."""
        kept = (n for n in self.nodes if n.name not in self.outputs and not self._leaves(n))
        return sum(n.result.bytes for n in kept) + sum(n.scratch for n in self.nodes)

    @property
    def bytes_constant(self) -> int:
        """Bytes of the constants that the program carries."""
        return sum(value.bytes for value in self.constants)

    def __str__(self) -> str:
        kernels = self.kernels
        lines = (
            f"{node.result} = {node.op}({', '.join(node.operands)})"
            + (f"  {node.kind}" if node.kind else "")
            + (f"  in {node.function}" if len(kernels[node.kernel]) > 1 else "")
            for node in self.nodes
        )
        return "\n".join(lines)


def size_text(size: int) -> str:
    """``40 B``, ``51.2 kB``, ``1.15 MB``: three significant digits, a kilobyte is 1000 bytes."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{float(f'{size / unit:.3g}'):g} {name}"
    return f"{size} B"

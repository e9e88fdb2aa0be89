"""Fusion of operators into kernels: the rules of TVM's ``FuseOps``, and partitions by hand.

Every operator looks at its **meeting point**, its immediate post-dominator: the first operator that
all paths from its result to the outputs pass. It joins the kernel there, together with everything
on the paths, or not at all. So no result inside a kernel is needed outside, and no two kernels wait
for each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlc_course.errors import UsageError
from mlc_course.tensor_program.networks.graphs import KINDS, OPERATOR, Graph, Node, Value
from mlc_course.units import plural

ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, OUT_FUSABLE, OPAQUE = KINDS
RANKS = {kind: rank for rank, kind in KINDS.items()}
# For a kernel of this rank that may join others: the highest rank of an operator on the paths, of
# the kernels there, and of the kernel at the meeting point.
LIMITS = {
    ELEMENTWISE: (REDUCTION, INJECTIVE, OUT_FUSABLE),
    BROADCAST: (REDUCTION, INJECTIVE, OUT_FUSABLE),
    INJECTIVE: (INJECTIVE, INJECTIVE, INJECTIVE),
    OUT_FUSABLE: (ELEMENTWISE, BROADCAST, BROADCAST),
}
MOST = 256  # operators in a kernel: TVM's relax.FuseOps.max_depth
WHY_NOT = {
    BROADCAST: "only elementwise work may follow in the same kernel",
    INJECTIVE: "only elementwise work may follow in the same kernel",
    REDUCTION: "a reduction ends its kernel",
    OUT_FUSABLE: "nothing comes before that in a kernel",
    OPAQUE: "TVM cannot look inside",
}


@dataclass(frozen=True)
class Refusal:
    """The reason why ``producer`` does not share the kernel of its readers."""

    producer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.producer}: {self.reason}"


@dataclass(frozen=True)
class Fusion:
    """A partition into kernels: the names of the nodes of each, and what was refused."""

    kernels: tuple[tuple[str, ...], ...]
    refusals: tuple[Refusal, ...]

    def __str__(self) -> str:
        shared = " | ".join(" + ".join(each) for each in self.kernels)
        head = f"{plural(len(self.kernels), 'kernel')}: {shared}"
        return "\n".join([head, *map(str, self.refusals)])


def fuse(graph: Graph) -> Fusion:
    """Partition a graph of single operators as TVM's ``FuseOps`` does, at most 256 to a kernel.

    An operator that ``LegalizeOps`` leaves as it is, such as ``cumsum``, is opaque. Raises
    ``UsageError`` when a kind is not known yet, or not one of ``KINDS``.
    """
    if any(node.kind for node in graph.nodes):
        graph = replace(graph, nodes=tuple(map(_opaque_if_not_lowered, graph.nodes)))
    for node in graph.nodes:
        if node.kind not in RANKS:
            raise UsageError(
                f"{node.name}: the kind of {node.op} is not known",
                expected=" | ".join(RANKS),
                got=node.kind or "none yet",
                hint="run LegalizeOps and AnnotateTIROpPattern first",
            )
    rules = _Rules(graph)
    for injective_too in (False, True):
        for node in graph.nodes:
            rules.try_to_join(node, injective_too=injective_too)
    kernels: dict[str, list[str]] = {}
    for node in graph.nodes:
        kernels.setdefault(rules.root(node.name), []).append(node.name)
    return Fusion(tuple(map(tuple, kernels.values())), tuple(rules.refusals()))


def _opaque_if_not_lowered(node: Node) -> Node:
    lowered = node.kind or not node.function.startswith(OPERATOR)
    return node if lowered else replace(node, kind=KINDS[OPAQUE])


class _Rules:
    """Kernels under construction, as a union-find: ``into`` leads from a node towards its root."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.own = {node.name: RANKS[node.kind] for node in graph.nodes}
        self.rank = dict(self.own)  # of a kernel, by its root
        self.size = dict.fromkeys(self.own, 1)  # of a kernel, by its root
        self.readers = {node.name: graph.readers(node.name) for node in graph.nodes}
        self.meeting: dict[str, str | None] = {}
        self.depth: dict[str, int] = {}
        for node in reversed(graph.nodes):
            point = self._meeting_point(node.name)
            self.meeting[node.name] = point
            self.depth[node.name] = self.depth[point] + 1 if point else 1
        self.into: dict[str, str] = {}
        self.why: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The node that represents the kernel of this one."""
        while name in self.into:
            name = self.into[name]
        return name

    def _meeting_point(self, name: str) -> str | None:
        """The immediate post-dominator; None for an output, and where the paths never meet."""
        points = [] if name in self.graph.outputs else [each.name for each in self.readers[name]]
        point: str | None = points[0] if points else None
        for other in points[1:]:
            point = self._common(point, other)
        return point

    def _common(self, a: str | None, b: str | None) -> str | None:
        while a != b and a is not None and b is not None:
            if self.depth[a] > self.depth[b]:
                a = self.meeting[a]
            else:
                b = self.meeting[b]
        return a if a == b else None

    def try_to_join(self, node: Node, *, injective_too: bool) -> None:
        """Let a node join the kernel at its meeting point, or note why it does not."""
        name, point = node.name, self.meeting[node.name]
        rank = self.rank[self.root(name)]
        if point and self.root(name) == self.root(point):
            return
        reason = self._never(node)
        if not reason and point and (injective_too or rank != INJECTIVE):
            ways = dict(self._ways(name, point))
            reason = self._too_many(name, point, ways) or self._obstacle(name, ways, rank)
            if not reason:
                self._commit(name, point, ways)
        self.why[name] = reason

    def _never(self, node: Node) -> str:
        """The reason why a node can join no reader, or an empty text."""
        if node.name in self.graph.outputs:
            return "it is an output, which has to be written in any case"
        if node.kind == KINDS[OPAQUE]:
            return f"TVM cannot look inside {node.op} (opaque)"
        if self.meeting[node.name] is None:
            readers = ", ".join(each.name for each in self.readers[node.name])
            return f"its readers never meet again: {readers}" if readers else "nobody reads it"
        if self.rank[self.root(node.name)] == REDUCTION:
            return f"{node.op} is a reduction, whole only when its loops have ended"
        return ""

    def _too_many(self, name: str, point: str, ways: dict[str, bool]) -> str:
        """The reason why a kernel would be too large, or an empty text; counted as TVM does."""
        coming = {name, *ways} - {point}
        size = self.size[self.root(point)] + sum(self.size[each] for each in coming)
        return f"the kernel would have more than {MOST} operators" if size > MOST else ""

    def _obstacle(self, name: str, ways: dict[str, bool], rank: int) -> str:
        """The reason why a kernel of this rank cannot take these paths, or an empty text."""
        reason, readers = self._blocked(ways, rank), [each.name for each in self.readers[name]]
        if not reason or len(readers) == 1:
            return reason
        return f"{' and '.join(readers)} read it and meet only at {self.meeting[name]}; {reason}"

    def _blocked(self, ways: dict[str, bool], rank: int) -> str:
        highest, between, at_the_end = LIMITS[rank]
        for reader in ways:
            if self.own[reader] > highest:
                return self._told(reader, rank)
        for reader, ends in ways.items():
            kernel = self.rank[self.root(reader)]
            if kernel > (at_the_end if ends else between):
                if kernel == self.own[reader]:
                    return self._told(reader, rank)
                return f"the kernel of {reader} has an operator of the kind {KINDS[kernel]} already"
        return ""

    def _told(self, reader: str, rank: int) -> str:
        node, why = self.graph.node(reader), WHY_NOT[self.own[reader]]
        if (rank, self.own[reader]) == (INJECTIVE, REDUCTION):
            why = "only elementwise work comes before that in a kernel"
        return f"the path leads through {node.op} ({node.kind}), and {why}"

    def _ways(self, name: str, point: str) -> Iterator[tuple[str, bool]]:
        """Every node on the paths from a node to its meeting point; True marks that point."""
        waiting, seen = [name], {name}
        while waiting:
            for reader in self.readers[waiting.pop()]:
                if reader.name not in seen:
                    seen.add(reader.name)
                    yield reader.name, reader.name == point
                    if reader.name != point:
                        waiting.append(reader.name)

    def _commit(self, name: str, point: str, ways: dict[str, bool]) -> None:
        for each in (name, *ways):
            child, parent = self.root(each), self.root(point)
            if child != parent:
                self.into[child] = parent
                self.size[parent] += self.size[child]
                if self.rank[child] == OUT_FUSABLE:
                    self.rank[parent] = OUT_FUSABLE

    def refusals(self) -> Iterator[Refusal]:
        """The reason for each node whose result leaves its kernel."""
        for node in self.graph.nodes:
            kernel = self.root(node.name)
            leaves = any(self.root(each.name) != kernel for each in self.readers[node.name])
            if leaves and self.why.get(node.name):
                yield Refusal(node.name, self.why[node.name])


Row = tuple[str, str, str, tuple[str, ...], tuple[int, ...]]


def sketch(inputs: Mapping[str, tuple[int, ...]], rows: Sequence[Row]) -> Graph:
    """Make a graph of rows (name, operator, kind, operands, shape); the last one is the output."""
    values = tuple(Value(name, shape) for name, shape in inputs.items())
    nodes = tuple(
        Node(op, tuple(operands), Value(name, tuple(shape)), kind, kernel=name, function=op)
        for name, op, kind, operands, shape in rows
    )
    return Graph(values, (), nodes, (nodes[-1].name,) if nodes else ())


def partitioned(graph: Graph, kernels: Sequence[Sequence[str]]) -> Graph:
    """Partition the graph into these kernels, each a list of names.

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
    """The kernels that can never run, because they wait for each other."""
    of = {node.name: node.kernel for node in graph.nodes}
    needs = {
        kernel: {of[name] for node in nodes for name in node.operands if name in of} - {kernel}
        for kernel, nodes in graph.kernels.items()
    }
    while ready := [kernel for kernel, needed in needs.items() if not needed]:
        for kernel in ready:
            del needs[kernel]
        for needed in needs.values():
            needed.difference_update(ready)
    return tuple(needs)


def traffic(graph: Graph) -> int:
    """Bytes that the kernels read and write.

    A kernel reads each tensor from outside once, and writes each of its own that is an output or is
    read outside. What stays inside is not counted.
    """
    values = graph.values
    total = 0
    for nodes in graph.kernels.values():
        own = {node.name for node in nodes}
        outside = {name for node in nodes for name in node.operands} - own
        total += sum(values[name].bytes for name in outside)
        total += sum(
            node.result.bytes
            for node in nodes
            if node.name in graph.outputs
            or any(r.name not in own for r in graph.readers(node.name))
        )
    return total

"""Who may share a kernel: the rules of TVM's ``FuseOps``, with a reason for each refusal.

Every operator looks at its **meeting point**: the first operator that all ways from its result to
the outputs pass. It joins the kernel there, together with everything on the way, or not at all.
So no result inside a kernel is missed outside, and no two kernels wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mlc_course.errors import UsageError
from mlc_course.tensor_program.graphs.graph import KINDS, Graph, Node

ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, OUT_FUSABLE, OPAQUE = KINDS
RANKS = {kind: rank for rank, kind in KINDS.items()}
# For the rank of a kernel that wants to join others: how high the rank of an operator may be that
# stands on the way, and the rank of the kernels there, before the meeting point and at it.
LIMITS = {
    ELEMENTWISE: (REDUCTION, INJECTIVE, OUT_FUSABLE),
    BROADCAST: (REDUCTION, INJECTIVE, OUT_FUSABLE),
    INJECTIVE: (INJECTIVE, INJECTIVE, INJECTIVE),
    OUT_FUSABLE: (ELEMENTWISE, BROADCAST, BROADCAST),
}
WHY_NOT = {
    BROADCAST: "only elementwise work may follow in the same kernel",
    INJECTIVE: "only elementwise work may follow in the same kernel",
    REDUCTION: "a reduction ends its kernel",
    OUT_FUSABLE: "nothing comes before that in a kernel",
    OPAQUE: "nobody can look inside",
}


@dataclass(frozen=True)
class Refusal:
    """``producer`` does not share the kernel of those who read it, and why not."""

    producer: str
    reason: str

    def __str__(self) -> str:
        return f"{self.producer}: {self.reason}"


@dataclass(frozen=True)
class Fusion:
    """``kernels`` lists the names of the nodes of each kernel, in order."""

    kernels: tuple[tuple[str, ...], ...]
    refusals: tuple[Refusal, ...]

    def __str__(self) -> str:
        count = len(self.kernels)
        shared = " | ".join(" + ".join(each) for each in self.kernels)
        head = f"{count} kernel{'s' if count != 1 else ''}: {shared}"
        return "\n".join([head, *map(str, self.refusals)])


def fuse(graph: Graph) -> Fusion:
    """Partition a graph of single operators as TVM's ``FuseOps`` does.

    Raises ``UsageError`` when a kind is not known yet, or not one of ``KINDS``.
    """
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


class _Rules:
    """Kernels under construction: ``into`` leads from a node to one that took it in."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.own = {node.name: RANKS[node.kind] for node in graph.nodes}
        self.rank = dict(self.own)  # of a kernel, by its root
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
        """The node that stands for the kernel of this one."""
        while name in self.into:
            name = self.into[name]
        return name

    def _meeting_point(self, name: str) -> str | None:
        """The immediate post-dominator; None for an output, and where the ways never meet."""
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
            reason = self._obstacle(ways, rank)
            if not reason:
                self._commit(name, point, ways)
        self.why[name] = reason

    def _never(self, node: Node) -> str:
        """Why a node can join nobody, whatever its readers are."""
        if node.name in self.graph.outputs:
            return "it is an output, which has to be written in any case"
        if node.kind == KINDS[OPAQUE]:
            return f"nobody can look inside {node.op} (opaque)"
        if self.meeting[node.name] is None:
            readers = ", ".join(each.name for each in self.readers[node.name])
            return f"its readers never meet again: {readers}" if readers else "nobody reads it"
        if self.rank[self.root(node.name)] == REDUCTION:
            return f"{node.op} is a reduction, whole only when its loops have ended"
        return ""

    def _obstacle(self, ways: dict[str, bool], rank: int) -> str:
        """What stands on the way of a kernel of this rank and may not be there."""
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
        return f"the way leads through {node.op} ({node.kind}), and {why}"

    def _ways(self, name: str, point: str) -> Iterator[tuple[str, bool]]:
        """Every node on the ways from a node to its meeting point; True with the point itself."""
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
                if self.rank[child] == OUT_FUSABLE:
                    self.rank[parent] = OUT_FUSABLE

    def refusals(self) -> Iterator[Refusal]:
        """Why each node whose result leaves its kernel could not stay with its readers."""
        for node in self.graph.nodes:
            kernel = self.root(node.name)
            leaves = any(self.root(each.name) != kernel for each in self.readers[node.name])
            if leaves and self.why.get(node.name):
                yield Refusal(node.name, self.why[node.name])

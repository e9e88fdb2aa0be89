"""The tree that a search of graphs walks: why the library searches values instead.

A node is a graph in the making: operators applied so far, in one nest of loops. A child applies one
more, to inputs or to what is there. A graph that makes all that the program returns has no
children. Three prunings keep the tree small, as in M. Wu et al. (Mirage, OSDI 2025, section 4):

===========  =====================================================================================
order        a graph is built in one order: candidates are numbered, those on what is newer after
             all others, and numbers only go up. Commutative operators take operands in one order
equal        what is made is equal to a value that the graph has already
expressions  what is made is no part of the goal (``expressions.Goal``, or your own function)
===========  =====================================================================================

What ``value_facts`` refuses (``x + x`` has no expression) is refused with any of them. Rescaled
accumulators are left out: a program with a maximum has a tree that nobody walks.

Nodes with one operator, with two, ... with all three prunings, without one of them, without any:

===========  =============================================  ====================================
left out     lora, no loop                                  rms_norm_matmul, loop over d
===========  =============================================  ====================================
nothing      8, 37, 127, 350, 803, 1560                     12, 91, 543, 2760, 12428, 50681
order        8, 66, 566, 4996, 44544, 393132                13, 186, 2896, 48554, 868336, 16423344
equal        8, 37, 127, 354, 837, 1715                     12, 92, 559, 2919, 13642, 58434
expressions  11, 82, 564, 4038, 31174, 263241               28, 709, 19214, 583034
all three    11, 142, 2262, 45226, 1128393, 34696552        29, 1231, 72289, 5646960
===========  =============================================  ====================================

The library (``levels.values``) looks at 19 values for lora, and at 69 for rms_norm_matmul.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from mlc_course.errors import UsageError
from mlc_course.mugraph.enumeration.candidates import Candidates, Term
from mlc_course.mugraph.enumeration.levels import Key, Level, checked
from mlc_course.mugraph.expressions import Poly, Pruner, Terms, asked, said, terms, why_not
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.search import (
    EQUAL,
    EQUALITY,
    EXPRESSIONS,
    NO_PART,
    ORDER,
    PRUNINGS,
    Nest,
)

ANOTHER_ORDER = "another order of the same operators"
LIMIT = 200_000  # nodes
MOST, LETTERS = 12, "pqrstuvwxyzabcdefghijklmno"


@dataclass(frozen=True)
class Step:
    """One operator, such as ``p = matmul(X, W)``, and its value; only a text if it is refused."""

    text: str
    terms: Terms = field(default_factory=dict)
    shape: tuple[int, ...] = ()
    dims: tuple[str, ...] = ()

    @property
    def expression(self) -> str:
        """``3 W X + 21 A B X``."""
        return said(self.terms)


@dataclass(frozen=True)
class Child:
    """A candidate: why it is cut, or "" and its node. ``found``: it completes a solution."""

    key: Key
    step: Step
    reason: str
    node: Node | None
    found: bool


@dataclass(frozen=True)
class Node:
    """A graph in the making; ``key`` names it in every tree of the program."""

    tree: Tree = field(repr=False)
    key: Key = ()
    values: tuple[Term, ...] = field(default=(), repr=False)  # inputs, then one for each step

    @property
    def steps(self) -> tuple[Step, ...]:
        """The operators, in their order."""
        first = len(self.tree.root.values)
        return tuple(
            self.tree.step(term, self.values[:place])
            for place, term in enumerate(self.values[first:], first)
        )

    @property
    def found(self) -> bool:
        """True for a graph that makes all that the program returns; it has no children."""
        return self.tree.solves(self.values)

    def children(self) -> list[Child]:
        """Return every candidate in order, including those that are cut."""
        found = []
        for number, term, reason in self.tree.tried(self.values, self.key):
            key = (*self.key, number)
            node = None if reason else Node(self.tree, key, (*self.values, term))
            step = self.tree.step(term, self.values)
            found.append(Child(key, step, reason, node, node is not None and node.found))
        return found


class Tree:
    """All graphs of at most ``most`` operators that a program's operators make of its inputs.

    ``prunings`` are some of ``PRUNINGS``. ``pruner`` replaces the library's test of expressions:
    may the first expression be a part of the second, the goal? It is asked once about each. Raises
    ``UsageError`` for what cannot be walked, and for a pruner that fails.
    """

    def __init__(
        self,
        program: KernelGraph,
        nest: Nest | None = None,
        prunings: Collection[str] = PRUNINGS,
        *,
        most: int = 4,
        pruner: Pruner | None = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(most, int) or not 1 <= most <= MOST:
            raise UsageError("most: operators of a graph", expected=f"1 to {MOST}", got=most)
        self.program, self.nest, self.most = program, nest or Nest(), most
        self._all = Candidates(program, self.nest, seed)
        self._names = [each.name for each in program.inputs]
        self._names += [letter for letter in LETTERS if letter not in self._names]
        self._choose(prunings, pruner)

    def pruned(self, prunings: Collection[str], pruner: Pruner | None = None) -> Tree:
        """The same tree with other prunings; what was computed is shared."""
        other = copy.copy(self)
        other._choose(prunings, pruner)
        return other

    def _choose(self, prunings: Collection[str], pruner: Pruner | None) -> None:
        self.prunings, self.pruner = checked(prunings), pruner
        self._parts: dict[Poly, bool] = {}

    # --- what there is ----------------------------------------------------------------------------

    @property
    def root(self) -> Node:
        """The inputs, and no operator."""
        return Node(self, (), self._all.inputs)

    @property
    def sizes(self) -> dict[str, int]:
        """The extent of each dimension: a prime, so that coefficients tell what was summed over."""
        return self._all.sizes

    @property
    def goals(self) -> list[Terms]:
        """The expression of each output."""
        return [self._terms(poly) for poly in self._all.goal.goals]

    def node(self, key: Collection[int]) -> Node:
        """The node of a key; raises ``UsageError`` where there is none, or it is cut."""
        node = self.root
        for number in key:
            child = next((each for each in node.children() if each.key[-1] == number), None)
            if child is None or child.node is None:
                got = "no such candidate" if child is None else f"{child.step.text}: {child.reason}"
                raise UsageError(f"node {list(key)}", expected="a node of this tree", got=got)
            node = child.node
        return node

    def solves(self, values: Collection[Term]) -> bool:
        """Tell whether each output is among the values, with all loops closed."""
        return self._all.outputs <= {term.outcome.value for term in values}

    def step(self, term: Term, values: Sequence[Term]) -> Step:
        """Return the step that adds one operator to these values."""
        operands = [self._names[values.index(each)] for each in term.operands]
        text = f"{self._names[len(values)]} = {term.called(operands)}"
        kept = term.outcome.kept
        if kept is None:
            return Step(text)
        return Step(text, self._terms(kept.facts.poly), kept.facts.shape, kept.facts.dims)

    def _terms(self, poly: Poly) -> Terms:
        return terms(self._all.goal.among, poly)

    def why(self, child: Child) -> str:
        """Explain in more detail why a child is cut; "" where there is no more to say."""
        if child.reason != NO_PART or self.pruner is not None:
            return ""
        return why_not(child.step.terms, [self._terms(each) for each in self._all.goal.parts])

    # --- what is cut ------------------------------------------------------------------------------

    def tried(self, values: Sequence[Term], key: Key) -> Iterator[tuple[int, Term, str]]:
        """Yield each candidate for a graph by its number, and why it is cut, or ""."""
        if len(key) == self.most or self.solves(values):
            return
        there, known = set(values), {term.outcome.value for term in values}
        ordered = ORDER in self.prunings
        first = key[-1] if key and ordered else -1
        for number, (term, swapped) in enumerate(self._all.of(values)):
            if term not in there:
                late = number < first or (swapped and ordered)
                yield number, term, ANOTHER_ORDER if late else self._reason(term, known)

    def _reason(self, term: Term, known: set[int]) -> str:
        kept = term.outcome.kept
        if kept is None:
            return term.outcome.reason
        if EXPRESSIONS in self.prunings and not self._part(kept.facts.poly):
            return NO_PART
        if EQUALITY in self.prunings and term.outcome.value in known:
            return EQUAL
        return ""

    def _part(self, poly: Poly) -> bool:
        """Tell whether an expression may be a part of the goal; ask once about each."""
        if poly not in self._parts:
            if self.pruner is None:
                self._parts[poly] = self._all.goal.has(poly)
            else:
                self._parts[poly] = any(
                    asked(self.pruner, self._terms(poly), goal) for goal in self.goals
                )
        return self._parts[poly]

    # --- how much there is ------------------------------------------------------------------------

    def count(self, limit: int = LIMIT) -> list[Level]:
        """Return all of ``levels``."""
        return list(self.levels(limit))

    def levels(self, limit: int = LIMIT) -> Iterator[Level]:
        """Yield level by level, until ``limit`` nodes are opened, or there are ``most`` operators.

        Without the pruning by order, nodes with the same operators are opened once, and counted as
        often as there are orders.
        """
        nodes, left = [_Open(self.root.values, (), 1)], max(limit, 0)
        yield Level(0, 1, {}, int(self.root.found), True)
        for _ in range(self.most):
            level, fresh = self._opened(nodes, left)
            yield level
            left -= len(nodes)
            nodes = fresh
            if not nodes or not level.complete:
                return

    def _opened(self, nodes: Sequence[_Open], left: int) -> tuple[Level, list[_Open]]:
        """Return the level below some nodes, and those of its nodes that can be opened."""
        cut, fresh, solutions = Counter[str](), dict[Any, _Open](), list[Key]()
        alive = found = 0
        for node in nodes[:left]:
            for number, term, reason in self.tried(node.values, node.key):
                if reason:
                    cut[reason] += node.many
                    continue
                values, key = (*node.values, term), (*node.key, number)
                alive += node.many
                if self.solves(values):
                    found += node.many
                    solutions.append(key)
                    continue
                same = key if ORDER in self.prunings else frozenset(values)
                if same in fresh:
                    fresh[same].many += node.many
                elif len(key) < self.most and len(fresh) <= left - len(nodes):
                    fresh[same] = _Open(values, key, node.many)
        depth, complete = len(nodes[0].key) + 1, len(nodes) <= left
        level = Level(depth, alive, dict(sorted(cut.items())), found, complete, tuple(solutions))
        return level, list(fresh.values())


@dataclass
class _Open:
    """Nodes that have the same operators, one of them for all."""

    values: tuple[Term, ...]
    key: Key
    many: int

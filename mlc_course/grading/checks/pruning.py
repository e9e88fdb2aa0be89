"""A check of pruners: a function that says whether an expression may be a part of the goal.

It is given plain data, ``{"A B X": 21, "W X": 3}`` for 21 A B X + 3 W X. It has to keep every graph
that the library finds, and to make the tree of graphs as small as the exercise asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.grading.checks.checking import Examined
from mlc_course.mugraph.enumeration import PRUNINGS, Child, Step, Tree
from mlc_course.mugraph.expressions import Terms, said
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.search import NO_PART

Plain = dict[str, int]


def plain(expression: Terms) -> Plain:
    """Coefficients by factors, which are separated by a space."""
    return {" ".join(factors): int(c) for factors, c in expression.items()}


@dataclass(frozen=True)
class Prunes:
    """The function is a pruner that keeps each solution of at most ``operators``, in a small tree.

    ``without`` is how many nodes the tree has without a pruner; at most one in ``share`` of them
    may be left. The program has sums and products only, so that all coefficients are whole.
    """

    program: str
    operators: int
    without: int
    share: int = 20
    kind: ClassVar[str] = "correctness"

    def judge(self, answer: Examined) -> str:
        assert answer.call is not None
        tree, asked = Tree(parse(self.program), most=self.operators), _Asked(answer.call)
        kept, most = _solutions(tree, asked), self.without // self.share
        try:
            levels = tree.pruned(PRUNINGS, asked).count(most)
        except UsageError:
            raise asked.wrong or UnmetCheck("the tree cannot be walked with it") from None
        nodes = sum(level.alive for level in levels)
        if nodes > most:
            raise UnmetCheck(
                f"too much is kept for {tree.program.name}",
                expected=f"at most {most:,} nodes, a {self.share}th of {self.without:,}",
                got=f"{nodes:,} nodes{'' if levels[-1].complete else ' or more'}",
                hint=_too_much(tree, asked),
            )
        return (
            f"{tree.program.name}: {kept} solutions kept, {nodes:,} nodes in place of "
            f"{self.without:,}"
        )


prunes = Prunes


@dataclass
class _Asked:
    """The student's function as a pruner of a tree: it is asked once about an expression."""

    function: Callable[..., Any]
    wrong: UnmetCheck | None = None
    _known: dict[str, bool] = field(default_factory=dict)

    def __call__(self, value: Terms, goal: Terms) -> bool:
        key = said(value)
        if key not in self._known:
            try:
                self._known[key] = self._answer(value, goal)
            except UnmetCheck as error:
                self.wrong = error
                raise
        return self._known[key]

    def _answer(self, value: Terms, goal: Terms) -> bool:
        found = self.function(plain(value), plain(goal))
        if type(found) is not bool:
            raise UnmetCheck(
                f"not an answer, for the value {plain(value)}",
                expected="True or False",
                got=repr(found)[:80],
            )
        return found


def _solutions(tree: Tree, asked: _Asked) -> int:
    """Return the number of solutions; raises ``UnmetCheck`` for one that the function cuts."""
    (goal,) = tree.goals
    found = sorted((key for level in tree.count() for key in level.solutions), key=len)
    for key in found:
        steps = tree.node(key).steps
        for step in steps:
            if not asked(step.terms, goal):
                raise UnmetCheck(
                    f"a graph that is equal to {tree.program.name} is lost: "
                    f"{'; '.join(each.text for each in steps)}",
                    expected=f"True for {plain(step.terms)}, its value {step.text.split()[0]}",
                    got="False",
                    hint=_missing(step, goal),
                )
    return len(found)


def _missing(step: Step, goal: Terms) -> str:
    """Return the factor that turns a part of the goal into the goal, or into some of its terms."""
    first = next(iter(step.terms))
    for factors, c in goal.items():
        missing = Counter(factors)
        missing.subtract(first)
        if min(missing.values()) >= 0:
            times, more = " ".join(missing.elements()), c // step.terms[first]
            how = [f"multiplied by {times}"] * bool(times) + [f"summed {more} times"] * (more > 1)
            if how:
                return f"{' and '.join(how)}, it is in the goal {plain(goal)}"
    return f"it is the goal, {plain(goal)}"


def _too_much(tree: Tree, asked: _Asked) -> str:
    """A value that the function keeps, and the library does not; one of few operators."""
    (goal,) = tree.goals
    for child in _cut(tree):
        if asked(child.step.terms, goal):
            return f"you keep {plain(child.step.terms)}; can it become {plain(goal)}?"
    return "the library keeps less"


def _cut(tree: Tree) -> Iterator[Child]:
    """Return the values that the library cuts because of their expressions, the shallow first."""
    nodes = [tree.root]
    while nodes:
        children = [child for node in nodes for child in node.children()]
        yield from (child for child in children if child.reason == NO_PART)
        nodes = [child.node for child in children if child.node is not None]

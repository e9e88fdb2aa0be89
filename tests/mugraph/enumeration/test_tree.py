"""The tree of graphs against one that is spelled out, and what each pruning cuts and keeps."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.mugraph.enumeration.candidates import Term
from mlc_course.mugraph.enumeration.levels import values
from mlc_course.mugraph.enumeration.tree import ANOTHER_ORDER, PRUNINGS, Node, Terms, Tree
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import CANCELS, EQUAL, NO_PART, Limits, Nest

TINY = parse("""
tiny(X[b=4, d=6], Y[b, d]):
  S = add(X, Y)
  Z = mul(S, X)
  return Z
""")
EVERY = [each for n in range(4) for each in itertools.combinations(PRUNINGS, n)]
LORA = Tree(workload("lora"))


# --- the same, spelled out ------------------------------------------------------------------------

Poly = Counter[tuple[str, ...]]
X, Y = (Counter({(name,): 1}) for name in "XY")
GOAL: Poly = Counter({("X", "X"): 1, ("X", "Y"): 1})


def added(x: Poly, y: Poly) -> Poly | None:
    return None if x & y else x + y


def multiplied(x: Poly, y: Poly) -> Poly:
    made: Poly = Counter()
    for a, b in itertools.product(x, y):
        made[tuple(sorted(a + b))] += x[a] * y[b]
    return made


def part(poly: Poly) -> bool:
    """Some monomial and some number make terms of the goal of it. (Its terms have 1 each.)"""
    first = next(iter(poly))
    rests = (Counter(term) - Counter(first) for term in GOAL if not Counter(first) - Counter(term))
    return set(poly.values()) == {1} and any(
        all(tuple(sorted((*each, *rest.elements()))) in GOAL for each in poly) for rest in rests
    )


def spelled_out(most: int, prunings: Collection[str]) -> Iterator[tuple[int, bool, Any]]:
    """Depth, is it a solution, the set of operators: of each sequence of operators that is one."""

    def grown(names: list[Any], polys: list[Poly]) -> Iterator[tuple[int, bool, Any]]:
        depth = len(names) - 2
        yield depth, GOAL in polys, frozenset(names)
        if depth == most or GOAL in polys:
            return
        for op, i, j in itertools.product("+*", range(len(names)), range(len(names))):
            made = (added if op == "+" else multiplied)(polys[i], polys[j])
            name = (op, names[i], names[j])
            if "order" in prunings:
                name = (op, frozenset(name[1:]))
            if made is None or name in names:
                continue
            if "equal" in prunings and made in polys:
                continue
            if "expressions" in prunings and not part(made):
                continue
            yield from grown([*names, name], [*polys, made])

    return grown(["X", "Y"], [X, Y])


@pytest.mark.parametrize("prunings", EVERY)
def test_counts_are_those_of_all_sequences(prunings: tuple[str, ...]) -> None:
    nodes = list(spelled_out(3, prunings))
    if "order" in prunings:
        nodes = list(dict.fromkeys(nodes))
    alive, found = (Counter(n[0] for n in nodes if n[1] is solves) for solves in (False, True))
    levels = Tree(TINY, prunings=prunings, most=3).count()
    assert [each.depth for each in levels] == [*range(4)]
    assert [each.alive - each.found for each in levels] == [alive[depth] for depth in range(4)]
    # Of graphs that hold a solution and more, those in whose one order the solution comes last.
    exact = "order" not in prunings or "expressions" in prunings
    for each in levels:
        assert each.found == found[each.depth] if exact else 0 <= each.found <= found[each.depth]
    assert [each.found > 0 for each in levels] == [found[depth] > 0 for depth in range(4)]
    assert all(each.complete for each in levels)


@pytest.mark.parametrize("prunings", EVERY)
def test_counts_are_those_of_the_nodes(prunings: tuple[str, ...]) -> None:
    tree = LORA.pruned(prunings)
    nodes = [tree.root]
    for level in tree.count()[1:3]:
        children = [child for node in nodes for child in node.children()]
        nodes = [child.node for child in children if child.node is not None]
        assert level.alive == len(nodes)
        assert level.cut == Counter(child.reason for child in children if child.reason)


# --- what is lost, and what is not ----------------------------------------------------------------


def whole(term: Term) -> str:
    """A value with all that it is made of; commutative operators in one order."""
    if isinstance(term.use, str):
        return term.use
    operands = [whole(each) for each in term.operands]
    named = sorted(operands) if term.use.op.name in ("add", "mul") else operands
    return term.called(named)


def solutions(tree: Tree) -> set[str]:
    """Without what they do not need."""
    return {whole(tree.node(key).values[-1]) for each in tree.count() for key in each.solutions}


@pytest.mark.parametrize("name", ["lora", "gated_mlp"])
def test_the_prunings_keep_every_solution(name: str) -> None:
    tree = Tree(workload(name))
    expected = solutions(tree.pruned(()))
    assert expected
    for prunings in EVERY:
        assert solutions(tree.pruned(prunings)) == expected, prunings


def test_there_is_a_solution_that_is_shorter_than_the_program() -> None:
    assert solutions(LORA) == {
        "matmul(X, add(W, matmul(A, B)))",
        "add(matmul(X, W), matmul(X, matmul(A, B)))",
        "add(matmul(X, W), matmul(matmul(X, A), B))",
    }


def test_a_pruner_that_is_not_sound_loses_the_solution() -> None:
    def no_sums(value: Terms, goal: Terms) -> bool:
        return len(value) == 1

    assert sum(each.found for each in LORA.pruned(PRUNINGS, no_sums).count()) == 0
    assert sum(each.found for each in LORA.count()) > 0


def test_in_a_loop_a_solution_is_behind_it() -> None:
    tree = Tree(workload("lora"), Nest(("d",)), most=6)
    steps = [tree.node(key).steps for each in tree.count() for key in each.solutions]
    assert steps
    assert all(any("accumulate" in step.text for step in each) for each in steps)


# --- your own pruner ------------------------------------------------------------------------------


def test_a_pruner_is_asked_once_about_each_expression_and_the_goal() -> None:
    asked: list[tuple[Terms, Terms]] = []

    def keep(value: Terms, goal: Terms) -> bool:
        asked.append((value, goal))
        return True

    tree = LORA.pruned(("order", "equal", "expressions"), keep)
    without = LORA.pruned(("order", "equal")).count()
    assert [each.alive for each in tree.count()] == [each.alive for each in without]
    assert all(goal == {("A", "B", "X"): 21, ("W", "X"): 3} for _, goal in asked)
    terms = [value for value, _ in asked]
    assert {("A", "B"): 7} in terms
    assert {("A", "B"): 7, ("W",): 1} in terms
    assert len(terms) == len({tuple(each.items()) for each in terms})


def test_functions_are_factors_with_their_text() -> None:
    tree = Tree(workload("gated_mlp"))
    assert tree.goals == [{("1/(1 + exp(-3 W1 X))", "W1", "W2", "X", "X"): 9}]
    (steps,) = (tree.node(key).steps for key in tree.count()[4].solutions)
    assert steps[-1].expression == "9 W1 W2 X^2/(1 + exp(-3 W1 X))"


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_pruner_that_does_not_answer_is_refused(answer: Any) -> None:
    with pytest.raises(UsageError, match="True or False") as caught:
        LORA.pruned(PRUNINGS, lambda value, goal: answer).count()
    assert repr(answer) in str(caught.value)


def test_a_pruner_that_fails_is_refused_with_what_it_was_given() -> None:
    def pruner(value: Terms, goal: Terms) -> bool:
        return value["X"] > 0  # type: ignore[index]

    with pytest.raises(UsageError, match=r"KeyError: 'X'") as caught:
        LORA.pruned(PRUNINGS, pruner).root.children()
    assert "{('A', 'B', 'X'): 21, ('W', 'X'): 3}" in str(caught.value)


# --- nodes ----------------------------------------------------------------------------------------


def walked(tree: Tree, *steps: str) -> Node:
    node = tree.root
    for step in steps:
        (child,) = (each for each in node.children() if each.step.text == step)
        assert child.node is not None
        node = child.node
    return node


def test_children_say_why_they_are_cut() -> None:
    children = LORA.root.children()
    reasons = {each.step.text: each.reason for each in children}
    assert reasons["p = matmul(X, W)"] == ""
    assert reasons["p = add(X, X)"] == CANCELS
    assert reasons["p = sum(X, axis=0)"] == NO_PART
    node = walked(LORA, "p = matmul(X, W)")
    assert {ANOTHER_ORDER, NO_PART} <= {each.reason for each in node.children()}


def test_operands_of_a_commutative_operator_come_in_one_order() -> None:
    for prunings, expected in ((PRUNINGS, ANOTHER_ORDER), (("equal",), "")):
        node = walked(LORA.pruned(prunings), "p = matmul(A, B)")
        reasons = {each.step.text: each.reason for each in node.children()}
        assert reasons["q = add(W, p)"] == ""
        assert reasons["q = add(p, W)"] == expected


def test_of_two_ways_to_one_value_the_second_is_equal() -> None:
    tree = LORA.pruned(("order", "equal"))
    node = walked(tree, "p = matmul(X, A)", "q = matmul(A, B)", "r = matmul(p, B)")
    reasons = {each.step.text: each.reason for each in node.children()}
    assert reasons["s = matmul(X, q)"] == EQUAL


def test_a_node_has_its_steps_its_key_and_no_children_once_it_is_a_solution() -> None:
    node = walked(LORA, "p = matmul(A, B)", "q = add(W, p)", "r = matmul(X, q)")
    assert node.found
    assert node.children() == []
    assert [step.expression for step in node.steps] == [
        "7 A B",
        "7 A B + W",
        "21 A B X + 3 W X",
    ]
    assert node.steps[-1].dims == ("b", "n")
    assert node.steps[-1].shape == (LORA.sizes["b"], LORA.sizes["n"])
    assert LORA.node(json.loads(json.dumps(node.key))) == node
    assert node.key in LORA.count()[3].solutions


def test_a_seed_repeats_a_tree_whatever_was_walked_before() -> None:
    fresh = Tree(workload("lora"), prunings=("equal",), most=3)
    used = Tree(workload("lora"), most=3)
    used.pruned(()).count()
    assert used.pruned(("equal",)).count() == fresh.count()
    ours, theirs = (t.node((0,)).children() for t in (used.pruned(("equal",)), fresh))
    assert [(c.key, c.step, c.reason) for c in ours] == [(c.key, c.step, c.reason) for c in theirs]
    other = Tree(workload("lora"), prunings=("equal",), most=3, seed=1)
    assert other.count() == fresh.count()


@pytest.mark.parametrize("prunings", [PRUNINGS, ()])
def test_at_the_limit_a_level_is_not_complete(prunings: tuple[str, ...]) -> None:
    tree = LORA.pruned(prunings)
    everything, some = tree.count(), tree.count(limit=20)
    assert [each.complete for each in some] == [True, True, True, False][: len(some)]
    assert some[:-1] == everything[: len(some) - 1]
    assert some[-1].alive < everything[len(some) - 1].alive


# --- what the library does instead ----------------------------------------------------------------


def test_there_are_fewer_values_than_graphs() -> None:
    levels = values(workload("lora"))
    assert all(each.complete for each in levels)
    assert levels[0].alive == 4
    assert sum(each.found for each in levels) == 1
    assert sum(each.alive for each in levels) < 25 < LORA.count()[2].alive


def test_values_at_a_limit_are_not_complete() -> None:
    few = values(workload("lora"), prunings=("order", "equal"), limits=Limits(values=50))
    assert not any(each.complete for each in few)


# --- what is refused ------------------------------------------------------------------------------

WITH_BLOCK = parse("""
fused(X[b=8, d=64]):
  block grid(x=2):
    x = load(X, imap={x: 0})
    y = silu(x)
    Y = store(y, omap={x: 0})
  return Y
""")
CANCELLED = parse("""
nothing(X[b=8, d=64]):
  Y = sub(X, X)
  return Y
""")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Tree(workload("lora"), most=0), "most"),
        (lambda: Tree(workload("lora"), most=99), "most"),
        (lambda: Tree(workload("lora"), most=2.5), "most"),  # type: ignore[arg-type]
        (lambda: Tree(workload("lora"), prunings=("order", "equality")), "equality"),
        (lambda: LORA.pruned("order"), "no pruning"),
        (lambda: Tree(workload("lora"), Nest(("b",))), "a loop over b"),
        (lambda: Tree(WITH_BLOCK), "block graphs"),
        (lambda: Tree(CANCELLED), "no abstract expression"),
        (lambda: LORA.node((999,)), "no such candidate"),
        (lambda: LORA.node((0,)), "no part of the goal"),
        (lambda: values(workload("lora"), prunings=("equality",)), "equality"),
    ],
)
def test_what_cannot_be_walked_is_refused(make: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make()

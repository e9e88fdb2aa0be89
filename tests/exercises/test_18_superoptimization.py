"""Lesson 18's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from answers import Complain, both_tests

from mlc_course.grading.checks import operators
from mlc_course.lessons.lesson_18_superoptimization import checks, found_graphs
from mlc_course.mugraph.cost import A100, H100, cost, target, traffic
from mlc_course.mugraph.enumeration import Tree
from mlc_course.mugraph.ir import KernelGraph, parse
from mlc_course.mugraph.programs import workload
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.mugraph.verify import verify

GRAPHS = list(found_graphs())
ASSIGNMENT = "18_superoptimization"
Solution = Callable[[str, str], str]

# Fractions of a pruner: what is missing for a term of the value to be a term of the goal.
MISSING = """
from collections import Counter


def missing(term, whole):
    left = Counter(whole.split())
    left.subtract(term.split())
    return None if min(left.values()) < 0 else sorted(left.elements())


def grown(term, rest):
    return " ".join(sorted(term.split() + rest))
"""


def pruner(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"{MISSING}\n\ndef may_be_part(value, goal):\n{body}"


def any_term(condition: str) -> str:
    return f"return all(any({condition} for t in goal) for v in value)"


FITS, DIVIDES = "missing(v, t) is not None", "goal[t] % value[v] == 0"
FIRST = "first = next(iter(value))"

HEAD = "graph(S[b=16, n=64], M[1, n]):"


def graph(*lines: str, head: str = HEAD) -> str:
    body = "\n".join([head, *(f"  {line}" for line in lines), "  return P"])
    return f'my_graph = """\n{body}\n"""'


APART = ("s = exp(S)", "m = exp(M)", "E = mul(s, m)")
SHARES = ("total = sum(E, axis=1)", "P = div(E, total)")
WHOLE = ("moved = add(S, M)", "E = exp(moved)")

READING = {
    "late": "div",
    "twice": "X",
    "quarter": ["G", "X"],
    "times": [256, 24],
    "enough": 4,
}


def reading(**changed: object) -> str:
    return f"my_reading = {READING | changed!r}"


def machine(**figures: float) -> str:
    return f"my_machine = {figures!r}"


LOST = "a graph that is equal to lora is lost"
TOO_MUCH = "too much is kept for lora"

WRONG = [
    # 1. Write the pruner
    ("pruner-test", "may_be_part = True", "an answer of another kind"),
    ("pruner-test", pruner("pass"), "expected  True or False"),
    ("pruner-test", pruner("return value[next(iter(goal))] > 0"), "KeyError: 'A B X'"),
    ("pruner-test", pruner("return value == goal"), LOST),
    ("pruner-test", pruner("return all(v in goal for v in value)"), LOST),
    # the direction of divisibility; no sums besides those that are done
    ("pruner-test", pruner(any_term(f"{FITS} and value[v] % goal[t] == 0")), LOST),
    ("pruner-test", pruner(any_term(f"{FITS} and value[v] == goal[t]")), LOST),
    # the first term of the goal says what is missing
    (
        "pruner-test",
        pruner(
            "first = next(iter(goal))", f"return all({FITS.replace('t)', 'first)')} for v in value)"
        ),
        "expected  True for {'A B': 7, 'W': 1}, its value q",
    ),
    # the first term of the value only
    (
        "pruner-test",
        pruner(FIRST, "return any(missing(first, t) is not None for t in goal)"),
        TOO_MUCH,
    ),
    # each term by itself; without the numbers; without how often a factor stands in a term
    (
        "pruner-test",
        pruner(any_term(f"{FITS} and {DIVIDES}")),
        "you keep {'B': 1, 'W': 3}; can it become {'A B X': 21, 'W X': 3}?",
    ),
    ("pruner-test", pruner(any_term(FITS)), "you keep {'X': 2}"),
    (
        "pruner-test",
        pruner(
            FIRST,
            "rests = [missing(first, t) for t in goal]",
            "return any(all(grown(v, r) in goal for v in value) for r in rests if r is not None)",
        ),
        "you keep {'X': 2}",
    ),
    ("pruner-test", pruner("return True"), "nodes or more"),
    # 2. Break a pruner
    ("lost-test", graph(*WHOLE, *SHARES), "the colleague keeps it"),
    ("lost-test", graph("moved = add(M, S)", "E = exp(moved)", *SHARES), "the colleague keeps it"),
    ("lost-test", graph(*APART[:2], "E = add(s, m)", *SHARES), "computes something else"),
    ("lost-test", graph(*APART, "P = div(E, s)"), "computes something else"),
    (
        "lost-test",
        graph("a = add(S, M)", "b = sub(a, M)", "c = add(b, M)", "E = exp(c)", *SHARES),
        "the axioms do not find this graph either: b = sub: something cancels",
    ),
    (
        "lost-test",
        graph(*WHOLE, "h = scale(E, by=1/2)", "t = sum(h, axis=1)", "P = div(h, t)"),
        "the axioms do not find this graph either",
    ),
    (
        "lost-test",
        graph(*WHOLE[:1], "t = max(moved, axis=1)", "l = sub(moved, t)", "E = exp(l)", *SHARES),
        "an operator that biased does not need",
    ),
    ("lost-test", graph(*APART, *SHARES, head=HEAD.replace("64", "32")), "other inputs than"),
    ("lost-test", "my_graph = 'exp(S) * exp(M)'", "cannot be read"),
    # 3. Read what was found
    ("read-test", "my_reading = 'div'", "not an answer to every part"),
    ("read-test", reading(late="division"), "square | sum | scale"),
    ("read-test", reading(twice="x"), "twice: not an input"),
    ("read-test", reading(quarter="X"), "not a list in alphabetical order"),
    ("read-test", reading(quarter=["X", "G"]), "not a list in alphabetical order"),
    ("read-test", reading(times=256), "times: not two numbers"),
    ("read-test", reading(enough=97), "a whole number, 1 to 96"),
    ("read-test", reading(late="sqrt"), "4 of 5 are right"),
    ("read-test", reading(times=[1, 1]), "which grid axes cut the tensor"),
    ("read-test", reading(times=[256, 96]), "4 of 5 are right"),
    ("read-test", reading(quarter=["G", "W", "X"]), "4 of 5 are right"),
    ("read-test", reading(enough=24, twice="W"), "3 of 5 are right"),
    ("read-test", reading(enough=24), "which blocks see the same part"),
    # 4. Another machine
    ("machine-test", "my_machine = 'shared_bytes_per_s'", "not one figure"),
    ("machine-test", machine(launch_s=2.5e-6), "launch_s is no figure to change"),
    ("machine-test", machine(speed=2), "speed is no figure to change"),
    ("machine-test", machine(shared_bytes_per_s=1e13), "more than a fifth"),
    ("machine-test", machine(shared_bytes_per_s=3.5e13), "one kernel is still cheaper"),
    ("machine-test", machine(matrix_flops=8e14), "one kernel is still cheaper"),
    ("machine-test", machine(near_bytes_per_s=7.6e12), "one kernel is still cheaper"),
]


RATIO = (
    "for t in goal:",
    "    rest = missing(first, t)",
    "    if rest is None or goal[t] % value[first]:",
    "        continue",
    "    r = goal[t] // value[first]",
)
SAME = "goal.get(grown(v, rest)) == r * value[v]"
THERE = "grown(v, rest) in goal and goal[grown(v, rest)] % value[v] == 0"
NONE = "return False"
RIGHT = [
    ("pruner-test", pruner(FIRST, *RATIO, f"    if all({SAME} for v in value): return True", NONE)),
    # that the other terms are there is asked, and that their numbers divide; not by how much
    (
        "pruner-test",
        pruner(FIRST, *RATIO, f"    if all({THERE} for v in value): return True", NONE),
    ),
    # the total as a product of matrices
    (
        "lost-test",
        graph(
            *APART[:2], "c = transpose(m, axes=[1, 0])", "total = matmul(s, c)", *APART[2:]
        ).replace("\n  return", "\n  P = div(E, total)\n  return"),
    ),
    (
        "lost-test",
        graph(
            "block grid(x=4):",
            "  s = load(S, imap={x: 0})",
            "  m = load(M)",
            "  a = exp(s)",
            "  b = exp(m)",
            "  e = mul(a, b)",
            "  t = sum(e, axis=1)",
            "  p = div(e, t)",
            "  P = store(p, omap={x: 0})",
        ),
    ),
    ("read-test", reading()),
    ("machine-test", machine(shared_bytes_per_s=2.5e13)),
    ("machine-test", machine(multiprocessors=156)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_visible_part_says_how_many_are_right_and_not_what_is(complain: Complain) -> None:
    wrong = reading(late="sqrt", twice="W", quarter=["G"], times=[1, 2], enough=96)
    said = complain(ASSIGNMENT, "read-test", wrong, hidden=False)
    assert "0 of 5 are right" in said
    assert "div" not in said and "256" not in said


@pytest.mark.parametrize(
    ("test", "answer"),
    [
        ("pruner-test", pruner("return True")),
        ("pruner-test", pruner(any_term(FITS))),
        ("pruner-test", pruner(any_term(f"{FITS} and {DIVIDES}"))),
        ("lost-test", graph(*WHOLE, *SHARES)),
        ("lost-test", graph(*APART[:2], "E = add(s, m)", *SHARES)),
        ("lost-test", graph(*APART, "P = div(E, s)")),
        ("read-test", reading(late="sqrt")),
        ("read-test", reading(times=[256, 96])),
        ("read-test", reading(enough=96)),
        ("machine-test", machine(shared_bytes_per_s=3.5e13)),
        ("machine-test", machine(matrix_flops=8e14)),
        ("machine-test", machine(barrier_s=1)),
    ],
)
def test_the_visible_part_ticks_no_wrong_answer(complain: Complain, test: str, answer: str) -> None:
    assert complain(ASSIGNMENT, test, answer, hidden=False) != ""


def test_a_pruner_leaves_at_most_a_twentieth_of_nodes_that_are_there(solution: Solution) -> None:
    source = solution(ASSIGNMENT, "pruner-test")
    second = source[source.index("second_order(") :].split('"""')[0]
    for program, most, without in (
        (parse(checks.LORA), 5, checks.WITHOUT),
        (parse(second.replace("\n        ", "\n")), 4, 33_429),
    ):
        levels = Tree(program, prunings=["order", "equal"], most=most).count()
        assert sum(level.alive for level in levels) == without
    assert parse(checks.LORA) == workload("lora")
    assert "without=33_429" in source


def test_the_reading_is_what_the_graphs_say() -> None:
    hand = workload("rms_norm_matmul")
    _, found = found_graphs()
    rows, inner = hand.size_of["b"], hand.size_of["d"]
    (first, _), partial = traffic(found), found.shapes[len(found.inputs) + 1]
    assert first.blocks == 96 and partial == (rows, 96)
    (_, block), *_ = found.blocks
    x, g, w = block.loads
    assert dict(x.imap) == {"y": 1} == dict(g.imap)
    quarter = dict(block.grid)["y"]
    assert READING["times"] == [256, first.blocks // quarter]
    assert inner % quarter == 0 and READING["enough"] == quarter


def shape(graph: KernelGraph) -> tuple[object, ...]:
    """Its operators, and the grids and loops of its kernels."""
    axes = [(block.grid, block.loops) for _, block in graph.blocks]
    return axes, Counter(operators(graph))


def test_the_graphs_of_exercises_3_and_4_are_what_the_search_finds() -> None:
    program = workload("rms_norm_matmul")
    found = [shape(e.graph) for e in superoptimize(program) if isinstance(e, Found)]
    for each in GRAPHS:
        assert verify(program, each).equal
        assert shape(each) in found


def test_the_two_machines_disagree() -> None:
    one, two = GRAPHS
    assert cost(two, A100).total < cost(one, A100).total
    more = 1e6 * float(cost(two, H100).total - cost(one, H100).total)
    assert more > 0
    for name, value in vars(H100).items():
        if isinstance(value, int | float) and name != "launch_s":
            ends = [type(value)(share * value) for share in (0.8, 1.2)]
            turned = [
                cost(two, m).total < cost(one, m).total
                for m in (target("h100", **{name: end}) for end in ends)
            ]
            assert any(turned) == (name in ("shared_bytes_per_s", "multiprocessors")), name

"""Lesson 13's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from answers import Complain, both_tests

from mlc_course.errors import UnmetCheck, UsageError
from mlc_course.lessons.lesson_13_computational_graphs import checks
from mlc_course.tensor_program.networks import KINDS, partitioned, traffic
from mlc_course.tensor_program.tir import IRModule, te, transform

ASSIGNMENT = "13_computational_graphs"
RIGHT_KINDS = {
    "bias": "elementwise",
    "outer": "broadcast",
    "flip": "injective",
    "thin": "injective",
    "largest": "reduction",
    "squares": "reduction",
    "linear": "out-fusable",
    "look up": "opaque",
}


def kinds(**changed: str) -> str:
    return f"my_kinds = {RIGHT_KINDS | {k.replace('_', ' '): v for k, v in changed.items()}}"


def groups(*kernels: str) -> str:
    return f"my_kernels = {[list(kernel) for kernel in kernels]}"


def partition(*kernels: str) -> str:
    return f"my_partition = {[list(kernel) for kernel in kernels]}"


def fuser(condition: str, *, ordered: bool = True, unique: bool = True) -> str:
    """A solution whose joining condition, order and counting of readers can be spoiled."""
    count = "if operand in operands" if unique else "for each in operands if each == operand"
    last = "sorted(each, key=order.index)" if ordered else "each"
    return f"""
def kernels_of(reads, outputs):
    order = list(reads)
    kernel = {{name: [name] for name in reads}}
    for operand in reads:
        readers = [name for name, operands in reads.items() {count}]
        if not ({condition}):
            continue
        joined = kernel[operand] + kernel[readers[0]]
        for each in joined:
            kernel[each] = joined
    lists = [{last} for each in kernel.values()]
    return [each for name, each in zip(order, lists) if each[0] == name]
"""


ONE, NO_OUTPUT = "len(readers) == 1", "operand not in outputs"
NO_LIBRARY = "not (operand.startswith('lib') or readers[0].startswith('lib'))"
ALL = f"{ONE} and {NO_OUTPUT} and {NO_LIBRARY}"

WRONG = [
    # 1. What kind is it?
    ("kinds-test", 'my_kinds = ["elementwise"] * 8', "not an answer to every part"),
    ("kinds-test", 'my_kinds = {"bias": "elementwise"}', "not an answer to every part"),
    ("kinds-test", kinds(linear="matmul"), "not one of the choices"),
    ("kinds-test", kinds(bias="broadcast"), "7 of 8 are right"),
    ("kinds-test", kinds(outer="elementwise"), "how many elements of O does"),
    ("kinds-test", kinds(squares="out-fusable"), "7 of 8 are right"),
    ("kinds-test", kinds(look_up="injective"), "7 of 8 are right"),
    # 2. Who shares a kernel?
    ("groups-test", 'my_kernels = "ab, tdy"', "not a list of kernels"),
    ("groups-test", 'my_kernels = ["ab", "e"]', "not a list of kernels"),
    ("groups-test", "my_kernels = [[], ['a']]", "not a list of kernels"),
    ("groups-test", groups("ab", "es", "dy"), "not once: t"),
    ("groups-test", groups("ab", "es", "tdyq"), "unknown: q"),
    ("groups-test", groups("ab", "ed", "s", "ty"), "kernels that wait for each other"),
    ("groups-test", groups("a", "b", "t", "e", "s", "d", "y"), "2 of 7 operators are in the"),
    ("groups-test", groups("abtesdy"), "0 of 7 operators are in the right kernel"),
    ("groups-test", groups("ab", "es", "tdy"), "5 of 7 operators are in the right kernel"),
    ("groups-test", groups("ab", "e", "s", "t", "dy"), "where do all paths from it meet again"),
    # 3. Beat FuseOps
    ("traffic-test", "my_partition = 1_750_000", "not a list of kernels"),
    ("traffic-test", partition("p", "gqr", "m", "z"), "not once: k"),
    ("traffic-test", partition("p", "g", "qr", "m", "zk"), "between two kernels is g, 1.05 MB"),
    ("traffic-test", partition("pg", "qrm", "zk"), "read and write 3.69 MB"),
    ("traffic-test", partition("p", "gqr", "mzk"), "read and write 1.98 MB"),
    ("traffic-test", partition("p", "gqrmk", "z"), "[g, q, r, m, k] and [z]"),
    ("traffic-test", partition("pgqrm", "zk"), "p and q are in one kernel"),
    ("traffic-test", partition("pgqrmzk"), "p and q and z are in one kernel"),
    # 4. Bug hunt: a tensor with two readers
    ("fuser-test", "kernels_of = [['a']]", "an answer of another kind"),
    ("fuser-test", "def kernels_of(reads, outputs):\n    return list(reads)", "for ({'a': ['x']"),
    ("fuser-test", fuser(f"{NO_OUTPUT} and readers and {NO_LIBRARY}"), "who else needs a?"),
    ("fuser-test", fuser(f"{ONE} and {NO_LIBRARY}"), "an output has to be handed out"),
    ("fuser-test", fuser(ALL, unique=False), "reads a tensor twice is one reader"),
    ("fuser-test", fuser(ALL, ordered=False), "in the order of execution"),
    ("fuser-test", fuser(f"{ONE} and {NO_OUTPUT}"), "a library call, stays alone"),
    ("fuser-test", fuser(f"{ALL} and order.index(readers[0]) < 5"), "one reader, no output"),
    ("fuser-test", "def kernels_of(reads):\n    return []", "takes 1 positional argument"),
]


COLLEAGUE = """
def kernels_of(reads, outputs):
    kernel = {name: [name] for name in reads}
    for name, operands in reads.items():
        for operand in operands:
            alone = name.startswith("lib") or operand.startswith("lib")
            if operand in kernel and not alone and kernel[operand] is not kernel[name]:
                kernel[operand].extend(kernel[name])
                for each in kernel[name]:
                    kernel[each] = kernel[operand]
    return [each for name, each in kernel.items() if each[0] == name]
"""


def test_the_colleague_is_right_on_chains_and_wrong_elsewhere(complain: Complain) -> None:
    assert "who else needs a?" in complain(ASSIGNMENT, "fuser-test", COLLEAGUE, hidden=False)


RIGHT = [
    ("groups-test", groups("ydt", "s", "e", "ba")),
    ("traffic-test", partition("kz", "mrqg", "p")),
    ("fuser-test", fuser(ALL)),
    (
        "fuser-test",
        """
def kernels_of(reads, outputs):
    count = {name: sum(name in set(operands) for operands in reads.values()) for name in reads}
    root = {}
    for name in reversed(list(reads)):
        root.setdefault(name, name)
        for operand in set(reads[name]):
            free = count.get(operand) == 1 and operand not in outputs
            if free and not (name + operand).count("lib"):
                root[operand] = root[name]
    found = {}
    for name in reads:
        found.setdefault(root[name], []).append(name)
    return tuple(found.values())
""",
    ),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_every_exercise_refuses_three_wrong_answers_by_its_visible_part(
    complain: Complain,
) -> None:
    refused = {test: 0 for test, _, _ in WRONG}
    for test, answer, _ in WRONG:
        refused[test] += bool(complain(ASSIGNMENT, test, answer, hidden=False))
    assert min(refused.values()) >= 3, refused


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (groups("a", "b", "t", "e", "s", "d", "y"), "a is kept apart from b"),
        (groups("abe", "s", "tdy"), "b shares the kernel of e"),
        (groups("ab", "es", "tdy"), "e shares the kernel of s"),
        (groups("ab", "e", "sd", "ty"), "s shares the kernel of d"),
        (groups("abt", "e", "s", "dy"), "the path leads through transpose"),
        (groups("ab", "e", "s", "t", "dy"), "t is kept apart from y"),
    ],
)
def test_the_grader_says_which_operator_is_in_the_wrong_kernel(answer: str, words: str) -> None:
    names: dict[str, list[list[str]]] = {}
    exec(answer, names)
    with pytest.raises(UnmetCheck) as told:
        checks.shares_as_fuse_ops(names["my_kernels"])
    assert words in str(told.value)


def test_the_visible_part_does_not_tell_the_choices(complain: Complain) -> None:
    wrong = kinds(bias="opaque", linear="reduction")
    said = complain(ASSIGNMENT, "kinds-test", wrong, hidden=False)
    assert said.startswith("✘ 6 of 8 are right")
    every = complain(ASSIGNMENT, "groups-test", groups("abtesdy"), hidden=False)
    assert "transpose" not in every and "[" not in every


def test_the_kinds_are_those_that_tvm_finds() -> None:
    matrix, weights = (te.placeholder((32, 32), "float32", name) for name in "XW")
    a, b = (te.placeholder((32,), "float32", name) for name in "ab")
    p = te.placeholder((32,), "int32", "p")
    k = te.reduce_axis((0, 32), "k")
    square, row = (32, 32), (32,)
    formulas = {
        "bias": ([matrix, b], square, lambda i, j: matrix[i, j] + b[j]),
        "outer": ([a, b], square, lambda i, j: a[i] * b[j]),
        "flip": ([matrix], square, lambda i, j: matrix[i, 31 - j]),
        "thin": ([matrix], (32, 16), lambda i, j: matrix[i, 2 * j]),
        "largest": ([matrix], row, lambda i: te.max(matrix[i, k], axis=[k])),
        "squares": ([matrix], row, lambda i: te.sum(matrix[i, k] * matrix[i, k], axis=[k])),
        "linear": (
            [matrix, weights],
            square,
            lambda i, j: te.sum(matrix[i, k] * weights[k, j], axis=[k]),
        ),
        "look up": ([matrix, p], square, lambda i, j: matrix[p[i], j]),
    }
    for name, (operands, shape, formula) in formulas.items():
        kernel = te.create_prim_func([*operands, te.compute(shape, formula)])
        found = transform.AnnotateTIROpPattern()(IRModule({"kernel": kernel}))["kernel"]
        assert KINDS[int(found.attrs["op_pattern"])] == RIGHT_KINDS[name], name


def partitions(names: list[str]) -> Iterator[list[list[str]]]:
    if not names:
        yield []
        return
    first, *rest = names
    for found in partitions(rest):
        yield [[first], *found]
        for place in range(len(found)):
            yield [*found[:place], [first, *found[place]], *found[place + 1 :]]


def test_one_partition_alone_moves_as_little_as_asked() -> None:
    graph = checks.pooled()
    enough = []
    for kernels in partitions([node.name for node in graph.nodes]):
        if any(sum(graph.node(name).op == "matmul" for name in each) > 1 for each in kernels):
            continue
        try:
            moved = traffic(partitioned(graph, kernels))
        except UsageError:  # kernels that wait for each other
            continue
        if moved <= 1_750_000:
            enough.append(kernels)
    assert enough == [[["p"], ["g", "q", "r", "m"], ["z", "k"]]]

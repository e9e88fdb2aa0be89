"""Lesson 5's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from itertools import permutations

import pytest
from answers import Complain, both_tests
from answers import no_races as no_races

from mlc_course.tensor_program.memory import Cache, count
from mlc_course.tensor_program.schedule import reorder
from mlc_course.tensor_program.tir import Schedule, te

ASSIGNMENT = "05_loop_reorder"


pytestmark = pytest.mark.usefixtures("no_races")


def along(*lines: str) -> str:
    return "def along_rows(sch):\n" + "".join(f"    {line}\n" for line in lines)


def orders(plain: str, a: str, b: str) -> str:
    return f'my_orders = {{"as they are": {plain!r}, "A transposed": {a!r}, "B transposed": {b!r}}}'


def witnesses(
    total: object = None,
    right: object = ((2, 4), (3, 3)),
    below: object = ((2, 4), (3, 3)),
    diagonals: object = ((2, 4), (3, 3)),
) -> str:
    return (
        f'my_witnesses = {{"sum": {total}, "from the right": {right}, "from below": {below}, '
        f'"diagonals": {diagonals}}}'
    )


HEAD = """@T.prim_func(s_tir=True)
def repaired(
    A: T.Buffer((24, 40), "float32"),
    B: T.Buffer((40, 56), "float32"),
    C: T.Buffer((24, 56), "float32"),
):
"""
FIRST = """    for m, n in T.grid(24, 56):
        C[m, n] = A[m, 0] * B[0, n]
"""
ZERO = FIRST.replace("A[m, 0] * B[0, n]", "0.0")


def sums(loops: str, extents: str, start: int = 0) -> str:
    product = "A[m, k] * B[k, n]" if start == 0 else f"A[m, k + {start}] * B[k + {start}, n]"
    return f"""    for {loops} in T.grid({extents}):
        C[m, n] = C[m, n] + {product}
"""


BLOCK = """    for m, k, n in T.grid(24, 40, 56):
        with T.sblock("C"):
            v_m, v_k, v_n = T.axis.remap("SRS", [m, k, n])
            with T.init():
                C[v_m, v_n] = T.float32(0)
            C[v_m, v_n] = C[v_m, v_n] + A[v_m, v_k] * B[v_k, v_n]
"""

WRONG = [
    # 1. Walk along rows
    ("along-rows-test", along("pass"), "the inner loop k strides by 72 elements in B"),
    (
        "along-rows-test",
        along('reorder(sch, "C", "n", "m", "k")'),
        "the inner loop k strides by 72 elements in B",
    ),
    (
        "along-rows-test",
        along('reorder(sch, "C", "n", "k", "m")'),
        "the inner loop m strides by 72 elements in C",
    ),
    ("along-rows-test", along('reorder(sch, "C", "i", "j")'), "block C has no loop 'i'"),
    ("along-rows-test", along('reorder(sch, "D", "m", "n")'), "no block 'D'"),
    ("along-rows-test", along('reorder(sch, "C", "n")'), "too few loops"),
    ("along-rows-test", along("sch.reorder(m, k, n)"), "NameError: name 'm' is not defined"),
    ("along-rows-test", along("sch.tile('C', m=16)"), "steps are functions: split(sch, ...)"),
    ("along-rows-test", along("reorder(sch, 'C', 'm', 'm', 'n')"), "appears in the input array"),
    ("along-rows-test", 'along_rows = ("m", "k", "n")', "an answer of another kind"),
    # 2. The best of six, three times
    ("best-order-test", 'my_orders = ["m-k-n", "k-m-n", "m-n-k"]', "not an answer to every part"),
    ("best-order-test", 'my_orders = {"as they are": "m-k-n"}', "not an answer to every part"),
    ("best-order-test", orders("mkn", "kmn", "mnk"), "not one of the choices"),
    ("best-order-test", orders("m-k-n", "m-k-n", "m-n-k"), "then look at the middle loop"),
    ("best-order-test", orders("k-m-n", "k-m-n", "m-n-k"), "then look at the middle loop"),
    ("best-order-test", orders("m-k-n", "k-m-n", "m-k-n"), "then look at the middle loop"),
    # 3. When the order matters
    ("witness-test", "my_witnesses = [[2, 4], [3, 3]]", "not an answer to every part"),
    ("witness-test", witnesses(right=(2, 4)), "from the right: not two iterations"),
    ("witness-test", witnesses(right=((0, 7), (1, 6))), "from the right: not two iterations"),
    ("witness-test", witnesses(total=((2, 4), (3, 3))), "sum: the two iterations share no element"),
    ("witness-test", witnesses(total=((2, 3), (3, 3))), "before [3, 3] with j outside, too"),
    ("witness-test", witnesses(total=((2.0, 4.0), (3, 3))), "[2, 4] writes X[2, 4], reads"),
    ("witness-test", witnesses(right=((3, 3), (2, 4))), "[2, 4] does not run after [3, 3]"),
    ("witness-test", witnesses(below=((2, 5), (3, 3))), "[2, 5] writes X[2, 5], reads X[3, 4]"),
    ("witness-test", witnesses(diagonals=None), "3 of 4 are right"),
    ("witness-test", witnesses(right=None, below=None), "2 of 4 are right"),
    ("witness-test", witnesses(None, None, None, None), "1 of 4 are right"),
    # 4. Bug hunt: one product too many
    ("repair-test", HEAD + FIRST + sums("k, n, m", "40, 56, 24"), "differs from float64 NumPy"),
    ("repair-test", HEAD + FIRST + sums("k, m, n", "40, 24, 56"), "differs from float64 NumPy"),
    ("repair-test", HEAD + sums("k, m, n", "40, 24, 56"), "differs from float64 NumPy"),
    (
        "repair-test",
        HEAD + FIRST + sums("k, n, m", "39, 56, 24", start=1),
        "the inner loop m strides by 56 elements in C",
    ),
    (
        "repair-test",
        HEAD + ZERO + sums("m, n, k", "24, 56, 40"),
        "the inner loop k strides by 56 elements in B",
    ),
    (
        "repair-test",
        HEAD.replace("(24, 40)", "(24, 41)") + ZERO + sums("k, m, n", "40, 24, 56"),
        "the function has other parameters than the problem",
    ),
    ("repair-test", "def repaired(A, B, C):\n    C[:] = A @ B", "a TensorIR function"),
]


RIGHT = [
    ("along-rows-test", along('reorder(sch, "C", "k", "n")')),
    ("along-rows-test", along('reorder(sch, "C", "k", "m", "n")')),
    (
        "along-rows-test",
        along('m, n, k = sch.get_loops(sch.get_sblock("C"))', "sch.reorder(k, n)", "return sch"),
    ),
    (
        "along-rows-test",
        along(
            'm, n, k = sch.get_loops(sch.get_sblock("C"))',
            "k_0, k_1 = sch.split(k, [None, 8])",
            "sch.reorder(k_0, m, k_1, n)",
        ),
    ),
    ("witness-test", witnesses(None, ((1, 6), (2, 5)), ((5, 2), (6, 1)), ((1, 6), (6, 1)))),
    ("repair-test", HEAD + ZERO + sums("k, m, n", "40, 24, 56")),
    ("repair-test", HEAD + FIRST + sums("m, k, n", "24, 39, 56", start=1)),
    ("repair-test", HEAD + BLOCK),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_visible_part_does_not_tell_the_choices(complain: Complain) -> None:
    wrong = orders("n-k-m", "m-n-k", "m-n-k")
    said = complain(ASSIGNMENT, "best-order-test", wrong, hidden=False)
    assert said.startswith("✘ 1 of 3 are right")


@pytest.mark.parametrize(("test", "answer", "words"), WRONG)
def test_the_visible_part_gives_no_tick(
    complain: Complain, test: str, answer: str, words: str
) -> None:
    assert words in complain(ASSIGNMENT, test, answer, hidden=False)


@pytest.mark.parametrize(
    ("a", "b", "best"), [("mk", "kn", "mkn"), ("km", "kn", "kmn"), ("mk", "nk", "mnk")]
)
def test_the_best_orders_are_those_that_the_simulator_finds(a: str, b: str, best: str) -> None:
    left, right = (te.placeholder((40, 40), "float32", name) for name in "AB")
    k = te.reduce_axis((0, 40), "k")

    def product(m: object, n: object) -> object:
        at = {"m": m, "n": n, "k": k}
        return te.sum(left[at[a[0]], at[a[1]]] * right[at[b[0]], at[b[1]]], axis=[k])

    c = te.compute((40, 40), product, name="C", varargs_names=["m", "n"])
    program = te.create_prim_func([left, right, c])
    found = {}
    for order in map("".join, permutations("mnk")):
        sch = Schedule(program)
        reorder(sch, "C", *order)
        found[order] = count(sch.mod, Cache(bytes=2048))[0].misses
    first, second, *_ = sorted(found, key=found.__getitem__)
    assert first == best
    assert found[second] > 1.25 * found[first]

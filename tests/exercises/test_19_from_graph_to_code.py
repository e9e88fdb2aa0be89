"""Lesson 19's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
from answers import both_tests

from mlc_course.lessons.lesson_19_from_graph_to_code import (
    crowded,
    form,
    hunted,
    waits,
    without_barriers,
)
from mlc_course.lessons.lesson_19_from_graph_to_code.changes import kernel_error
from mlc_course.mugraph.ir import parse
from mlc_course.mugraph.kernel_checks import compare_code, first_fault, smaller
from mlc_course.mugraph.kernels import Barrier, walk
from mlc_course.mugraph.programs import published

ASSIGNMENT = "19_from_graph_to_code"
MLP = form(published("gated_mlp_fused"))
HUNT: dict[str, object] = {
    "A": [37, "field"],
    "B": [44, "nothing"],
    "C": [35, "memory"],
    "D": [30, "memory"],
}


def barriers(*numbers: object) -> str:
    return f"my_barriers = {list(numbers)!r}"


def tiles(**sizes: object) -> str:
    return f"my_tiles = {sizes!r}"


def hunt(**changed: object) -> str:
    return f"my_hunt = {HUNT | changed!r}"


HEAD = "two(X[b=16, d=1024], W[d, n=512], V[d, n]):"
GRID = "block grid(x=8) loop(k=16):"
LOADS = (
    "x = load(X, fmap={k: 1})",
    "w = load(W, imap={x: 1}, fmap={k: 0})",
    "v = load(V, imap={x: 1}, fmap={k: 0})",
)
APART = ("p = matmul(x, w)", "q = matmul(x, v)")
STORE = "Y = store(total, omap={x: 1})"


def graph(*lines: str, grid: str = GRID, head: str = HEAD) -> str:
    body = "\n".join(f"    {line}" for line in (*LOADS, *lines))
    return f'my_graph = """\n{head}\n  {grid}\n{body}\n  return Y\n"""'


WRONG = [
    # 1. Barriers too many
    ("barriers-test", "my_barriers = 3", "not a list of barriers"),
    ("barriers-test", barriers(8), "different numbers from 0 to 7"),
    ("barriers-test", barriers(0, 0), "different numbers from 0 to 7"),
    ("barriers-test", barriers(), "right, but it waits too often"),
    ("barriers-test", barriers(0, 5, 7), "right, but it waits too often"),
    ("barriers-test", barriers(0, 1, 4, 5, 7), "w[0, 0, 0] is written here"),
    ("barriers-test", barriers(0, 1, 3, 5, 7), "since the last barrier"),
    ("barriers-test", barriers(*range(8)), "since the last barrier"),
    # 2. Another grid
    ("grid-test", "my_tiles = (32, 512)", "not two tiles"),
    ("grid-test", tiles(x=32), "not two tiles"),
    ("grid-test", tiles(x=30, k=512), "x is not a tile"),
    ("grid-test", tiles(x=6144, k=16), "a multiple of 8, up to 512"),
    ("grid-test", tiles(x=32, k=96), "k does not divide 4096"),
    ("grid-test", tiles(x=512, k=4096), "a tile of W that fits no block"),
    ("grid-test", tiles(x=24, k=128), "bytes loaded by all blocks"),
    ("grid-test", tiles(x=48, k=512), "blocks"),
    ("grid-test", tiles(x=32, k=128), "waits of a block"),
    ("grid-test", tiles(x=32, k=256), "bytes of shared memory"),
    # 3. Bug hunt
    ("hunt-test", "my_hunt = [37, 44, 35, 30]", "not an answer to every part"),
    ("hunt-test", hunt(A=37), "A: not a line"),
    ("hunt-test", hunt(A=[55, "field"]), "A: not a line"),
    ("hunt-test", hunt(C=[35, "race"]), "memory | field | nothing"),
    ("hunt-test", hunt(A=[37, "nothing"]), "4 of 4 lines and 3 of 4 checks"),
    ("hunt-test", hunt(C=[45, "memory"]), "3 of 4 lines and 4 of 4 checks are right"),
    ("hunt-test", hunt(D=[45, "memory"]), "3 of 4 lines and 4 of 4 checks"),
    ("hunt-test", hunt(A=[37, "memory"]), "4 of 4 lines and 3 of 4 checks"),
    ("hunt-test", hunt(A=[37, "nothing"], B=[44, "field"]), "4 of 4 lines and 2 of 4 checks"),
    # 4. One barrier an iteration
    ("once-test", "my_graph = 'X W + X V'", "cannot be read"),
    (
        "once-test",
        graph("wv = add(w, v)", "p = matmul(x, wv)", "total = accumulate(p)", STORE),
        "a block waits",
    ),
    ("once-test", graph(*APART, "total = accumulate(p)", STORE), "computes something else"),
    (
        "once-test",
        graph(
            *APART, "s = add(p, q)", "total = accumulate(s)", STORE, grid=GRID.replace("16", "8")
        ),
        "another grid or loop",
    ),
    (
        "once-test",
        f'my_graph = """\n{HEAD}\n  p = matmul(X, W)\n  q = matmul(X, V)\n  Y = add(p, q)\n'
        '  return Y\n"""',
        "another grid or loop",
    ),
]

RIGHT = [
    ("barriers-test", barriers(0, 4, 5, 7)),
    ("barriers-test", barriers(7, 5, 1, 0)),
    ("grid-test", tiles(x=40, k=256)),
    ("grid-test", tiles(k=512, x=32)),
    (
        "once-test",
        graph(*APART, "a = accumulate(p)", "b = accumulate(q)", "total = add(a, b)", STORE),
    ),
    (
        "once-test",
        graph(
            "xx = concat(x, x, axis=1)",
            "wv = concat(w, v, axis=0)",
            "p = matmul(xx, wv)",
            "total = accumulate(p)",
            STORE,
        ),
    ),
]

test_a_wrong_answer_is_told_why, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_the_solutions_earn_the_points(
    complain: Callable[..., str], solution: Callable[[str, str], str]
) -> None:
    for cell in ("barriers", "grid", "hunt", "once"):
        assert complain(ASSIGNMENT, f"{cell}-test", solution(ASSIGNMENT, cell)) == ""


def test_there_are_two_right_answers_about_barriers_as_the_task_says() -> None:
    lowered = form(published("rms_norm_matmul_fused"), "no copies ahead").small().kernel
    kernel = crowded(lowered)
    count = sum(isinstance(each, Barrier) for each in walk(kernel.body))
    right = [
        numbers
        for most in range(count + 1)
        for numbers in combinations(range(count), most)
        if waits((left := without_barriers(kernel, set(numbers))).body) <= waits(lowered.body)
        and first_fault(left) is None
    ]
    assert right == [(0, 1, 5, 7), (0, 4, 5, 7)]


@pytest.mark.parametrize("letter", HUNT)
def test_the_hunted_kernels_are_as_the_answer_says(letter: str) -> None:
    small, kernel = MLP.small(), hunted()[letter]
    verdict = compare_code(smaller(MLP.graph, {0: MLP.tiling}, 4), {0: kernel})
    assert small.kernel != kernel
    seen = "memory" if verdict.fault else "field" if verdict.differs else "nothing"
    assert HUNT[letter][1] == seen  # type: ignore[index]


def test_random_numbers_miss_one_of_the_three_wrong_ones_as_the_question_says() -> None:
    errors = {letter: kernel_error(MLP.small(), kernel) for letter, kernel in hunted().items()}
    assert {letter for letter, error in errors.items() if error < 1e-12} == {"B", "D"}


def test_the_graph_that_is_given_waits_twice_as_often_as_asked() -> None:
    twice = graph("wv = add(w, v)", "p = matmul(x, wv)", "total = accumulate(p)", STORE)
    assert waits(form(parse(twice.split('"""')[1])).kernel.body) == 32

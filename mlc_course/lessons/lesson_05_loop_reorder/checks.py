"""Demands of the exercises of lesson 5, in the part that the student sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlc_course.errors import UnmetCheck
from mlc_course.exercise import (
    check,
    check_parts,
    computes,
    faster,
    given,
    holds,
    inner_stride,
    misses,
    scheduled,
    sealed,
    shown,
    written,
)
from mlc_course.lessons.lesson_05_loop_reorder.loop_orders import LAYOUTS, ORDERS
from mlc_course.tensor_program.memory import Cache
from mlc_course.tensor_program.problems import matmul
from mlc_course.words import marked, tr

TINY = Cache(bytes=4096)
SIDE = range(1, 7)

Iteration = list[int]
Touched = Callable[[int, int], tuple[str, set[str]]]

BODIES: dict[str, Touched] = {  # what iteration (i, j) writes, and what it reads
    "sum": lambda i, j: (f"X[{i}, {j}]", {f"X[{i - 1}, {j}]", f"X[{i}, {j - 1}]"}),
    "from the right": lambda i, j: (f"X[{i}, {j}]", {f"X[{i - 1}, {j + 1}]"}),
    "from below": lambda i, j: (f"X[{i}, {j}]", {f"X[{i + 1}, {j - 1}]"}),
    "diagonals": lambda i, j: (f"Y[{i + j}]", {f"X[{i}, {j}]"}),
}


def along_rows(answer: Any) -> None:
    """Check exercise 1: rows, few misses, and faster than the naive order.

    In this cache k-m-n misses 12,572 times, and the best order that does not walk along rows,
    m-n-k, 22,930 times.
    """
    small = matmul(40, 56, 72)
    check(scheduled(answer, small), computes(), inner_stride("C"), misses(16_000, TINY))
    check(scheduled(answer, matmul(128, 128, 128)), computes(), inner_stride("C"), faster(3))


def best_order(answer: Any) -> None:
    """Check exercise 2: says how many of the three orders are right."""
    seals = dict(zip(LAYOUTS, ("4d6db95b1849", "71a1afc3980a", "4953d4d2bd9e"), strict=True))
    hint = marked("the last index of most arrays belongs inside; then look at the middle loop")
    check(given(answer), sealed(ORDERS, seals, hint=hint))


def witnesses(answer: Any) -> None:
    """Check exercise 3: every pair must be a witness, and says how many answers are right."""
    check(given(answer), holds(witnesses_hold, kind="counter-example"))


def repaired(answer: Any) -> None:
    """Check exercise 4: the right product, by rows, with few misses.

    In this cache k-m-n misses 4,460 times, and the best order that does not walk along rows,
    n-m-k, 58,464 times; with a copy of B transposed, m-n-k walks along rows.
    """
    problem = matmul(24, 40, 56)
    check(written(answer, problem), computes(), inner_stride(), misses(12_000, Cache(bytes=1024)))


def witnesses_hold(value: Any) -> str:
    """Say how many answers are right; raises ``UnmetCheck`` for a pair that is no witness."""
    check_parts(value, BODIES)
    for name, pair in value.items():
        if pair is not None:
            _check_witness(name, pair)
    right = sum((value[name] is None) == (not _illegal(name)) for name in BODIES)
    if right < len(BODIES):
        raise UnmetCheck(
            tr("{right} of {count} are right", right=right, count=len(BODIES)),
            hint=tr("where you say None, list what (i, j) and (i + 1, j - 1) read and write"),
        )
    return tr("all {count} are right", count=len(BODIES))


def _illegal(name: str) -> bool:
    """Return True if the swap turns around two iterations that depend on each other."""
    return any(
        _depend(name, [i, j], [p, q])
        for i in SIDE
        for j in SIDE
        for p in SIDE
        for q in SIDE
        if i < p and q < j
    )


def _depend(name: str, first: Iteration, second: Iteration) -> bool:
    (wrote, read), (writes, reads) = BODIES[name](*first), BODIES[name](*second)
    return wrote == writes or wrote in reads or writes in read


def _check_witness(name: str, pair: Any) -> None:
    iterations = [[i, j] for i in SIDE for j in SIDE]
    if type(pair) is not list or len(pair) != 2 or any(each not in iterations for each in pair):
        raise UnmetCheck(
            tr("{name}: not two iterations", name=name),
            expected=tr("[[i, j], [i, j]] with i and j from 1 to 6, or None"),
            got=shown(pair),
        )
    first, second = ([int(n) for n in each] for each in pair)  # 2.0 is 2
    if not first < second:
        raise UnmetCheck(
            tr(
                "{name}: {second} does not run after {first} with i outside",
                name=name,
                first=first,
                second=second,
            ),
            expected=tr("the iteration that runs first, then the other one"),
            got=shown(pair),
        )
    if not _depend(name, first, second):
        (wrote, read), (writes, reads) = BODIES[name](*first), BODIES[name](*second)
        raise UnmetCheck(
            tr("{name}: the two iterations share no element that one of them writes", name=name),
            expected=tr("an element that one iteration writes and the other one touches"),
            got=tr(
                "{first} writes {wrote}, reads {read}; {second} writes {writes}, reads {reads}",
                first=first,
                wrote=wrote,
                read=", ".join(sorted(read)),
                second=second,
                writes=writes,
                reads=", ".join(sorted(reads)),
            ),
        )
    if first[::-1] < second[::-1]:
        raise UnmetCheck(
            tr(
                "{name}: {first} runs before {second} with j outside, too",
                name=name,
                first=first,
                second=second,
            ),
            expected=tr("two iterations that the swap puts in the other order"),
            got=shown(pair),
            hint=tr("from the first to the second, i must grow and j become smaller"),
        )

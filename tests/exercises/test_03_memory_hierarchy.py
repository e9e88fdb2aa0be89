"""Lesson 3's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from answers import Complain, both_tests

from mlc_course.grading.process import Finding, Verdict

ASSIGNMENT = "03_memory_hierarchy"


def predict(rows: object, columns: object, padded: object, again: object) -> str:
    return (
        f'my_misses = {{"rows": {rows}, "columns": {columns}, "padded columns": {padded}, '
        f'"ten times": {again}}}'
    )


def simulator(
    *,
    line: str = "address // line",
    chosen: str = "number % sets",
    refresh: bool = True,
    room: str = "ways",
    hits: bool = False,
) -> str:
    """A cache simulator, with one of the usual slips."""
    return f"""
def misses(addresses, line, sets, ways):
    held, missed = {{}}, 0
    for address in addresses:
        number = {line}
        lines = held.setdefault({chosen}, [])
        if number in lines:
            {"lines.append(lines.pop(lines.index(number)))" if refresh else "pass"}
            continue
        missed += 1
        lines.append(number)
        if len(lines) > {room}:
            lines.pop(0)
    return {"len(addresses) - missed" if hits else "missed"}
"""


def ring(place: str, steps: str) -> str:
    """The colleague's function, with one of its lines mended."""
    return f"""
def ring(order):
    following = [0] * len(order)
    for step in {steps}:
        following[{place}] = order[(step + 1) % len(order)]
    return following
"""


def matrix(rows: object, row_length: object) -> str:
    return f'my_matrix = {{"rows": {rows}, "row_length": {row_length}}}'


WRONG = [
    # 1. How many misses?
    ("predict-misses-test", "my_misses = [4096, 65536, 4352, 6400]", "not an answer to every part"),
    ("predict-misses-test", 'my_misses = {"rows": 4096}', "not an answer to every part"),
    ("predict-misses-test", predict(65536 / 16, 65536, 4352, 6400), "rows: not a whole number"),
    ("predict-misses-test", predict(4096, 65536, 4352, 102_402), "ten times: more or fewer"),
    ("predict-misses-test", predict(4096, 0, 4352, 6400), "columns: more or fewer"),
    ("predict-misses-test", predict(4096, 4096, 4352, 6400), "3 of 4 are right"),
    ("predict-misses-test", predict(4096, 65536, 69632, 6400), "3 of 4 are right"),
    ("predict-misses-test", predict(4096, 65536, 4352, 640), "which sets do the lines"),
    ("predict-misses-test", predict(8192, 65536, 4352, 640), "2 of 4 are right"),
    # 2. A cache in twenty lines
    ("simulator-test", simulator(line="address"), "bytes 0 to 63 are one line"),
    ("simulator-test", simulator(hits=True), "bytes 0 to 63 are one line"),
    ("simulator-test", simulator(chosen="address % sets"), "are in three sets"),
    ("simulator-test", simulator(chosen="0", room="sets * ways"), "share set 0"),
    ("simulator-test", simulator(refresh=False), "line 0 has just been used"),
    ("simulator-test", simulator(room="ways + 1"), "share set 0"),
    ("simulator-test", simulator(room="2"), "one set of three ways"),
    ("simulator-test", "misses = 3", "an answer of another kind"),
    # 3. A walk that is caught
    ("ring-test", ring("step", "range(len(order) - 1)"), "what comes after place 2?"),
    ("ring-test", ring("order[step]", "range(len(order) - 1)"), "the last place of this walk"),
    ("ring-test", ring("step", "range(len(order))"), "what comes after place 2?"),
    ("ring-test", "def ring(order):\n    return order\n", "what comes after place 2?"),
    ("ring-test", "def ring(order):\n    return [*order[1:], order[0]]\n", "after place 2?"),
    (
        "ring-test",
        "def ring(order):\n    return [*range(1, len(order)), 0]\n",
        "what comes after place 2?",
    ),
    # 4. It fits, and misses every time
    ("fits-and-misses-test", "my_matrix = (12, 3072)", "not an answer to every part"),
    ("fits-and-misses-test", matrix(12, 1024), "row_length: a power of two"),
    ("fits-and-misses-test", matrix(16, 3072), "rows: a power of two"),
    ("fits-and-misses-test", matrix(600, 3072), "rows: out of range"),
    ("fits-and-misses-test", matrix(12, 5120), "row_length: out of range"),
    ("fits-and-misses-test", matrix(12.0, 3072), "rows: out of range"),
    ("fits-and-misses-test", matrix(7, 3072), "7 misses in 70 reads"),
    ("fits-and-misses-test", matrix(500, 1000), "the claim stands"),
    ("fits-and-misses-test", matrix(17, 1536), "the claim stands"),
]


RIGHT = [
    ("predict-misses-test", predict(4097, 65537, 4353, 6401)),
    ("predict-misses-test", "import numpy as np\n" + predict(4200, "np.int64(65000)", 4500, 6000)),
    ("simulator-test", simulator()),
    (
        "simulator-test",
        "from collections import OrderedDict\n\n"
        "def misses(addresses, line, sets, ways):\n"
        "    held, count = [OrderedDict() for _ in range(sets)], 0\n"
        "    for number in (a // line for a in addresses):\n"
        "        lines = held[number % sets]\n"
        "        if lines.pop(number, None) is None:\n"
        "            count += 1\n"
        "        lines[number] = True\n"
        "        if len(lines) > ways:\n"
        "            lines.popitem(last=False)\n"
        "    return count\n",
    ),
    ("ring-test", ring("order[step]", "range(len(order))")),
    (
        "ring-test",
        "def ring(order):\n"
        "    following = [0] * len(order)\n"
        "    for step in range(-1, len(order) - 1):\n"
        "        following[order[step]] = order[step + 1]\n"
        "    return following\n",
    ),
    ("fits-and-misses-test", matrix(9, 3072)),
    ("fits-and-misses-test", matrix(20, 1536)),
    ("fits-and-misses-test", matrix(500, 3072)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


@pytest.mark.parametrize(("test", "answer", "words"), WRONG)
def test_no_wrong_answer_gets_a_tick_from_the_visible_part(
    diagnose: Callable[..., list[Finding]], test: str, answer: str, words: str
) -> None:
    found = diagnose(ASSIGNMENT, test, answer, hidden=False)
    assert any(each.verdict is Verdict.UNMET for each in found), words


def test_the_visible_part_does_not_tell_the_counts(complain: Complain) -> None:
    said = complain(ASSIGNMENT, "predict-misses-test", predict(1, 1, 1, 1), hidden=False)
    assert "0 of 4 are right" in said
    assert not any(number in said for number in ("4096", "4,096", "65,536", "4,352", "6,400"))


def test_the_feedback_after_grading_names_what_is_off(
    diagnose: Callable[..., list[Finding]],
) -> None:
    found = diagnose(ASSIGNMENT, "predict-misses-test", predict(4096, 4096, 4352, 640))
    assert "columns: 0.0625 times the count; ten times: 0.1 times" in found[-1].got

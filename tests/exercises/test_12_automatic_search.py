"""Lesson 12's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import pytest
from answers import Complain, both_tests

ASSIGNMENT = "12_automatic_search"


def moves(body: str, keep: str = "c[-1] <= most", order: str = "sorted({0})") -> str:
    """Neighbours by a double loop over the places, with ``body`` making the child ``c``."""
    return f"""
def divisors(n):
    return [d for d in range(2, n + 1) if n % d == 0]

def primes(n):
    return [p for p in divisors(n) if all(p % d for d in range(2, p))]

def neighbours(tile, most):
    found = []
    for i in range(len(tile)):
        for p in {body}:
            for j in range(len(tile)):
                c = list(tile)
                c[i] //= p
                c[j] *= p
                if i != j and {keep} and c not in found:
                    found.append(c)
    return {order.format("found")}
"""


# The lists of the exercise, from which an answer is made.
KNOWN = """
import json
from pathlib import Path
from mlc_course.grading.course import source_of
cells = json.loads(Path({path!r}).read_text(encoding="utf-8"))["cells"]
for cell in cells:
    if cell["id"] in ("model-known", "model-unknown"):
        exec(source_of(cell))
"""


@pytest.fixture
def lists() -> str:
    from conftest import SOLUTIONS  # type: ignore[import-not-found]

    return KNOWN.format(path=str(SOLUTIONS / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"))


def guesses(rule: str) -> str:
    return f"""
def rule(rows, columns, sums):
    return {rule}

my_guesses = {{
    "known": [rule(*each[:3]) for each in known],
    "unknown": [rule(*each) for each in unknown],
}}
"""


def times(*values: object) -> str:
    return f"my_times = {list(values)}"


def winner(key: str, keep: str = 't["seconds"] and t["right"]', pick: str = "max") -> str:
    return f"""
from statistics import median

def winner(log):
    ran = [t for t in log if {keep}]
    return {pick}(ran, key=lambda t: {key})["name"] if ran else None
"""


MEDIAN = 'median(n / s for n, s in zip(t["numpy"], t["seconds"]))'

WRONG = [
    # 1. All neighbours
    ("neighbours-test", "neighbours = [[4, 12], [16, 3], [24, 2]]", "an answer of another kind"),
    ("neighbours-test", moves("divisors(tile[i])", keep="True"), "24 and 48 are above most"),
    ("neighbours-test", moves("divisors(tile[i])", keep="max(c) <= most"), "expected"),
    ("neighbours-test", moves("range(2, tile[i] + 1)"), "expected  [[1, 48], [2, 24]"),
    ("neighbours-test", moves("primes(tile[i])"), "2, 4 and 8 may leave the 8"),
    (
        "neighbours-test",
        "from mlc_course.tensor_program.search.evolution import neighbours",
        "2, 4 and 8 may leave the 8",
    ),
    ("neighbours-test", moves("divisors(tile[i])", order="{0}[::-1]"), "expected"),
    ("neighbours-test", moves("[2]"), "expected  [[1, 48], [2, 24]"),
    # 3. Counter-example: always uphill
    ("stuck-test", "my_times = 3", "not seven times"),
    ("stuck-test", times(1, 2, 3, 4, 5, 6), "not seven times"),
    ("stuck-test", times(1, 2, 3, 4, 5, 6, -7), "not seven times"),
    ("stuck-test", times(1, 2, 3, 4, 5, 6, 6), "two times are equal"),
    ("stuck-test", times(1, 2, 3, 4, 5, 6, 7), "it arrives at [64, 1], 1 ms, the best"),
    ("stuck-test", times(1, 9, 8, 4, 7, 6, 5), "it never moves from [8, 8]"),
    ("stuck-test", times(6, 9, 7, 8, 10, 11, 12), "it stops at [16, 4], 7 ms, and the best is 6"),
    # 4. Bug hunt: the winner that never ran
    ("winner-test", 'winner = "steady"', "an answer of another kind"),
    ("winner-test", winner('-min(t["seconds"])', 't["right"]'), "ValueError"),
    ("winner-test", winner(MEDIAN, 't["seconds"]'), "a fast wrong result is no result"),
    ("winner-test", winner(MEDIAN, pick="min"), "is the highest or the lowest the fastest?"),
    (
        "winner-test",
        winner('max(n / s for n, s in zip(t["numpy"], t["seconds"]))'),
        "one good reading among three is luck",
    ),
    ("winner-test", winner('-median(t["seconds"])'), "a neighbour slowed both sides down"),
    (
        "winner-test",
        winner('median(t["numpy"]) / median(t["seconds"])'),
        "divide within a round",
    ),
    (
        "winner-test",
        winner(MEDIAN).replace(" if ran else None", ""),
        "your code raises an error",
    ),
]


MODELS = [
    ("my_guesses = [1.0] * 60", "not two lists of guesses"),
    ('my_guesses = {"known": [1.0] * 40}', "not two lists of guesses"),
    (
        'my_guesses = {"known": [float(n) for n in range(40)], "unknown": [1.0] * 19}',
        "unknown: not a guess for each",
    ),
    (guesses("float('nan')"), "40 values, not all of them numbers"),
    (guesses("'fast'"), "40 values, not all of them numbers"),
    (guesses("1.0"), "known: all guesses are the same"),
    (guesses("math.log2(columns)"), "known: the guessed order is too far from the true one"),
    (guesses("math.log2(columns)"), "add the squares of the logarithms"),
    ('my_guesses = {"known": np.zeros(40), "unknown": [1.0] * 20}', "list(map(float, guesses))"),
    (guesses("rows * columns * sums"), "which length goes along with it?"),
    (guesses("-columns"), "is the fastest one the highest number?"),
    (
        'my_guesses = {"known": [each[3] for each in known], "unknown": list(range(20))}',
        "unknown: the guessed order is too far from the true one",
    ),
]


@pytest.mark.parametrize(("answer", "words"), MODELS)
def test_a_model_is_told_what_it_lacks(
    complain: Complain, lists: str, answer: str, words: str
) -> None:
    assert words in complain(ASSIGNMENT, "model-test", lists + answer)


def test_every_exercise_refuses_three_wrong_answers_by_its_visible_part(
    complain: Complain, lists: str
) -> None:
    refused = dict.fromkeys(("neighbours-test", "model-test", "stuck-test", "winner-test"), 0)
    for test, answer, _ in WRONG:
        refused[test] += bool(complain(ASSIGNMENT, test, answer, hidden=False))
    for answer, _ in MODELS:
        refused["model-test"] += bool(
            complain(ASSIGNMENT, "model-test", lists + answer, hidden=False)
        )
    assert min(refused.values()) >= 3, refused


def test_an_answer_known_by_heart_is_told_only_by_the_grader(
    complain: Complain, lists: str
) -> None:
    answer = lists + MODELS[-1][0]
    assert complain(ASSIGNMENT, "model-test", answer, hidden=False) == ""


RIGHT = [
    ("neighbours-test", moves("divisors(tile[i])")),
    ("stuck-test", times(12, 11, 10, 8, 7, 9, 3)),
    ("stuck-test", times(9, 8.5, 8.2, 8.0, 3.0, 4, 1.5)),
    ("winner-test", winner(MEDIAN)),
]


test_a_wrong_answer_is_told, test_other_right_answers_earn_the_points = both_tests(
    ASSIGNMENT, WRONG, RIGHT
)


def test_a_model_of_the_course_earns_the_points(complain: Complain, lists: str) -> None:
    answer = """
from mlc_course.tensor_program.search import Gene, features, fit

def row(tile):
    return features([Gene("", (0, size)) for size in tile[:3]])

model = fit([row(each) for each in known], [each[3] for each in known])
my_guesses = {
    "known": model.predict([row(each) for each in known]).tolist(),
    "unknown": model.predict([row(each) for each in unknown]).tolist(),
}
"""
    assert complain(ASSIGNMENT, "model-test", lists + answer) == ""

"""Lesson 10's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import pytest
from answers import Complain, both_tests

ASSIGNMENT = "10_parallelism"


def grains(even: object, triangle: object, peak: object) -> str:
    return f'my_choices = {{"even": {even}, "triangle": {triangle}, "peak": {peak}}}'


EVEN, TRIANGLE, PEAK = ["static", 30], ["dynamic", 2], ["dynamic", 15]

SHARE = "def serial_from(one_s, many_s, p):\n    return {}\n"
RIGHT_SHARE = SHARE.format("(p * many_s / one_s - 1) / (p - 1)")
BY_TRYING = """def workers_for(share, wish):
    if wish == 1:
        return 1
    if share * wish >= 1:
        return None
    p = 1
    while 1 / (share + (1 - share) / p) < wish:
        p += 1
    return p
"""
FORMULA = """import math
def workers_for(share, wish):
    if wish == 1:
        return 1
    room = 1 / wish - share
    return {} if room > 1e-12 else None
"""


def repaired(*lines: str) -> str:
    return "def repaired(sch):\n" + "".join(f"    {line}\n" for line in lines)


CHUNKS = (
    'k_0, _ = sch.split(lookup.loop(sch, "S", "k"), [4, None])',
    "sch.rfactor(k_0, factor_axis=0)",
)
OUTERMOST = 'steps.reorder(sch, "S_rf", "k_0", "k_1", "j")'
IN_PARALLEL = 'steps.parallel(sch, "S_rf", "k_0")'
LANES = (
    'steps.several_sums(sch, "S", "k", 4)',
    'steps.reorder(sch, "S_rf", "k_1", "k_0", "j")',
    'steps.parallel(sch, "S_rf", "k_1")',
)

WRONG = [
    # 1. Choose a grain
    ("grain-test", 'my_choices = ["static", 30]', "not an answer to every part"),
    ("grain-test", grains("static", TRIANGLE, PEAK).replace("static", "'static'"), "not a choice"),
    ("grain-test", grains(["static", 3], TRIANGLE, PEAK), "even: not one of the choices"),
    ("grain-test", grains(["guided", 2], TRIANGLE, PEAK), "even: not one of the choices"),
    (
        "grain-test",
        grains(["dynamic", 30], TRIANGLE, PEAK),
        "2 of 3 are right; even: another choice ends earlier",
    ),
    (
        "grain-test",
        grains(["static", 1], TRIANGLE, PEAK),
        "2 of 3 are right; even: a larger grain ends as early",
    ),
    ("grain-test", grains(EVEN, ["dynamic", 1], PEAK), "triangle: another choice ends earlier"),
    ("grain-test", grains(EVEN, ["static", 30], PEAK), "triangle: another choice ends earlier"),
    ("grain-test", grains(EVEN, TRIANGLE, ["dynamic", 1]), "peak: another choice ends earlier"),
    (
        "grain-test",
        grains(["dynamic", 1], ["static", 120], ["static", 1]),
        "0 of 3 are right; even: another choice ends earlier",
    ),
    # 2. How many workers?
    ("workers-test", SHARE.format("many_s / one_s") + BY_TRYING, "nothing is serial"),
    ("workers-test", SHARE.format("1 - one_s / many_s / p") + BY_TRYING, "all of it is serial"),
    ("workers-test", SHARE.format("one_s / many_s") + BY_TRYING, "a wrong result for (10, 5, 2)"),
    (
        "workers-test",
        RIGHT_SHARE + "def workers_for(share, wish):\n    return int(wish / (1 - share))",
        "a wrong result for (0.25, 2)",
    ),
    (
        "workers-test",
        RIGHT_SHARE + BY_TRYING.replace("return None", "return 10**9"),
        "an endless number of workers approaches",
    ),
    (
        "workers-test",
        RIGHT_SHARE + FORMULA.format("int((1 - share) / room)"),
        "this many must",
    ),
    # 3. Bug hunt: now and then
    ("race-test", repaired("pass"), "X is not read in parallel"),
    (
        "race-test",
        repaired('steps.parallel(sch, "S", "k")'),
        "parallel(S, k): a sum runs along this loop",
    ),
    (
        "race-test",
        repaired('steps.parallel(sch, "S", "j")'),
        "false sharing: workers of loop j write the same lines of S",
    ),
    ("race-test", repaired(*LANES), "false sharing: workers of loop k_1 write the same lines"),
    (
        "race-test",
        repaired(*CHUNKS, 'steps.parallel(sch, "S_rf", "j")'),
        "false sharing: workers of loop j",
    ),
    ("race-test", repaired(*CHUNKS, OUTERMOST), "X is not read in parallel"),
    (
        "race-test",
        repaired(*CHUNKS, OUTERMOST, 'steps.parallel(sch, "S", "j")'),
        "X is not read in parallel",
    ),
    (
        "race-test",
        repaired(CHUNKS[0].replace("4", "2"), CHUNKS[1], OUTERMOST, IN_PARALLEL),
        "fewer than four workers share X",
    ),
    ("race-test", repaired('sch.rfactor("k", 0)'), "your code raises an error"),
    # 4. Counter-example: the third worker
    ("third-test", "my_costs = 3", "not the costs of tasks"),
    ("third-test", "my_costs = [1, -5, 2]", "not the costs of tasks"),
    ("third-test", "my_costs = [1] * 13", "not the costs of tasks"),
    ("third-test", "my_costs = [0, 0, 0]", "done at once"),
    ("third-test", "my_costs = [1, 2, 3, 4, 5, 6]", "two workers need 15, three need 11"),
    ("third-test", "my_costs = [10, 1, 1, 1, 1, 10]", "two workers need 12, three need 11"),
]


RIGHT = [
    ("grain-test", grains(("static", 30), ("dynamic", 2), ("dynamic", 15))),
    ("workers-test", RIGHT_SHARE + BY_TRYING),
    ("workers-test", SHARE.format("(many_s / one_s - 1 / p) / (1 - 1 / p)") + BY_TRYING),
    (
        "workers-test",
        RIGHT_SHARE + FORMULA.format("max(1, math.ceil((1 - share) / room))"),
    ),
    ("race-test", repaired(CHUNKS[0].replace("4", "8"), CHUNKS[1], OUTERMOST, IN_PARALLEL)),
    (
        "race-test",
        repaired(
            'block = sch.get_sblock("S")',
            "j, k = sch.get_loops(block)",
            "k_0, k_1 = sch.split(k, [None, 4])",
            "rf = sch.rfactor(k_1, factor_axis=0)",
            "j, k_0, k_1 = sch.get_loops(rf)",
            "sch.reorder(k_1, k_0, j)",
            "sch.parallel(k_1)",
        ),
    ),
    ("race-test", repaired(*CHUNKS, OUTERMOST, IN_PARALLEL, 'steps.vectorize(sch, "S_rf", "j")')),
    ("third-test", "my_costs = [0, 0, 1, 1, 0, 0]"),
    ("third-test", "my_costs = [1, 1, 9, 9, 1]"),
]


_, test_other_right_answers_earn_the_points = both_tests(ASSIGNMENT, WRONG, RIGHT)


@pytest.mark.parametrize(("test", "answer", "words"), WRONG)
def test_the_visible_part_ticks_no_wrong_answer(
    complain: Complain, test: str, answer: str, words: str
) -> None:
    assert words in complain(ASSIGNMENT, test, answer, hidden=False)

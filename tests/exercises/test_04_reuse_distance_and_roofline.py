"""Lesson 4's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from answers import both_tests

from mlc_course.grading.process import Finding, Verdict

ASSIGNMENT = "04_reuse_distance_and_roofline"


def distances(between: str, *, first: str = "None", lines: str = "lines[:at][::-1]") -> str:
    """A list of distances, with one of the usual slips."""
    return f"""
def distances(lines):
    found = []
    for at, line in enumerate(lines):
        earlier = {lines}
        found.append({between} if line in earlier else {first})
    return found
"""


SINCE = "len(set(earlier[: earlier.index(line)]))"


def attainable(*lines: str) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def attainable(flops, traffic, peak, bandwidth):\n{body}"


LIMITS = 'limits = {"peak": peak} | {k: flops / b * bandwidth[k] for k, b in traffic.items() if b}'
NAMED = "name = {}(limits, key=limits.get)"
RESULT = "return limits[name], name"


def mended(condition: str) -> str:
    return f"""
def misses_of(distances, lines):
    missed = 0
    for distance in distances:
        if {condition}:
            missed += 1
    return missed
"""


BELADY = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5]


WRONG = [
    # 1. Distances
    ("distances-test", distances("earlier.index(line)"), "and counts once"),
    ("distances-test", distances(SINCE, first="-1"), "a first use has no distance"),
    ("distances-test", distances(SINCE, lines="lines[:at]"), "one other line in between"),
    ("distances-test", distances(f"{SINCE} + 1"), "a first use has no distance"),
    ("distances-test", distances("len(set(earlier))"), "a first use has no distance"),
    ("distances-test", "distances = [None, 0]", "an answer of another kind"),
    # 2. Under which roof?
    ("attainable-test", attainable(LIMITS, NAMED.format("max"), RESULT), "24 GB/s"),
    (
        "attainable-test",
        attainable(
            "limits = {k: flops / b * bandwidth[k] for k, b in traffic.items() if b}",
            NAMED.format("min"),
            RESULT,
        ),
        "nothing is faster than the peak",
    ),
    (
        "attainable-test",
        attainable(LIMITS.replace("flops / b", "b / flops"), NAMED.format("min"), RESULT),
        "1/12 operation a byte",
    ),
    (
        "attainable-test",
        attainable(
            'limits = {"peak": peak, "memory": flops / traffic["memory"] * 24}',
            NAMED.format("min"),
            RESULT,
        ),
        "every level is a limit",
    ),
    ("attainable-test", attainable("return min(2.0, peak)"), "2.0, which is no list or tuple"),
    (
        "attainable-test",
        attainable(LIMITS.replace(" if b", ""), NAMED.format("min"), RESULT),
        "ZeroDivisionError",
    ),
    # 3. The count that disagrees
    ("mended-test", mended("distance is not None and distance > lines"), "misses in every cache"),
    ("mended-test", mended("distance is None or distance > lines"), "only the line used last"),
    ("mended-test", mended("distance is not None and distance >= lines"), "misses in every cache"),
    ("mended-test", mended("distance is None or distance >= lines - 1"), "the one that was used"),
    ("mended-test", mended("distance is None"), "only the line used last"),
    ("mended-test", mended("distance >= lines"), "TypeError"),
    # 4. A larger cache never misses more
    ("belady-test", "my_walk = 12345", "not a walk"),
    ("belady-test", "my_walk = []", "too short or too long"),
    ("belady-test", "my_walk = [1, 2] * 13", "too short or too long"),
    ("belady-test", "my_walk = [1, 2, 3, 4] * 5", "20 misses with 3 lines, 4 with 4"),
    ("belady-test", "my_walk = [1, 2, 3, 4, 5] * 4", "20 misses with 3 lines, 20 with 4"),
    ("belady-test", "my_walk = [1.0, 2.0]", "not a walk"),
]


RIGHT = [
    ("distances-test", distances(SINCE)),
    (
        "distances-test",
        "def distances(lines):\n"
        "    stack, found = [], []\n"
        "    for line in lines:\n"
        "        if line in stack:\n"
        "            found.append(len(stack) - 1 - stack.index(line))\n"
        "            stack.remove(line)\n"
        "        else:\n"
        "            found.append(None)\n"
        "        stack.append(line)\n"
        "    return found\n",
    ),
    (
        "attainable-test",
        attainable(
            "seconds = {k: b / bandwidth[k] for k, b in traffic.items()}",
            'seconds["peak"] = flops / peak',
            "slow, name = max((s, k) for k, s in seconds.items())",
            "return [flops / slow, name]",
        ),
    ),
    ("mended-test", mended("distance is None or distance >= lines")),
    ("mended-test", mended("distance not in range(lines)")),
    ("belady-test", f"my_walk = {BELADY}"),
    ("belady-test", f"my_walk = {[9 - line for line in BELADY]}"),
    ("belady-test", f"my_walk = {[0, *(line + 10 for line in BELADY)]}"),
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

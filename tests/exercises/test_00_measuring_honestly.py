"""Lesson 0's exercises: what typical answers are told, and which ones earn the points."""

from __future__ import annotations

import pytest
from answers import Complain

ASSIGNMENT = "00_measuring_honestly"


def flaws(**changed: str) -> str:
    right = {
        "A": "cold first call",
        "B": "unequal threads",
        "C": "best against mean",
        "D": "different moments",
        "E": "unchecked result",
    }
    return f"five_flaws = {right | changed}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("five_flaws = ['cold first call']", "not an answer to every part"),
        ("five_flaws = {'A': 'cold first call'}", "not an answer to every part"),
        (flaws(A="Cold first call"), "not one of the choices"),
        (flaws(B=""), "not one of the choices"),
        (flaws(C="different moments"), "4 of 5 are right"),
        (flaws(A="different moments", D="cold first call"), "3 of 5 are right"),
        (flaws(C="unchecked result", E="best against mean"), "3 of 5 are right"),
    ],
)
def test_flaws(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "five-flaws-test", answer, hidden=False)


def test_what_is_visible_does_not_tell_which_flaws_are_right(complain: Complain) -> None:
    wrong = flaws(A="different moments", D="cold first call")
    said = complain(ASSIGNMENT, "five-flaws-test", wrong, hidden=False)
    assert said.startswith("✘ 3 of 5 are right")
    assert "different moments" not in said


SIDES = """
def fair_ratio(readings):
    numpy_s = [seconds for who, _, seconds in readings if who == "numpy"]
    ours_s = [seconds for who, _, seconds in readings if who == "ours"]
    return {}
"""
PAIRS = """
def fair_ratio(readings):
    in_time = sorted(readings, key=lambda reading: reading[1])
    pairs = [(a, b) for a, b in zip(in_time, in_time[1:]) if a[0] != b[0]]
    return {}
"""
NEAREST = """
def fair_ratio(readings):
    numpy = [reading for reading in readings if reading[0] == "numpy"]
    ours = [reading for reading in readings if reading[0] == "ours"]
    ratios = []
    for _, start_s, seconds in ours:
        nearest = min(numpy, key=lambda reading: abs(reading[1] - start_s))
        ratios.append(nearest[2] / seconds)
    return np.median(ratios)
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (SIDES.format("statistics.median(numpy_s) / statistics.median(ours_s)"), "the picture"),
        (SIDES.format("min(numpy_s) / min(ours_s)"), "the picture"),
        (SIDES.format("statistics.mean(numpy_s) / statistics.mean(ours_s)"), "the picture"),
        (
            SIDES.format("statistics.median(n / o for n, o in zip(numpy_s, ours_s))"),
            "the picture",
        ),
        (SIDES.format("statistics.median(ours_s) / statistics.median(numpy_s)"), "a quiet log"),
        (PAIRS.format("statistics.median(a[2] / b[2] for a, b in pairs)"), "a quiet log"),
        (
            PAIRS.format(
                "statistics.mean(a[2] / b[2] if a[0] == 'numpy' else b[2] / a[2] for a, b in pairs)"
            ),
            "the picture",
        ),
        ("def fair_ratio(readings):\n    print(1.25)", "None"),
        ("def fair_ratio(readings):\n    return 1.25", "ours takes twice as long"),
        ("fair_ratio = 1.25", "an answer of another kind"),
        ("def fair_ratio(readings):\n    return readings['numpy']", "your code raises an error"),
    ],
)
def test_ratios(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "fair-ratio-test", answer, hidden=False)


@pytest.mark.parametrize(
    "answer",
    [
        "import numpy as np\n" + NEAREST,
        PAIRS.format(
            "2 ** statistics.median("
            "(1 if a[0] == 'numpy' else -1) * math.log2(a[2] / b[2]) for a, b in pairs)"
        ),
    ],
    ids=["nearest in time", "logarithms"],
)
def test_other_fair_ratios(complain: Complain, answer: str) -> None:
    assert not complain(ASSIGNMENT, "fair-ratio-test", "import math", answer)


def floor(value: str) -> str:
    return f"def floor_s(flops, moved, gflops, gbytes_per_s):\n    return {value}"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (floor("(flops / gflops + moved / gbytes_per_s) / 1e9"), "at the same time"),
        (floor("min(flops / gflops, moved / gbytes_per_s) / 1e9"), "no bytes"),
        (floor("max(flops / gflops, moved / gbytes_per_s)"), "no bytes"),
        (floor("max(flops / gflops / 1e9, moved / gbytes_per_s)"), "no operations"),
        (floor("flops / gflops / 1e9"), "no operations"),
        (floor("max(gflops / flops, gbytes_per_s / moved) / 1e9"), "ZeroDivisionError"),
    ],
)
def test_floors(complain: Complain, answer: str, told: str) -> None:
    assert told in complain(ASSIGNMENT, "floor-test", answer, hidden=False)


@pytest.mark.parametrize(
    ("rounds", "told"),
    [
        ("[[1, 1], [1, 1], [1, 1]]", "the median of the ratios is 1.000"),
        ("[[1, 0.9], [2, 1.9], [3, 2.9]]", "the medians are 2 s and 1.9 s"),
        ("[[1, 2], [2, 2.5], [3, 2.9]]", "must say that ours is faster"),
        ("[[1, 0.9], [2, 2.5]]", "not three rounds"),
        ("[1, 0.9, 2, 2.5, 3, 2.9]", "not three rounds"),
        ("[[1, 0.9], [2, -2.5], [3, 2.9]]", "not three rounds"),
        ("[[1, 0.9], [2, float('inf')], [3, 2.9]]", "not three rounds"),
        ("{'numpy_s': [1, 2, 3], 'ours_s': [0.9, 2.5, 2.9]}", "not three rounds"),
    ],
)
def test_rounds_that_break_nothing(complain: Complain, rounds: str, told: str) -> None:
    assert told in complain(
        ASSIGNMENT, "counter-example-test", f"three_rounds = {rounds}", hidden=False
    )


@pytest.mark.parametrize(
    "rounds",
    ["((4, 9), (1, 0.5), (9, 8))", "[(10, 9), (20, 40), (30, 29)]"],
)
def test_other_counter_examples(complain: Complain, rounds: str) -> None:
    assert not complain(ASSIGNMENT, "counter-example-test", f"three_rounds = {rounds}")

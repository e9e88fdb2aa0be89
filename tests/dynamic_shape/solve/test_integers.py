"""Bounds over whole numbers, against trying all of them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest
from cases import Tried

from mlc_course.dynamic_shape.solve import integers
from mlc_course.dynamic_shape.solve.integers import (
    Beyond,
    Bounded,
    Cut,
    Equation,
    at_most,
    is_cut,
)

LARGEST = 9  # of what is tried


def drawn_sum(rng: random.Random, names: str, low: int, high: int) -> dict[str, int]:
    return {name: by for name in names if (by := rng.randint(low, high))}


def value(of: dict[str, int], point: dict[str, int]) -> int:
    return sum(by * point.get(name, 0) for name, by in of.items())


@pytest.mark.fuzz
@pytest.mark.parametrize("few", [0, 60])  # floating-point numbers first, or exact ones at once
def test_a_bound_is_proved_or_a_point_beyond_it_is_found(
    few: int, full: bool, seed: int, tried: Tried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integers, "FEW", few)
    rng, said = random.Random(seed), Counter[str]()
    count = 2000 if full else 150
    for _ in range(count):
        names = "abcd"[: rng.randint(1, 4)]
        equations = [
            Equation(at, drawn_sum(rng, names, -2, 3), Fraction(rng.randint(-3, 6)))
            for at in range(rng.randint(0, 3))
        ]
        stated = [
            Cut(drawn_sum(rng, names, -2, 2), rng.randint(-1, 6)) for _ in range(rng.randint(0, 3))
        ]
        goal, target = drawn_sum(rng, names, -2, 2), rng.randint(-2, 6)
        points = [
            point
            for sizes in product(range(LARGEST), repeat=len(names))
            for point in [dict(zip(names, sizes, strict=True))]
            if all(value(dict(each.sum), point) == each.constant for each in equations)
            and all(value(dict(each.sum), point) <= each.bound for each in stated)
        ]
        found = at_most(goal, target, equations, stated)
        said[type(found).__name__] += 1
        match found:
            case Bounded(cuts):
                assert all(value(goal, point) <= target for point in points)
                own = {each.fact: each for each in equations}
                for at in range(len(stated), len(cuts)):
                    assert is_cut(cuts[at], own, cuts[:at])
                last = cuts[-1]
                is_goal = last.sum == goal and last.bound <= target
                assert is_goal or (not last.sum and last.bound < 0)
            case Beyond(point):
                assert min(point.values(), default=0) >= 0
                assert all(value(dict(each.sum), point) == each.constant for each in equations)
                assert all(value(dict(each.sum), point) <= each.bound for each in stated)
                assert value(goal, point) > target
    tried("bounds", count)
    assert said["Bounded"] > 0.5 * count and said["Beyond"] > 0.1 * count and not said["NoneType"]


def test_a_square_is_not_twice_a_square() -> None:
    """2a = 2b + 1 has solutions in fractions only, and no largest one: a cut shows it."""
    found = at_most({}, -1, [Equation(0, {"a": 2, "b": -2}, Fraction(1))])
    assert isinstance(found, Bounded) and found.cuts[-1].bound < 0


def test_a_cut_that_does_not_follow_is_refused() -> None:
    equations = {0: Equation(0, {"a": 2, "b": 1}, Fraction(5))}
    right = Cut({"a": 1}, 2, {0: Fraction(1, 2)})
    assert is_cut(right, equations, [])
    for wrong in (
        replace(right, bound=1),
        replace(right, sum={"a": 2}),
        replace(right, sum={"a": 1, "c": 1}),
        replace(right, equations={0: Fraction(1, 3)}),
        replace(right, equations={}),
    ):
        assert not is_cut(wrong, equations, [])
    earlier = [Cut({"a": 1}, 2)]
    assert is_cut(Cut({"a": 2}, 4, cuts={0: Fraction(2)}), {}, earlier)
    assert not is_cut(Cut({"a": -2}, -4, cuts={0: Fraction(-2)}), {}, earlier)

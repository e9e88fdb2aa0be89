"""Pictures of lesson 17 draw the values that they are given."""

from __future__ import annotations

import cmath
import math
import random
from xml.etree import ElementTree

import numpy as np
import pytest

from mlc_course.drawing import Decades, power
from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_17_finite_field_verification.conjugates_picture import (
    conjugates_svg,
    norm,
    of_order,
)
from mlc_course.lessons.lesson_17_finite_field_verification.evidence import recorded
from mlc_course.lessons.lesson_17_finite_field_verification.evidence_picture import evidence_svg
from mlc_course.lessons.lesson_17_finite_field_verification.meter import Meter, meter_svg
from mlc_course.lessons.lesson_17_finite_field_verification.tower_picture import (
    exp_tower_svg,
    tower_svg,
)
from mlc_course.lessons.lesson_17_finite_field_verification.zeros_picture import zeros_svg
from mlc_course.mugraph.mutants import pair
from mlc_course.mugraph.verify import Field, Tower

TOWER = Tower((7, 29, 59), (1, 7, 4))  # 7 has order 7 modulo 29, 4 has order 29 modulo 59


def test_probabilities_fall_with_their_logarithm() -> None:
    scale = Decades(100, 500, 4)
    assert scale.y(1) == 100
    assert scale.y(0.01) == pytest.approx(300)
    assert scale.y(1e-9) == scale.y(0) == 500
    assert scale.y(2) == 100
    assert [power(n) for n in range(5)] == ["1", "0.1", "0.01", "1e-3", "1e-4"]


def test_every_pair_has_its_panel() -> None:
    record = recorded()
    svg = evidence_svg(record)
    for each in record["pairs"]:
        assert f">{each['name']}<" in svg
    assert f"share of {record['tests']:,} tests" in svg


def test_a_count_of_zero_is_said() -> None:
    points = [{"prime": 31, "accepted": 0, "bound": 0.5}]
    svg = evidence_svg({"tests": 100, "pairs": [{"name": "p", "said": "q", "points": points}]})
    assert ">0<" in svg


def test_a_dot_for_each_zero() -> None:
    zeros = np.eye(5, dtype=bool)
    svg = zeros_svg([("one", zeros), ("two", ~zeros)])
    assert svg.count("<circle") == 25
    assert "0 at 5 of 5 x 5 points: 0.200" in svg
    with pytest.raises(UsageError, match="zeros"):
        zeros_svg([("no square", np.ones((2, 3), bool))])


def test_levels_of_a_tower_and_its_holes() -> None:
    field = Field([TOWER], random.Random(2), 1)
    x = field.random(())
    once = field.exp(x)
    svg = tower_svg(TOWER, [("x", x), ("exp(x)", once), ("exp(exp(x))", field.exp(once))])
    assert svg.count(">a hole<") == 3
    below = int(x.levels[0].item()) if x.levels[0] is not None else -1
    assert f">{pow(7, below, 29)}<" in svg
    assert "level 2: modulo 59" in svg


def test_a_tower_is_drawn_for_exps_in_exps() -> None:
    svg = exp_tower_svg(7, height=2)
    assert ">exp(exp(x))<" in svg
    assert "level 2: modulo" in svg
    assert svg.count(">a hole<") == 3


def test_a_number_has_the_order_only_modulo_primes_that_divide_its_norm() -> None:
    for number in range(2, 40):
        for p in (11, 31, 41, 61, 71, 101, 131):
            residues = of_order(5, p)
            assert len(residues) == 4
            product = math.prod(number - w for w in residues)
            assert (product - norm(number, 5)) % p == 0
            assert (number % p in residues) == (norm(number, 5) % p == 0)


def test_the_complex_distances_multiply_to_the_norm() -> None:
    roots = [cmath.exp(2j * math.pi * k / 5) for k in range(1, 5)]
    for number in (2, 3):
        assert math.prod(abs(number - z) for z in roots) == pytest.approx(norm(number, 5))


def test_the_unlucky_prime_is_marked_and_said() -> None:
    svg = conjugates_svg(2, primes=(11, 31))
    assert "2 has order 5 modulo 31" in svg
    assert svg.count('stroke-width="3"') == 1
    assert "= 31<" in svg
    assert "modulo none of the primes" in conjugates_svg(3, primes=(31, 41))
    ElementTree.fromstring(svg)
    for wrong in ({"number": 4}, {"number": 2, "primes": (7,)}):
        with pytest.raises(UsageError):
            conjugates_svg(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["cube", "stable softmax", "mean forgotten"])
def test_pictures_are_well_formed(name: str) -> None:
    meter = Meter(pair(name), 31, 1e-3, random.Random(1))
    meter.one()
    svg = meter_svg(meter)
    assert ElementTree.fromstring(svg).get("viewBox") == "0 0 1000 470"
    assert pair(name).said.split()[0] in svg

"""The sentences of lesson 5: right for every kind of machine, and a false one is found."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from mlc_course.lessons.lesson_05_loop_reorder import sentences
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Cache

FILE = Path(__file__).parents[2] / "statements" / "lesson_05.py"
ORDERS = sentences.ORDERS
L1 = Cache(32 * 1024)


def statements() -> Any:
    spec = importlib.util.spec_from_file_location("statements_05", FILE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def times(n: float, k: float, m: float) -> dict[str, float]:
    each = {"n": n, "k": k, "m": m}
    return {order: each[order[-1]] * (1 + 0.01 * place) for place, order in enumerate(ORDERS)}


# The slower of one pair and the faster of the next print the same, 13.2 ms.
SAME_FIGURES = {**times(0.001, 0.013, 0.07), "n-m-k": 0.01318, "m-k-n": 0.01324, "k-m-n": 0.015}
RATES = {"m-n-k": 1.005, "m-k-n": 0.063, "n-m-k": 1.066, "n-k-m": 2.004, "k-m-n": 0.067}
RATES["k-n-m"] = 2.0
JUMPS = {order: "nkm".index(order[-1]) for order in ORDERS}
SAID = {
    "hook-pairs-said": sentences.pairs_said(times(0.001, 0.02, 0.07)) + "\nFrom m-n-k: 17.1",
    "explain-rule": sentences.rule_said(RATES, JUMPS, 16),
    "explain-sets-said": "\n".join(sentences.column_said(n, L1) for n in (256, 240)),
    "explain-240-said": sentences.not_only_lines_said(0.0631, 0.063, 12.3, 240),
    "explain-four-said": sentences.causes_said(1.4, 1.1, 15.9),
    "break-run": "largest difference: 0.547",
}


@pytest.mark.parametrize(
    "other",
    [
        {},
        {"hook-pairs-said": sentences.pairs_said(times(0.004, 0.02, 0.0201)) + "\nFrom: 5.0"},
        {"hook-pairs-said": sentences.pairs_said(SAME_FIGURES)},
        {"hook-pairs-said": sentences.pairs_said({**SAME_FIGURES, "n-m-k": 0.01322})},
        {"explain-rule": sentences.rule_said({**RATES, "n-m-k": 0.07}, JUMPS, 16)},
        {"explain-240-said": sentences.not_only_lines_said(0.9, 0.063, 12.3, 240)},
        {"explain-240-said": sentences.not_only_lines_said(0.063, 0.063, 1.2, 240)},
        {"explain-240-said": sentences.not_only_lines_said(0.0905, 0.0604, 12.3, 240)},
        {"explain-four-said": sentences.causes_said(4.0, 2.0, 8.1)},
        {"explain-four-said": sentences.causes_said(4.0, 2.0, 3.0)},
        {"explain-four-said": sentences.causes_said(0.451, 0.451, 0.31)},
        {"explain-four-said": sentences.causes_said(0.549, 0.549, 0.449)},
    ],
)
def test_what_is_computed_is_true_on_every_machine(other: dict[str, str]) -> None:
    assert not list(statements().faults({**SAID, **other}))


@pytest.mark.parametrize(
    ("cell", "old", "new"),
    [
        ("hook-pairs-said", "k inside: 20", "k inside: 73"),
        ("hook-pairs-said", "k inside: 20", "k inside: 70.8"),
        ("explain-rule", "1.066", "0.070"),
        ("explain-sets-said", "they push each other out", "they stay"),
        ("explain-sets-said", "share 4 of", "share 64 of"),
        ("explain-240-said", "12.3", "1.1"),
        ("explain-240-said", "12.3", "1.4"),
        ("explain-240-said", "0.063 misses", "0.096 misses"),
        ("explain-four-said", "both: 15.9", "both: 1.6"),
        ("explain-four-said", "both: 15.9", "both: 2.1"),
        ("explain-four-said", "bring 1.5", "bring 1.8"),
        ("break-run", "0.547", "0.0"),
    ],
)
def test_a_false_sentence_is_found(cell: str, old: str, new: str) -> None:
    assert old in SAID[cell]
    assert list(statements().faults({**SAID, cell: SAID[cell].replace(old, new)}))


def test_answers_are_intervals_that_hold_every_ratio() -> None:
    choices = sentences.SLOWEST.choices
    assert choices[0] == "less than 1.5 times as long"
    assert [sentences.SLOWEST.of(r) for r in (1, 1.5, 4.9, 19, 80)] == [
        choices[i] for i in (0, 1, 1, 2, 3)
    ]


def test_what_the_compiler_made_is_said_as_it_is() -> None:
    lanes = {order: 8 if order[-1] == "n" else 1 for order in ORDERS}
    said = sentences.vectors_said(lanes)
    assert said == "With n inside, one instruction works on 8 float32; with k or m inside, on one."
    assert "no vector code" in sentences.vectors_said(dict.fromkeys(ORDERS, 1))
    loads = {"k-m-n": 0.6, "m-k-n": 1.5}
    assert "in registers" in sentences.registers_said(loads, {"k-m-n": 1.0, "m-k-n": 1.0})
    assert "in registers" not in sentences.registers_said(
        {**loads, "k-m-n": 1.5}, {"k-m-n": 1.0, "m-k-n": 1.0}
    )


def test_equal_misses_and_unequal_ones_are_told_apart() -> None:
    assert sentences.fits_said([432] * 6, [1.0, 8.5]).startswith("All six miss 432 times")
    assert "do not quite fit" in sentences.fits_said([432, 500], [1.0, 2.0])


def test_the_fastest_order_may_miss_more() -> None:
    rates = {"m-n-k": 0.06, "k-m-n": 1.0}
    said = sentences.layout_said(rates, {"m-n-k": 2.0, "k-m-n": 1.0}, 1.0)
    assert "misses more often" in said and "an order removes both" in said
    said = sentences.layout_said(rates, {"m-n-k": 12.0, "k-m-n": 20.0}, 1.0)
    assert "more often" not in said and "12.0 times as long" in said and "no order" in said


def test_a_rule_that_does_not_hold_is_not_said_to() -> None:
    numpy = Timing("NumPy", (1.0,))

    def said(before_s: float, *misses: int) -> str:
        times = {"j-k": before_s, "k-j": 1.0}
        found = {name: Comparison(Timing(name, (s,)), numpy) for name, s in times.items()}
        return sentences.columns_said(dict(zip(times, misses, strict=True)), found)

    assert "4.0 times as fast. The rule holds" in said(4.0, 1000, 100)
    assert "something else helps" in said(4.0, 100, 100)
    assert "2.0 times as long. Here the rule does not hold" in said(0.5, 1000, 100)
    assert "makes no difference" in said(1.04, 1000, 100)


def test_a_column_stays_only_where_no_set_is_crowded() -> None:
    two_ways = Cache(bytes=64 * 2 * 64, ways=2, line=64)
    assert "they stay" in sentences.column_said(40, two_ways)
    assert "hold 78 lines: they push" in sentences.column_said(76, two_ways)  # three in one set

"""What lesson 10 says about each outcome that can occur."""

from __future__ import annotations

import pytest

from mlc_course.lessons.lesson_10_parallelism import sentences
from mlc_course.measure import Comparison, Timing

ROUNDS = 8


def speedup(ratio: float, spread: float = 0.0, threads: str = "2 threads") -> Comparison:
    """A comparison whose ratios lie around this one."""
    times = [1 / (ratio + spread * (-1) ** n) for n in range(ROUNDS)]
    return Comparison(Timing(threads, tuple(times)), Timing("1 thread", (1.0,) * ROUNDS))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (speedup(1.9), "1.90 times as fast"),
        (speedup(0.2), "slower than one (0.20 x)"),
        (speedup(1.0, 0.5), "no clear difference"),
    ],
)
def test_a_gain_is_told_only_where_the_interval_is_on_one_side(
    found: Comparison, words: str
) -> None:
    assert words in sentences.gain(found)
    assert sentences.gains({"x": found}).startswith("x: ")


def test_one_core_has_nothing_to_compare() -> None:
    alone = {"x": speedup(1.0, threads="1 thread")}
    assert sentences.gains(alone) == sentences.ONE_CORE
    assert sentences.crowded(alone, alone) == sentences.ONE_CORE
    assert sentences.break_even({16: alone["x"]}) == sentences.ONE_CORE


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ({16: 0.1, 256: 0.9, 4096: 1.8}, "win from 4,096 rows on"),
        ({16: 1.2, 4096: 1.8}, "win from 16 rows on"),
        ({16: 0.1, 4096: 0.6}, "win at none"),
        ({16: 1.5, 4096: 0.6}, "alternate"),
    ],
)
def test_every_outcome_of_more_rows_has_a_sentence(ratios: dict[int, float], words: str) -> None:
    assert words in sentences.break_even({rows: speedup(r) for rows, r in ratios.items()})


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (speedup(1.9), "brings more"),
        (speedup(0.9), "the gain is smaller"),
        (speedup(1.5, 0.4), "No clear difference"),
    ],
)
def test_the_cure_is_told_as_it_was_measured(after: Comparison, words: str) -> None:
    assert words in sentences.cure(speedup(1.5), after)


def test_a_race_that_was_lucky_is_still_a_race() -> None:
    assert "although there is a race" in sentences.lost([8.0, 8.0], right=8.0)
    assert "wrong in 1 of 2 runs; the smallest S[0] is 4" in sentences.lost([8.0, 4.0], right=8.0)


def test_a_start_is_priced_by_what_the_other_program_does_meanwhile() -> None:
    assert sentences.starts(1e-3, 11e-3, count=11, work=1000) == (
        "1000.0 µs for each start; meanwhile the outer program does 1,000 multiply-adds"
    )

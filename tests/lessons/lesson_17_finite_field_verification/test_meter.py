"""Runs of tests end where they should, and count what they say."""

from __future__ import annotations

import random

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_17_finite_field_verification.meter import Meter, meter_svg
from mlc_course.mugraph.mutants import pair


def meter(name: str = "cube", prime: int = 31, error: float = 1e-3, seed: int = 1) -> Meter:
    return Meter(pair(name), prime, error, random.Random(seed))


def test_a_run_ends_at_the_first_refusal() -> None:
    run = meter()
    run.finish()
    assert run.state == "refused"
    assert run.run[:-1] == [True] * (len(run.run) - 1)
    assert (run.runs, run.passed) == (1, 0)
    assert "refused: different" in meter_svg(run)


def test_equal_graphs_pass_when_the_bound_is_low_enough() -> None:
    run = meter("stable softmax", 31, 1e-9)
    run.finish()
    assert run.state == "passed"
    assert run.bound <= 1e-9 < run.trial.bound ** (len(run.run) - 1)
    assert run.truth
    assert "WRONG" not in meter_svg(run)
    assert "verdict: equal" in meter_svg(run)


def test_tests_one_by_one_are_a_run_and_the_next_one_begins_anew() -> None:
    run = meter("two squares", 31, 1e-3)
    assert run.tests_needed is not None
    for _ in range(run.tests_needed):
        assert run.state == "open"
        run.one()
    assert run.state == "passed"
    run.one()
    assert (len(run.run), run.tests, run.runs) == (1, run.tests_needed + 1, 1)
    run.finish()
    assert (len(run.run), run.runs) == (run.tests_needed, 2)


def test_a_wrong_verdict_is_found_at_a_tiny_prime_and_called_wrong() -> None:
    run = meter("cube", 5, 0.1)
    assert run.hunt()
    assert (run.state, run.passed) == ("passed", 1)
    assert "WRONG" in meter_svg(run)


def test_wrong_verdicts_are_as_rare_as_the_bound_says() -> None:
    run = meter("cube", 5, 0.1)
    for _ in range(500):
        run.finish()
    assert run.runs == 500
    assert run.passed / run.runs < 0.6**5 + 0.05
    assert run.passed > 10


def test_what_a_large_error_bound_needs_is_not_found() -> None:
    run = meter("exponent off by y", 31, 1e-9)
    assert not run.hunt(50)
    assert (run.runs, run.passed) == (50, 0)


def test_there_is_nothing_to_hunt_for_in_equal_graphs() -> None:
    with pytest.raises(UsageError, match="these two are equal"):
        meter("two squares").hunt()


def test_a_prime_that_states_nothing_ends_no_run() -> None:
    run = meter("mean forgotten", 5)
    assert run.tests_needed is None
    with pytest.raises(UsageError, match="no number of tests is enough"):
        run.finish()
    run.one()
    assert run.state in ("open", "refused")
    assert "at most 1" in meter_svg(run)


def test_long_runs_show_their_last_tests() -> None:
    run = meter("stable softmax", 11, 1e-9)
    run.finish()
    assert len(run.run) > 64
    assert f"the last 64 of {len(run.run)} tests" in meter_svg(run)

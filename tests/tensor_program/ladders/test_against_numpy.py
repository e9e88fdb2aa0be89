from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError, WrongResult
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import against_numpy as contest_module
from mlc_course.tensor_program.ladders.against_numpy import contest, race, speedup, standings
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.schedule import steps
from mlc_course.tensor_program.tir import Schedule

SIZES = (8, 8, 8)


def test_both_sides_of_a_contest_can_be_called() -> None:
    pair = contest("matmul", SIZES, "reorder")
    pair.ours()
    pair.numpy()
    assert "M=8" in pair.title


def test_an_unknown_rung_is_refused() -> None:
    with pytest.raises(UsageError, match="no such rung"):
        contest("matmul", SIZES, "teleport")


def test_a_race_times_each_program_beside_numpy() -> None:
    def reorder(sch: Schedule) -> None:
        steps.reorder(sch, "C", "m", "k", "n")

    found = race("matmul", {"naive": lambda sch: None, "reorder": reorder}, SIZES, budget_s=0)
    assert list(found) == ["naive", "reorder"]
    assert all(comparison.baseline.name == "NumPy" for comparison in found.values())


def test_programs_that_compute_something_else_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(matmul(*SIZES), exact=lambda a, b: 2 * (a @ b))
    monkeypatch.setattr(contest_module, "make_workload", lambda *_: problem)
    with pytest.raises(WrongResult):
        contest("matmul")


def test_standings_have_one_line_a_contestant() -> None:
    comparison = Comparison(Timing("a", (0.002,) * 6), Timing("NumPy", (0.003,) * 6))
    text = standings({"a": comparison, "b": comparison})
    assert text.count("1.50 x NumPy's speed [1.50 to 1.50]") == 2
    assert len(text.splitlines()) == 2


def test_standings_mark_a_contestant_with_a_warning_and_tell_it_below() -> None:
    quiet = Comparison(Timing("a", (0.002,) * 6), Timing("NumPy", (0.003,) * 6))
    few = Comparison(Timing("b", (0.001,) * 2), Timing("NumPy", (0.003,) * 2))
    first, second, below = standings({"a": quiet, "b": few}).splitlines()
    assert "few" not in first
    assert second.endswith("[3.00 to 3.00] (few rounds)")
    assert below == f"warning: {few.warning}"


def test_one_contestant_over_another_is_compared_round_by_round() -> None:
    numpy = Timing("NumPy", (1.0, 9.0, 2.0), by_cpu=True)
    slow = Timing("slow", (2.0, 8.0, 4.0), by_cpu=True)
    fast = Timing("fast", (1.0, 2.0, 1.0), 0.5, by_cpu=True)
    found = {"slow": Comparison(slow, numpy), "fast": Comparison(fast, numpy)}
    assert speedup(found, "fast", over="slow").ratio == 4
    assert speedup(found, "slow", over="fast").ratio == 0.25
    assert f"{speedup(found, 'fast', over='slow'):.0f}" == "4 (CPU time)"
    with pytest.raises(UsageError, match="did not race"):
        speedup(found, "fast", over="NumPy")


def test_a_workload_of_ones_own_can_race() -> None:
    found = race(matmul(*SIZES), {"naive": lambda sch: None}, budget_s=0)
    assert list(found) == ["naive"]

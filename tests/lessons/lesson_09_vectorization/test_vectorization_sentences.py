"""The computed sentences, the costs of a row and the pictures of lesson 9."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_09_vectorization import (
    as_written,
    costs_svg,
    in_sums,
    overlapping_sums,
    register_tile,
    sentences,
    tiles_of,
    tiles_svg,
    unrolled,
    weighted_columns,
)
from mlc_course.lessons.lesson_09_vectorization.loop_and_end import RowCost, RowCosts, row_costs
from mlc_course.lessons.lesson_09_vectorization.vector_forms import tile_registers
from mlc_course.machine import describe
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import Rung, contest
from mlc_course.tensor_program.problems import matmul

W = describe().lanes


def comparison(ratio: float, spread: float = 0.01) -> Comparison:
    ours = tuple((1 + spread * k) / ratio for k in (-1, 0, 1) * 2)
    return Comparison(Timing("ours", ours), Timing("base", (1.0,) * 6))


def costs(*rows: tuple[int, float, float]) -> RowCosts:
    return RowCosts(tuple(RowCost(*row, comparison(2.0)) for row in rows), numpy_ns=500.0)


def test_a_cost_is_cut_into_instructions() -> None:
    found = costs((1, 4096.0, 0.0), (W, 4096.0 / W, 10.0), (4 * W, 1024.0 / W, 40.0))
    assert found.of(1).instruction_ns(W) == 1.0
    assert found.of(W).instruction_ns(W) == 1.0
    assert found.of(4 * W).instruction_ns(W) == 0.25
    assert sentences.latency_and_start(found) == (1.0, 0.25)
    said = sentences.instructions(found)
    assert "about 4 chains keep the core busy" in said
    with pytest.raises(UsageError, match="not measured: so many sums"):
        found.of(3)


def test_the_best_row_is_told_with_what_the_last_one_loses() -> None:
    found = costs((W, 500.0, 10.0), (4 * W, 130.0, 40.0), (16 * W, 100.0, 300.0))
    said = sentences.best_row(found)
    assert said.startswith(f"{4 * W} sums are the fastest here: 170 ns a row")
    assert f"With {16 * W}, a row takes 400 ns, 300 of them" in said
    assert "With" not in sentences.best_row(costs((W, 500.0, 10.0), (4 * W, 130.0, 40.0)))


def test_pictures_show_what_they_are_given() -> None:
    found = costs((1, 4096.0, 0.0), (W, 500.0, 10.0), (4 * W, 130.0, 40.0))
    assert "adding up the sums" in costs_svg(found, W)
    tiles = tiles_of({"4 x 8": comparison(0.8)}, {"4 x 8": (4, 5, 4, 0)})
    assert "4 chains, 1.25 loads a multiply-add" in tiles_svg(tiles)


@pytest.mark.parametrize(
    ("errors", "answer"),
    [
        ((1.0, 0.5, 0.2), "smaller"),
        ((1.0, 1.0, 1.1), "about the same"),
        ((1.0, 1.5, 2.0), "larger"),
    ],
)
def test_the_rounding_is_computed(errors: tuple[float, ...], answer: str) -> None:
    assert sentences.rounding(dict(zip((1, 8, 32), errors, strict=True))) == answer


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_more_sums_have_a_smaller_error_on_every_machine(lanes: int) -> None:
    """The naive answer to the lesson's first question is wrong, whatever the lanes."""
    assert sentences.rounding(sentences.errors_of((1, lanes, 4 * lanes))) == "smaller"


def test_additions_are_compared() -> None:
    found = {"row_sums": comparison(1.0), "add_one": comparison(5.0)}
    assert "An addition of row_sums takes 5.0 times as long." in sentences.each_addition(found, 10)
    found = {"row_sums": comparison(1.0), "add_one": comparison(1.0)}
    assert "about as long in both" in sentences.each_addition(found, 10)


def test_padding_is_judged_by_its_interval() -> None:
    assert "libraries pad" in sentences.padded(comparison(2.0), 1001, 1024)
    assert "does not pay" in sentences.padded(comparison(0.5), 1001, 1024)
    assert "cannot tell" in sentences.padded(comparison(1.0), 1001, 1024)


@pytest.mark.slow
def test_a_sum_that_is_written_out_is_still_one_chain() -> None:
    forms = {"unrolled": unrolled(8), "sums": in_sums(2 * W), "one": as_written}
    codes = sentences.codes(overlapping_sums(4, 4096), forms)
    said = {name: sentences.chains_of(code) for name, code in codes.items()}
    assert said["unrolled"].endswith("each waits for the one before")
    assert said["one"].startswith("1 lane,")
    assert said["sums"].endswith("2 chains side by side")


@pytest.mark.slow
def test_registers_of_tiles_are_held_against_spills() -> None:
    assert tile_registers(16, 4) == 69
    forms = {"small": register_tile(2, W), "large": register_tile(16, 4 * W)}
    codes = sentences.codes(matmul(64, 64, 64), forms)
    said = sentences.register_rule({(2, 1): codes["small"], (16, 4): codes["large"]})
    assert "in 2 of 2 cases" in said


@pytest.mark.slow
def test_a_row_is_timed_at_two_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    found = row_costs((W, 2 * W), budget_s=0.1)
    assert [each.sums for each in found.costs] == [W, 2 * W]
    assert all(each.total_ns > 0 for each in found.costs)
    assert found.best.total_ns == min(each.total_ns for each in found.costs)


@pytest.mark.slow
def test_weighted_columns_are_a_vector_times_a_matrix() -> None:
    contest(weighted_columns(33, 48), (), Rung("as written", "", as_written))  # checks the result

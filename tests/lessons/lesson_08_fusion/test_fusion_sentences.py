"""The computed sentences and the pictures of lesson 8."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_08_fusion import buffers_svg, scale_shift_clip, sentences, staged
from mlc_course.lessons.lesson_08_fusion.bars import Worth, worth_svg
from mlc_course.lessons.lesson_08_fusion.staged_problems import paper_bytes, row_by_row, rows_of
from mlc_course.lessons.lesson_08_fusion.when_picture import when_svg, writes
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import matmul_exp_matmul
from mlc_course.tensor_program.tir import Schedule


def comparison(ratio: float, spread: float = 0.01) -> Comparison:
    ours = tuple((1 + spread * k) / ratio for k in (-1, 0, 1) * 2)
    return Comparison(Timing("ours", ours), Timing("base", (1.0,) * 6))


@pytest.mark.parametrize(
    ("ratio", "spread", "words"),
    [
        (2.5, 0.01, "a is 2.50 x as fast as b."),
        (0.4, 0.01, "a is slower"),
        (1.0, 0.01, "cannot be told apart"),
        (1.2, 0.3, "cannot be told apart"),
    ],
)
def test_a_comparison_says_what_its_interval_says(ratio: float, spread: float, words: str) -> None:
    assert words in sentences.compared("a", "b", comparison(ratio, spread))


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        (2.6, "the time follows the bytes"),
        (1.3, "a gain, and less than the bytes promise"),
        (1.02, "no gain in time"),
        (0.7, "fusion costs time here"),
    ],
)
def test_bytes_and_clock_are_set_beside_each_other(ratio: float, words: str) -> None:
    assert words in sentences.bytes_and_clock(2.67, comparison(ratio))


def test_a_gain_is_called_less_than_promised_only_where_the_whole_interval_is() -> None:
    wide = sentences.bytes_and_clock(2.67, comparison(2.67, 0.3))
    assert "perhaps all that the bytes promise" in wide and "less" not in wide


def test_paper_is_held_against_the_clock_and_the_count() -> None:
    near = sentences.paper_and_clock("one", "three", 8, 3, comparison(2.5))
    assert "the bytes alone predict it" in near
    far = sentences.paper_and_clock("one", "three", 8, 3, comparison(4.0))
    assert "off by 50%" in far
    assert "(as on paper)" in sentences.counted_against_paper(8.0, 3.0, paper=(8, 3))
    assert "(on paper 8 and 3)" in sentences.counted_against_paper(6.0, 3.0, paper=(8, 3))


def test_the_side_of_the_balance_is_computed() -> None:
    roofs = Roofs(1, 100.0, 20.0)
    assert "both below the balance of 5.0" in sentences.intensity("a", 100, 100, 50, roofs)
    assert "below, then above" in sentences.intensity("a", 100, 100, 10, roofs)


def test_what_bytes_are_worth_is_ranked() -> None:
    roofs = Roofs(1, 100.0, 20.0)
    worth = sentences.worth_of("a", 10 * 10**9, comparison(2.0), roofs)
    assert worth.bytes_share == pytest.approx(0.5)
    assert worth.saved == pytest.approx(0.5)
    less = Worth("b", 0.1, 0.02, (0.0, 0.04))
    assert "agree on the order: a, b" in sentences.ranked([less, worth])
    more = Worth("b", 0.1, 0.8, (0.7, 0.9))
    assert "by bytes the order is a, b; by the clock b, a" in sentences.ranked([more, worth])
    assert "saved bytes, at this bandwidth" in worth_svg([worth, less])


def test_a_prediction_of_right_rows_has_an_answer_for_every_count() -> None:
    totals = {"a": 1.0, "b": 1.0, "c": 0.5, "d": 1.0}
    assert sentences.passed(totals) == "some of them"
    assert sentences.passed(dict.fromkeys("abcd", 1.0)) == "all four"
    assert sentences.passed(dict.fromkeys("abcd", 0.3)) == "none"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fused"),
    [
        ("scale_shift_clip", "all inlined"),
        ("softmax", "row by row"),
        ("matmul_exp_matmul", "merged"),
    ],
)
def test_whole_arrays_on_paper_are_what_the_simulator_counts(name: str, fused: str) -> None:
    """At the size that is counted; the paper is for the size that is raced."""
    problem = staged(name)
    small = type(problem)(**{**vars(problem), "measured": problem.counted})
    apart, together = paper_bytes(name, small)
    assert problem.count("apart").traffic.bytes() == pytest.approx(apart, rel=0.03)
    assert problem.count(fused).traffic.bytes() == pytest.approx(together, rel=0.06)


@pytest.mark.parametrize("wanted", [0, 1 << 18, 1 << 21, 1 << 26, 1 << 30])
def test_raced_arrays_follow_the_caches_within_bounds(wanted: int) -> None:
    rows = rows_of(512, wanted, least=1 << 20, most=1 << 23)
    assert 1 << 20 <= 4 * 512 * rows <= 1 << 23
    assert rows % 16 == 0


def test_writes_come_in_the_order_of_the_program() -> None:
    apart = Schedule(scale_shift_clip(2, 2).program())
    rows = apart.copy()
    row_by_row(rows)
    assert "".join(each.stage for each in writes(apart)) == "YYYYZZZZWWWW"
    assert "".join(each.stage for each in writes(rows)) == "YYZZWWYYZZWW"
    assert [each.element for each in writes(rows)] == [0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3]
    svg = when_svg({"apart": apart, "by row": rows})
    assert "apart: 12 statements" in svg and "writes Z" in svg


def test_a_picture_of_too_many_stages_is_refused() -> None:
    four = Schedule(matmul_exp_matmul(2, 2, 2, 2).program())
    other = Schedule(scale_shift_clip(2, 2).program())
    with pytest.raises(UsageError, match="too many stages"):
        when_svg({"a": four, "b": other})


@pytest.mark.slow
def test_buffers_are_stacked_to_the_total() -> None:
    problem = staged("matmul_exp_matmul")
    svg = buffers_svg({way: problem.count(way) for way in ("apart", "merged")})
    assert "KiB to and from memory" in svg
    assert f"{problem.count('apart').traffic.bytes() / 1024:,.0f}" in svg

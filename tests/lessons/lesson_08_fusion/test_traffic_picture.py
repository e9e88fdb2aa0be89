"""The picture of a fusion says what was counted."""

from __future__ import annotations

import functools

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_08_fusion.staged_problems import Counted, staged
from mlc_course.lessons.lesson_08_fusion.traffic_picture import traffic_svg
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.memory import Cache


@functools.cache
def counted(problem: str, way: str) -> Counted:
    return staged(problem).count(way)


def comparison(ratio: float, spread: float = 0.01) -> Comparison:
    ours = tuple((1 + spread * k) / ratio for k in (-1, 0, 1) * 2)
    return Comparison(Timing("ours", ours), Timing("NumPy", (1.0,) * 6))


def test_bytes_before_and_after_stand_beside_each_buffer() -> None:
    svg = traffic_svg(
        counted("matmul_exp_matmul", "apart"),
        counted("matmul_exp_matmul", "exp inlined"),
        names=("apart", "exp inlined"),
    )
    for text in ("192 → gone", "542 → 416", "inside its readers", "1,048,576 exps", "+25%"):
        assert text in svg
    assert "var(--mlc-ink" in svg
    assert "memory ↔ cache of 64 KiB" in svg


def test_measured_ways_are_bars_and_the_others_wait() -> None:
    pair = counted("softmax", "apart"), counted("softmax", "row by row")
    names = ("apart", "row by row")
    svg = traffic_svg(*pair, names=names, measured={"apart": None, "row by row": None})
    assert "press Measure here" in svg
    measured = {"apart": comparison(1.5), "row by row": comparison(0.5, spread=0.3)}
    svg = traffic_svg(*pair, names=names, measured=measured, heading="softmax")
    assert "measured speed" in svg
    assert "1.50 x" in svg
    assert "0.50 x (noisy)" in svg


def test_recomputation_is_told() -> None:
    pair = counted("softmax", "apart"), counted("softmax", "sum per 64 columns")
    assert "4 times, 131,072 exps" in traffic_svg(*pair, names=("apart", "deep"))


def test_one_cache_is_one_picture_and_other_pairs_are_refused() -> None:
    each = staged("scale_shift_clip")
    one = each.count("apart", Cache(4096))
    assert "memory ↔ cache of 4 KiB" in traffic_svg(one, one, names=("apart", "apart"))
    with pytest.raises(UsageError, match="one or two caches"):
        traffic_svg(one, counted("scale_shift_clip", "apart"), names=("apart", "apart"))


def test_the_same_counts_give_the_same_text() -> None:
    pair = counted("scale_shift_clip", "apart"), counted("scale_shift_clip", "all inlined")
    first, second = (traffic_svg(*pair, names=("apart", "all inlined")) for _ in range(2))
    assert first == second

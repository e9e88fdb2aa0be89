"""What lesson 4 says and draws of its numbers."""

from __future__ import annotations

from mlc_course.lessons.lesson_04_reuse_distance_and_roofline import (
    fetches_svg,
    remarks,
    roofs_svg,
    times_svg,
)
from mlc_course.measure import Comparison, Timing
from mlc_course.tensor_program.ladders import Point
from mlc_course.tensor_program.memory import Roofs

ROOFS = Roofs(1, 60.0, 20.0, (100.0, 50.0))
RELU = Point("relu", 1e9, 8e9, 0.5)
EXP = Point("exp", 24e9, 8e9, 1.0)
HIGH = Point("high", 1e9, 8e9, 0.01)


def comparison(name: str, ours_s: float, numpy_s: float = 0.001) -> Comparison:
    return Comparison(Timing(name, (ours_s,) * 6), Timing("NumPy", (numpy_s,) * 6))


def test_growth_is_told_in_ratios() -> None:
    said = remarks.grown((512, 512), (576, 5760))
    assert said == "The vector is 1.12 times as long, and misses 11.2 times as often."


def test_a_difference_from_the_theorem_is_not_hidden() -> None:
    assert "Different for [4] lines" in remarks.by_distance_and_counted({4: (10, 11), 8: (5, 5)})


def test_a_point_above_its_roof_is_explained() -> None:
    assert remarks.above({"relu": RELU}, ROOFS) == "No program is above its roof."
    assert "Above the roof: high." in remarks.above({"relu": RELU, "high": HIGH}, ROOFS)


def test_two_programs_are_compared() -> None:
    said = remarks.how_much_longer({"relu": RELU, "exp": EXP}, "exp", "relu")
    assert "24 times the operations of relu with the same bytes" in said
    assert "takes 2.00 times as long" in said


def test_what_fewer_bytes_gave_names_who_is_faster() -> None:
    points = {"far": Point("far", 1e9, 4e8, 0.02), "near": Point("near", 1e9, 1e8, 0.01)}
    races = {"far": comparison("far", 0.02, 0.015), "near": comparison("near", 0.01, 0.015)}
    said = remarks.what_fewer_bytes_gave(points, races, "far", "near")
    assert "400 MB; near: 100 MB, 4.00 times fewer" in said
    assert "near is 2.00 times as fast, and faster than NumPy (1.50 x)." in said
    points["far"] = Point("far", 1e9, 1e8, 0.02)
    said = remarks.what_fewer_bytes_gave(points, races, "far", "near")
    assert "both orders fetch the same, 100 MB" in said and "times fewer" not in said


def test_a_limit_far_below_the_time_is_no_reason() -> None:
    said = remarks.level_by_level("naive", 0.01, {"L2": 0.003, "memory": 0.0})
    assert "neither bandwidth nor the peak explains" in said and "30% of its time" in said
    said = remarks.level_by_level("stream", 0.01, {"L2": 0.003, "memory": 0.009})
    assert "memory accounts for most of its time." in said


def test_programs_are_told_with_what_limits_them() -> None:
    said = remarks.under_their_roofs({"relu": RELU, "exp": EXP}, ROOFS)
    first, second = said.splitlines()
    assert "roof: memory" in first and "80% of the roof" in first
    assert "3.00 operations a byte" in second and "40% of the roof" in second


def test_pictures_say_what_they_show() -> None:
    svg = fetches_svg({"half": (4, 4), "more": (9, 90)}, "Ten times")
    assert "more: 90 misses" in svg and "10 for each line" in svg
    svg = roofs_svg([RELU, EXP], ROOFS, "Two programs")
    assert "peak 60 GFLOP/s" in svg and "80% of its roof" in svg
    svg = times_svg(
        {"slow": comparison("slow", 0.004), "fast": comparison("fast", 0.0005)},
        {"slow": 0.001, "fast": 0.0001},
        heading="Times",
        selected="fast",
    )
    assert "NumPy 1.00 ms" in svg and "0.25 x NumPy" in svg and "2.00 x NumPy" in svg


def test_names_of_dots_at_one_place_do_not_lie_on_each_other() -> None:
    import re

    svg = roofs_svg([Point(f"p{n}", 1e9, 8e9, 0.5) for n in range(4)], ROOFS, "Four")
    ys = sorted(float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>p\d ', svg))
    assert len(ys) == 4
    assert all(b - a >= 15 for a, b in zip(ys, ys[1:], strict=False))

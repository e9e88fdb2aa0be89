"""The lesson's pictures are well-formed, and draw what they are given."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions import pictures
from mlc_course.measure import Comparison, Timing


def race(ratio: float) -> Comparison:
    return Comparison(Timing("ours", (1e-5 / ratio,) * 8), Timing("NumPy", (1e-5,) * 8))


def test_sizes_are_on_one_scale() -> None:
    svg = pictures.sizes_svg(
        {"big": {"a": 3_000_000, "b": 1_000_000}, "small": {"c": 1}}, {"small"}
    )
    ElementTree.fromstring(svg)
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)" height="30', svg)]
    assert widths[0] == pytest.approx(3 * widths[1], rel=0.01)
    assert "4 MB" in svg and "1 B" in svg
    with pytest.raises(UsageError, match="nothing to draw"):
        pictures.sizes_svg({"none": {}})


def test_a_loop_in_three_forms() -> None:
    svg = pictures.split_svg(200, 4)
    ElementTree.fromstring(svg)
    assert "for n_0 in range(50):" in svg and "50 additions of 4" in svg
    with pytest.raises(UsageError, match="divides neither"):
        pictures.split_svg(200, 3)


def test_a_race_has_a_line_for_numpy_bars_for_us_and_a_dashed_roof() -> None:
    races = {1: {"five": race(0.5), "library": race(5)}, 256: {"five": race(0.1)}}
    svg = pictures.race_svg(races, {1: 3e-7, 256: 3e-7})
    ElementTree.fromstring(svg)
    assert svg.count("stroke-dasharray") == 3  # a roof in each block, and one in the legend
    assert "20 µs, 0.50 x NumPy" in svg and "2 µs, 5.00 x NumPy" in svg
    assert "time for each image, µs" in svg and "256 images at a time" in svg


def test_lanes_are_cells() -> None:
    svg = pictures.lanes_svg({"a": (1, 8), "b": (1, 4)}, ("before", "after"))
    ElementTree.fromstring(svg)
    assert svg.count('height="20.0"') == 14

"""Bars of counts and of a race: NumPy is a line, and all is said in words as well."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit import Bar, bars_svg, race_svg, shown
from mlc_course.measure import Comparison, Timing


def test_a_race_has_a_bar_for_each_and_a_line_for_numpy() -> None:
    numpy = Timing("NumPy", (1.0,) * 6)
    found = {
        name: Comparison(Timing(name, (s,) * 6), numpy) for name, s in (("a", 2.0), ("b", 0.5))
    }
    svg = race_svg("a race", found)
    ET.fromstring(svg)
    assert ">NumPy<" in svg and "a race. a: 0.50 x NumPy" in svg and "2.00 x NumPy" in svg


def test_bars_of_counts_have_no_line() -> None:
    svg = bars_svg("counts", [Bar("one", 8.0, "8.0"), Bar("two", 1.0, "1.0")], axis="fetches")
    assert ">NumPy<" not in svg and ">fetches<" in svg


def test_no_bars_are_refused() -> None:
    with pytest.raises(UsageError, match="nothing to draw"):
        bars_svg("none", [], axis="")


def test_pictures_have_their_own_width_on_a_page() -> None:
    svg = bars_svg("counts", [Bar("one", 8.0, "8.0")], axis="fetches")
    assert "flex: 0 1 300px" not in shown(svg).data and "flex: 0 1 " in shown(svg).data

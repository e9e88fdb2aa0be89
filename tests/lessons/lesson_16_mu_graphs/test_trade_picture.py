"""The picture of the trade draws the bytes that it is given, and the limit."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs.trade_picture import WIDE, trade_svg


def test_bars_are_as_long_as_their_numbers() -> None:
    svg = trade_svg({"small": (1_000, 500), "large": (4_000, 2_000)}, limit=1_000)
    ElementTree.fromstring(svg)
    for share in (1 / 4, 1):
        assert svg.count(f'width="{WIDE * share:.1f}"') >= 2
    assert "4.0 kB" in svg and "most on an H100: 1.0 kB" in svg
    assert "small: 1.0 kB loaded, 0.5 kB of shared memory" in svg
    assert "stroke-dasharray" in svg


def test_nothing_cannot_be_drawn() -> None:
    with pytest.raises(UsageError, match="cuts to draw"):
        trade_svg({}, limit=1)

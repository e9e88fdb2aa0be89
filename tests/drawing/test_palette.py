"""Colours that mean something stay apart for the colour-blind, and words in them can be read."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from mlc_course.drawing import AMBER, INK, NUMPY, OURS, PAPER, ROOF
from mlc_course.lecture.page import read
from mlc_course.lessons.kit import STYLE

# Machado, Oliveira and Fernandes (2009), of linear RGB, where a kind of cone is missing.
SIGHT = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array([[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]])
WHITE = np.array([0.95047, 1.0, 1.08883])
APART = 15  # in CIE Lab; of two patches side by side, one sees a difference of 2.3
READABLE, SEEN = 4.5, 3.0  # contrast to 1: of words, and of lines and frames (WCAG 2.2)
LIGHT, DARK = PAPER, ("#111111", "#131416", "#16161d")  # JupyterLab's, the book's, the slides'
DARK_OURS = "#56b4e9"
MEANINGS = {
    "light": {"ours": OURS, "NumPy": NUMPY, "roof": ROOF, "amber": AMBER, "ink": INK},
    "dark": {"ours": DARK_OURS, "NumPy": NUMPY, "roof": ROOF, "amber": AMBER, "ink": "#ffffff"},
}


def linear(colour: str) -> NDArray[np.float64]:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    low = parts / 12.92
    return np.asarray(np.where(parts <= 0.04045, low, ((parts + 0.055) / 1.055) ** 2.4))


def distance(one: str, other: str, sight: str) -> float:
    """How far apart two colours look, in CIE Lab."""

    def lab(colour: str) -> NDArray[np.float64]:
        xyz = TO_XYZ @ np.clip(SIGHT[sight] @ linear(colour), 0, 1) / WHITE
        f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
        return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])

    return float(np.linalg.norm(lab(one) - lab(other)))


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(TO_XYZ[1] @ linear(each)) for each in (one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", MEANINGS)
def test_colours_that_mean_different_things_look_different(theme: str, sight: str) -> None:
    pairs = combinations(MEANINGS[theme].items(), 2)
    near = {f"{name} and {other}": distance(one, two, sight) for (name, one), (other, two) in pairs}
    assert {pair: far for pair, far in near.items() if far < APART} == {}


def test_a_red_and_a_green_that_the_colour_blind_confuse_are_too_near() -> None:
    red, green = "#b5651d", "#7a7a1f"
    assert distance(red, green, "full") > 2 * APART
    assert min(distance(red, green, sight) for sight in SIGHT) < APART


def words(style: str, name: str) -> list[str]:
    """The values of a colour for words, the light page's first."""
    return re.findall("#[0-9a-f]{6}", "".join(re.findall(rf"--mlc-{name}-words: ([^;]*);", style)))


@pytest.mark.parametrize("name", ["ours", "numpy", "roof"])
@pytest.mark.parametrize("style", [STYLE, read("pictures.css")], ids=["JupyterLab", "pages"])
def test_words_in_these_colours_can_be_read_on_every_page(style: str, name: str) -> None:
    light, dark = words(style, name)
    assert contrast(light, LIGHT) >= READABLE
    assert min(contrast(dark, paper) for paper in DARK) >= READABLE


def test_lines_and_bars_are_seen_on_every_page() -> None:
    light, dark = MEANINGS["light"], MEANINGS["dark"]
    assert min(contrast(light[each], LIGHT) for each in ("ours", "NumPy", "roof", "ink")) >= SEEN
    assert min(contrast(each, paper) for each in dark.values() for paper in DARK) >= SEEN


def test_the_frame_of_what_has_the_focus_is_seen_on_every_page() -> None:
    """It is amber between two lines of ink: one of both stands out, whatever is behind them."""
    assert "outline: 3px solid #e69f00" in STYLE and "6px var(--mlc-ink)" in STYLE
    for ink, papers in ((INK, (LIGHT,)), ("#ffffff", DARK)):
        assert all(max(contrast(ink, p), contrast(AMBER, p)) >= SEEN for p in papers)

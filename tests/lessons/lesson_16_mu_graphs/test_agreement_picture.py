"""The picture of what is right counts what it says."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.lesson_16_mu_graphs.agreement_picture import agreement_svg


def test_tiles_are_right_wrong_or_partly_right() -> None:
    expected = np.ones((4, 6))
    got = expected.copy()
    got[0, 0] = 2  # one of the six of its tile
    got[2:, 3:] = np.nan
    svg = agreement_svg(got, expected, (2, 2))
    assert svg.count(">right<") == 2
    assert svg.count(">wrong<") == 1
    assert ">83% right<" in svg
    assert "71% of 24 elements are right" in svg


def test_rounding_is_no_mistake() -> None:
    expected = np.full((2, 2), 1e6)
    assert ">wrong<" not in agreement_svg(expected + 0.5, expected, (1, 1))
    assert ">wrong<" in agreement_svg(expected + 5, expected, (1, 1))


@pytest.mark.parametrize(
    ("shape", "tiles"), [((4, 5), (2, 2)), ((4, 6), (3, 2)), ((4, 4), (0, 2)), ((4,), (2, 2))]
)
def test_what_does_not_fit_is_refused(shape: tuple[int, ...], tiles: tuple[int, int]) -> None:
    with pytest.raises(UsageError):
        agreement_svg(np.ones(shape), np.ones(shape), tiles)


def test_other_shapes_are_refused() -> None:
    with pytest.raises(UsageError, match="two matrices"):
        agreement_svg(np.ones((2, 2)), np.ones((2, 4)), (1, 1))

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.lessons.lesson_03_memory_hierarchy.reuse_picture import reuse_figure, reuse_svg
from mlc_course.tensor_program.memory import Reuse

FOUND = Reuse(
    64,
    {"A": 6, "B": 4},
    {"A": np.array([7, 0, 2, 3, 0, 0, 0, 0, 1, 0]), "B": np.zeros(10, np.int64)},
)


def test_uses_stand_in_columns_by_distance() -> None:
    uses, misses = reuse_figure(FOUND).axes
    heights = [bar.get_height() for bar in uses.patches[:6]]  # type: ignore[attr-defined]
    labels = [label.get_text() for label in uses.get_xticklabels()]
    assert labels == ["0", "1", "2+", "4+", "8+", "first\nuse"]
    assert heights == [7, 0, 5, 0, 1, 6]
    (curve, *_) = misses.lines
    assert list(curve.get_ydata()) == [FOUND.misses(n) for n in (1, 2, 4, 8, 16)]  # type: ignore[arg-type]


def test_heading_buffers_and_caches_are_named() -> None:
    svg = reuse_svg(FOUND, {"L1": 4 * 64, "huge": 1 << 30}, "a walk")
    for text in ("a walk", ">A<", ">B<", "L1", "first uses: 10"):
        assert text in svg
    assert "huge" not in svg  # beyond all that is used


@pytest.mark.parametrize("lines", [1, 2, 5000])
def test_few_and_many_lines_can_be_drawn(lines: int) -> None:
    assert "<svg" in reuse_svg(Reuse(64, {"A": lines}, {"A": np.ones(lines, np.int64)}))

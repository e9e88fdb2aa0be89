"""A kernel at sizes that its guard refuses: it runs, and its result is another one."""

from __future__ import annotations

import numpy as np
import pytest

from mlc_course.dynamic_shape.codegen import planned_kernels
from mlc_course.dynamic_shape.fusion import plan
from mlc_course.dynamic_shape.programs import example_sizes, program
from mlc_course.lessons.lesson_20_dynamic_shapes import without_guard
from mlc_course.lessons.lesson_20_dynamic_shapes.wrong_guard import rows_without_guard

NORM = program("residual_rms_norm")
(MADE,) = planned_kernels(plan(NORM), width=16)
ALIGNED = MADE.variants[0]


@pytest.mark.parametrize(("row", "is_right"), [(16, True), (48, True), (20, False), (33, False)])
def test_a_variant_is_right_where_its_guard_holds(row: int, is_right: bool) -> None:
    right, found = rows_without_guard(
        ALIGNED, NORM, example_sizes("residual_rms_norm", 1, 3, 1, row)
    )
    assert right.shape == found.shape == (3, row)
    assert ALIGNED.admits({"H": row}) is is_right
    assert np.allclose(right, found, rtol=1e-3) is is_right
    assert np.isnan(found).sum() == 3 * (row % 16)
    assert np.isfinite(found.reshape(-1)[: 3 * (row - row % 16)]).all()


def test_what_is_wrong_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    without_guard(ALIGNED, NORM, example_sizes("residual_rms_norm", 1, 3, 1, 20))
    said = capsys.readouterr().out
    assert "60 of 60 floats are wrong; 12 were never written" in said
    assert said.count("right:") == said.count("found:") == 3

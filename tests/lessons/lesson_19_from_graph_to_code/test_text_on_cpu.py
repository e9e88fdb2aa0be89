"""The text of the kernels, compiled to PTX and run: what shows in numbers, and what does not."""

from __future__ import annotations

import sys

import pytest

from mlc_course.lessons.lesson_19_from_graph_to_code import KNOBS, TextRun, form, run_text
from mlc_course.mugraph.programs import published

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="NVIDIA has no compiler for macOS")
RMS = published("rms_norm_matmul_fused")


@pytest.mark.parametrize("knob", KNOBS)
def test_the_text_of_every_form_is_right(knob: str) -> None:
    assert str(run_text(form(RMS, knob))) == "numbers right; no fault"


@pytest.mark.parametrize(
    ("name", "numbers", "fault"),
    [
        ("no barrier before the product", "right", "no barrier is between them"),
        ("one group of copies later", "wrong", "a copy of thread 0 is under way"),
        ("xg read without its swizzle", "wrong", "no fault"),
        ("Y stored a column further", "wrong", "of argument 3"),
        ("shares added by max", "wrong", "no fault"),
        ("shares begin at the neighbour's", "right", "no fault"),
        ("x copied into the slot in use", "wrong", "a copy of thread 0 is under way"),
    ],
)
def test_a_change_shows_in_numbers_or_as_a_fault(name: str, numbers: str, fault: str) -> None:
    said = str(run_text(form(RMS), name))
    assert said.startswith(f"numbers {numbers}; ") and fault in said


def test_numbers_that_are_none_are_wrong() -> None:
    assert str(TextRun(float("nan"), "")) == "numbers wrong; no fault"

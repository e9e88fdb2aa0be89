"""Lesson 15 in a real JupyterLab: it runs, and the access meter answers mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

GPU_IN_A_BOX = "15_gpu_in_a_box.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_15_runs_and_its_meter_moves(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, GPU_IN_A_BOX)
    run_all(page)

    meter, chart = page.get_by_test_id("meter"), page.get_by_test_id("chart")
    status = page.get_by_test_id("status")
    stride, padding = page.get_by_test_id("stride"), page.get_by_test_id("padding")
    meter.scroll_into_view_if_needed()
    expect(status).to_contain_text("4 sectors of 32 bytes in 1 line of 128")
    expect(padding).to_be_hidden()

    stride.focus()
    changes(chart, lambda: stride.press("ArrowRight"))
    expect(status).to_contain_text("8 sectors")
    changes(chart, lambda: stride.press("End"))
    expect(status).to_contain_text("32 sectors")
    expect(page.get_by_test_id("stride-number")).to_have_text("33")
    changes(chart, lambda: page.get_by_test_id("memory-shared").click())
    expect(status).to_contain_text("1 wavefront, as few as")

    changes(chart, lambda: page.get_by_test_id("pattern-column").click())
    expect(status).to_contain_text("32 wavefronts, where 1 would do")
    expect(stride).to_be_hidden()
    page.screenshot(path=SCREENSHOTS / "lesson_15_conflicts.png")
    padding.focus()
    changes(meter, lambda: padding.press("ArrowRight"))
    expect(status).to_contain_text("1 wavefront, as few as")
    changes(chart, lambda: page.get_by_test_id("width-4").click())
    expect(status).to_contain_text("A GPU refuses this access")
    for _ in range(3):
        padding.press("ArrowRight")
    expect(status).to_contain_text("4 wavefronts, as few as")

    page.screenshot(path=SCREENSHOTS / "lesson_15.png")
    assert not asked, "the page asked other machines for something"

"""Lesson 20 in a real JupyterLab: it runs, and its slider answers mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

DYNAMIC_SHAPES = "20_dynamic_shapes.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_20_runs_and_the_slider_shows_the_guard_that_holds(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, DYNAMIC_SHAPES)
    run_all(page)

    chart, guards = page.get_by_test_id("chart"), page.get_by_test_id("guards")
    status, slider = page.get_by_test_id("status"), page.get_by_test_id("slider")
    chart.scroll_into_view_if_needed()
    expect(guards).to_contain_text("at a row of 768")
    expect(status).to_contain_text("the kernel for H == 768 runs")
    slider.focus()
    changes(guards, lambda: slider.press("ArrowRight"))
    expect(status).to_contain_text("the kernel for any sizes runs")
    expect(slider).to_be_focused()
    expect(slider).to_have_attribute("aria-valuetext", "769")
    changes(guards, lambda: slider.press("End"))
    expect(guards).to_contain_text("at a row of 1,025")
    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_20.png")

    changes(guards, lambda: page.get_by_test_id("program").select_option("masked_softmax"))
    expect(status).to_contain_text("Not measured yet")
    measure = page.get_by_test_id("measure")
    changes(chart, measure.click)
    expect(status).to_contain_text("NumPy's speed")
    expect(measure).to_be_enabled()
    assert not asked, "the page asked other machines for something"

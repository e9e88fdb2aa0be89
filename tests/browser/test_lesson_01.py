"""Lesson 1 in a real JupyterLab: it runs, and a digit goes through the network in all its forms."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_01_runs_and_its_functions_can_be_explored(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, "01_primitive_tensor_functions.ipynb")
    run_all(page)

    chart = page.get_by_test_id("chart")
    code, status = page.get_by_test_id("code"), page.get_by_test_id("status")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()

    changes(chart, lambda: chart.get_by_test_id("function-2").click())
    expect(chart.get_by_test_id("function-2")).to_have_attribute("aria-selected", "true")
    expect(code).to_contain_text("np.maximum")

    changes(chart, lambda: chart.press("ArrowRight"))
    expect(chart.get_by_test_id("function-3")).to_have_attribute("aria-selected", "true")
    changes(code, lambda: page.get_by_test_id("form-low-level NumPy").check())
    expect(code).to_contain_text("for k in range")

    changes(chart, lambda: page.get_by_test_id("stage-library").check())
    changes(code, lambda: page.get_by_test_id("form-machine code").check())
    expect(code).to_contain_text("float32 at a time")
    changes(chart, lambda: chart.press("Home"))
    expect(code).to_contain_text("the innermost loop")

    page.get_by_test_id("digit").fill("5")
    expect(status).to_contain_text("Image 5 ran through this stage as machine code")
    page.get_by_test_id("digit").press("ArrowUp")
    expect(status).to_contain_text("Image 6")
    page.screenshot(path=SCREENSHOTS / "lesson_01.png")
    page.get_by_test_id("digit").fill("999")
    expect(status).to_contain_text("Image 6")

    assert not asked, "the page asked other machines for something"

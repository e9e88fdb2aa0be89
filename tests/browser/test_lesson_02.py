"""Lesson 2 in a real JupyterLab: it runs, and its inspector moves by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_02_runs_and_its_inspector_moves_by_mouse_and_keyboard(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, "02_tensor_program_abstraction.ipynb")
    run_all(page)

    chart, status = page.get_by_test_id("chart"), page.get_by_test_id("status")
    listing = page.get_by_test_id("listing")
    expect(chart.locator("svg")).to_be_visible()
    expect(status).to_contain_text("Loop k moves v_k")
    chart.scroll_into_view_if_needed()

    changes(chart, lambda: page.get_by_test_id("moved-k").press("ArrowLeft"))
    expect(page.get_by_test_id("moved-n")).to_be_checked()
    expect(status).to_contain_text("4 different elements. Spatial")
    changes(chart, lambda: page.get_by_test_id("at-m").press("ArrowRight"))
    expect(page.get_by_test_id("value-m")).to_have_text("m = 1")
    changes(chart, lambda: page.get_by_test_id("moved-this-iteration").check())
    expect(status).to_contain_text("adds to P[1, 0], which init sets")
    expect(listing.locator(".mlc-marked").first).to_contain_text("T.init()")

    changes(chart, lambda: page.get_by_test_id("program").select_option("linear_relu"))
    changes(chart, lambda: page.get_by_test_id("block-S").check())
    expect(page.get_by_test_id("at-k")).to_have_count(0)
    changes(chart, lambda: page.get_by_test_id("program").select_option("collision"))
    changes(chart, lambda: page.get_by_test_id("moved-all").check())
    expect(status).to_contain_text("Collision: m=0, n=3 and m=1, n=0 both write Y[3]")
    expect(status).to_contain_text("Never written: Y[10], Y[11]")

    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_02.png")
    assert not asked, "the page asked other machines for something"

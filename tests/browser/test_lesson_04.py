"""Lesson 4 in a real JupyterLab: it runs, and its histogram answers, by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

REUSE = "04_reuse_distance_and_roofline.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_04_runs_and_its_histogram_answers(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, REUSE)
    run_all(page)
    expect(page.get_by_test_id("judged").first).to_contain_text("Nothing here yet")

    chart, said = page.get_by_test_id("chart"), page.get_by_test_id("said")
    slider, bars = page.get_by_test_id("size"), page.get_by_test_id("bars")
    chart.scroll_into_view_if_needed()
    expect(chart).to_contain_text("products, vector by vector")
    expect(bars).to_contain_text("NumPy")

    changes(chart, lambda: page.get_by_test_id("program").select_option("transpose"))
    expect(page.get_by_test_id("reason")).to_contain_text("down its columns")
    expect(bars).to_contain_text("transpose, tiled")
    before = said.inner_text()
    page.get_by_test_id("program").select_option("transpose, tiled")
    expect(said).not_to_have_text(before)

    slider.focus()
    changes(chart, lambda: slider.press("Home"))
    expect(page.get_by_test_id("size-text")).to_have_text("1 KiB")
    expect(said).to_contain_text("A cache of 1 KiB (16 lines)")
    changes(chart, lambda: slider.press("ArrowRight"))
    expect(page.get_by_test_id("size-text")).to_have_text("2 KiB")
    changes(chart, lambda: page.get_by_test_id("own-L1").click())

    page.get_by_test_id("measure").click()
    expect(page.get_by_test_id("status").last).to_contain_text("NumPy's speed")
    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_04.png")
    assert not asked, "the page asked other machines for something"

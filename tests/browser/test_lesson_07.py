"""Lesson 7 in a real JupyterLab: it runs, and its tiles walk by buttons and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

TWO_LEVELS = "07_two_levels.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_07_runs_and_its_tiles_walk_by_buttons_and_keys(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, TWO_LEVELS)
    run_all(page)

    chart, status = page.get_by_test_id("chart"), page.get_by_test_id("status")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()
    changes(chart, lambda: page.get_by_test_id("forward").click())
    expect(status).to_contain_text("of a tile of C")
    changes(chart, lambda: page.get_by_test_id("slider").press("ArrowRight"))
    expect(status).to_contain_text("of B")
    changes(chart, lambda: page.get_by_test_id("end").click())
    page.screenshot(path=SCREENSHOTS / "lesson_07.png")

    changes(chart, lambda: page.get_by_test_id("rows").select_option("2"))
    expect(chart).to_contain_text("2 x ")
    expect(status).to_contain_text("Nothing is loaded yet")
    changes(page.get_by_test_id("latency"), lambda: page.get_by_test_id("measure").click())
    expect(status).to_contain_text(re.compile("measured here"))
    assert not asked, "the page asked other machines for something"

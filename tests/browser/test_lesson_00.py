"""Lesson 0 in a real JupyterLab: it runs, takes a prediction, and its lab measures."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

MEASURING = "00_measuring_honestly.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_00_takes_a_prediction_and_its_lab_measures(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, MEASURING)
    run_all(page)
    guess = page.get_by_test_id("choice").nth(2)
    guess.scroll_into_view_if_needed()
    guess.click()
    expect(guess).to_have_attribute("aria-pressed", "true")

    chart = page.get_by_test_id("chart")
    chart.scroll_into_view_if_needed()
    page.get_by_test_id("repeats").fill("20")
    page.get_by_test_id("neighbours").check()
    changes(chart, lambda: page.get_by_test_id("measure").click())
    expect(page.get_by_test_id("runs").locator("tbody tr")).to_have_count(2)
    expect(page.get_by_test_id("runs").locator("tbody tr").last).to_contain_text("20")
    page.screenshot(path=SCREENSHOTS / "lesson_00.png")
    assert not asked, "the page asked other machines for something"

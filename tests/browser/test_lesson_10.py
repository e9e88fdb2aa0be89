"""Lesson 10 in a real JupyterLab: it runs, and its searches can be scrubbed and made here."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .driving import INTERRUPT, SCREENSHOTS, changes, open_notebook, run_all, strangers

SEARCH = "10_automatic_search.ipynb"
SOME_TRIALS = re.compile(r"\b[2-9] of 12 trials")  # two may end between two looks


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_10_runs_and_a_search_can_be_scrubbed(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, SEARCH)
    run_all(page)

    chart, said = page.get_by_test_id("chart"), page.get_by_test_id("said")
    slider, report = page.get_by_test_id("trial"), page.get_by_test_id("report")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()
    expect(page.get_by_test_id("status")).to_contain_text("Recorded on")

    changes(chart, lambda: chart.get_by_test_id("trial-16").click())
    expect(said).to_contain_text("Trial 17")
    expect(slider).to_have_value("17")
    expect(report).to_contain_text("C: m = ")

    changes(chart, lambda: slider.press("ArrowRight"))
    expect(said).to_contain_text("Trial 18")
    expect(report.locator("td.new").first).to_be_visible()

    changes(report, lambda: page.get_by_test_id("programs").check())
    expect(report).to_contain_text("T.sblock")

    changes(chart, lambda: page.get_by_test_id("strategy-packing").check())
    expect(chart).to_contain_text("best of evolutionary")

    page.screenshot(path=SCREENSHOTS / "lesson_10.png")
    assert not asked, "the page asked other machines for something"


@pytest.mark.browser
@pytest.mark.slow
def test_trials_appear_while_a_search_runs_and_an_interrupt_keeps_them(
    page: Page, lab: str
) -> None:
    open_notebook(page, lab, SEARCH)
    run_all(page)
    page.get_by_test_id("chart").scroll_into_view_if_needed()
    page.get_by_test_id("measure").click()
    expect(page.get_by_test_id("status")).to_contain_text(SOME_TRIALS)
    page.evaluate(INTERRUPT)
    expect(page.get_by_test_id("status")).to_contain_text("Stopped")
    expect(page.get_by_test_id("strategy-here")).to_be_checked()
    expect(page.get_by_test_id("said")).to_contain_text("Trial")

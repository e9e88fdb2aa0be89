"""Lesson 12 in a real JupyterLab: it runs, and its searches can be scrubbed and made here."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .conftest import new_page
from .driving import INTERRUPT, SCREENSHOTS, changes, open_notebook, run_all, strangers

SEARCH = "12_automatic_search.ipynb"
SOME_TRIALS = re.compile(r"\b[2-9] of 12 trials")  # two may end between two looks


@pytest.fixture(scope="module")
def lesson(browser: BrowserContext, lab: str) -> Iterator[Page]:
    """The lesson, run once for the tests below."""
    with new_page(browser) as page:
        asked = strangers(page, lab)
        open_notebook(page, lab, SEARCH)
        run_all(page)
        yield page
        assert not asked, "the page asked other machines for something"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_12_runs_and_a_search_can_be_scrubbed(lesson: Page) -> None:
    page = lesson

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
    expect(chart).to_contain_text("evolving")

    page.screenshot(path=SCREENSHOTS / "lesson_12.png")


@pytest.mark.browser
@pytest.mark.slow
def test_trials_appear_while_a_search_runs_and_an_interrupt_keeps_them(lesson: Page) -> None:
    page = lesson
    page.get_by_test_id("chart").scroll_into_view_if_needed()
    page.get_by_test_id("measure").click()
    expect(page.get_by_test_id("status")).to_contain_text(SOME_TRIALS)
    page.evaluate(INTERRUPT)
    expect(page.get_by_test_id("status")).to_contain_text("Stopped")
    expect(page.get_by_test_id("strategy-here")).to_be_checked()
    expect(page.get_by_test_id("said")).to_contain_text("Trial")

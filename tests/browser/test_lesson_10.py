"""Lesson 10 in a real JupyterLab: it runs, and its timeline answers mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

PARALLELISM = "10_parallelism.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_10_runs_and_its_timeline_can_be_played_with(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, PARALLELISM)
    run_all(page)

    chart, curve = page.get_by_test_id("chart"), page.get_by_test_id("curve")
    status = page.get_by_test_id("status")
    chart.scroll_into_view_if_needed()
    expect(chart).to_contain_text("32 tasks of 4 words, triangular, static, 4 workers")

    changes(chart, lambda: page.get_by_test_id("load-one heavy").check())
    expect(chart).to_contain_text("one heavy")
    workers = page.get_by_test_id("workers")
    workers.focus()
    changes(curve, lambda: workers.press("End"))
    expect(chart).to_contain_text("worker 15")
    changes(chart, lambda: page.get_by_test_id("grain").press("ArrowLeft"))
    expect(chart).to_contain_text("64 tasks of 2 words")
    changes(chart, lambda: page.get_by_test_id("how-dynamic").check())
    page.get_by_test_id("measure").click()
    expect(status).to_contain_text("share their tasks before they start")

    changes(chart, lambda: page.get_by_test_id("how-static").check())
    changes(chart, lambda: page.get_by_test_id("measure").click())
    expect(status).to_contain_text("Measured here")
    expect(chart).to_contain_text("time, µs")
    expect(page.get_by_test_id("source-here")).to_be_checked()
    expect(curve).to_contain_text("measured here")

    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_10.png")
    assert not asked, "the page asked other machines for something"

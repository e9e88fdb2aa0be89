"""Lesson 17 in a real JupyterLab: it runs, and its evidence meter answers mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

VERIFICATION = "17_finite_field_verification.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_17_runs_and_a_wrong_verdict_is_found(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, VERIFICATION)
    run_all(page)

    chart, status = page.get_by_test_id("chart"), page.get_by_test_id("status")
    chart.scroll_into_view_if_needed()
    expect(chart).to_contain_text("no test yet")
    changes(chart, lambda: page.get_by_test_id("one").click())
    expect(chart).to_contain_text("of 1 test:")
    changes(chart, lambda: page.get_by_test_id("restart").click())
    expect(chart).to_contain_text("no test yet")

    prime, error = page.get_by_test_id("prime"), page.get_by_test_id("error")
    prime.focus()
    changes(chart, lambda: prime.press("Home"))
    error.focus()
    changes(chart, lambda: error.press("Home"))
    expect(chart).to_contain_text("asked for: 0.1")
    hunt = page.get_by_test_id("hunt")
    hunt.focus()
    changes(chart, lambda: hunt.press("Enter"))
    expect(status).to_contain_text("Verdict: equal, and it is wrong")
    expect(chart).to_contain_text("verdict: equal. WRONG")
    expect(hunt).to_be_focused()  # so that the next key goes on, and does not scroll the page
    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_17.png")

    changes(chart, lambda: page.get_by_test_id("pair").select_option("two squares"))
    expect(hunt).to_be_disabled()
    changes(chart, lambda: prime.select_option("31"))
    finish = page.get_by_test_id("finish")
    expect(finish).to_be_enabled()
    finish.focus()
    changes(chart, lambda: finish.press("Enter"))
    expect(status).to_contain_text("The verdict is right")
    changes(chart, lambda: page.get_by_test_id("pair").select_option("mean forgotten"))
    changes(chart, lambda: prime.select_option("5"))
    expect(status).to_contain_text("nothing is stated")
    expect(finish).to_be_disabled()
    assert not asked, "the page asked other machines for something"

"""Lesson 9 in a real JupyterLab: it runs, and its lens is used by mouse and by key."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from mlc_course.machine import describe

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

VECTORS = "09_vectorization.ipynb"
L = describe().lanes


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_09_runs_and_its_hot_loops_can_be_read(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, VECTORS)
    run_all(page)

    chart, code = page.get_by_test_id("chart"), page.get_by_test_id("code")
    status, reason = page.get_by_test_id("status"), page.get_by_test_id("reason")
    expect(chart.locator("svg")).to_be_visible()
    expect(status).to_contain_text("row sums, measured here")
    expect(reason).to_contain_text("Every addition waits")
    code.scroll_into_view_if_needed()

    changes(code, lambda: page.get_by_test_id(f"form-{2 * L} sums").check())
    expect(reason).to_contain_text("Two registers")
    changes(code, lambda: page.get_by_test_id(f"form-{2 * L} sums").press("ArrowRight"))
    expect(page.get_by_test_id(f"form-{4 * L} sums")).to_be_checked()
    expect(chart).to_contain_text(f"lanes: {L} of {L}")

    changes(code, lambda: page.get_by_test_id("problem-row sums").press("ArrowLeft"))
    expect(page.get_by_test_id("problem-matmul tile")).to_be_checked()
    changes(code, lambda: page.get_by_test_id(f"form-16 x {4 * L}").check())
    expect(code.locator("i.spill").first).to_be_visible()
    changes(chart, lambda: page.get_by_test_id("measure").click())
    expect(status).to_contain_text("matmul tile, measured here")
    expect(chart).to_contain_text("ns for one multiply-add")

    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_09.png")
    assert not asked, "the page asked other machines for something"

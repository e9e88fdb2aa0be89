"""Lesson 21 in a real JupyterLab: it runs, and its museum answers to mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

CAPSTONE = "21_capstone.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_21_runs_and_its_museum_shows_graphs(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, CAPSTONE)
    run_all(page)

    exhibits, chart = page.get_by_test_id("exhibits"), page.get_by_test_id("chart").first
    status, label = page.get_by_test_id("status").first, page.get_by_test_id("label")
    exhibits.scroll_into_view_if_needed()
    expect(status).to_have_text("Exhibit 1 of 12: The division that waits")
    expect(label).to_contain_text("7 kernels became 1")
    said = "The graph rms_norm_matmul_fused: 1 kernel in place of 7, with the operators of each "
    expect(chart).to_have_attribute("aria-label", f"{said}block; the text below has all of them")

    changes(chart, lambda: page.get_by_test_id("exhibit-8").click())
    expect(status).to_have_text("Exhibit 9 of 12: The largest so far")
    expect(page.get_by_test_id("texts")).to_contain_text("running_max")
    changes(chart, lambda: exhibits.press("ArrowDown"))
    expect(status).to_contain_text("Exhibit 10 of 12")
    changes(chart, lambda: exhibits.press("Home"))
    expect(page.get_by_test_id("exhibit-0")).to_have_attribute("aria-selected", "true")
    changes(chart, lambda: exhibits.press("End"))
    expect(label).to_contain_text("7 kernels became 2")
    page.screenshot(path=SCREENSHOTS / "lesson_21.png")
    assert not asked, "the page asked other machines for something"

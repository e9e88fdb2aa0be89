"""Lesson 16 in a real JupyterLab: it runs, and a block's tiles light up by mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

MU_GRAPHS = "16_mu_graphs.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_16_runs_and_its_tiles_light_up(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, MU_GRAPHS)
    run_all(page)

    map_, chart = page.get_by_test_id("map"), page.get_by_test_id("chart")
    status, facts = page.get_by_test_id("status"), page.get_by_test_id("facts")
    expect(chart.locator("svg")).to_be_visible()
    expect(status).to_contain_text("Block x=0, y=0, iteration k=0 loads X[0:16, 0:32]")
    expect(facts).to_contain_text("1,572.9 kB")
    map_.scroll_into_view_if_needed()

    changes(chart, lambda: map_.press("ArrowRight"))
    expect(status).to_contain_text("Block x=1, y=0, iteration k=0 loads X[0:16, 0:32]")
    changes(chart, lambda: map_.press("ArrowDown"))
    expect(status).to_contain_text("Block x=1, y=1, iteration k=0 loads X[16:32, 0:32]")
    changes(chart, lambda: map_.locator("#block-3-2").hover())
    expect(status).to_contain_text("Block x=3, y=2, iteration k=0 loads X[32:48, 0:32]")

    changes(chart, lambda: map_.locator("#block-1-1").click())  # kept on the way to the buttons
    changes(chart, lambda: map_.locator("#block-1-3").hover())
    expect(status).to_contain_text("Block x=1, y=3, iteration k=0")
    changes(chart, lambda: status.hover())
    expect(status).to_contain_text("Block x=1, y=1, iteration k=0")
    map_.locator("#block-3-2").click()
    expect(status).to_contain_text("Block x=3, y=2, iteration k=0")

    changes(chart, lambda: page.get_by_role("button", name="Step", exact=True).click())
    expect(status).to_contain_text("iteration k=1 loads X[32:48, 32:64]")
    changes(chart, lambda: page.get_by_role("button", name="To the end").click())
    expect(status).to_contain_text("stores Y[32:48, 288:384]")

    map_.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_16.png")
    assert not asked, "the page asked other machines for something"

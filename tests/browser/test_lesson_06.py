"""Lesson 6 in a real JupyterLab: it runs, and its map of tiles is chosen from by mouse and keys."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .driving import INTERRUPT, SCREENSHOTS, changes, open_notebook, run_all, strangers

TILING = "06_tiling.ipynb"
SOME = re.compile(r"Measuring: ([2-9]|\d\d) of 64")


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_06_runs_and_a_tile_is_chosen_by_mouse_drag_and_keys(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, TILING)
    run_all(page)

    chart, card = page.get_by_test_id("chart"), page.get_by_test_id("card")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()

    changes(chart, lambda: page.get_by_test_id("cell-1-1").click())
    expect(card).to_contain_text("16 x 32 of B")
    changes(card, lambda: chart.press("ArrowDown"))
    expect(card).to_contain_text("32 x 32 of B")
    chart.press("End")
    expect(card).to_contain_text("32 x 960 of B")

    page.get_by_test_id("cell-2-2").hover()
    page.mouse.down()
    page.get_by_test_id("cell-3-2").hover()
    page.get_by_test_id("cell-4-2").hover()
    page.mouse.up()
    expect(card).to_contain_text("96 x 64 of B")
    page.get_by_test_id("cell-6-6").hover()
    expect(card).to_contain_text("96 x 64 of B")  # the button is up again

    changes(chart, lambda: page.get_by_test_id("view-L1 misses").check())
    expect(chart).to_contain_text("counted")
    expect(page.get_by_test_id("label")).to_contain_text("tile 96 x 64")
    page.screenshot(path=SCREENSHOTS / "lesson_06.png")

    page.get_by_test_id("view-measured").check()
    page.get_by_test_id("measure").click()
    expect(page.get_by_test_id("status")).to_contain_text(SOME)
    page.evaluate(INTERRUPT)
    expect(page.get_by_test_id("status")).to_contain_text("Stopped")
    expect(page.get_by_test_id("source-here")).to_be_checked()
    assert not asked, "the page asked other machines for something"

"""Lesson 3 in a real JupyterLab: it runs, and its theatre plays, by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

MEMORY = "03_memory_hierarchy.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_03_runs_and_its_theatre_plays(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, MEMORY)
    run_all(page)
    expect(page.get_by_test_id("judged").first).to_contain_text("Nothing here yet")

    chart, status = page.get_by_test_id("chart"), page.get_by_test_id("status")
    slider, play = page.get_by_test_id("slider"), page.get_by_test_id("play")
    chart.scroll_into_view_if_needed()
    expect(status).to_contain_text("An empty cache; 257 accesses to come.")

    changes(chart, lambda: page.get_by_test_id("forward").click())
    expect(status).to_contain_text("Access 1 of 257: X[0, 0] is in set 0: miss.")
    slider.focus()
    changes(chart, lambda: slider.press("ArrowRight"))
    expect(status).to_contain_text("Access 2 of 257")
    changes(chart, lambda: slider.press("ArrowLeft"))
    expect(status).to_contain_text("Access 1 of 257")

    page.get_by_test_id("speed").select_option("60")
    play.press("Enter")
    expect(play).to_have_text("Pause")
    expect(status).to_contain_text("is dropped")
    play.press("Enter")
    expect(play).to_have_text("Play")

    page.get_by_test_id("program").select_option("columns, padded")
    expect(status).to_contain_text("An empty cache")
    page.get_by_test_id("end").click()
    expect(status).to_contain_text("65 misses so far")
    expect(page.get_by_test_id("runs").locator("tbody tr")).to_have_count(2)

    bars = page.get_by_test_id("bars")
    expect(bars).to_contain_text("NumPy")
    changes(bars, lambda: page.get_by_test_id("program").select_option("rows"))
    page.get_by_test_id("program").select_option("columns, padded")

    page.get_by_test_id("ways").select_option("16")
    expect(chart).to_contain_text("way 15")
    page.get_by_test_id("ways").select_option("2")
    slider.fill("100")
    expect(status).to_contain_text("Access 100 of 257")
    slider.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_03.png")
    assert not asked, "the page asked other machines for something"

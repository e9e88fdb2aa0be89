"""Lesson 5 in a real JupyterLab: it runs, and its dial turns by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

ANSWER_MS = 150
# The least milliseconds from a click on an order to another picture: a busy machine adds its own.
# None if one click leaves the picture as it was.
TURN = """() => {
  const stage = document.querySelector('[data-testid="stage"]');
  const taken = ['n-k-m', 'm-n-k', 'n-k-m', 'm-n-k', 'n-k-m'].map((order) => {
    const before = stage.innerHTML, start = performance.now();
    document.querySelector(`[data-testid="order-${order}"]`).click();
    return stage.innerHTML === before ? null : performance.now() - start;
  });
  return taken.includes(null) ? null : Math.min(...taken);
}"""


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_05_runs_and_its_dial_turns_by_mouse_and_by_keyboard(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, "05_loop_reorder.ipynb")
    run_all(page)

    stage, chart = page.get_by_test_id("stage"), page.get_by_test_id("chart")
    said, status = page.get_by_test_id("said"), page.get_by_test_id("status")
    expect(stage.locator("svg")).to_be_visible()
    expect(chart.locator("svg")).to_be_visible()
    expect(status).to_contain_text("times as long as")
    stage.scroll_into_view_if_needed()

    changes(stage, lambda: page.get_by_test_id("order-k-n-m").check())
    expect(said).to_contain_text("k-n-m, iteration 100 of 512")
    changes(stage, lambda: page.get_by_test_id("order-k-n-m").press("ArrowLeft"))
    expect(page.get_by_test_id("order-k-m-n")).to_be_checked()
    expect(said).to_contain_text("k-m-n, iteration 100")

    changes(stage, lambda: page.get_by_test_id("slider").press("ArrowRight"))
    expect(said).to_contain_text("iteration 101 of 512")
    changes(stage, lambda: page.get_by_test_id("play").press("Enter"))
    page.get_by_test_id("play").click()
    page.get_by_test_id("end").click()
    expect(said).to_contain_text("208 misses")

    taken = page.evaluate(TURN)
    assert taken is not None and taken < ANSWER_MS
    box = page.get_by_test_id("stage").locator("..").bounding_box()
    assert box is not None and box["height"] < 500

    changes(chart, lambda: chart.locator("#row-1").click())
    expect(page.get_by_test_id("order-m-k-n")).to_be_checked()
    page.get_by_test_id("size").select_option("64")
    page.get_by_test_id("measure").click()
    expect(chart).to_contain_text("64 x 64, one thread")

    stage.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_05.png")
    assert not asked, "the page asked other machines for something"

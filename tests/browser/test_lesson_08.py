"""Lesson 8 in a real JupyterLab: it runs, and its fusions can be compared by mouse and by key."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

FUSION = "08_fusion.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_08_runs_and_its_fusions_can_be_compared(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, FUSION)
    run_all(page)

    chart = page.get_by_test_id("chart")
    reason = page.get_by_test_id("reason")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()
    expect(reason).to_contain_text("2.66 times fewer")

    changes(chart, lambda: page.get_by_test_id("fusion-sum per 64 columns").check())
    expect(reason).to_contain_text("Sum is computed 4 times")

    def one_up() -> None:
        page.get_by_test_id("fusion-sum per 64 columns").press("ArrowUp")
        # The page checks it alone, before Python has drawn anything.
        expect(page.get_by_test_id("fusion-rows, exp inlined")).to_be_checked()

    changes(chart, one_up)
    expect(reason).to_contain_text("rows, exp inlined")

    changes(chart, lambda: page.get_by_test_id("problem").select_option("matmul_exp_matmul"))
    expect(reason).to_contain_text("exp in the tile")
    changes(chart, lambda: page.get_by_test_id("fusion-merged").check())
    expect(page.get_by_test_id("program").locator("td.new").first).to_be_visible()

    changes(chart, lambda: page.get_by_test_id("problem").select_option("scale_shift_clip"))
    changes(chart, lambda: page.get_by_test_id("measure").click())
    expect(page.get_by_test_id("status")).to_contain_text("Measured here")
    expect(chart).to_contain_text("measured speed")

    page.screenshot(path=SCREENSHOTS / "lesson_08.png")
    assert not asked, "the page asked other machines for something"

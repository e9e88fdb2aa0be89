"""Lesson 13 in a real JupyterLab: it runs, and its passes can be stepped through by hand."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

GRAPHS = "13_computational_graphs.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_13_runs_and_its_passes_can_be_stepped_through(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, GRAPHS)
    run_all(page)

    stages, chart = page.get_by_test_id("stages"), page.get_by_test_id("chart")
    reason, program = page.get_by_test_id("reason"), page.get_by_test_id("program")
    expect(chart.locator("svg")).to_be_visible()
    expect(reason).to_contain_text("FuseOps")
    stages.scroll_into_view_if_needed()

    changes(chart, lambda: page.get_by_test_id("stage-0").click())
    expect(reason).to_contain_text("as written")
    expect(chart).to_contain_text("5 kernels to launch")
    expect(program.locator("th")).to_have_count(1)

    changes(program, lambda: stages.press("ArrowDown"))
    expect(reason).to_contain_text("LegalizeOps")
    expect(program.locator("td.gone").first).to_be_visible()
    expect(page.get_by_test_id("stage-1")).to_have_attribute("aria-selected", "true")

    changes(chart, lambda: stages.press("End"))
    expect(page.get_by_test_id("status")).to_contain_text("Stage 6 of 6")
    expect(chart).to_contain_text("840 B")
    changes(program, lambda: page.get_by_test_id("whole").check())
    expect(program).not_to_contain_text("equal lines")

    changes(chart, lambda: stages.press("Home"))
    for _ in range(3):
        changes(program, lambda: stages.press("ArrowRight"))
    expect(reason).to_contain_text("FuseOps")
    page.get_by_test_id("whole").uncheck()
    expect(program).to_contain_text("equal lines")

    stages.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_13.png")
    assert not asked, "the page asked other machines for something"

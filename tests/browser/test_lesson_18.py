"""Lesson 18 in a real JupyterLab: it runs, and its tree opens by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

SUPEROPTIMIZATION = "18_superoptimization.ipynb"
PATIENCE = 20  # children of one node


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_18_runs_and_its_tree_opens(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, SUPEROPTIMIZATION)
    run_all(page)

    chart, status = page.get_by_test_id("chart").first, page.get_by_test_id("status").first
    graph, counts = page.get_by_test_id("graph"), page.get_by_test_id("counts")
    chart.scroll_into_view_if_needed()
    expect(status).to_contain_text("of 15 candidates for the next operator 7 are cut")
    expect(counts).to_contain_text("350")

    changes(chart, lambda: chart.get_by_text("p = matmul(X, W)").click())
    expect(status).to_contain_text("p = matmul(X, W) makes 3 W X")
    changes(chart, lambda: chart.press("ArrowDown"))
    expect(status).to_contain_text("p = sum(W, axis=0) makes 3 W")
    changes(chart, lambda: chart.press("ArrowLeft"))
    changes(chart, lambda: chart.get_by_text("no part of the goal").first.click())
    changes(chart, lambda: chart.press("ArrowRight"))
    expect(status).to_contain_text("Cut: no part of the goal, because")

    changes(counts, lambda: page.get_by_test_id("expressions").uncheck())
    expect(counts).to_contain_text("4,038")
    changes(counts, lambda: page.get_by_test_id("expressions").check())
    page.screenshot(path=SCREENSHOTS / "lesson_18.png")

    program = page.get_by_test_id("program")
    changes(chart, lambda: program.select_option("rms_norm_matmul"))
    for step in ("p = mul(X, G)", "q = matmul(p, W)", "r = accumulate(q)"):
        changes(chart, lambda: chart.press("ArrowRight"))
        for _ in range(PATIENCE):
            if step in status.inner_text():
                break
            changes(chart, lambda: chart.press("ArrowDown"))
    expect(graph).to_contain_text("6 G W X")
    expect(status).to_contain_text("58 are cut")
    changes(chart, lambda: page.get_by_test_id("order").uncheck())
    expect(chart).to_contain_text("s = square(X)")

    bars, button = page.get_by_test_id("chart").last, page.get_by_test_id("measure").last
    button.scroll_into_view_if_needed()
    button.click()
    expect(page.get_by_test_id("status").last).to_contain_text("NumPy's speed", timeout=240_000)
    expect(bars.locator('[id="rung-0"]')).to_be_visible()
    texts = page.get_by_test_id("texts")
    changes(texts, lambda: bars.locator('[id="name-1"]').click())
    expect(texts).to_contain_text("its kernels, as compiled")
    bars.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_18_race.png")
    assert not asked, "the page asked other machines for something"

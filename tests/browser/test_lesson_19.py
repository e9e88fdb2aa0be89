"""Lesson 19 in a real JupyterLab: it runs, and graph and code light each other up."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

FROM_GRAPH_TO_CODE = "19_from_graph_to_code.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_19_runs_and_graph_and_code_light_up(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, FROM_GRAPH_TO_CODE)
    run_all(page)

    graph, code = page.get_by_test_id("graph"), page.get_by_test_id("code")
    status, counts = page.get_by_test_id("status"), page.get_by_test_id("counts")
    graph.scroll_into_view_if_needed()
    graph.get_by_text("squares = square(x)").hover()
    expect(status).to_contain_text("squares: lines")
    expect(code.locator(".mlc-marked").first).to_contain_text("total")
    page.screenshot(path=SCREENSHOTS / "lesson_19_graph.png")

    code.get_by_role("option").get_by_text("barrier", exact=True).nth(1).hover()
    expect(status).to_contain_text("Without this barrier: xg[")
    expect(graph.locator(".mlc-marked")).to_have_text("    xg = mul(x, g)")

    graph.focus()
    graph.press("Home")
    for _ in range(5):
        graph.press("ArrowDown")
    expect(status).to_contain_text("xg: line")
    code.focus()
    code.press("End")
    expect(status).to_contain_text("From Y; y and rms and mean are computed within.")

    changes(counts, lambda: page.get_by_test_id("knob-no swizzle").click())
    expect(counts).to_contain_text("34,444 wavefronts, not 12,660")
    changes(code, lambda: page.get_by_test_id("knob-a barrier more").click())
    code.get_by_role("option").get_by_text("barrier", exact=True).nth(2).hover()
    expect(status).to_contain_text("Nothing crosses threads here")
    page.screenshot(path=SCREENSHOTS / "lesson_19_barrier.png")
    changes(code, lambda: page.get_by_test_id("language-CUDA C++").click())
    expect(code).to_contain_text("__syncthreads();")
    page.screenshot(path=SCREENSHOTS / "lesson_19_cuda.png")

    page.get_by_test_id("measure").click()
    expect(status).to_contain_text("fusion alone", timeout=240_000)
    chart = page.get_by_test_id("chart")
    expect(chart.locator('[id="rung-3"]')).to_be_visible()
    chart.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_19_race.png")
    assert not asked, "the page asked other machines for something"

"""Lessons in a real JupyterLab: every cell runs, and the widgets answer mouse and keyboard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from .conftest import ROOT, chromium

MEASURING = "00_measuring_honestly.ipynb"
PACKING = "09_packing_and_the_micro_kernel.ipynb"
SCREENSHOTS = ROOT / "out" / "screenshots"
# Menus answer before the kernel does; JupyterLab's own objects say when it is ready.
READY = """async () => {
  const app = window.jupyterapp;
  const sleep = () => new Promise((done) => setTimeout(done, 100));
  await app.restored;
  while (!app.shell.currentWidget?.sessionContext) await sleep();
  const panel = app.shell.currentWidget;
  await Promise.all([panel.revealed, panel.context.ready, panel.sessionContext.ready]);
  const kernel = () => panel.sessionContext.session?.kernel;
  while (kernel()?.connectionStatus !== 'connected' || kernel().status !== 'idle') await sleep();
}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
ALL_RAN = """() => window.jupyterapp.shell.currentWidget.content.widgets.every(
  (cell) => cell.model.type !== 'code' || cell.model.executionCount)"""
INTERRUPT = "() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')"


def open_notebook(page: Page, lab: str, name: str) -> None:
    page.goto(f"{lab}/lab/tree/notebooks/{name}?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate(READY)


def run_all(page: Page) -> None:
    page.evaluate(RUN_ALL)
    page.wait_for_function(ALL_RAN)
    errors = page.locator('[data-mime-type="application/vnd.jupyter.error"]')
    expect(errors).to_have_count(0)


def changes(part: Locator, act: Callable[[], None]) -> None:
    """``act`` must lead to another picture."""
    before = part.inner_html()
    act()
    expect(part).not_to_have_js_property("innerHTML", before)


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_09_runs_and_its_ladder_can_be_climbed_by_hand(page: Page, lab: str) -> None:
    strangers: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((lab, "data:", "blob:")):
            strangers.append(request.url)

    page.on("request", note)
    open_notebook(page, lab, PACKING)
    run_all(page)

    chart = page.get_by_test_id("chart")
    reason = page.get_by_test_id("reason")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()

    changes(chart, lambda: chart.get_by_test_id("row-3").click())
    expect(reason).to_contain_text("tile")
    expect(chart.get_by_test_id("row-3")).to_have_attribute("aria-selected", "true")

    changes(chart, lambda: chart.press("ArrowDown"))
    expect(reason).to_contain_text("hoist-init")
    expect(page.get_by_test_id("program").locator("td.new").first).to_be_visible()

    changes(chart, lambda: page.get_by_test_id("threads-all").check())
    expect(page.get_by_test_id("status")).to_contain_text("Recorded on")
    expect(chart).to_contain_text("threads for NumPy")

    page.screenshot(path=SCREENSHOTS / "lesson_09.png")
    assert not strangers, "the page asked other machines for something"


@pytest.mark.browser
@pytest.mark.slow
def test_rungs_appear_while_they_are_measured_and_an_interrupt_keeps_them(
    page: Page, lab: str
) -> None:
    open_notebook(page, lab, PACKING)
    run_all(page)
    chart = page.get_by_test_id("chart")
    chart.scroll_into_view_if_needed()
    page.get_by_test_id("measure").click()
    expect(page.get_by_test_id("reason")).to_contain_text("split-reduction")
    page.evaluate(INTERRUPT)
    expect(page.get_by_test_id("status")).to_contain_text("Stopped")
    expect(page.get_by_test_id("source-here")).to_be_checked()
    page.screenshot(path=SCREENSHOTS / "measured_here.png")


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_00_takes_a_prediction_and_its_lab_measures(page: Page, lab: str) -> None:
    open_notebook(page, lab, MEASURING)
    run_all(page)
    guess = page.get_by_test_id("choice").nth(2)
    guess.scroll_into_view_if_needed()
    guess.click()
    expect(guess).to_have_attribute("aria-pressed", "true")

    chart = page.get_by_test_id("chart")
    chart.scroll_into_view_if_needed()
    page.get_by_test_id("repeats").fill("20")
    page.get_by_test_id("neighbours").check()
    changes(chart, lambda: page.get_by_test_id("measure").click())
    expect(page.get_by_test_id("runs").locator("tbody tr")).to_have_count(2)
    expect(page.get_by_test_id("runs").locator("tbody tr").last).to_contain_text("20")
    page.screenshot(path=SCREENSHOTS / "lesson_00.png")


def test_a_machine_without_chromium_fails_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(pytest.fail.Exception, match="install chromium"):
        chromium()

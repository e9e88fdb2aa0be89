"""What the browser tests do with a lesson: open it, run it, act and see the picture change."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, Request, expect

from .conftest import ROOT

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


def strangers(page: Page, lab: str) -> list[str]:
    """A list that collects the addresses of what the page asks other machines for."""
    found: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((lab, "data:", "blob:")):
            found.append(request.url)

    page.on("request", note)
    return found

"""What the browser tests do with a lesson: open it, run it, act and see the picture change."""

from __future__ import annotations

import json
from collections.abc import Callable

from lesson_runs import faults_of_output, statements, texts_of
from playwright.sync_api import Locator, Page, Request, expect

from .accessible import faults_of_keys, faults_of_notebook
from .conftest import ROOT

SCREENSHOTS = ROOT / "out" / "screenshots"
RESPONSES: dict[str, list[int]] = {}  # milliseconds, by notebook
LESSON_S = 420  # a lesson takes less than 90 seconds; a machine that runs tests is a busy one
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
# A cell that fails ends the run.
OVER = """() => {
  const cells = window.jupyterapp.shell.currentWidget.content.widgets.map((cell) => cell.model);
  const code = cells.filter((model) => model.type === 'code');
  const failed = (model) => model.outputs.toJSON().some((each) => each.output_type === 'error');
  return code.every((model) => model.executionCount) || code.some(failed);
}"""
COMPLAINTS = """() => window.jupyterapp.shell.currentWidget.content.widgets
  .filter((cell) => cell.model.type === 'code')
  .flatMap((cell) => cell.model.outputs.toJSON()
    .filter((each) => each.output_type === 'error' || each.name === 'stderr')
    .map((each) => `${cell.model.id}: ${each.text ?? each.traceback.join('\\n')}`))"""
# From what the reader did last (a click, a key) to the first change of the picture.
WATCH = """(part) => {
  const seen = window.mlcSeen = { act: null, change: null };
  const note = (event) => { if (seen.change === null) seen.act = event.timeStamp; };
  for (const kind of ['pointerdown', 'keydown', 'input', 'change', 'click']) {
    document.addEventListener(kind, note, { capture: true });
  }
  new MutationObserver((_, observer) => {
    seen.change = performance.now();
    observer.disconnect();
  }).observe(part, { subtree: true, childList: true, characterData: true, attributes: true });
}"""
ANSWERED = """() => [window.jupyterapp.shell.currentWidget.context.path,
  Math.round(window.mlcSeen.change - (window.mlcSeen.act ?? window.mlcSeen.change))]"""
OUTPUTS = """() => {
  const { context, content } = window.jupyterapp.shell.currentWidget;
  const code = content.widgets.filter((cell) => cell.model.type === 'code');
  return [context.path, code.map((cell) => [cell.model.id, cell.model.outputs.toJSON()])];
}"""
# A browser tells of another size before it draws the next frame.
LAID_OUT = """async ([width, height]) => {
  const frame = () => new Promise(requestAnimationFrame);
  do { await frame(); await frame(); } while (innerWidth !== width || innerHeight !== height);
}"""
INTERRUPT = "() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')"


def resize(page: Page, width: int, height: int) -> None:
    """Give the window another size, and wait until what hears of it has laid the page out."""
    page.set_viewport_size({"width": width, "height": height})
    page.evaluate(LAID_OUT, [width, height])


def open_notebook(page: Page, lab: str, name: str) -> None:
    page.goto(f"{lab}/lab/tree/notebooks/{name}?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate(READY)


def run_all(page: Page) -> None:
    """Run all cells: none fails, none writes to stderr, and a lesson says nothing untrue.

    What it shows is accessible, and its widgets are used by keys.
    """
    page.evaluate(RUN_ALL)
    page.wait_for_function(OVER, timeout=1000 * LESSON_S, polling=500)
    page.evaluate(READY)
    complaints = page.evaluate(COMPLAINTS)
    assert not complaints, "\n".join(complaints)
    path, cells = page.evaluate(OUTPUTS)
    if path.startswith("notebooks/"):
        said = {name: texts_of(outputs) for name, outputs in cells}
        faults = list(statements(ROOT / path)(said))
        faults += [
            each for name, outs in cells for out in outs for each in faults_of_output(name, out)
        ]
        assert not faults, "\n".join(faults)
    faults = faults_of_notebook(page) + faults_of_keys(page)
    assert not faults, "\n".join(faults)


def changes(part: Locator, act: Callable[[], None]) -> None:
    """``act`` must lead to another picture; how long that took is added to ``RESPONSES``."""
    before = part.inner_html()
    part.evaluate(WATCH)
    act()
    expect(part).not_to_have_js_property("innerHTML", before)
    path, milliseconds = part.page.evaluate(ANSWERED)
    RESPONSES.setdefault(path, []).append(milliseconds)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    (SCREENSHOTS / "responses.json").write_text(json.dumps(RESPONSES, indent=1) + "\n")


def strangers(page: Page, lab: str) -> list[str]:
    """A list that collects the addresses of what the page asks other machines for."""
    found: list[str] = []

    def note(request: Request) -> None:
        if not request.url.startswith((lab, "data:", "blob:")):
            found.append(request.url)

    page.on("request", note)
    return found

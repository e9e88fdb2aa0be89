"""The time until a lecture is on the wall, and the times in which it answers.

Starts ``mlc-course lecture`` as an instructor does, with a headless Chromium that is open already,
and measures the first slide after the command, a change of slide until it is painted, the answer of
a widget whose figures come from Python, the same while a cell runs, and the banner after the kernel
is killed. Needs Chromium.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from common import Target, command_line, finish
from matplotlib.figure import Figure
from playwright.sync_api import Browser, Page, sync_playwright

LESSON, WIDGET, EDITOR = "06", "The map", "Your turn: the working set"
STARTS, ANSWERS = 3, 12
LIMITS = {  # seconds
    "first slide after the command": 5.0,
    "change of slide": 0.1,
    "widget's answer": 0.3,
    "widget's answer while a cell runs": 0.3,
    "banner after the kernel is killed": 1.0,
}
FIND = "(each) => each.querySelector('h1, h2')?.textContent === headline"
GO = f"(headline) => Reveal.slide(Reveal.getSlides().findIndex({FIND}))"
CHANGES = """async () => {
  const painted = () => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
  });
  const found = [];
  for (let at = 0; at < Reveal.getTotalSlides(); at += 1) {
    const from = performance.now();
    Reveal.slide(at);
    await painted();
    found.push((performance.now() - from) / 1000);
  }
  return found;
}"""
# A tile is chosen on the map, and Python draws the card beside it.
ANSWER = """(place) => new Promise((done) => {
  const slide = document.querySelector("section.present");
  const card = slide.querySelector('[data-testid="card"]'), from = performance.now();
  const seen = new MutationObserver(() => {
    seen.disconnect();
    done((performance.now() - from) / 1000);
  });
  seen.observe(card, { childList: true });
  const cell = slide.querySelector(`[id="cell-${place % 8}-${place % 7}"]`);
  cell.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
})"""
LIVE = "!document.querySelector('.origin[data-live=\"false\"]:not(:empty)')"


@contextmanager
def lecture(browser: Browser) -> Iterator[tuple[subprocess.Popen[str], Page, float]]:
    """A lecture that has begun, its page, and the seconds until the first slide."""
    began = time.perf_counter()
    words = [sys.executable, "-m", "mlc_course.commands", "lecture", LESSON, "--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        page = browser.new_page(viewport={"width": 1920, "height": 1080})
        page.goto(process.stdout.readline().removeprefix("Slides: ").strip())
        page.wait_for_function("document.body.dataset.ready")
        try:
            yield process, page, time.perf_counter() - began
        finally:
            page.close()
            process.terminate()


def answers(page: Page) -> list[float]:
    page.evaluate(GO, WIDGET)
    return [page.evaluate(ANSWER, place) for place in range(1, ANSWERS + 1)]


def measured(browser: Browser) -> dict[str, list[float]]:
    """The readings of each time, in seconds."""
    found: dict[str, list[float]] = {name: [] for name in LIMITS}
    for last in range(STARTS, 0, -1):
        with lecture(browser) as (process, page, first):
            found["first slide after the command"].append(first)
            page.wait_for_function(LIVE, timeout=300_000)
            if last == 1:
                found["change of slide"] = page.evaluate(CHANGES)
                found["widget's answer"] = answers(page)
                page.evaluate(GO, EDITOR)
                page.locator("section.present .cm-content").click()
                page.keyboard.press("Control+A")
                page.keyboard.insert_text("import time\ntime.sleep(20)")
                page.keyboard.press("Shift+Enter")
                page.wait_for_timeout(1000)
                found["widget's answer while a cell runs"] = answers(page)
            kernels = psutil.Process(process.pid).children(recursive=True)
            killed = time.perf_counter()
            for each in kernels:
                each.kill()
            page.wait_for_selector(".banner:not([hidden])")
            found["banner after the kernel is killed"].append(time.perf_counter() - killed)
    return found


def draw(found: dict[str, list[float]], path: Path) -> None:
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots()
    axes.boxplot(list(found.values()), tick_labels=list(found), orientation="horizontal")
    for row, limit in enumerate(LIMITS.values(), 1):
        axes.plot([limit, limit], [row - 0.4, row + 0.4], color="#d55e00")
    axes.set_xlabel("seconds (line: at most)")
    axes.set_xscale("log")
    figure.savefig(path)


def main() -> int:
    arguments = command_line(__doc__).parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        found = measured(browser)
        browser.close()
    targets = []
    for name, limit in LIMITS.items():
        median = statistics.median(found[name])
        print(f"{name:<36} median {median:.3f} s, slowest {max(found[name]):.3f} s")
        targets.append(Target(f"{limit} s / {name}", 1.0, limit / median))
    readings = {name: [round(each, 4) for each in times] for name, times in found.items()}
    return finish(arguments, {"seconds": readings}, targets, lambda path: draw(found, path))


if __name__ == "__main__":
    sys.exit(main())

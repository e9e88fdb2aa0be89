"""Take the picture of a lesson at work for README.md, from a real JupyterLab in Chromium.

    python docs/screenshot.py docs/lesson.png

The lesson on loop order is run, and its dial is left in the middle of the order m-n-k. The notebook
is run in a copy, so that it keeps no outputs.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import expect, sync_playwright

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from browser.conftest import PATIENCE_S, chromium, jupyterlab  # noqa: E402
from browser.driving import open_notebook, run_all  # noqa: E402

LESSON = "05_loop_reorder.ipynb"
WIDTH, HEIGHT = 1160, 1500


def take(path: Path) -> None:
    """Run the lesson and write what its dial looks like."""
    expect.set_options(timeout=1000 * PATIENCE_S)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "notebooks", Path(folder) / "course" / "notebooks")
        with jupyterlab(Path(folder)) as lab, sync_playwright() as playwright:
            options = ["--no-sandbox", "--disable-dev-shm-usage"]
            browser = playwright.chromium.launch(executable_path=chromium(), args=options)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            open_notebook(page, lab, LESSON)
            run_all(page)
            expect(page.get_by_test_id("status")).to_contain_text("times as long as")
            page.evaluate(
                "() => window.jupyterapp.commands.execute('application:toggle-left-area')"
            )
            cell = page.locator(".jp-CodeCell", has=page.get_by_test_id("stage"))
            cell.scroll_into_view_if_needed()
            page.wait_for_timeout(1000)  # until the side bar is gone and the cell is wider
            cell.screenshot(path=path)
            browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1]))

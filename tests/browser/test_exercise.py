"""A student in a real JupyterLab: a wrong answer is told why, a right one that it is right."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from .driving import READY, SCREENSHOTS

NAME = "05_loop_reorder"
# The source of the cell with this id, and then the cell run by JupyterLab's own command.
WRITE_AND_RUN = """async ([id, source]) => {
  const app = window.jupyterapp, content = app.shell.currentWidget.content;
  const index = content.widgets.findIndex((cell) => cell.model.id === id);
  content.activeCellIndex = index;
  content.deselectAll();
  if (source !== null) content.widgets[index].model.sharedModel.setSource(source);
  await app.commands.execute('notebook:run-cell');
}"""


def run(page: Page, cell: str, source: str | None = None) -> None:
    page.evaluate(WRITE_AND_RUN, [cell, source])


@pytest.mark.browser
@pytest.mark.slow
def test_a_schedule_is_diagnosed_and_a_hint_opens_on_demand(page: Page, lab: str) -> None:
    page.goto(f"{lab}/lab/tree/exercises/{NAME}/{NAME}.ipynb?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate(READY)
    told = page.locator(".jp-OutputArea-output").last
    hint = page.locator("p", has_text="In the table above, find the largest stride of each loop")

    run(page, "setup")
    run(page, "along-rows-test")
    expect(told).to_contain_text("NameError")

    expect(hint).to_be_hidden()
    page.locator("summary", has_text="Hint 1").first.click()
    expect(hint).to_be_visible()

    run(page, "along-rows", "def along_rows(sch):\n    reorder(sch, 'C', 'n', 'k', 'm')")
    run(page, "along-rows-test")
    expect(told).to_contain_text(re.compile(r"the inner loop m strides by \d+ elements in [AC]"))
    expect(told).not_to_contain_text("Traceback")
    told.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "exercise_diagnosis.png")

    run(page, "along-rows", "def along_rows(sch):\n    reorder(sch, 'C', 'm', 'k', 'n')")
    run(page, "along-rows-test")
    expect(told).to_contain_text("along the inner loop n every address moves by 1 element or less")
    expect(told).not_to_contain_text("✘")

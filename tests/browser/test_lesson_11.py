"""Lesson 11 in a real JupyterLab: it runs, and its ladder can be climbed by hand and here."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .conftest import new_page
from .driving import INTERRUPT, SCREENSHOTS, changes, open_notebook, run_all, strangers

PACKING = "11_packing_and_the_micro_kernel.ipynb"


@pytest.fixture(scope="module")
def lesson(browser: BrowserContext, lab: str) -> Iterator[Page]:
    """The lesson, run once for the tests below."""
    with new_page(browser) as page:
        asked = strangers(page, lab)
        open_notebook(page, lab, PACKING)
        run_all(page)
        yield page
        assert not asked, "the page asked other machines for something"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_11_runs_and_its_ladder_can_be_climbed_by_hand(lesson: Page) -> None:
    page = lesson

    ladder = page.locator(".mlc", has=page.get_by_test_id("measure"))
    chart = ladder.get_by_test_id("chart")
    reason = ladder.get_by_test_id("reason")
    expect(chart.locator("svg")).to_be_visible()
    chart.scroll_into_view_if_needed()

    changes(chart, lambda: chart.get_by_test_id("row-2").click())
    expect(reason).to_contain_text("tile")
    expect(chart.get_by_test_id("row-2")).to_have_attribute("aria-selected", "true")

    changes(chart, lambda: chart.press("ArrowDown"))
    expect(reason).to_contain_text("hoist-init")
    expect(ladder.get_by_test_id("program").locator("td.new").first).to_be_visible()

    changes(chart, lambda: ladder.get_by_test_id("threads-all").check())
    expect(ladder.get_by_test_id("status")).to_contain_text("Recorded on")
    expect(chart).to_contain_text("threads for NumPy")
    page.screenshot(path=SCREENSHOTS / "lesson_11.png")

    changes(chart, lambda: ladder.get_by_test_id("view").select_option("L3"))
    expect(chart).to_contain_text("operations for each byte from L3")
    changes(chart, lambda: chart.press("ArrowDown"))
    page.screenshot(path=SCREENSHOTS / "lesson_11_roofline.png")


@pytest.mark.browser
@pytest.mark.slow
def test_the_recordings_of_both_kinds_of_machine_can_be_chosen(lesson: Page) -> None:
    ladder = lesson.locator(".mlc", has=lesson.get_by_test_id("measure"))
    ladder.get_by_test_id("view").select_option("times")
    chart, machines = ladder.get_by_test_id("chart"), ladder.get_by_test_id("machine")
    labels = machines.locator("option").all_text_contents()
    first = machines.locator("option:checked").text_content()
    expect(ladder.get_by_test_id("status")).to_have_text(f"Recorded on {first}.")
    assert first == labels[0]
    for label in (*labels[1:], labels[0]):
        changes(chart, partial(machines.select_option, label=label))
        expect(ladder.get_by_test_id("status")).to_have_text(f"Recorded on {label}.")
        expect(chart).to_contain_text(label)
        chart.scroll_into_view_if_needed()
        kind = machines.input_value().lower()
        lesson.screenshot(path=SCREENSHOTS / f"lesson_11_{kind}.png")


@pytest.mark.browser
@pytest.mark.slow
def test_rungs_appear_while_they_are_measured_and_an_interrupt_keeps_them(lesson: Page) -> None:
    page = lesson
    ladder = page.locator(".mlc", has=page.get_by_test_id("measure"))
    ladder.get_by_test_id("chart").scroll_into_view_if_needed()
    ladder.get_by_test_id("measure").click()
    expect(ladder.get_by_test_id("source-here")).to_be_checked()  # the first rung is there
    page.evaluate(INTERRUPT)
    expect(ladder.get_by_test_id("status")).to_contain_text("Stopped")
    expect(ladder.get_by_test_id("source-here")).to_be_checked()
    expect(ladder.get_by_test_id("machine")).to_be_disabled()
    page.screenshot(path=SCREENSHOTS / "measured_here.png")

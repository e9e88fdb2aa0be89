"""Lesson 14 in a real JupyterLab: it runs, and its candidate race answers mouse and keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .driving import SCREENSHOTS, changes, open_notebook, run_all, strangers

INSTRUCTION_SELECTION = "14_instruction_selection.ipynb"


@pytest.mark.browser
@pytest.mark.slow
def test_lesson_14_runs_and_the_proof_refutes_what_no_test_did(page: Page, lab: str) -> None:
    asked = strangers(page, lab)
    open_notebook(page, lab, INSTRUCTION_SELECTION)
    run_all(page)

    chart, bits = page.get_by_test_id("chart"), page.get_by_test_id("bits")
    rows, slider = page.get_by_test_id("candidates"), page.get_by_test_id("slider")
    status, said = page.get_by_test_id("status"), page.get_by_test_id("said")
    chart.scroll_into_view_if_needed()
    expect(chart).to_contain_text("530 of 530 candidates stand after 4 random tests")
    slider.focus()
    changes(chart, lambda: slider.press("ArrowRight"))
    expect(chart).to_contain_text("stand after 8 random tests")
    expect(slider).to_have_attribute("aria-valuetext", "8 random tests")
    changes(bits, lambda: slider.press("PageUp"))
    expect(bits).to_contain_text("refutes it")
    expect(rows).to_contain_text("refuted by test 141")
    expect(slider).to_be_focused()

    rows.focus()
    changes(bits, lambda: rows.press("Home"))
    expect(bits).to_contain_text("does not refute it")
    changes(bits, lambda: rows.press("ArrowDown"))
    changes(bits, lambda: rows.press("ArrowUp"))
    expect(rows).to_be_focused()
    changes(bits, lambda: page.locator("#candidate-4").first.click())
    expect(said).to_contain_text("paddw({1}, paddsw({-1}, pmulhrsw(A, B)))")

    proof = page.get_by_test_id("proof")
    proof.focus()
    changes(chart, lambda: proof.press("Enter"))
    expect(chart).to_contain_text("1 of 530 candidates stands after the proof")
    expect(bits).to_contain_text("No random test met this input; the proof finds it.")
    expect(bits).to_contain_text("wanted: 32,767")
    expect(bits).to_contain_text("found: -32,768")
    expect(status).to_contain_text("1 is right for all 2^32")
    rows.scroll_into_view_if_needed()
    page.screenshot(path=SCREENSHOTS / "lesson_14.png")

    chooser = page.get_by_test_id("specification")
    changes(chart, lambda: chooser.select_option("dot4_u8s8"))
    expect(rows).to_contain_text("paddd(C, pmaddwd({1}, pmaddubsw(A, B)))")
    expect(slider).to_have_attribute("aria-valuetext", "4 random tests")
    assert not asked, "the page asked other machines for something"

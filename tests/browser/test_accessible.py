"""Pages for those who do not see them, use no mouse, or want no motion; and checks that refuse.

Each lesson's own test looks at its notebook (``driving.run_all``), those of book and lectures at
their pages; here are the other pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from sample_class import NAME, WHY

from mlc_course.grading.course import GRADED, ByPerson, Marks, Result, feedback, grader
from mlc_course.grading.process import Finding, Verdict
from mlc_course.grading.reports import page_of_class
from mlc_course.grading.reports.by_hand import Given, Place
from mlc_course.grading.reports.question_page import page_of
from mlc_course.grading.reports.questions import Question
from mlc_course.lecture import build, lesson_notebook, load, read_deck

from .accessible import faults_of_keys, silent_pictures, violations
from .conftest import ROOT, new_context
from .driving import open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRIVEN = "".join(path.read_text() for path in Path(__file__).parent.glob("test_lesson_*.py"))
OTHERS = [path.name for path in (ROOT / "notebooks").glob("*.ipynb") if path.name not in DRIVEN]
MOVING = """() => [...document.querySelectorAll('*')].filter((it) => {
  const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(it);
  const isStill = !/[1-9]/.test(transitionDuration) && animationName === 'none';
  return !isStill || scrollBehavior === 'smooth';
}).map((it) => it.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("name", OTHERS)
def test_a_notebook_without_a_test_of_its_own_is_accessible(
    page: Page, lab: str, name: str
) -> None:
    open_notebook(page, lab, name)
    run_all(page)


def pages_of_the_grader() -> Iterator[tuple[str, str]]:
    """Yield a page of each kind, with everything in it that it can have."""
    findings = (
        Finding("correctness", Verdict.MET, "it is right"),
        Finding("correctness", Verdict.UNMET, "a wrong result", "4", "5"),
        Finding("ratio", Verdict.UNJUDGED, "the machine is too noisy", "2.0", "1.1"),
    )
    tests = (grader.TestMarks("twice-test", 2, findings, findings),)
    results = []
    for student, points in (("ada", 4.0), ("bob", 1.5), ("cyrus", None)):
        marks = Marks(student, NAME, "digest", GRADED, tests, seconds=3)
        results.append(Result(marks, (ByPerson("why", 4, points),)))
    yield "feedback", feedback.page(results[0])
    yield "class", page_of_class(results, [])
    question = Question(NAME, "why", 4, asked="Why is it fast?", solution=WHY)
    given = {Place(NAME, "why", "ada"): Given(3, "Almost.")}
    yield "question", page_of(question, {"ada": WHY, "bob": "It is not.", "cyrus": ""}, given)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_grader_s_pages_are_accessible(chrome: Browser, tmp_path: Path, scheme: str) -> None:
    faults: list[str] = []
    with new_context(chrome, color_scheme=scheme) as context:
        page = context.new_page()
        for name, text in pages_of_the_grader():
            path = tmp_path / f"{name}.html"
            path.write_text(text, encoding="utf-8")
            page.goto(path.as_uri())
            faults += [f"{name}: {each}" for each in violations(page) + silent_pictures(page)]
    assert not faults, "\n".join(faults)


@pytest.fixture
def theatre(chrome: Browser, tmp_path: Path) -> Iterator[Page]:
    """The slides of lesson 3, for someone who wants no motion."""
    deck = read_deck(lesson_notebook(ROOT / "notebooks", "03"))
    path = tmp_path / "03.html"
    path.write_text(build(deck, load(deck.name)), encoding="utf-8")
    with new_context(chrome, reduced_motion="reduce") as context:
        page = context.new_page()
        page.goto(path.as_uri())
        page.wait_for_function("document.body?.dataset.ready")
        yield page


def test_nothing_moves_for_who_wants_no_motion(theatre: Page) -> None:
    theatre.evaluate("Reveal.toggleOverview()")
    assert theatre.evaluate(MOVING) == []
    theatre.evaluate("Reveal.toggleOverview()")
    play = theatre.get_by_test_id("play").first
    expect(play).to_be_attached()  # widgets come after the slides
    at = theatre.evaluate(
        "Reveal.getSlides().findIndex((it) => it.querySelector('[data-testid=play]'))"
    )
    theatre.evaluate("(at) => Reveal.slide(at)", at)
    play.click()
    expect(play).to_have_text("Play")
    slider = theatre.get_by_test_id("slider").first
    assert slider.input_value() == slider.get_attribute("max")


# --- the checks refuse ----------------------------------------------------------------------------


def test_a_violation_is_found_and_says_how_to_mend_it(page: Page) -> None:
    page.set_content(
        '<main lang="en"><img src="data:,"><p style="color: #aaa">faint</p><p id="ours">good</p>'
    )
    found = violations(page)
    assert {each.split()[0] for each in found} >= {"image-alt", "color-contrast", "html-has-lang"}
    assert any("alt attribute" in each and "<img" in each for each in found)
    assert len(violations(page, only="color-contrast")) == 1
    assert "color-contrast" not in "".join(violations(page, skip=("color-contrast",)))
    assert violations(page, "#ours") == []


def test_a_picture_without_words_is_found(page: Page) -> None:
    shape = '<rect width="99" height="99"/>'
    page.set_content(
        f'<svg id="none">{shape}</svg><svg role="img" aria-label="image">{shape}</svg>'
        f'<svg role="img" aria-label="bars of three times">{shape}<svg>{shape}</svg></svg>'
        f'<div role="img" aria-label="a race of two"><svg>{shape}</svg></div>'
        f'<svg aria-hidden="true">{shape}</svg><svg><title>a race of two</title>{shape}</svg>'
    )
    assert len(silent_pictures(page)) == 2


def test_a_widget_that_needs_a_mouse_is_found(page: Page) -> None:
    page.set_content(
        """<style>.mlc :focus-visible { outline: 2px solid } #plain:focus { outline: none }</style>
        <div class="mlc" data-lm-suppress-shortcuts="true"><button>fine</button>
        <button id="plain">no ring</button><button aria-label=""></button>
        <div role="listbox" tabindex="0" aria-label="deaf">1, 2</div>
        <input type="range" aria-label="deaf"
          onkeydown="event.key == 'Tab' || event.preventDefault()">
        <label><input type="checkbox"> good</label></div>"""
    )
    found = [re.sub("<.*", "", each) for each in faults_of_keys(page)]
    assert found == [
        "the focus is not shown: ",
        "no name: ",
        "no key does anything: ",
        "no key does anything: ",
    ]
    page.set_content(
        """<style>.mlc :focus-visible { outline: 2px solid }</style>
        <div class="mlc" data-lm-suppress-shortcuts="true"><button>one</button>
        <button onfocus="this.blur()">two</button></div>"""
    )
    assert faults_of_keys(page) == ["Tab does not reach control 1 of a widget, a submit"]

"""The start page as a student meets it after ``mlc-course lab``: a map, and nothing to save."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from ports import free_port

from mlc_course import progress
from mlc_course.commands import lab
from mlc_course.start import read_course

from .conftest import PATIENCE_S, ROOT, environment, new_page, wait_for
from .driving import READY, SCREENSHOTS, resize, strangers

FIRST = read_course().lessons[0]
CURRENT = "window.jupyterapp.shell.currentWidget"
TABS = ".lm-DockPanel-tabBar .lm-TabBar-tab"
THEME = """(theme) => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"""
AWAY_AND_BACK = """async () => {
  for (const command of ['launcher:create', 'mlc-course:start']) {
    await window.jupyterapp.commands.execute(command);
  }
}"""
# Whether the whole of what has the focus is above the lesson at the lower edge.
LIES_ON = """selectors => {
  const [one, other] = selectors.map(each => document.querySelector(each).getBoundingClientRect());
  return ["x", "y", "width", "height"].every(side => Math.abs(one[side] - other[side]) < 2);
}"""
SEEN = """() => {
  const { top, bottom } = document.activeElement.getBoundingClientRect();
  const lesson = document.querySelector('.mlc-chosen-lesson').getBoundingClientRect();
  const page = document.getElementById('mlc-course-start').getBoundingClientRect();
  return top >= page.top && bottom <= Math.min(lesson.top, page.bottom) + 1;
}"""
RUN = """async (id) => {
  const app = window.jupyterapp, content = app.shell.currentWidget.content;
  content.activeCellIndex = content.widgets.findIndex((cell) => cell.model.id === id);
  content.deselectAll();
  await app.commands.execute('notebook:run-cell');
}"""


@contextlib.contextmanager
def course_lab(home: Path, *, instructor: bool) -> Iterator[str]:
    """The address of what ``mlc-course lab`` starts, on a copy of the course."""
    port, log = free_port(), home / "log"
    words = lab.command(home / "course", browser=False, port=port, instructor=instructor)
    words += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True"]
    variables = lab.environment(environment(home))
    variables[progress.PROGRESS_FILE] = str(home / "progress.json")
    with log.open("w") as out:
        server = subprocess.Popen(words, env=variables, stdout=out, stderr=out)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(address, server, log)
        yield address
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("start")
    for part in ("notebooks", "exercises"):
        shutil.copytree(ROOT / part, home / "course" / part)
    return home


@pytest.fixture(scope="module")
def student_lab(home: Path) -> Iterator[str]:
    with course_lab(home, instructor=False) as address:
        yield address


@pytest.fixture(scope="module")
def opened(browser: BrowserContext, student_lab: str) -> Iterator[tuple[Page, list[str]]]:
    """The page that a student sees first, and what it has asked other machines for."""
    with new_page(browser) as page:
        asked = strangers(page, student_lab)
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(f"{student_lab}/lab?reset")
        page.wait_for_function(f"() => window.jupyterapp && {CURRENT}")
        expect(page.get_by_test_id("map")).to_be_visible()
        yield page, asked


@pytest.fixture
def start(opened: tuple[Page, list[str]]) -> Page:
    """The start page, as it is when a student comes back to it."""
    page, _ = opened
    resize(page, 1280, 800)
    show(page)
    return page


def show(page: Page) -> None:
    """Leave the start page, and come back."""
    page.evaluate(AWAY_AND_BACK)
    expect(page.get_by_test_id("map")).to_be_visible()


def open_path(page: Page) -> str:
    """The path of the document that was opened from the map, once its kernel is ready."""
    page.wait_for_function(f"() => {CURRENT}?.context")
    page.evaluate(READY)
    return str(page.evaluate(f"() => {CURRENT}.context.path"))


def about(page: Page, number: int) -> Locator:
    return page.get_by_test_id(f"about-{number}")


@pytest.mark.browser
@pytest.mark.slow
def test_a_student_sees_the_map_at_once_and_has_nothing_to_save(
    opened: tuple[Page, list[str]],
) -> None:
    page, asked = opened
    expect(page.get_by_test_id("map").locator("svg").first).to_be_visible()
    expect(page.locator(TABS)).to_have_text(["Course map"])
    expect(page.locator(f"{TABS}.jp-mod-dirty")).to_have_count(0)
    assert page.evaluate(f"() => {CURRENT}.context === undefined"), "a document could be unsaved"
    expect(page.get_by_test_id("next")).to_contain_text(f"0 of {sum_of_exercises()} exercises done")
    expect(about(page, 0)).to_contain_text(FIRST.question)
    page.screenshot(path=SCREENSHOTS / "start_page.png")
    assert not asked


def sum_of_exercises() -> int:
    return sum(len(each.checks) for each in read_course().lessons)


@pytest.mark.browser
@pytest.mark.slow
def test_a_student_meets_none_of_the_instructor_s_tools_but_can_validate(start: Page) -> None:
    expect(start.locator(".lm-MenuBar-itemLabel", has_text="File")).to_be_visible()
    expect(start.locator(".lm-MenuBar-itemLabel", has_text="Nbgrader")).to_have_count(0)
    expect(start.locator("[data-id*=create_assig]")).to_have_count(0)
    commands = start.evaluate("() => window.jupyterapp.commands.listCommands()")
    assert not [each for each in commands if each.startswith("nbgrader:")]
    about(start, 0).get_by_role("link", name="Open its exercises").click()
    assert open_path(start) == FIRST.exercises
    expect(start.get_by_role("button", name="Validate")).to_be_visible()


@pytest.mark.browser
@pytest.mark.slow
def test_the_map_is_used_by_keyboard(start: Page) -> None:
    start.get_by_test_id("path-whole").focus()
    start.keyboard.press("ArrowRight")
    expect(start.locator(".of-evening")).to_be_visible()
    expect(start.locator(".of-whole")).to_be_hidden()
    expect(start.locator(".l03.in-evening").first).to_have_css("opacity", "1")
    expect(start.locator(".l09").first).to_have_css("opacity", "0.3")
    expect(start.locator(".l03 .step.in-evening").first).to_have_css("visibility", "visible")
    start.keyboard.press("Tab")
    expect(start.get_by_test_id("lesson-2")).to_be_focused()  # the first one of this path
    start.keyboard.press("ArrowRight")
    chosen = start.get_by_test_id("lesson-3")
    expect(chosen).to_be_focused()
    expect(chosen).to_have_css("outline-style", "solid")
    expect(about(start, 3)).to_be_visible()
    expect(about(start, 0)).to_be_hidden()
    expect(about(start, 3)).to_be_in_viewport()
    expect(start.locator(".arrow.to-3").first).to_have_css("stroke", "rgb(213, 94, 0)")
    start.screenshot(path=SCREENSHOTS / "start_page_path.png")
    start.keyboard.press("Enter")
    assert open_path(start) == read_course().lessons[3].notebook

    show(start)  # the choice is still there
    expect(start.get_by_test_id("lesson-3")).to_be_checked()
    expect(start.get_by_test_id("path-evening")).to_be_checked()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("size", [(1280, 800), (640, 400)], ids=["whole", "zoomed"])
def test_a_lesson_with_the_focus_is_not_covered(start: Page, size: tuple[int, int]) -> None:
    """By the lesson that is shown at the lower edge; a zoom of 200 % leaves half of a window."""
    start.evaluate("() => window.jupyterapp.shell.collapseLeft()")
    resize(start, *size)
    start.get_by_test_id("lesson-0").focus()
    covered = []
    for number in range(1, len(read_course().lessons)):
        start.keyboard.press("ArrowRight")
        expect(start.get_by_test_id(f"lesson-{number}")).to_be_focused()
        covered += [number] * (not start.evaluate(SEEN))
    start.evaluate("() => window.jupyterapp.shell.expandLeft()")
    start.get_by_test_id("lesson-0").check()
    assert not covered


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_is_where_it_was_when_it_is_drawn_anew(start: Page, home: Path) -> None:
    start.get_by_test_id("list").locator("summary").click()
    for name, key in (("zh", "ArrowDown"), ("en", "ArrowUp")):
        start.get_by_test_id("language").focus()
        start.keyboard.press(key)
        expect(start.locator(f".mlc-start[lang={name}]")).to_be_visible()
        expect(start.get_by_test_id("language")).to_be_focused()
        expect(start.get_by_test_id("list").locator("table")).to_be_visible()
        start.screenshot(path=SCREENSHOTS / f"start_page_{name}.png")

    start.route("**/course?*", lambda route: route.abort())
    start.evaluate(AWAY_AND_BACK)
    expect(start.locator("#mlc-course-start")).to_contain_text("The map cannot be shown.")
    start.unroute("**/course?*")
    show(start)


@pytest.mark.browser
@pytest.mark.slow
def test_what_is_done_is_shown_and_can_be_forgotten(start: Page, home: Path) -> None:
    expect(start.get_by_test_id("forget")).to_be_hidden()
    tasks = [f"{FIRST.stem}/{name}" for name in (*FIRST.checks[:2], FIRST.blanks[0])]
    progress.record(tasks, home / "progress.json")  # as a check in another tab does
    show(start)
    start.get_by_test_id("lesson-0").check()
    expect(about(start, 0)).to_contain_text("2 of 4 exercises done. 1 of 3 blanks filled.")
    expect(start.get_by_test_id("next")).to_contain_text("2 of")
    start.once("dialog", lambda dialog: dialog.dismiss())
    start.get_by_test_id("forget").click()
    expect(about(start, 0)).to_contain_text("2 of 4")
    start.once("dialog", lambda dialog: dialog.accept())
    start.get_by_test_id("forget").click()
    expect(about(start, 0)).to_contain_text("0 of 4")
    assert not (home / "progress.json").exists()

    progress.record(tasks, home / "progress.json")
    show(start)
    expect(about(start, 0)).to_contain_text("2 of 4")
    (home / "progress.json").unlink()
    (home / "progress.json").mkdir()  # what cannot be removed
    said: list[str] = []
    start.on("dialog", lambda dialog: (said.append(dialog.message), dialog.accept()))
    start.get_by_test_id("forget").click()
    expect(about(start, 0)).to_contain_text("0 of 4")
    (home / "progress.json").rmdir()
    assert said[1].startswith("It is not forgotten") and "<" not in said[1]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_map_fits_into_narrow_windows_and_into_both_themes(start: Page, theme: str) -> None:
    start.evaluate(THEME, theme)
    is_light = str(theme == "JupyterLab Light").lower()
    expect(start.locator("body")).to_have_attribute("data-jp-theme-light", is_light)
    for width, columns in ((1280, 5), (800, 2)):
        resize(start, width, 900)
        expect(start.locator(f".mlc-picture .c{columns}")).to_be_visible()
        assert start.evaluate(
            "() => { const page = document.getElementById('mlc-course-start');"
            "return page.scrollWidth <= page.clientWidth; }"
        )
        start.wait_for_function(LIES_ON, arg=[f".c{columns} .l05 .card", "[data-testid=lesson-5]"])
        name = re.sub(r"\W+", "_", theme).lower()
        start.screenshot(path=SCREENSHOTS / f"start_page_{name}_{width}.png")
    start.evaluate(THEME, "JupyterLab Light")


@pytest.mark.browser
@pytest.mark.slow
def test_the_notebook_form_shows_the_map_before_and_after_it_has_run(start: Page) -> None:
    start.get_by_role("link", name="Is this machine ready?").click()
    assert open_path(start) == "notebooks/index.ipynb"
    notebook = start.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")
    picture = notebook.locator("img[src*=course_map]")
    expect(picture).to_be_visible()
    assert picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 900

    start.evaluate(RUN, "course-map")
    map_ = notebook.get_by_test_id("map")
    map_.get_by_test_id("lesson-4").focus()
    start.keyboard.press("ArrowRight")
    expect(map_.get_by_test_id("about-5")).to_be_visible()
    start.screenshot(path=SCREENSHOTS / "start_page_notebook.png")
    map_.get_by_test_id("about-5").get_by_role("link", name="Open the lesson").click()
    start.wait_for_function(f"() => {CURRENT}?.context.path.includes('05_loop_reorder')")


@pytest.mark.browser
@pytest.mark.slow
def test_an_instructor_has_the_tools_and_the_map(home: Path) -> None:
    with course_lab(home, instructor=True) as address:
        with urllib.request.urlopen(f"{address}/lab", timeout=PATIENCE_S) as reply:
            text = reply.read().decode()
        found = re.search(r'<script id="jupyter-config-data"[^>]*>\s*(.*?)\s*</script>', text, re.S)
        assert found
        config = json.loads(found[1])
        assert not [each for each in config["disabledExtensions"] if "nbgrader" in each]
        loaded = [each["name"] for each in config["federated_extensions"]]
        assert {"mlc-course-start", "mlc-course", "@jupyter/nbgrader"} <= set(loaded)
        with urllib.request.urlopen(f"{address}/formgrader", timeout=PATIENCE_S) as reply:
            assert reply.status == 200

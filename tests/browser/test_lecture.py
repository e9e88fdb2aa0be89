"""Slides in a real browser: they fit, they move, and they go on when the kernel does not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect
from ports import free_port
from slide_faults import controls_without_effect, slide_faults, weak_contrasts

from mlc_course.lecture import build, lesson_notebook, load, read_deck

from .accessible import silent_pictures, violations
from .conftest import PATIENCE_S, ROOT, new_page
from .driving import LESSON_S, SCREENSHOTS, resize

pytestmark = pytest.mark.browser

LESSONS = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))
SIZES = ({"width": 1280, "height": 720}, {"width": 1920, "height": 1080})
SERVE = """import sys
from pathlib import Path
from mlc_course.lecture import serve
notebook, port, votes = sys.argv[1:]
serve(Path(notebook), browser=False, port=int(port), poll_port=int(votes))
"""
READY = "document.body?.dataset.ready"
# A name for two different patterns would paint one of them wrong.
PATTERNS = """() => {
  const seen = new Map(), faults = [];
  for (const each of document.querySelectorAll(".slides svg :is(pattern, clipPath, marker)[id]")) {
    if ((seen.get(each.id) ?? each.outerHTML) !== each.outerHTML) faults.push(each.id);
    seen.set(each.id, each.outerHTML);
  }
  return faults;
}"""


# All slides at once, as on paper: one check instead of 25.
UNROLL = """() => {
  for (const each of Reveal.getSlides()) {
    each.removeAttribute("hidden");
    each.removeAttribute("aria-hidden");
    each.style = "display: block !important; position: static; visibility: visible";
  }
}"""


@pytest.fixture(params=LESSONS, ids=lambda path: path.stem[:2])
def deck_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    deck = read_deck(request.param)
    path = tmp_path / f"{deck.name}.html"
    path.write_text(build(deck, load(deck.name)), encoding="utf-8")
    return path


def opened(browser: BrowserContext, address: str, heard: list[str]) -> Page:
    page = browser.new_page()
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("request", lambda request: heard.append(request.url))
    page.goto(address)
    page.wait_for_function(READY)
    return page


def test_every_slide_fits_can_be_read_from_the_back_and_is_accessible(
    browser: BrowserContext, deck_file: Path
) -> None:
    heard: list[str] = []
    page = opened(browser, deck_file.as_uri(), heard)
    try:
        for size in SIZES:
            resize(page, **size)
            assert slide_faults(page) == []
        assert page.evaluate(PATTERNS) == []
        assert {each.split(":")[0] for each in heard} <= {"file", "blob", "data"}, heard
        page.evaluate(UNROLL)
        faults = violations(page, skip=("color-contrast",)) + silent_pictures(page)  # 7 to 1, below
        assert not faults, "\n".join(faults)
    finally:
        page.close()


def test_words_stand_out_and_a_widget_moves_without_a_kernel(
    browser: BrowserContext, deck_file: Path
) -> None:
    page = opened(browser, deck_file.as_uri(), [])
    try:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert weak_contrasts(page) == []
        still = controls_without_effect(page)
        # Lesson 0's widget does nothing but measure, which takes a kernel.
        assert bool(still) == deck_file.name.startswith("00"), still
    finally:
        page.close()


def test_faint_and_small_words_are_found(browser: BrowserContext, tmp_path: Path) -> None:
    deck = read_deck(LESSONS[5])
    path = tmp_path / "deck.html"
    path.write_text(build(deck, load(deck.name)), encoding="utf-8")
    page = opened(browser, path.as_uri(), [])
    try:
        page.add_style_tag(
            content=".slide h2 { color: #777; } .slide .wall p { font-size: 15px !important; }"
        )
        assert len([each for each in weak_contrasts(page) if "4.5 to 1" in each]) > 10
        resize(page, **SIZES[1])
        assert any("22.5 px" in each for each in slide_faults(page))
    finally:
        page.close()


def wait_until_live(page: Page) -> None:
    shown = page.locator('.origin[data-live="false"]:not(:empty)')
    expect(shown).to_have_count(0, timeout=1000 * LESSON_S)


def slide(page: Page) -> Locator:
    return page.locator("section.present")


def go_to(page: Page, headline: str) -> None:
    page.evaluate(
        """(headline) => Reveal.slide(Reveal.getSlides().findIndex(
          (each) => each.querySelector("h1, h2")?.textContent.includes(headline)))""",
        headline,
    )
    expect(slide(page).locator("h1, h2").first).to_contain_text(headline)


def type_and_run(page: Page, code: str) -> None:
    slide(page).locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Escape")


def wait_for_file(path: Path) -> None:
    for _ in range(10 * PATIENCE_S):
        if path.exists():
            return
        time.sleep(0.1)
    pytest.fail(f"{path.name} was never written")


def wait_for_question(votes: str, name: str) -> None:
    for _ in range(10 * PATIENCE_S):
        with urllib.request.urlopen(f"{votes}/now", timeout=PATIENCE_S) as reply:
            if json.load(reply) == name:
                return
        time.sleep(0.1)
    pytest.fail(f"the phones never saw {name}")


class Lecture:
    """A lecture that was begun on the command line, and its page."""

    def __init__(self, process: subprocess.Popen[str], page: Page, votes: str) -> None:
        self.process, self.page, self.votes = process, page, votes
        self.heard: list[str] = []

    def kernels(self) -> list[psutil.Process]:
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in children if "ipykernel_launcher" in " ".join(each.cmdline())]


@contextmanager
def given(browser: BrowserContext, *words: str, **variables: str) -> Iterator[Lecture]:
    """Begin a lecture with a command line, whose last words are the two ports."""
    port, votes = free_port(), free_port()
    process = subprocess.Popen(
        [
            sys.executable,
            *(word.replace("{port}", str(port)).replace("{votes}", str(votes)) for word in words),
        ],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )
    assert process.stdout
    address = process.stdout.readline().removeprefix("Slides: ").strip()
    try:
        with new_page(browser) as page:
            page.set_viewport_size(SIZES[0])  # type: ignore[arg-type]
            made = Lecture(process, page, f"http://127.0.0.1:{votes}")
            page.on("request", lambda request: made.heard.append(request.url))
            page.goto(address)
            page.wait_for_function(READY)
            yield made
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE_S)
        finally:
            process.kill()
            process.stdout.close()


@pytest.fixture
def lecture(browser: BrowserContext) -> Iterator[Lecture]:
    words = ["-m", "mlc_course.commands", "lecture", "05", "--no-browser"]
    with given(browser, *words, "--port={port}", "--poll={votes}") as made:
        yield made


def test_a_lecture_from_the_first_slide_to_a_dead_kernel_and_on(
    lecture: Lecture, tmp_path: Path
) -> None:
    page = lecture.page
    wait_until_live(page)

    # the keys
    page.keyboard.press("End")
    expect(slide(page)).to_contain_text("What you can now say")
    page.keyboard.press("Home")
    expect(slide(page)).to_contain_text("5. Loop reorder")
    page.keyboard.press("ArrowRight")
    expect(slide(page)).to_contain_text("Six programs")
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    expect(popup.value.locator("#plan")).to_contain_text("planned from 2:00 to 3:00")
    expect(popup.value.locator("#notes")).to_contain_text("i-j-k")
    page.keyboard.press("s")  # the same window, which moves one slide at a time
    popup.value.keyboard.press("ArrowRight")
    popup.value.keyboard.press("ArrowLeft")
    expect(slide(page)).to_contain_text("Six programs")

    # a vote, by hand and by phone, stays beside the outcome
    go_to(page, "How much slower")
    slide(page).get_by_role("button", name="add a vote for 5 to 20").click()
    wait_for_question(lecture.votes, "predict-slowest")
    assert violations(page) == []  # live, with the hall's votes
    phone = page.context.new_page()
    for scheme in ("light", "dark"):
        phone.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        phone.goto(lecture.votes)
        expect(phone.get_by_role("button")).to_have_count(4)
        phone.get_by_role("button").nth(1).press("Enter")
        expect(phone.get_by_role("status")).to_contain_text("Counted")
        assert violations(phone) == []
    phone.close()
    vote = json.dumps({"name": "predict-slowest", "choice": 2}).encode()
    urllib.request.urlopen(f"{lecture.votes}/vote", vote, timeout=PATIENCE_S).close()
    expect(slide(page).locator("output").nth(2)).to_have_text("2")
    go_to(page, "What the hall said")
    expect(slide(page).locator("output").nth(2)).to_have_text("2")
    expect(slide(page)).to_contain_text("The answer is")
    expect(slide(page)).not_to_contain_text("You made no prediction", use_inner_text=True)

    # code that is edited runs
    go_to(page, "How far does each loop jump")
    editor = slide(page).locator(".cm-content")
    editor.click()
    page.keyboard.press("Control+A")
    go_on = tmp_path / "go_on"
    wait = f"while not os.path.exists({str(go_on)!r}): time.sleep(0.1)"
    page.keyboard.insert_text(f"import os, time\n{wait}\nprint('edited')")
    page.keyboard.press("Shift+Enter")
    expect(slide(page).locator(".origin")).to_contain_text("running")
    go_on.touch()
    page.keyboard.press("Escape")
    expect(slide(page).locator(".result")).to_have_text("edited")

    # the kernel dies: the wall says so, keeps its recordings, and still moves
    go_to(page, "The loop-order dial")
    for kernel in lecture.kernels():
        kernel.kill()
    expect(page.locator(".banner")).to_contain_text("The kernel has died")
    expect(slide(page).locator(".origin")).to_contain_text("recorded")
    slide(page).get_by_test_id("order-k-n-m").check()
    expect(slide(page).get_by_test_id("said")).to_contain_text("k-n-m")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    slide(page).get_by_test_id("measure").click()
    expect(slide(page).get_by_test_id("status")).to_contain_text("nothing is measured")

    # R starts anew, however often it is pressed, and so does a page that is loaded again
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.keyboard.press("r")
    expect(page.locator(".banner")).to_be_hidden()
    page.keyboard.press("Home")
    expect(page.locator('.origin[data-live="true"]')).not_to_have_count(0)

    wait_until_live(page)
    assert len(lecture.kernels()) == 1
    page.reload()
    page.wait_for_function(READY)
    wait_until_live(page)
    assert len(lecture.kernels()) == 1

    # the server dies as well
    lecture.process.kill()
    expect(page.locator(".banner")).to_contain_text("The connection to the kernel is gone")
    page.keyboard.press("ArrowRight")
    expect(slide(page)).to_contain_text("Six programs")
    page.keyboard.press("r")
    expect(page.locator(".banner")).to_contain_text("There is no kernel")

    own = re.compile(r"(?:http|ws|blob:http)://127\.0\.0\.1:\d+/|about:blank|data:,")
    assert [each for each in lecture.heard if not own.match(each)] == []


Change = Callable[[Any], None]  # of a notebook's cell


@pytest.fixture
def changed(browser: BrowserContext, tmp_path: Path) -> Callable[[Change], Any]:
    """Gives lesson 5 after a change of the cell that measures six orders."""

    def give(change: Change) -> Any:
        notebook = tmp_path / "notebooks" / LESSONS[5].name
        notebook.parent.mkdir()
        lesson = nbformat.read(LESSONS[5], as_version=4)
        change(next(each for each in lesson.cells if each.id == "hook-six-orders"))
        nbformat.write(lesson, notebook)
        return given(browser, "-c", SERVE, str(notebook), "{port}", "{votes}")

    return give


def test_a_cell_that_fails_here_keeps_its_recording(changed: Callable[[Change], Any]) -> None:
    def fail(cell: Any) -> None:
        cell.source += "\nraise MemoryError('none left')"

    with changed(fail) as lecture:
        page = lecture.page
        go_to(page, "Six orders on this machine")
        origin = slide(page).locator(".origin:not(:empty)")
        expect(origin).to_contain_text("failed here; press L for the error")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        expect(origin).to_have_text(re.compile("^recorded: .*, with other code; failed here"))
        expect(slide(page).locator(".result svg")).to_contain_text("m-k-n")
        page.keyboard.press("l")
        expect(slide(page).locator(".result")).to_contain_text("MemoryError: none left")
        expect(origin).to_have_text("live")


def test_no_code_that_is_typed_stops_the_lecture(lecture: Lecture, tmp_path: Path) -> None:
    page = lecture.page
    wait_until_live(page)
    go_to(page, "How far does each loop jump")
    origin, result = slide(page).locator(".origin"), slide(page).locator(".result")
    slide(page).locator(".cm-content").click()
    page.keyboard.type("# not run\n")
    expect(origin).to_have_text("live, with other code")
    for code, said in (
        ("for for", "SyntaxError"),
        ("input('name')", "does not support input"),
        ("print('y' * 10**6)", "yyy"),
    ):
        type_and_run(page, code)
        expect(result).to_contain_text(said)
        expect(origin).to_have_text("live")
    begun = tmp_path / "begun"
    type_and_run(page, f"open({str(begun)!r}, 'w')\nwhile True: pass")
    wait_for_file(begun)
    expect(origin).to_contain_text("running")
    page.keyboard.press("i")
    expect(result).to_contain_text("KeyboardInterrupt")
    for code in ("while True: print('y' * 1000)", "import os; os._exit(1)"):
        type_and_run(page, code)
        page.wait_for_timeout(1000)
        page.keyboard.press("r")
        expect(origin).to_contain_text("press L for the live result")
        page.keyboard.press("l")
        expect(origin).to_have_text("live, with other code")
        expect(result).to_contain_text("stride of")
        expect(slide(page).locator(".cm-content")).to_have_text(code)


def test_an_interrupt_that_comes_before_its_code_stops_it(lecture: Lecture) -> None:
    page = lecture.page
    wait_until_live(page)
    go_to(page, "How far does each loop jump")
    for _ in range(2):  # the first may wait behind a cell of the lesson
        for kernel in lecture.kernels():
            kernel.suspend()
        type_and_run(page, "while True: pass")
        page.keyboard.press("i")
        page.wait_for_timeout(1000)
        for kernel in lecture.kernels():
            kernel.resume()
        expect(slide(page).locator(".origin")).to_have_text("live")


def test_a_machine_that_is_too_busy_leaves_the_recording_on_the_wall(
    changed: Callable[[Change], Any], tmp_path: Path
) -> None:
    go_on = tmp_path / "go_on"

    def hurry(cell: Any) -> None:
        cell.metadata["lecture"]["budget_s"] = 0.2
        wait = f"while not os.path.exists({str(go_on)!r}): time.sleep(0.05)"
        cell.source = f"import os, time\n{wait}\n{cell.source}"

    with changed(hurry) as lecture:
        page = lecture.page
        go_to(page, "Six orders on this machine")
        origin = slide(page).locator(".origin:not(:empty)")
        expect(origin).to_contain_text("still measuring here")
        for kernel in lecture.kernels():
            kernel.suspend()  # nothing is as busy as a machine that never answers
        page.wait_for_timeout(1000)
        try:
            expect(origin).to_have_text(re.compile("^recorded: .*; still measuring here$"))
            expect(slide(page).locator(".result svg")).to_contain_text("m-k-n")
            page.keyboard.press("ArrowRight")
            expect(slide(page)).to_contain_text("What the hall said")
            page.keyboard.press("ArrowLeft")
        finally:
            for kernel in lecture.kernels():
                kernel.resume()
        go_on.touch()
        expect(origin).to_contain_text("press L for the live result")
        page.keyboard.press("l")
        expect(origin).to_have_text("live")
        expect(slide(page).locator(".result svg")).to_contain_text("m-k-n")


def test_a_lecture_on_gpu_code_needs_no_gpu(browser: BrowserContext) -> None:
    words = ["-m", "mlc_course.commands", "lecture", "19", "--no-browser"]
    words += ["--port={port}", "--poll={votes}"]
    with given(browser, *words, CUDA_VISIBLE_DEVICES="") as lecture:
        wait_until_live(lecture.page)
        assert lecture.page.locator(".result pre.stderr").count() == 0  # nor an error


def test_without_a_network_the_slides_go_on(lecture: Lecture) -> None:
    page = lecture.page
    expect(page.locator('.origin[data-live="true"]')).not_to_have_count(0)
    page.context.set_offline(True)
    try:
        page.keyboard.press("r")
        expect(page.locator(".banner")).to_contain_text("There is no kernel")
        go_to(page, "The loop-order dial")
        slide(page).get_by_test_id("order-k-n-m").check()
        expect(slide(page).get_by_test_id("said")).to_contain_text("k-n-m")
        expect(slide(page).locator(".origin:not(:empty)")).to_contain_text("recorded")
    finally:
        page.context.set_offline(False)
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    expect(page.locator(".banner")).to_be_hidden()
    page.keyboard.press("Home")
    wait_until_live(page)


@pytest.fixture
def page_of(browser: BrowserContext, tmp_path: Path) -> Iterator[Callable[[str], Page]]:
    """Opens the slides of a lesson from a file, without a kernel."""
    pages: list[Page] = []

    def open_lesson(number: str) -> Page:
        deck = read_deck(lesson_notebook(ROOT / "notebooks", number))
        path = tmp_path / f"{number}.html"
        path.write_text(build(deck, load(deck.name)), encoding="utf-8")
        pages.append(opened(browser, path.as_uri(), []))
        return pages[-1]

    yield open_lesson
    for page in pages:
        page.close()


def test_without_a_kernel_recorded_choices_move_and_others_are_taken_back(
    page_of: Callable[[str], Page],
) -> None:
    page = page_of("16")
    go_to(page, "Walk through it")
    page.locator("section.present").get_by_test_id("map").locator('[id="block-2-1"]').click()
    expect(slide(page).get_by_test_id("status")).to_contain_text("x=2, y=1")
    slide(page).get_by_test_id("forward").click()
    expect(slide(page).get_by_test_id("status")).to_contain_text("iteration k=1")

    page = page_of("06")
    go_to(page, "The map")
    shown = slide(page).get_by_test_id("chart")
    measured = shown.inner_html()
    slide(page).get_by_test_id("cell-0-0").click()
    expect(slide(page).get_by_test_id("status")).to_contain_text("not recorded")
    slide(page).get_by_test_id("view-L1 misses").check()
    expect(shown).not_to_contain_text("Speed in units of NumPy")
    expect(slide(page).get_by_test_id("status")).not_to_contain_text("not recorded")
    slide(page).get_by_test_id("view-measured").check()
    expect(shown).to_contain_text("Speed in units of NumPy")
    assert shown.inner_html() == measured
    slide(page).get_by_test_id("cell-0-0").click()
    expect(slide(page).get_by_test_id("status")).to_contain_text("this choice was not recorded")
    assert shown.inner_html() == measured


def test_a_deck_prints_one_page_a_slide(page_of: Callable[[str], Page], tmp_path: Path) -> None:
    page = page_of("05")
    slides = int(page.evaluate("Reveal.getTotalSlides()"))
    page.goto(page.url.split("#")[0] + "?print-pdf")
    page.wait_for_function(READY)
    page.wait_for_function("document.querySelector('.pdf-page')")  # all come in one task
    printed = page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == slides


def test_what_cannot_begin_says_why_before_anything_is_started(capfd: Any) -> None:
    words = [sys.executable, "-m", "mlc_course.commands", "lecture"]
    for more, said in (
        (["22"], "no such lesson"),
        (["05", "--poll", "99999"], "for votes"),
        (["05", "--port", "99999"], "no such port"),
        (["05", "--port", "-1"], "no such port"),
        (["05", "--html", "nowhere/at/all.html"], "no such folder"),
        (["05", "--html", "/dev/full/x"], "no such folder"),
        (["05", "--html", "/proc/x.html"], "cannot write"),
        (["05", "--port", "8907", "--poll", "8907"], "one port for slides and votes"),
    ):
        ended = subprocess.run(
            [*words, *more, "--no-browser"], capture_output=True, text=True, timeout=PATIENCE_S
        )
        assert ended.returncode == 2
        assert said in ended.stderr and "Traceback" not in ended.stderr


def test_a_card_in_jupyterlab_opens_the_list_and_a_lecture(page: Page, lab: str) -> None:
    page.goto(f"{lab}/lab?reset")
    page.wait_for_function("() => window.jupyterapp")
    page.evaluate("() => window.jupyterapp.restored")
    page.evaluate("() => window.jupyterapp.commands.execute('launcher:create')")
    card = page.locator(".jp-LauncherCard:visible", has_text="Lectures")
    expect(card).to_be_visible()
    card.screenshot(path=SCREENSHOTS / "lecture_card.png")
    with page.context.expect_page() as opening:
        card.click()
    listed = opening.value
    expect(listed.locator("li")).to_have_count(len(LESSONS))
    assert violations(listed) == []
    listed.screenshot(path=SCREENSHOTS / "lecture_list.png")
    listed.locator("a", has_text="Loop reorder").click()
    listed.wait_for_function(READY)
    expect(listed.locator("section.present h1")).to_contain_text("5. Loop reorder")
    listed.close()

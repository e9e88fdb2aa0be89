"""The book as its readers see it: built once, opened from files, on three widths."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page, expect
from slide_faults import weak_contrasts

from .accessible import silent_pictures, violations
from .conftest import ROOT, new_context

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSONS = sorted(path.stem for path in (ROOT / "notebooks").glob("[0-9]*.ipynb"))
WIDTHS = {"phone": (390, 844), "laptop": (1280, 800), "projector": (1920, 1080)}
OTHERS = ("index", "library/index", "library/mlc_course.mugraph.verify", "docs/reading")
MOST_BYTES = 3_000_000
LEAST_CONTRAST = 4.5  # to 1, at a reader's desk
# Elements that reach beyond the window and cannot be scrolled to.
CUT_OFF = """() => [...document.querySelectorAll("article *")].filter((it) => {
  const box = it.getBoundingClientRect();
  if (!box.width || box.right <= innerWidth + 1) return false;
  for (let around = it.parentElement; around; around = around.parentElement)
    if (/auto|scroll|hidden|clip/.test(getComputedStyle(around).overflowX)) return false;
  return true;
}).map((it) => it.outerHTML.slice(0, 80))"""


# Pictures and lines of which a part cannot be seen on paper.
CUT_ON_PAPER = """() => [...document.querySelectorAll(".cell_output *, pre")].filter((it) => {
  const { overflowX, overflowY } = getComputedStyle(it);
  if (it.ownerSVGElement || !it.clientWidth || !/img|svg|pre|div/i.test(it.tagName)) return false;
  return overflowY !== "visible" && it.scrollHeight > it.clientHeight + 4
    || overflowX !== "visible" && it.scrollWidth > it.clientWidth + 4;
}).map((it) => `${it.outerHTML.slice(0, 80)}: ${it.scrollWidth} x ${it.scrollHeight}`)"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("book")
    command = [sys.executable, ROOT / "docs" / "book" / "build.py", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return out / "html"


class Links(HTMLParser):
    """The targets of a page's links and pictures, and the places in it that can be linked."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and name in ("href", "src") and tag != "base":
                self.targets.add(value)
            elif value and name in ("id", "name"):
                self.places.add(value)


def broken(folder: Path) -> list[str]:
    """Links between pages of a folder that lead nowhere."""
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    found = []
    for page, links in pages.items():
        for target in links.targets:
            if target.startswith(("http:", "https:", "data:", "mailto:", "javascript:")):
                continue
            name, _, place = unquote(target).partition("#")
            there = (page.parent / name.partition("?")[0]).resolve() if name else page
            if not there.exists() or (
                place and there in pages and place not in pages[there].places
            ):
                found.append(f"{page.relative_to(folder)}: {target}")
    return sorted(found)


def test_no_link_inside_the_book_is_broken(book: Path) -> None:
    assert broken(book) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="b.html#x"></a><a href="c.html"></a><img src="d.png">'
    )
    (tmp_path / "b.html").write_text('<p id="y"><a href="a.html"></a>')
    assert broken(tmp_path) == ["a.html: b.html#x", "a.html: c.html", "a.html: d.png"]


def test_no_page_is_too_large_to_mail(book: Path) -> None:
    sizes = {path.name: path.stat().st_size for path in book.rglob("*.html")}
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}
    assert len(sizes) > 100


def test_there_are_a_glossary_an_index_and_a_page_for_each_room(book: Path) -> None:
    glossary = (book / "notebooks" / "glossary.html").read_text(encoding="utf-8")
    assert 'id="term-accumulator"' in glossary
    index = (book / "genindex.html").read_text(encoding="utf-8")
    assert "06_tiling.html" in index and "mlc_course.mugraph.verify" in index
    schedule = (book / "library" / "mlc_course.tensor_program.schedule.html").read_text("utf-8")
    tir = (book / "library" / "mlc_course.tensor_program.tir.html").read_text(encoding="utf-8")
    assert "accesses" in tir and "tvm.apache.org" not in tir  # TVM describes its own names
    assert "tile" in schedule and "_modules/mlc_course/tensor_program/schedule" in schedule


@pytest.mark.parametrize("width", WIDTHS)
def test_every_lesson_fits_and_asks_nobody_for_anything(
    book: Path, chrome: Browser, width: str
) -> None:
    size = dict(zip(("width", "height"), WIDTHS[width], strict=True))
    faults: list[str] = []
    with new_context(chrome, viewport=size) as context:
        page = context.new_page()
        page.on("request", lambda asked: faults.extend(_foreign(asked.url)))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        for name in (*OTHERS, *(f"notebooks/{lesson}" for lesson in LESSONS)):
            open_page(page, book, name)
            faults += [f"{name}: {each}" for each in page.evaluate(CUT_OFF)]
    assert not faults, "\n".join(faults)


def test_nothing_is_cut_off_on_paper(book: Path, chrome: Browser) -> None:
    faults: list[str] = []
    with new_context(chrome, viewport={"width": 718, "height": 1000}) as context:
        page = context.new_page()
        page.emulate_media(media="print")
        for name in (*OTHERS, *(f"notebooks/{lesson}" for lesson in LESSONS)):
            open_page(page, book, name)
            faults += [f"{name}: {each}" for each in page.evaluate(CUT_ON_PAPER)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(book: Path, chrome: Browser, scheme: str) -> None:
    faults: list[str] = []
    with new_context(chrome, color_scheme=scheme) as context:
        page = context.new_page()
        for name in (*OTHERS, *(f"notebooks/{lesson}" for lesson in LESSONS)):
            open_page(page, book, name)
            faults += [f"{name}: {each}" for each in weak_contrasts(page, LEAST_CONTRAST)]
            faults += [f"{name}: {each}" for each in page.evaluate(CUT_OFF)]
    assert not faults, "\n".join(faults)


def checked_pages(book: Path) -> list[str]:
    """Every page of the book; of those that one template makes from code, three of each."""
    pages = [path.relative_to(book).with_suffix("").as_posix() for path in book.rglob("*.html")]
    kinds = ("library/", "_modules/", "exercises/")
    made = {kind: sorted(page for page in pages if page.startswith(kind)) for kind in kinds}
    few = {page for several in made.values() for page in several[:: len(several) // 2]}
    return sorted(few | {page for page in pages if not page.startswith(kinds)})


def test_every_page_is_accessible(book: Path, chrome: Browser) -> None:
    faults: list[str] = []
    with new_context(chrome) as context:
        page = context.new_page()
        for name in checked_pages(book):
            open_page(page, book, name)
            found = violations(page, skip=("color-contrast",)) + silent_pictures(page)  # above
            faults += [f"{name}: {each}" for each in found]
    assert not faults, "\n".join(faults)


def _foreign(address: str) -> list[str]:
    return [] if address.startswith(("file:", "blob:", "data:")) else [address]


def open_page(page: Page, book: Path, name: str) -> None:
    page.goto((book / f"{name}.html").as_uri())
    page.wait_for_function(
        "[...document.querySelectorAll('[data-model]')].every((it) => it.dataset.alive)"
    )


def test_a_widget_moves_without_a_kernel(book: Path, chrome: Browser) -> None:
    with new_context(chrome) as context:
        page = context.new_page()
        open_page(page, book, "notebooks/05_loop_reorder")
        dial = page.locator("[data-model]:has(.mlc-dial)")
        before = dial.locator(".mlc-chart").first.inner_html()
        dial.locator('[type="range"]').fill("300")
        turned = dial.locator(".mlc-chart").first.inner_html()
        dial.get_by_test_id("order-k-n-m").click()  # the library answered this when it was recorded
        assert len({before, turned, dial.locator(".mlc-chart").first.inner_html()}) == 3


def test_a_choice_that_was_not_recorded_is_taken_back_and_said(book: Path, chrome: Browser) -> None:
    with new_context(chrome) as context:
        page = context.new_page()
        open_page(page, book, "notebooks/03_memory_hierarchy")
        theatre = page.locator("[data-model]:has([data-testid=ways])").first
        shown = theatre.get_by_test_id("runs").inner_text()
        assert len(shown.splitlines()) == 2  # what nobody chose is not in the table
        theatre.get_by_test_id("ways").select_option("4")
        expect(theatre.get_by_test_id("status")).not_to_contain_text("not recorded")
        theatre.get_by_test_id("ways").select_option("16")
        expect(theatre.get_by_test_id("status")).to_contain_text("not recorded")
        expect(theatre.get_by_test_id("ways")).to_have_value("4")


def test_no_markup_is_left_in_the_pages(book: Path) -> None:
    left = re.compile(r"\{(width|term|index|doc|ref)\b|:(func|class|mod|meth):`")
    code = re.compile(r"<(pre|script|style)\b.*?</\1>", re.DOTALL)
    pages = {path.name: path.read_text(encoding="utf-8") for path in book.rglob("*.html")}
    faults = {
        name: found[0] for name, text in pages.items() if (found := left.search(code.sub("", text)))
    }
    assert faults == {}


def test_without_scripts_the_static_form_of_a_widget_is_there(book: Path, chrome: Browser) -> None:
    with new_context(chrome, java_script_enabled=False) as context:
        page = context.new_page()
        page.goto((book / "notebooks" / "05_loop_reorder.html").as_uri())
        expect(page.locator("[data-model] .mlc-dial svg").first).to_be_visible()


def test_words_are_found_by_the_search(book: Path, chrome: Browser) -> None:
    with new_context(chrome) as context:
        page = context.new_page()
        page.goto((book / "search.html").as_uri() + "?q=tiling")
        expect(page.locator("#search-results a").first).to_contain_text("iling")

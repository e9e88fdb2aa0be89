"""One course: lessons link each other, exercises are as announced, figures have a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from lesson_form import SAID
from test_notebooks import FOLDER, LESSONS, ROOT, SOLUTIONS, prose, read

from mlc_course.lecture import read_deck
from mlc_course.mugraph.cost import target

EXERCISES = sorted(SOLUTIONS.rglob("*.ipynb"))
DOCS = sorted((ROOT / "docs").glob("*.md"))
IN_WORDS = dict(eight=8, nine=9, ten=10, eleven=11, twelve=12, thirteen=13, fourteen=14, fifteen=15)

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
NAMED = re.compile(r"\blessons? (\d+|@)(?: (?:to|and) (\d+|@))?", re.IGNORECASE)  # @: a link
SECTION = re.compile(r"\bsections? (\d+)(?:,? and (\d+))?")
HEADING = re.compile(r"^## (\d+)\. (.+)$", re.MULTILINE)
ANNOUNCED = re.compile(r"^(\d+)\. \*\*(.+?)[.:]?\*\*", re.MULTILINE)
FOR_CLASS = re.compile(r"Exercise \d is for class[^.]*\.")
BEGINS = re.compile(r"^You need about \d+ minutes, with exercise (\d) done in class", re.MULTILINE)
POINTS = re.compile(r"\b(\w+) points\b")
RATE = re.compile(r"\d[\d.,]* (?:[nµm]s|s|hours|[GT]FLOP/s|[GT]B/s)(?!\w)")
# Times and rates that prose states, with their source beside them; cells print all others.
SOURCES = {
    "a definition": {(3, "1 GB/s")},
    "where `measure.compare` begins to warm up": {(0, "20 ms")},
    "the article that the course grew from": {
        (5, "6.24 s"), (5, "0.417 s"), (7, "0.376 s"), (7, "0.417 s"), (7, "1.02 s"),
    },
    "NVIDIA's data sheet": {(8, "989 TFLOP/s"), (8, "3.35 TB/s")},
    "Mirage's paper": {(18, "28 s"), (18, "10 hours")},
}  # fmt: skip


def number(path: Path) -> int:
    return int(path.stem[:2])


def text(path: Path) -> str:
    """The prose of a page, without blocks of code."""
    written = prose(path) if path.suffix == ".ipynb" else path.read_text(encoding="utf-8")
    return FENCED.sub("", written)


def named_without_link(written: str, own: int | None = None) -> list[int]:
    """The lessons that a text names by their number, and does not link there.

    Headings and the question below a title cannot hold a link.
    """
    lines = (line for line in written.splitlines() if not re.match(r"#|\*\*.*\*\*$", line))
    bare = "\n".join(LINK.sub("@", line) for line in lines)
    found = {each for match in NAMED.findall(bare) for each in match} - {"", "@", str(own)}
    return sorted(map(int, found))


def linked(path: Path) -> set[int]:
    """The numbers of the lessons that a page links."""
    names = {lesson.name: number(lesson) for lesson in LESSONS}
    files = (target.rpartition("/")[2] for _, target in LINK.findall(text(path)))
    return {names[file] for file in files if file in names}


def broken_links(path: Path) -> Iterator[str]:
    """Links to nothing, and places inside a notebook: JupyterLab and the book spell these apart."""
    for _, link in LINK.findall(text(path)):
        target, mark, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        if not (path.parent / target).exists() or (mark and target.endswith(".ipynb")):
            yield link


def missing_sections(written: str) -> set[int]:
    """Sections that a lesson names and does not have; those of papers are in its last list."""
    own = {int(each) for each, _ in HEADING.findall(written)}
    said = written.partition("**Read on.**")[0]
    return {int(each) for match in SECTION.findall(said) for each in match if each} - own


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_links_each_lesson_that_it_names(path: Path) -> None:
    assert not named_without_link(text(path), own=number(path))


@pytest.mark.parametrize("path", [*EXERCISES, *DOCS], ids=lambda path: path.stem)
def test_exercises_and_documents_link_each_lesson_that_they_name(path: Path) -> None:
    own = number(path) if path in EXERCISES else None
    assert own is None or own in linked(path)
    assert not named_without_link(text(path), own)


@pytest.mark.parametrize("path", LESSONS[1:], ids=lambda path: path.stem)
def test_a_lesson_links_back_to_what_it_builds_on(path: Path) -> None:
    assert any(each < number(path) for each in linked(path))


def test_a_lesson_links_all_that_the_map_says_it_builds_on() -> None:
    course = pytest.importorskip("mlc_course.start.course")  # the start page's description
    missing = {
        number(path): absent
        for path in LESSONS
        if (absent := set(course.BUILDS_ON[number(path)]) - linked(path))
    }
    assert not missing


@pytest.mark.parametrize(
    "path", [*LESSONS, FOLDER / "glossary.ipynb", *EXERCISES], ids=lambda path: path.stem
)
def test_a_link_leads_to_a_page_that_is_there(path: Path) -> None:
    assert not list(broken_links(path))


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_begins_with_its_minutes_and_its_exercise_for_class(path: Path) -> None:
    first, exercises = read(path).cells[0].source, announcement(path)
    begins = BEGINS.search(first)
    assert begins
    assert f"Exercise {begins[1]} is for class" in exercises


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_last_slide_names_the_exercises_and_the_lesson_after_this_one(path: Path) -> None:
    walls = [line for cell in read_deck(path).cells for line in cell.wall.splitlines()]
    (last,) = (line for line in walls if line.startswith("Next: "))
    assert f"exercises {number(path)}" in last
    assert set(NAMED.findall(last)) <= {(str(number(path) + 1), "")}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_the_sections_that_it_names(path: Path) -> None:
    assert not missing_sections(text(path))


def announcement(path: Path) -> str:
    """What a lesson says of its exercises."""
    return str(next(cell.source for cell in read(path).cells if cell.id == "exercises"))


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_exercises_have_the_names_and_the_minutes_that_the_lesson_announces(path: Path) -> None:
    said = announcement(FOLDER / path.name)
    announced = dict(ANNOUNCED.findall(said))
    headings = dict(HEADING.findall(prose(path)))
    assert announced.keys() == headings.keys()
    other = [name for n, name in announced.items() if not headings[n].startswith(name)]
    assert not other
    told = FOR_CLASS.search(said)
    assert told and told[0] in read(path).cells[0].source


def test_the_readme_says_how_long_a_lesson_takes() -> None:
    said = [int(found[1]) for path in LESSONS if (found := SAID.search(read(path).cells[0].source))]
    written = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"| {min(said)} to {max(said)} min each |" in written


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_exercises_give_the_points_that_they_promise(path: Path) -> None:
    cells = read(path).cells
    graded = [cell.metadata.get("nbgrader", {}) for cell in cells]
    given = sum(each.get("points", 0) for each in graded if each.get("grade"))
    (said,) = POINTS.findall(cells[0].source)
    assert IN_WORDS.get(said, said) in (given, str(int(given)))


def rates(written: str) -> set[str]:
    """The times and rates that a text states."""
    return set(RATE.findall(written))


def test_times_and_rates_are_printed_by_cells_or_have_a_source() -> None:
    stated = {(number(path), each) for path in LESSONS for each in rates(text(path))}
    assert not stated - set().union(*SOURCES.values())


def microseconds_in_ascii(written: str) -> list[str]:
    """Places where a text, or a format in code, has a number of "us" in place of "µs"."""
    return re.findall(r"[\d}] us\b", written)


def test_lessons_write_microseconds_in_one_way() -> None:
    code = sorted((ROOT / "mlc_course" / "lessons").rglob("*.py"))
    wrong = [
        path.name
        for path in (*LESSONS, *EXERCISES, *sorted((FOLDER / "zh").glob("*.ipynb")), *code)
        if microseconds_in_ascii(path.read_text(encoding="utf-8"))
    ]
    assert not wrong


def test_figures_of_a_gpu_are_those_that_the_cost_model_has() -> None:
    (fusion, code) = (text(path) for path in LESSONS if number(path) in (8, 19))
    gpu = target("h100")
    assert f"{gpu.matrix_flops / 1e12:.0f} TFLOP/s" in fusion
    assert f"{gpu.memory_bytes_per_s / 1e12:.2f} TB/s" in fusion
    assert f"{gpu.matrix_flops / gpu.memory_bytes_per_s:.0f} operations a byte" in fusion
    assert f"{gpu.multiprocessors} multiprocessors" in code


# --- what these tests refuse ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("As in lesson 3.", [3]),
        ("Lessons 5 to 7.", [5, 7]),
        ("lessons [5](05_a.ipynb) and 6", [6]),
        ("As in [lesson 3](03_a.ipynb), lesson 4.", []),
        ("# From lesson 3\n\n**Why lesson 3?**", []),
    ],
)
def test_a_lesson_that_is_named_and_not_linked_is_found(written: str, found: list[int]) -> None:
    assert named_without_link(written, own=4) == found


def test_a_time_without_a_source_is_found() -> None:
    assert rates("It takes 3.5 ms at 7 GB/s, in 2 steps, 64 KiB.") == {"3.5 ms", "7 GB/s"}


def test_microseconds_in_ascii_are_found() -> None:
    assert microseconds_in_ascii('f"{us:.1f} us, 3 µs, of us all"') == ["} us"]


def test_a_section_that_is_not_there_is_found() -> None:
    written = "## 1. One\n\nSee sections 1 and 3, and section 4.\n\n**Read on.**\n- A. B, section 9"
    assert missing_sections(written) == {3, 4}


def test_a_link_to_nothing_and_one_into_a_notebook_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "a.ipynb").touch()
    page.write_text("[x](a.ipynb) [y](b.ipynb) [z](a.ipynb#1.-One) [w](https://a.org#b)")
    assert list(broken_links(page)) == ["b.ipynb", "a.ipynb#1.-One"]

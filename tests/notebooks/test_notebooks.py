"""Every notebook is run from top to bottom, and leads to its exercises and to the glossary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
FOLDER, SOLUTIONS, BROWSER = ROOT / "notebooks", ROOT / "solutions", ROOT / "tests" / "browser"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
PAGES = ("index.ipynb", "glossary.ipynb")
LESSONS = [path for path in NOTEBOOKS if path.name not in PAGES]
CELL_TIMEOUT_S = 120  # a cell takes seconds; a machine that runs tests is a busy one
LONGEST_CELL = 12
BOLD = re.compile(r"\*\*([^*]+)\*\*")
ITALIC = re.compile(r"(?<!\*)\*(?![\s*])([^*]+)\*(?!\*)")
ENTRY = re.compile(r"\*\*([^*]+)\*\* (.+) \((\[lesson [^()]+\([^()]+\)(?:, \[[^()]+\([^()]+\))*)\)")
POINTER = re.compile(r"\*([^*]+)\* see \*[^*]+\*")
LINK = re.compile(r"\[lesson (\d+)\]\(([^()]+)\)")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def prose(path: Path) -> str:
    return "\n\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")


def forms(term: str) -> set[str]:
    """A term as a lesson may write it: with any capitals, and in the plural."""
    name = term.casefold()
    return {name, name + "s", re.sub("is$", "es", name)}


def place(term: str) -> str:
    """What terms are put in order by: letters and digits, one word after the other."""
    return " ".join(re.findall("[a-z0-9]+", term.casefold()))


def glossary_faults(entries: Sequence[str], bold: Mapping[str, set[str]]) -> Iterator[str]:
    """What is wrong with a glossary, where ``bold`` holds each lesson's bold words by its file."""
    terms = []
    for entry in entries:
        found = ENTRY.fullmatch(entry) or POINTER.fullmatch(entry)
        if not found:
            yield f"{entry!r} is neither an entry with its lesson nor a pointer to one"
            continue
        terms.append(found[1])
        for number, lesson in LINK.findall(found[3] if found.re is ENTRY else ""):
            if lesson not in bold or not lesson.startswith(f"{number:0>2}_"):
                yield f"{found[1]}: there is no lesson {number} in {lesson}"
            elif not forms(found[1]) & bold[lesson]:
                yield f"{found[1]}: is not in bold in {lesson}"
    for before, term in zip(terms, terms[1:], strict=False):
        if place(before) == place(term):
            yield f"{term}: stands here twice"
        elif place(before) > place(term):
            yield f"{term}: does not come after {before}"
    known = set().union(*map(forms, terms))
    for entry in entries:
        for word in ITALIC.findall(entry):
            if word.casefold() not in known:
                yield f"{word}: is in italics, and no entry"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_is_run_in_a_browser(path: Path) -> None:
    """Where no cell of it may fail, write to stderr or ask another machine for anything."""
    text = (BROWSER / f"test_lesson_{path.stem[:2]}.py").read_text(encoding="utf-8")
    assert f'"{path.name}"' in text
    assert "run_all(page)" in text and "assert not asked" in text


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("path", [FOLDER / name for name in PAGES], ids=lambda path: path.stem)
def test_a_page_beside_the_lessons_runs(path: Path) -> None:
    notebook = read(path)
    resources = {"metadata": {"path": str(FOLDER)}}
    if any(cell.cell_type == "code" for cell in notebook.cells):
        NotebookClient(notebook, timeout=CELL_TIMEOUT_S, resources=resources).execute()
    said = [o for cell in notebook.cells for o in cell.get("outputs", ()) if o.get("name")]
    assert not [o.text for o in said if o.name == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_cell_of_code_is_longer_than_a_reader_takes_in(path: Path) -> None:
    long = [
        cell.id
        for cell in read(path).cells
        if cell.cell_type == "code" and len(cell.source.splitlines()) > LONGEST_CELL
    ]
    assert not long


def test_the_start_page_links_lessons_exercises_and_the_glossary_and_nothing_else() -> None:
    text = "\n".join(cell.source for cell in read(FOLDER / "index.ipynb").cells)
    exercises = {
        f"../exercises/{path.parent.name}/{path.name}" for path in SOLUTIONS.rglob("*.ipynb")
    }
    wanted = {path.name for path in LESSONS} | exercises | {"glossary.ipynb"}
    assert set(re.findall(r"\(([^)]+\.ipynb)\)", text)) == wanted


ROW = re.compile(r"^\| (\d+) \| \[([^\]]+)\]\(([^)]+)\) \| (.+?) \| \d+ min \|", re.MULTILINE)


def title_and_question(path: Path) -> tuple[str, str]:
    """The heading of a lesson without its number, and the question in bold below it."""
    heading, question = read(path).cells[0].source.split("\n\n")[:2]
    return heading.partition(". ")[2], question.strip("*")


def test_the_start_page_has_the_titles_and_the_questions_of_the_lessons() -> None:
    text = "\n".join(cell.source for cell in read(FOLDER / "index.ipynb").cells)
    rows = {name: (title, question) for _, title, name, question in ROW.findall(text)}
    assert rows == {path.name: title_and_question(path) for path in LESSONS}


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_links_its_exercises(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells)
    linked = re.findall(r"\(\.\./exercises/([^)]+\.ipynb)\)", text)
    assert linked == [f"{path.stem}/{path.name}"]
    assert (SOLUTIONS / linked[0]).is_file()


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_links_the_glossary_on_its_first_screen(path: Path) -> None:
    assert "[glossary](glossary.ipynb)" in read(path).cells[0].source


def test_the_glossary_says_what_the_lessons_say() -> None:
    bold = {path.name: {word.casefold() for word in BOLD.findall(prose(path))} for path in LESSONS}
    letters = read(FOLDER / "glossary.ipynb").cells[1:]
    entries = []
    for cell in letters:
        heading, *below = cell.source.split("\n\n")
        assert heading == f"## {cell.id.removeprefix('letter-').upper()}"
        assert {place(entry)[0].upper() for entry in below} == {heading[-1]}
        entries += below
    assert not list(glossary_faults(entries, bold))
    linked = {lesson for entry in entries for _, lesson in LINK.findall(entry)}
    assert linked == bold.keys()


LESSON = "03_memory_hierarchy.ipynb"
CACHE = f"**cache** A fast memory that keeps *lines*. ([lesson 3]({LESSON}))"
LINE = f"**line** What a cache fetches. ([lesson 3]({LESSON}))"


def test_a_sound_glossary_is_accepted() -> None:
    entries = [CACHE, "*cache line* see *line*", LINE]
    assert not list(glossary_faults(entries, {LESSON: {"cache", "lines"}}))


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([CACHE, LINE, "**miss** No hit."], "neither an entry"),
        ([CACHE, LINE, f"**miss** No hit. ([lesson 3]({LESSON}))"], "is not in bold"),
        ([CACHE, LINE.replace("03_", "30_")], "there is no lesson"),
        ([CACHE, LINE.replace("lesson 3", "lesson 5")], "there is no lesson"),
        ([CACHE, LINE, LINE], "twice"),
        ([CACHE, LINE, LINE.replace("line", "Line")], "twice"),
        ([LINE, CACHE], "does not come after"),
        ([CACHE, LINE, "*tag* see *way*"], "is in italics, and no entry"),
        ([CACHE], "is in italics, and no entry"),
    ],
)
def test_a_bad_glossary_is_refused(entries: list[str], complaint: str) -> None:
    (fault,) = glossary_faults(entries, {LESSON: {"cache", "lines"}})
    assert complaint in fault

"""Write the pages that Sphinx reads: those of the repository, at the same paths, so links hold."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from glossary import Glossary
from house import ROOT, rooms

from mlc_course import errors, exercise, grading
from mlc_course.lecture import (
    VIEW,
    Recording,
    load,
    outdated,
    path_of,
    read_deck,
    record,
    recordings,
)
from mlc_course.lecture.page import embedded, widgets
from mlc_course.lecture.slides import LESSONS
from mlc_course.start import ENGLISH, WORDS, map_html, read_course
from mlc_course.words import spoken

HERE = Path(__file__).parent
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "THIRD_PARTY.md", "docs/*.md")
OTHERS = tuple(each for each in WORDS if each != ENGLISH)
LINK = re.compile(r"\]\(([^)#\s]+)")
IMAGE = re.compile(r'<img src="([^"]+)" width="([^"]+)" alt="([^"]+)">')
LEXER = {"name": "python", "pygments_lexer": "python"}


def write_sources(folder: Path, kept: Path, is_fresh: bool) -> None:
    """Write the pages of the book; lessons are run where their recording is of other code.

    ``kept`` is where recordings that are made now are written.
    """
    glossary = Glossary(nbformat.read(ROOT / "notebooks" / "glossary.ipynb", as_version=4))
    write(folder / "notebooks" / "glossary.ipynb", nbformat.writes(glossary.page()))
    made = {}
    for path in sorted((ROOT / "notebooks").glob(LESSONS)):
        made[path.stem] = recorded(path, kept, is_fresh)
        lesson = filled(nbformat.read(path, as_version=4), made[path.stem])
        link_translations(lesson, path)
        glossary.mark(lesson, path.name)
        write(folder / path.relative_to(ROOT), nbformat.writes(lesson))
        write(folder / "widgets" / f"{path.stem}.json", embedded(widgets(made[path.stem])))
    for path in translated():
        recording = recorded(path, kept, is_fresh)
        lesson = filled(nbformat.read(path, as_version=4), recording)
        write(folder / path.relative_to(ROOT), nbformat.writes(lesson))
        states = folder / "widgets" / path.parent.name / f"{path.stem}.json"
        with spoken(path.parent.name):  # the widgets' scripts
            write(states, embedded(widgets(recording)))
    for path in sorted((ROOT / "exercises").glob("*/*.ipynb")):
        write(
            folder / path.relative_to(ROOT),
            nbformat.writes(readable(nbformat.read(path, as_version=4))),
        )
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            write(folder / path.relative_to(ROOT), page(path.read_text(encoding="utf-8")))
    write(folder / "index.md", front(made))
    for name, text in reference():
        write(folder / "library" / f"{name}.md", text)
    copy_linked(folder)


def write(path: Path, text: str) -> None:
    """Write a page, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def page(text: str) -> str:
    """Return a page of the repository; a link to a folder is none in the book.

    A picture in HTML becomes one that Sphinx copies.
    """
    text = re.sub("^</?p>\n", "", IMAGE.sub(r'![\3](\1){width="\2"}', text), flags=re.M)
    text = text.replace("](notebooks/index.ipynb", "](index.md")
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)*benchmarks/results\)", r"`\1`", text)


def recorded(notebook: Path, kept: Path, is_fresh: bool) -> Recording:
    """Return what a lesson shows: from a recording of this code, or else from running it."""
    deck = read_deck(notebook, for_lecture=False)
    if notebook.parent.name in OTHERS:
        kept /= notebook.parent.name
    for folder in () if is_fresh else (recordings(notebook.parent.name), kept):
        if path_of(notebook.stem, folder).exists():
            found = load(notebook.stem, folder)
            if not outdated(deck, found):
                return found
    return record(notebook, kept)


def translated(name: str = LESSONS) -> list[Path]:
    """Return the lessons in other languages, or the one of a name in each that has it."""
    return [path for each in OTHERS for path in sorted((ROOT / "notebooks" / each).glob(name))]


def link_translations(lesson: Any, path: Path) -> None:
    """Link a lesson's page to the same lesson in other languages, below its title."""
    links = [
        f"[{WORDS[each.parent.name].language}]({each.parent.name}/{each.name})"
        for each in translated(path.name)
    ]
    if links:
        lesson.cells[1].source += f" In another language: {', '.join(links)}."


def filled(notebook: Any, recording: Recording) -> Any:
    """Put the outputs of a recording into a notebook, and say below its title where they are from.

    A widget becomes its static form, in an element whose ``data-model`` names its recorded state.
    """
    for cell in readable(notebook).cells:
        if cell.cell_type == "code":
            cell.outputs = [output(each) for each in recording.outputs[cell.id]]
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(f"Outputs: {recording.label}."))
    notebook.cells[1].id = "origin"
    return notebook


def readable(notebook: Any) -> Any:
    """Fold the code that JupyterLab folds, and name the language."""
    notebook.metadata.language_info = LEXER
    for cell in notebook.cells:
        if cell.metadata.get("jupyter", {}).get("source_hidden"):
            cell.metadata["tags"] = [*cell.metadata.get("tags", ()), "hide-input"]
    return notebook


def output(kept: dict[str, Any]) -> Any:
    """Return a notebook's output of a recording's."""
    given = dict(kept)
    if view := given.get("data", {}).get(VIEW):
        static = given["data"]["text/html"]
        given["data"] = {"text/html": f'<div data-model="{view["model_id"]}">{static}</div>'}
    if given["output_type"] == "error":
        given["traceback"] = [f"{given['ename']}: {given['evalue']}"]
    return nbformat.v4.new_output(**given)


def front(made: dict[str, Recording]) -> str:
    """Return the first page, with the map of the course's start page."""
    drawn = map_html(
        read_course(ROOT),
        WORDS[ENGLISH],
        link=lambda path: f"{path[: -len('ipynb')]}html",
        styles="",
    )
    shown = f"```{{raw}} html\n{drawn}\n```"
    dates: dict[str, set[str]] = {}
    for each in made.values():
        dates.setdefault(each.machine, set()).add(each.date)
    labels = [f"{machine}, {' and '.join(sorted(days))}" for machine, days in dates.items()]
    text = (HERE / "index.md").read_text(encoding="utf-8")
    values = {**WORDS[ENGLISH].parts, "map": shown, "machines": "; ".join(labels)}
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def reference() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each page of the library's reference."""
    known = list(rooms())
    table = "\n".join(f"| [`{name}`]({module}.md) | {said} |" for module, name, said in known)
    text = (HERE / "library.md").read_text(encoding="utf-8")
    pages = "\n".join(module for module, _, _ in known)
    yield "index", text.replace("{table}", table).replace("{pages}", pages)
    for module, name, _ in known:
        own = vocabulary() if module == "mlc_course.exercise" else ".. automodule:: " + module
        yield module, f"# {name}\n\n```{{eval-rst}}\n{own}\n```\n"


def vocabulary() -> str:
    """Return the page of ``exercise``, whose names are described in the rooms that define them."""
    homes = (grading.checks, grading.process, errors)
    lines = [
        f"- :py:obj:`{name} <{home.__name__}.{name}>`"
        for name in exercise.__all__
        for home in homes
        if hasattr(home, name)
    ]
    head = [".. automodule:: mlc_course.exercise", "   :no-members:", ""]
    return "\n".join([*head, *dict.fromkeys(lines)])


def copy_linked(folder: Path) -> None:
    """Copy the other files of the repository that pages, or copied pages, link or show."""
    pages = [*folder.rglob("*.md"), *folder.rglob("*.ipynb")]
    while pages:
        page = pages.pop()
        text = page.read_text(encoding="utf-8")
        for found in set(LINK.findall(text)):
            place = (page.parent / found).resolve()
            if place.exists() or not place.is_relative_to(folder):
                continue
            original = ROOT / place.relative_to(folder)
            if original.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(original, place)
                if place.suffix in (".md", ".ipynb"):
                    pages.append(place)

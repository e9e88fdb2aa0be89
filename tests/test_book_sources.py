"""The parts of the book: where its outputs come from, its glossary, and its docstrings."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from pathlib import Path

import nbformat
import pytest
from docstrings import to_rst
from glossary import Glossary
from sources import (
    ROOT,
    filled,
    front,
    link_translations,
    output,
    page,
    recorded,
    translated,
)

from mlc_course.lecture import load
from mlc_course.start import ENGLISH, WORDS


def a_notebook(*cells: tuple[str, str]) -> nbformat.NotebookNode:
    book = nbformat.v4.new_notebook()
    for at, (kind, source) in enumerate(cells):
        made = {"markdown": nbformat.v4.new_markdown_cell, "code": nbformat.v4.new_code_cell}[kind]
        cell = made(source)
        cell.id = f"cell-{at}"
        book.cells.append(cell)
    return book


GLOSSARY = a_notebook(
    ("markdown", "# Glossary"),
    (
        "markdown",
        "## T\n\n**tile** A part of a *matrix*. ([lesson 6](06_tiling.ipynb))"
        "\n\n*brick* see *tile*",
    ),
)


def test_entries_of_the_glossary_can_be_linked() -> None:
    text = Glossary(GLOSSARY).page().cells[1].source
    assert "```{glossary}\ntile\n  A part of a *matrix*." in text
    assert "brick\n  See {term}`tile <tile>`." in text


def test_a_lesson_links_terms_and_is_indexed_under_those_that_it_explains() -> None:
    lesson = a_notebook(
        ("markdown", "# 6"), ("markdown", "[tiles](glossary.ipynb), [x](glossary.ipynb)")
    )
    Glossary(GLOSSARY).mark(lesson, "06_tiling.ipynb")
    assert lesson.cells[1].source == "```{index} tile\n```"
    assert lesson.cells[2].source == "{term}`tiles <tile>`, [x](glossary.ipynb)"


def test_every_link_of_a_lesson_to_the_glossary_reaches_an_entry() -> None:
    glossary = Glossary(nbformat.read(ROOT / "notebooks" / "glossary.ipynb", as_version=4))
    missing = []
    for path in sorted(ROOT.glob("notebooks/[0-9]*.ipynb")):
        lesson = nbformat.read(path, as_version=4)
        glossary.mark(lesson, path.name)
        missing += [
            f"{path.stem}: {line}"
            for cell in lesson.cells
            for line in cell.source.splitlines()
            if "](glossary.ipynb)" in line and "[glossary]" not in line
        ]
    assert missing == []


def test_the_front_page_links_and_files_every_lesson_and_document() -> None:
    start, written = front({}), (ROOT / "docs" / "book" / "index.md").read_text(encoding="utf-8")
    trees = re.findall(r"```\{toctree\}\n(.*?)```", written, re.DOTALL)
    filed = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
    for lesson in sorted(ROOT.glob("notebooks/[0-9]*.ipynb")):
        for target in (
            f"notebooks/{lesson.stem}.html",
            f"exercises/{lesson.stem}/{lesson.stem}.html",
        ):
            assert f'href="{target}"' in start
        assert sum(fnmatch(f"notebooks/{lesson.stem}", each) for each in filed) == 1
    for document in sorted(ROOT.glob("docs/*.md")):
        assert f"docs/{document.stem}" in filed
    for part in WORDS[ENGLISH].parts.values():
        assert f':caption: "{part}"' in start
    assert '.ipynb"' not in re.sub(r'data-path="[^"]*"', "", start)


def test_a_lesson_links_its_translation_and_each_translation_is_filed() -> None:
    path = ROOT / "notebooks" / "05_loop_reorder.ipynb"
    lesson = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_markdown_cell(text) for text in ("# 5", "Outputs.")]
    )
    link_translations(lesson, path)
    assert lesson.cells[1].source.endswith("[中文](zh/05_loop_reorder.ipynb).")
    link_translations(lesson, ROOT / "notebooks" / "06_tiling.ipynb")
    assert lesson.cells[1].source.endswith("[中文](zh/05_loop_reorder.ipynb).")
    written = (ROOT / "docs" / "book" / "index.md").read_text(encoding="utf-8")
    assert "notebooks/zh/*" in written and len(translated()) == 3


@pytest.mark.parametrize(
    ("docstring", "rst"),
    [
        ("Tiles a*b of | and \\.", "Tiles a\\*b of \\| and \\\\."),
        ("Return ``x``s of `y`.", "Return ``x``\\ s of ``y``."),
        ("Write `` (noisy)`` after it.", "Write ``(noisy)`` after it."),
        (
            "A *paired ratio*: a * b, x*y*z, *args.",
            "A *paired ratio*: a \\* b, x\\*y\\*z, \\*args.",
        ),
        ("name_ and _private, a_b_.", "name\\_ and _private, a_b\\_."),
    ],
)
def test_only_literals_are_markup_in_a_docstring(docstring: str, rst: str) -> None:
    assert list(to_rst([docstring])) == [rst, ""]


def test_columns_of_a_docstring_stay_columns() -> None:
    lines = ["Visit tiles.", "", "before  for i:", "after   for io, ii:", "", "The end."]
    assert list(to_rst(lines)) == [
        *("Visit tiles.", "", "::", ""),
        *("    before  for i:", "    after   for io, ii:", "", "The end.", ""),
    ]


def test_a_widget_becomes_its_static_form_with_the_name_of_its_state() -> None:
    path = ROOT / "notebooks" / "05_loop_reorder.ipynb"
    recording = load(path.stem)
    lesson = filled(nbformat.read(path, as_version=4), recording)
    (dial,) = (cell for cell in lesson.cells if cell.id == "measure-dial")
    shown = dial.outputs[0].data["text/html"]
    model = shown.partition('data-model="')[2].partition('"')[0]
    assert model in recording.widgets and "<svg" in shown
    assert recording.label in lesson.cells[1].source


def test_an_error_that_was_recorded_is_shown() -> None:
    shown = output({"output_type": "error", "ename": "ValueError", "evalue": "too small"})
    assert shown.traceback == ["ValueError: too small"]


def test_the_width_of_a_picture_is_kept_in_quotes() -> None:
    picture = '<img src="docs/a.png" width="42%" alt="A lesson.">'
    assert page(f"<p>\n{picture}\n</p>\n") == '![A lesson.](docs/a.png){width="42%"}\n'


@pytest.mark.slow
def test_a_lesson_whose_recording_is_of_other_code_is_run_once(tmp_path: Path) -> None:
    path = tmp_path / "05_loop_reorder.ipynb"
    lesson = a_notebook(("markdown", "# 5. Other code"), ("code", "print(6 * 7)"))
    lesson.cells[0].metadata = {"slideshow": {"slide_type": "slide"}, "lecture": {"wall": ["5"]}}
    nbformat.write(lesson, path)
    made = recorded(path, kept=tmp_path / "kept", is_fresh=False)
    assert made.outputs["cell-1"][0]["text"] == "42\n"
    again = recorded(path, kept=tmp_path / "kept", is_fresh=False)
    assert again == made
    assert load("05_loop_reorder") != made  # the course's own recording is untouched

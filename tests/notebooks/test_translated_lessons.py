"""Lessons in another language are the English ones: the same cells, the same code, other words.

A cell with other words keeps the fingerprint of the English cell that it was made from (``of`` in
its metadata), so that a change of the English tells which cells to look at; in code, words are in
strings and comments.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from test_notebooks import CELL_TIMEOUT_S, FOLDER

from mlc_course.lecture import load, outdated, read_deck, recordings
from mlc_course.words import ENGLISH, LANGUAGE, LANGUAGES

OTHERS = [each for each in LANGUAGES if each != ENGLISH]
LESSONS = [path for each in OTHERS for path in sorted((FOLDER / each).glob("*.ipynb"))]
NAMES = [f"{path.parent.name}/{path.stem}" for path in LESSONS]
TRANSLATED = re.compile(r"[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")
CODE = re.compile(r"`[^`\n]+`")
TARGET = re.compile(r"\]\(([^)\s#]+)")
GENERATED = "lessons"  # of the start page, by docs/start_page.py
# Four words of English, one after the other.
ENGLISH_WORDS = re.compile(r"(?<![\w.])[A-Za-z]?[a-z]+(?:,? [a-z]+){3,}")
# What an engine reports is English, as a compiler's messages are: these cells print reports.
REPORTS = {
    "index": {"doctor"},
    "05_loop_reorder": {
        "transform-legal",
        "break-swap",
        "break-running-sum",
        "break-axis-kinds",
    },
    "16_mu_graphs": {
        "see-no-accumulator",
        "check-changes",
        "check-verdicts",
        "half-verify",
    },
}


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def english(path: Path) -> Path:
    return path.parent.parent / path.name


def fingerprint(source: str) -> str:
    """Twelve letters that tell a text from others."""
    return hashlib.sha256(source.encode()).hexdigest()[:12]


# --- what may differ ------------------------------------------------------------------------------


def cell_faults(ours: Any, theirs: Any) -> Iterator[str]:
    """What is wrong with the cells of a translation, one sentence each."""
    translated = {cell.id: cell for cell in theirs.cells}
    known = {cell.id: cell for cell in ours.cells}
    yield from (f"{name} is not translated" for name in known.keys() - translated.keys())
    yield from (f"{name} is in no English lesson" for name in translated.keys() - known.keys())
    if not translated.keys() ^ known.keys() and list(translated) != list(known):
        yield "the cells are in another order"
    for name in known.keys() & translated.keys():
        mine, other = known[name], translated[name]
        if mine.cell_type != other.cell_type:
            yield f"{name} is {other.cell_type}, in English {mine.cell_type}"
        elif mine.metadata.get("mlc") != other.metadata.get("mlc"):
            yield f"{name} has another prediction than in English"
        elif name == GENERATED or mine.source == other.source:
            continue
        elif mine.cell_type == "code" and not is_same(
            ast.parse(mine.source), ast.parse(other.source)
        ):
            yield f"{name} has other code than in English"
        elif other.metadata.get("of") != fingerprint(mine.source):
            yield f"{name} is stale: its English is {fingerprint(mine.source)} by now"
        elif mine.cell_type == "code":
            continue
        elif Counter(CODE.findall(mine.source)) - Counter(CODE.findall(other.source)):
            yield f"{name} lacks names that its English has in code"


def is_same(mine: Any, other: Any) -> bool:
    """Compare programs, in which strings that hold words of the other language are alike."""
    if isinstance(mine, ast.JoinedStr) and isinstance(other, ast.JoinedStr):
        words = [each.value for each in other.values if isinstance(each, ast.Constant)]
        if any(TRANSLATED.search(each) for each in words):
            return _values(mine) == _values(other)  # which may be in another order
    if isinstance(mine, ast.Constant) and isinstance(other, ast.Constant):
        both_text = isinstance(mine.value, str) and isinstance(other.value, str)
        return (both_text and bool(TRANSLATED.search(other.value))) or mine.value == other.value
    if isinstance(mine, ast.AST):
        return type(mine) is type(other) and all(
            is_same(getattr(mine, name), getattr(other, name)) for name in mine._fields
        )
    if isinstance(mine, list):
        return (
            isinstance(other, list)
            and len(mine) == len(other)
            and all(is_same(a, b) for a, b in zip(mine, other, strict=True))
        )
    return bool(mine == other)


def _values(text: ast.JoinedStr) -> list[str]:
    """The values in an f-string, in which words do not count."""
    found = []
    for each in text.values:
        if isinstance(each, ast.FormattedValue):
            value = copy.deepcopy(each)
            for node in ast.walk(value):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    node.value = "" if node.value in (", ", "、") else node.value
            found.append(ast.dump(value))
    return sorted(found)


@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_a_translated_lesson_is_the_english_one_in_other_words(path: Path) -> None:
    assert list(cell_faults(read(english(path)), read(path))) == []


@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_links_lead_to_translated_lessons_where_there_are_some(path: Path) -> None:
    for cell in read(path).cells:
        for target in TARGET.findall(cell.source) if cell.cell_type == "markdown" else ():
            place = (path.parent / target).resolve()
            assert place.exists(), f"{cell.id}: {target}"
            twin = path.parent / place.name
            assert place.parent != FOLDER or not twin.exists(), f"{cell.id}: {target} is translated"


@pytest.mark.parametrize("path", [path for path in LESSONS if path.stem != "index"])
def test_the_book_shows_a_recording_of_the_translated_lesson(path: Path) -> None:
    language = path.parent.name
    found = load(path.stem, recordings(language))
    hint = f"{LANGUAGE}={language} mlc-course lecture {path.stem[:2]} --record"
    assert outdated(read_deck(path, for_lecture=False), found) == [], hint
    assert TRANSLATED.search(str(found.outputs))


def test_a_change_of_the_english_names_the_cells_to_translate_again() -> None:
    ours, theirs = (read(path) for path in (english(LESSONS[0]), LESSONS[0]))
    words = next(cell for cell in ours.cells if cell.cell_type == "markdown")
    words.source += " More."
    assert [each.split(":")[0] for each in cell_faults(ours, theirs)] == [f"{words.id} is stale"]
    ours.cells.remove(words)
    assert list(cell_faults(ours, theirs)) == [f"{words.id} is in no English lesson"]
    assert list(cell_faults(theirs, ours))[0] == f"{words.id} is not translated"


def test_a_change_of_the_words_in_english_code_names_the_cell() -> None:
    """Answers of a prediction in another order, and another one that is naive, for example."""
    ours, theirs = (read(path) for path in (english(LESSONS[0]), LESSONS[0]))
    asked = next(cell for cell in ours.cells if "mlc" in cell.metadata)
    asked.source = asked.source.replace('"', '"Really? ', 1)
    assert [each.split(":")[0] for each in cell_faults(ours, theirs)] == [f"{asked.id} is stale"]
    asked.metadata["mlc"] = {"naive": 2}
    assert list(cell_faults(ours, theirs)) == [f"{asked.id} has another prediction than in English"]


@pytest.mark.parametrize(
    ("mine", "other", "same"),
    [
        ("f(1)  # one", "f(1)  # 一", True),
        ("predict('fast?', ['a'])", "predict('快？', ['一'])", True),
        ("f'{a:.1f} of {b}'", "f'{b} 中的 {a:.1f}'", True),
        ("f'{a:.1f} of {b}'", "f'{b} 中的 {a:.2f}'", False),
        ("f('C')", "f('D')", False),
        ("f(1)", "f(2)", False),
        ("f(1)", "f('一')", False),
        ("f(1)", "f(1, 1)", False),
        ("f'{a}'", "f'{a[0]} 个'", False),
    ],
)
def test_only_comments_and_words_may_be_translated(mine: str, other: str, same: bool) -> None:
    assert is_same(ast.parse(mine), ast.parse(other)) is same


# --- what is shown --------------------------------------------------------------------------------


def shown(cell: Any) -> str:
    """What a reader sees of a cell's outputs, descriptions of pictures included."""
    texts = []
    for each in cell.outputs:
        data = each.get("data", {})
        html = data.get("text/html")
        if html is None:
            texts.append(each.get("text", "") or data.get("text/plain", ""))
            continue
        html = re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)
        texts += re.findall(r'aria-label="([^"]*)"', html)
        html = re.sub(r"<pre>.*?</pre>", "", html, flags=re.DOTALL)  # the answer: a program
        texts.append(re.sub(r"<[^>]+>", "\n", html))
    return unescape("\n".join(texts))


def english_words(text: str) -> list[str]:
    """Every run of English words, other than of a loop in Python."""
    found = ENGLISH_WORDS.findall(text)
    return [each for each in found if not each.startswith("for ")]


def test_a_sentence_in_english_is_noticed() -> None:
    assert english_words("n inside: the innermost loop decides") == ["the innermost loop decides"]
    assert english_words("for m, n, k in range(8)") == []
    assert english_words("n 在最内层：0.375 ms") == []


@pytest.mark.slow
@pytest.mark.notebook
@pytest.mark.parametrize("path", LESSONS, ids=NAMES)
def test_a_translated_lesson_runs_and_shows_no_english(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(LANGUAGE, raising=False)
    monkeypatch.setenv("MLC_COURSE_BUDGET", os.environ.get("MLC_COURSE_BUDGET", "0.1"))
    notebook = read(path)
    # In the folder of its language, which is what chooses it.
    NotebookClient(
        notebook, timeout=CELL_TIMEOUT_S, resources={"metadata": {"path": path.parent}}
    ).execute()
    found = {
        cell.id: words
        for cell in notebook.cells
        if cell.cell_type == "code"
        and cell.id not in REPORTS.get(path.stem, ())
        and (words := english_words(shown(cell)))
    }
    assert found == {}

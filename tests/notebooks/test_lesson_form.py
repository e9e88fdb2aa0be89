"""Every lesson has the form that its readers rely on: length, predictions, blanks, terms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lesson_form import (
    IN_CLASS,
    JUDGES,
    MOST_MINUTES,
    SAID,
    WIDGET,
    blanks,
    calls,
    imports,
    is_collapsed,
    minutes,
    predictions,
    read,
    unexplained,
)
from nbformat import v4
from test_notebooks import ENTRY, FOLDER, LESSONS, LINK, SOLUTIONS, prose

RUNS = FOLDER.parent / "benchmarks" / "results" / "lessons.json"
ASSUMED_S = 45.0  # for a lesson that ``benchmarks/lessons.py`` has not timed on a quiet machine
MOST_IMPORTS = 5
# Words that a lesson may use before the course gives them another, narrower sense.
EVERYDAY = {
    "bank", "binding", "block", "broadcast", "cell", "complete", "counter-example", "cycle",
    "depend", "fetched", "hit", "hole", "intermediate", "level", "line", "lower", "nest", "norm",
    "order", "own", "page", "part", "pattern", "race", "set", "shared memory", "sound", "thread",
    "vector", "virtual machine", "way",
}  # fmt: skip


def code(path: Path) -> list[Any]:
    return [cell for cell in read(path).cells if cell.cell_type == "code"]


def sources(path: Path) -> list[str]:
    return [cell.source for cell in code(path)]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_takes_as_long_as_it_says_and_no_longer_than_a_class(path: Path) -> None:
    recorded = json.loads(RUNS.read_text(encoding="utf-8"))["run_s"] if RUNS.exists() else {}
    cells = read(path).cells
    found = minutes(cells, recorded.get(path.stem, ASSUMED_S))
    said = SAID.search(cells[0].source)
    assert said, "the first cell says: about N minutes"
    assert found <= MOST_MINUTES
    assert abs(int(said[1]) - found) <= 5, f"{found:.0f} minutes by words, code and machine time"


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_begins_with_few_imports(path: Path) -> None:
    assert imports(sources(path)[0]) <= MOST_IMPORTS


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_readers_predict_and_write_and_see_their_predictions_again(path: Path) -> None:
    said = sources(path)
    assert predictions(said) >= 2
    assert blanks(said) >= 2
    called = [name for source in said for name in calls(source)]
    assert called.count("review") == 1


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_prediction_has_an_answer_that_is_never_right(path: Path) -> None:
    missing = [
        cell.id
        for cell in code(path)
        if "predict" in calls(cell.source) and "naive" not in cell.metadata.get("mlc", {})
    ]
    assert not missing


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_the_line_that_judges_what_was_written_is_collapsed(path: Path) -> None:
    shown = [cell.id for cell in code(path) if JUDGES.match(cell.source) and not is_collapsed(cell)]
    assert not shown


@pytest.mark.parametrize("path", sorted(SOLUTIONS.rglob("*.ipynb")), ids=lambda path: path.stem)
def test_the_check_of_an_exercise_is_one_collapsed_line(path: Path) -> None:
    for cell in code(path):
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade") and not about.get("solution"):
            shown = cell.source.partition("### BEGIN HIDDEN TESTS")[0].strip()
            assert len(shown.splitlines()) == 1, f"{cell.id} shows more than a line"
            assert is_collapsed(cell), f"{cell.id} is not collapsed"


def test_a_term_is_explained_before_it_is_used_or_linked_to_the_glossary() -> None:
    texts = {int(path.stem[:2]): prose(path) for path in LESSONS}
    entries = [
        found
        for cell in read(FOLDER / "glossary.ipynb").cells[1:]
        for entry in cell.source.split("\n\n")[1:]
        if (found := ENTRY.fullmatch(entry))
    ]
    early = {
        f"{entry[1]} in lesson {lesson}"
        for entry in entries
        if entry[1] not in EVERYDAY
        for lesson in unexplained(
            entry[1], min(int(number) for number, _ in LINK.findall(entry[3])), texts
        )
    }
    assert not early


# --- what these tests refuse ----------------------------------------------------------------------


def test_words_lines_predictions_and_blanks_take_their_time() -> None:
    cells = [
        v4.new_markdown_cell("# A\n" + "word " * 318),
        v4.new_code_cell("x = 1\n" * 32),
        v4.new_code_cell("guess = predict('?', ['a', 'b'])"),
        v4.new_code_cell("blanks.order(order)"),
        v4.new_markdown_cell("## Optional: more\n" + "word " * 1000),
        v4.new_code_cell("y = 1\n" * 1000),
        v4.new_markdown_cell("### and more " + "word " * 1000),
        v4.new_markdown_cell("## Back"),
    ]
    lines = 34 / 16
    assert minutes(cells, run_s=60) == pytest.approx(
        322 / 160 + lines + 1 + 2 + WIDGET + IN_CLASS + 1
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The swizzle is here.", [2]),
        ("Swizzles, `swizzle`.", [2]),
        ("A [swizzle](glossary.ipynb) is here, and the swizzle again.", []),
        ("A [swizzle](05_other.ipynb) is here, and the swizzle again.", [2]),
        ("Only `swizzle` in code, and a swizzler.", []),
    ],
)
def test_a_term_that_comes_too_early_is_found(text: str, found: list[int]) -> None:
    assert list(unexplained("swizzle", 5, {2: text, 6: "The swizzle."})) == found


def test_imports_are_counted_and_judging_lines_known() -> None:
    assert imports("import a\nfrom b import c, d\n\ndef f():\n    import e") == 2
    assert JUDGES.match("blanks.order(order)") and JUDGES.match("done = lesson.blanks.order(order)")
    assert JUDGES.search("def f():\n    pass\n\n\nattempt(1, f)")
    assert not JUDGES.search("blanks.order") and not JUDGES.search("print(x)")

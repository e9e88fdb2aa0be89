"""Notebooks are kept as sources: without outputs, with cell ids that a reader can say aloud."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PARTS = ("notebooks", "solutions", "exercises")
WORDS = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
RANDOM = re.compile(r"[0-9a-f-]{8,}|[0-9-]+")  # as Jupyter makes them, or nbstripout renumbers them


def is_readable(cell_id: str) -> bool:
    """``predict-the-fastest`` is; ``3f9a01bc`` and ``7`` are not."""
    return bool(WORDS.fullmatch(cell_id)) and not RANDOM.fullmatch(cell_id)


def faults(notebook: dict[str, Any]) -> Iterator[str]:
    """What a notebook holds that does not belong in the repository, one sentence each."""
    seen = set()
    for number, cell in enumerate(notebook["cells"], start=1):
        cell_id = cell.get("id", "")
        if not is_readable(cell_id):
            yield f"cell {number}: the id {cell_id!r} is not words in small letters"
        if cell_id in seen:
            yield f"cell {number}: the id {cell_id!r} is used above"
        seen.add(cell_id)
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"cell {number} ({cell_id}): has outputs or a count; nbstripout --keep-id"
    if "widgets" in notebook["metadata"]:
        yield "the metadata holds the state of widgets; nbstripout --keep-id"


def test_notebooks_are_sources() -> None:
    paths = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.ipynb"))]
    assert {path.relative_to(ROOT).parts[0] for path in paths} == set(PARTS)
    found = [
        f"{path.name}, {fault}"
        for path in paths
        for fault in faults(json.loads(path.read_text(encoding="utf-8")))
    ]
    assert not found, "\n".join(found)


CELL: dict[str, Any] = {
    "id": "predict",
    "cell_type": "code",
    "outputs": [],
    "execution_count": None,
}
NOTEBOOK: dict[str, Any] = {"cells": [CELL], "metadata": {}}


def test_a_notebook_without_outputs_is_accepted() -> None:
    assert list(faults(NOTEBOOK)) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"outputs": [{"output_type": "stream"}]}, "has outputs"),
        ({"execution_count": 3}, "has outputs or a count"),
        ({"id": "3f9a01bc"}, "is not words"),
        ({"id": "0c4a3e1e-8f5e-4f63-9d0c-6a9f3d1b2c77"}, "is not words"),
        ({"id": "12"}, "is not words"),
        ({"id": "Predict It"}, "is not words"),
        ({"id": ""}, "is not words"),
    ],
)
def test_a_bad_cell_is_refused(change: dict[str, Any], complaint: str) -> None:
    (fault,) = faults({"cells": [CELL | change], "metadata": {}})
    assert complaint in fault


def test_an_id_used_twice_and_widget_state_are_refused() -> None:
    twice, widgets = faults({"cells": [CELL, deepcopy(CELL)], "metadata": {"widgets": {}}})
    assert "used above" in twice
    assert "state of widgets" in widgets


# The course's lessons by their final numbers; COMING have no notebook yet.
LESSONS = {int(path.name[:2]): path.stem for path in ROOT.glob("notebooks/[0-9]*.ipynb")}
COMING: set[int] = set()
MENTION = re.compile(r"\blessons? (\d+)((?:(?: to | and |, | or )\d+)*)\b(?!\.\d)", re.IGNORECASE)
NUMBERED = re.compile(r"\[lesson (\d+)\]\(([^)]+)\)", re.IGNORECASE)
TITLED = re.compile(r"\blesson (\d+), \[[^]]+\]\(([^)]+)\)", re.IGNORECASE)
EXERCISES = re.compile(r"\[exercises (\d+)[^]]*\]\([^)]*exercises/(\d+)_", re.IGNORECASE)
TEXTS = ("*.py", "*.js", "*.md", "*.ipynb", "Makefile")


def wrong_numbers(text: str) -> Iterator[str]:
    """Mentions of lessons that do not exist, and links whose number is not that of the lesson."""
    for mention in MENTION.finditer(text):
        for number in map(int, re.findall(r"\d+", mention[0])):
            if number not in LESSONS.keys() | COMING:
                yield f"{mention[0]!r}: there is no lesson {number}"
    for link in (*NUMBERED.finditer(text), *TITLED.finditer(text)):
        stem = Path(link[2].split("#")[0]).stem
        if LESSONS.get(int(link[1])) != stem:
            yield f"{link[0]!r}: lesson {link[1]} is {LESSONS.get(int(link[1]))}"
    for link in EXERCISES.finditer(text):
        if int(link[1]) != int(link[2]):
            yield f"{link[0]!r}: another number"


def test_every_lesson_that_is_named_has_its_final_number() -> None:
    places = (ROOT / name for name in (*PARTS, "mlc_course", "docs", "benchmarks"))
    found = [path for place in places for kind in TEXTS for path in place.rglob(kind)]
    found += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")]
    wrong = [
        f"{path.relative_to(ROOT)}: {said}"
        for path in found
        if path != Path(__file__)
        for said in wrong_numbers(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_lesson_says_its_number_and_lies_where_its_number_says() -> None:
    for number, stem in LESSONS.items():
        notebook = json.loads((ROOT / "notebooks" / f"{stem}.ipynb").read_text(encoding="utf-8"))
        assert "".join(notebook["cells"][0]["source"]).startswith(f"# {number}. ")
        exercises = ROOT / "solutions" / stem / f"{stem}.ipynb"
        cells = json.loads(exercises.read_text(encoding="utf-8"))["cells"]
        assert "".join(cells[0]["source"]).startswith(f"# Exercises {number}: ")
    folders = {path.name for path in (ROOT / "mlc_course" / "lessons").glob("lesson_*")}
    assert folders <= {f"lesson_{stem}" for stem in LESSONS.values()}


def test_the_start_page_numbers_lessons_in_order() -> None:
    page = json.loads((ROOT / "notebooks" / "index.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in page["cells"])
    rows = re.findall(r"^\| (\d+) \| (?:\[[^]]+\]\((\d+)_)?", text, re.MULTILINE)
    numbers = [int(number) for number, _ in rows]
    assert numbers == sorted(numbers) and set(numbers) >= LESSONS.keys()
    assert all(int(stem) == int(number) for number, stem in rows if stem)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("as in lesson 34", "no lesson 34"),
        ("Lessons 3 to 22", "no lesson 22"),
        ("[lesson 4](05_loop_reorder.ipynb)", "lesson 4 is 04_reuse"),
        ("[lesson 6](../notebooks/08_fusion.ipynb#top)", "lesson 6 is 06_tiling"),
        (
            "lesson 7, [Vectorization](../../notebooks/09_vectorization.ipynb)",
            "lesson 7 is 07_two_levels",
        ),
    ],
)
def test_a_wrong_number_is_found(text: str, fault: str) -> None:
    (said,) = wrong_numbers(text)
    assert fault in said

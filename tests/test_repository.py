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


def test_the_readme_lists_the_lessons_of_the_start_page() -> None:
    """With the same names and questions."""
    row = re.compile(r"^\| 0?(\d+) \| \[([^\]]+)\]\((?:notebooks/)?([^)]+)\) \| ([^|]+) \|", re.M)
    index = json.loads((ROOT / "notebooks" / "index.ipynb").read_text(encoding="utf-8"))
    start_page = "\n".join("".join(cell["source"]) for cell in index["cells"])
    lessons = row.findall(start_page)
    assert len(lessons) > 10
    assert row.findall((ROOT / "README.md").read_text(encoding="utf-8")) == lessons

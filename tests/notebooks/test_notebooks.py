"""Every notebook runs from top to bottom, and leads to its exercises."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent.parent
FOLDER, SOLUTIONS = ROOT / "notebooks", ROOT / "solutions"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if path.name != "index.ipynb"]
CELL_TIMEOUT_S = 120  # a cell takes seconds; a machine that runs tests is a busy one
LONGEST_CELL = 12


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.timeout(420)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path: Path) -> None:
    notebook = read(path)
    resources = {"metadata": {"path": str(FOLDER)}}
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


def test_the_start_page_links_every_lesson_and_every_exercise_and_nothing_else() -> None:
    text = "\n".join(cell.source for cell in read(FOLDER / "index.ipynb").cells)
    exercises = {
        f"../exercises/{path.parent.name}/{path.name}" for path in SOLUTIONS.rglob("*.ipynb")
    }
    wanted = {path.name for path in LESSONS} | exercises
    assert set(re.findall(r"\(([^)]+\.ipynb)\)", text)) == wanted


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_links_its_exercises(path: Path) -> None:
    text = "\n".join(cell.source for cell in read(path).cells)
    linked = re.findall(r"\(\.\./exercises/([^)]+\.ipynb)\)", text)
    assert linked == [f"{path.stem}/{path.name}"]
    assert (SOLUTIONS / linked[0]).is_file()

"""Every notebook runs from top to bottom, and its exercises know a right answer from a guess."""

from __future__ import annotations

import contextlib
import io
import random
import re
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from mlc_course.machine import describe
from mlc_course.tensor_program.roofs import Roofs
from mlc_course.tensor_program.tvm_names import Schedule
from mlc_course.tensor_program.workloads import matmul

FOLDER = Path(__file__).parent.parent.parent / "notebooks"
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


def test_the_start_page_links_every_lesson_and_nothing_else() -> None:
    text = "\n".join(cell.source for cell in read(FOLDER / "index.ipynb").cells)
    assert set(re.findall(r"\(([^)]+\.ipynb)\)", text)) == {path.name for path in LESSONS}


# --- exercises ------------------------------------------------------------------------------------


def say(name: str, cells: list[str], answers: Mapping[str, str]) -> str:
    """What these cells print, after each text in ``answers`` is replaced by a student's."""
    sources = {cell.id: cell.source for cell in read(FOLDER / name).cells}
    space, printed = dict(PRELUDE), io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells:
            source = sources[cell]
            for given, answer in answers.items():
                source = source.replace(given, answer)
            exec(compile(source, cell, "exec"), space)
    return printed.getvalue()


MEASURING = "00_measuring_honestly.ipynb"
PACKING = "09_packing_and_the_micro_kernel.ipynb"
PRELUDE: dict[str, Any] = {
    "random": random,
    "statistics": statistics,
    "describe": describe,
    "roofs": Roofs(1, gflops=100.0, gbytes_per_s=20.0),
    "Schedule": Schedule,
    "matmul": matmul,
    "both": {},
    "race": lambda *args, **options: {},
    "standings": lambda found: "",
}
FAIR = """def my_ratio(numpy, ours, clock):
    ratios = []
    for _ in range(100):
        start = clock()
        numpy()
        middle = clock()
        ours()
        ratios.append((middle - start) / (clock() - middle))
    return statistics.median(ratios)


def first_try("""
PACK_A = '''    block = sch.get_sblock("C")
    sch.cache_read(block, 0, "global")
    sch.transform_layout(block, ("read", 0), lambda m, k: (m // 4, k, m % 4))
    """'''
EXERCISES = [
    (
        MEASURING,
        ["exercise-five-benchmarks"],
        {
            '"A": ""': '"A": "cold first call"',
            '"B": ""': '"B": "unequal threads"',
            '"C": ""': '"C": "best against mean"',
            '"D": ""': '"D": "different moments"',
            '"E": ""': '"E": "unchecked result"',
        },
    ),
    (
        MEASURING,
        ["exercise-simulated-machine", "exercise-my-ratio", "exercise-my-ratio-check"],
        {"def my_ratio(": FAIR},
    ),
    (
        MEASURING,
        ["exercise-floor"],
        {"return 0.0": "return max(flops / gflops, moved / gbytes_per_s) / 1e9"},
    ),
    (
        MEASURING,
        ["exercise-counter-example"],
        {
            "numpy_s = [1.0, 1.0, 1.0]": "numpy_s = [1, 2, 3]",
            "ours_s = [1.0, 1.0, 1.0]": "ours_s = [0.9, 2.5, 2.9]",
        },
    ),
    (
        PACKING,
        ["see-loads", "exercise-another-machine"],
        {"my_rows, my_columns = 1, 8": "my_rows, my_columns = 4, 16"},
    ),
    (PACKING, ["exercise-pack-a"], {'    """Two calls': PACK_A}),
    (
        PACKING,
        ["exercise-bug-hunt", "exercise-bug-hunt-answer"],
        {"my_shape = (2048, 64)": "my_shape = (2, 128)"},
    ),
    (
        PACKING,
        ["see-cache-sets", "exercise-counter-example"],
        {"my_columns = 1088": "my_columns = 3072"},
    ),
]


@pytest.mark.parametrize(("name", "cells", "answers"), EXERCISES, ids=lambda value: str(value)[:40])
def test_an_exercise_says_not_yet_and_then_right(
    name: str, cells: list[str], answers: dict[str, str]
) -> None:
    before = say(name, cells, {})
    assert "not yet" in before
    assert "right" not in before
    after = say(name, cells, answers)
    assert "right" in after
    assert "not yet" not in after


def test_every_exercise_is_tried() -> None:
    tried = {cell for _, cells, _ in EXERCISES for cell in cells}
    for path in LESSONS:
        for cell in read(path).cells:
            if cell.cell_type == "code" and cell.id.startswith("exercise-"):
                assert cell.id in tried, cell.id

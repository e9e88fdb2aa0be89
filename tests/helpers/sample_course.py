"""A course of one small assignment, ``01_sums``: two answers, worth 3 and 2 points."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NAME = "01_sums"
SOLUTION = f"solutions/{NAME}/{NAME}.ipynb"
EXERCISE = f"exercises/{NAME}/{NAME}.ipynb"

Notebook = dict[str, Any]


def make_course(folder: Path) -> Path:
    """Its solution and the settings, in a new folder."""
    (folder / SOLUTION).parent.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name(f"{NAME}.ipynb"), folder / SOLUTION)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    return folder


def edit(notebook: Path, change: Callable[[Notebook], object]) -> None:
    found = json.loads(notebook.read_text(encoding="utf-8"))
    change(found)
    notebook.write_text(json.dumps(found), encoding="utf-8")


def cell(notebook: Notebook, cell_id: str) -> dict[str, Any]:
    return next(each for each in notebook["cells"] if each["id"] == cell_id)


def solve(notebook: Notebook, total: str = "numbers.sum()", twice: str = "2 * number") -> None:
    """Answer both questions with these expressions."""
    cell(notebook, "total")["source"] = f"def total(numbers):\n    return {total}"
    cell(notebook, "twice")["source"] = f"def twice(number):\n    return {twice}"


def hand_in(course: Path, student: str, **answers: str) -> Path:
    """Put a solved exercise where nbgrader looks for it."""
    path = course / ".grading" / "submitted" / student / NAME / f"{NAME}.ipynb"
    path.parent.mkdir(parents=True)
    shutil.copy(course / EXERCISE, path)
    edit(path, lambda notebook: solve(notebook, **answers))
    return path


def nbgrader(where: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The real command, in a process of its own, with this Python's programs on its path."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [sys.executable, "-m", "nbgrader", *words],
        cwd=where,
        env={**os.environ, "PATH": path, **variables},
        capture_output=True,
        text=True,
    )

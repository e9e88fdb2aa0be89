"""Pages that nbconvert makes of a notebook show each widget in its static form."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from nbformat import v4, write

CELL = """from mlc_course.lessons.kit import predict
predict("How fast?", ["rows", "columns"])"""


@pytest.mark.notebook
@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "markdown"])
def test_an_exported_page_shows_a_widget(tmp_path: Path, form: str) -> None:
    write(v4.new_notebook(cells=[v4.new_code_cell(CELL, id="ask")]), tmp_path / "page.ipynb")
    words = [sys.executable, "-m", "nbconvert", "--execute", "--to", form, "page.ipynb"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (made,) = set(tmp_path.glob("page.*")) - {tmp_path / "page.ipynb"}
    assert "<li>columns</li>" in made.read_text(encoding="utf-8")

"""A cheat that imports what is gone fails at once, and proves nothing about the grader."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parents[2]
IMPORT = re.compile(r"^from (mlc_course[\w.]*) import ([\w, ]+)", re.MULTILINE)


def gone(text: str) -> Iterator[str]:
    """The modules and names of the course that a text imports and that do not exist."""
    for module, names in IMPORT.findall(text):
        for name in (each.split()[0] for each in names.split(",")):
            try:
                if not hasattr(importlib.import_module(module), name):
                    importlib.import_module(f"{module}.{name}")
            except ModuleNotFoundError:
                yield f"{module}.{name}"


def test_what_the_corpora_import_is_there() -> None:
    texts = [path.read_text() for name in ("cheats", "honest") for path in (TESTS / name).glob("*")
             if path.suffix == ".py"]  # fmt: skip
    assert sum(len(IMPORT.findall(text)) for text in texts) > 5
    assert not [each for text in texts for each in gone(text)]


def test_what_is_gone_is_found() -> None:
    text = (
        "x = 1\nfrom mlc_course.grading import answers as a, process\nfrom mlc_course.gone import b"
    )
    assert list(gone(text)) == ["mlc_course.grading.answers", "mlc_course.gone.b"]

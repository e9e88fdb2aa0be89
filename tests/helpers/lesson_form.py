"""The form of a lesson: how long it takes, what the reader writes, and which terms it relies on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

MOST_MINUTES = 50
WORDS_A_MINUTE, LINES_A_MINUTE = 160, 16
PREDICTION, BLANK, WIDGET, IN_CLASS = 1, 2, 3, 8  # minutes
SAID = re.compile(r"about (\d+) minutes")
# the line that judges what was written
JUDGES = re.compile(r"^(?:\w+ = )?(?:(?:lesson\.)?blanks\.\w+|attempt)\(.*\)$", re.MULTILINE)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


def required(cells: list[Any]) -> Iterator[Any]:
    """Yield the cells that are not below a heading with the word "Optional"."""
    depth = 0  # of the heading of an optional part; 0 outside one
    for cell in cells:
        heading = re.match(r"(#+) (.*)", cell.source) if cell.cell_type == "markdown" else None
        if heading and (not depth or len(heading[1]) <= depth):
            depth = len(heading[1]) if "optional" in heading[2].casefold() else 0
        if not depth:
            yield cell


def minutes(cells: list[Any], run_s: float) -> float:
    """Minutes that a lesson takes with one exercise in class; ``run_s`` is what its cells run."""
    needed = list(required(cells))
    code = [cell.source for cell in needed if cell.cell_type == "code"]
    words = sum(len(cell.source.split()) for cell in needed if cell.cell_type == "markdown")
    lines = sum(len(source.splitlines()) for source in code)
    parts = words / WORDS_A_MINUTE, lines / LINES_A_MINUTE, WIDGET, IN_CLASS, run_s / 60
    return sum(parts) + PREDICTION * predictions(code) + BLANK * blanks(code)


def predictions(code: list[str]) -> int:
    return sum(1 for source in code for call in calls(source) if call == "predict")


def blanks(code: list[str]) -> int:
    """The places where the reader writes a line or more."""
    return sum(bool(JUDGES.search(source)) for source in code)


def calls(source: str) -> Iterator[str]:
    """Yield the names of the functions that some code calls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def imports(source: str) -> int:
    return sum(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(source).body)


def is_collapsed(cell: Any) -> bool:
    return bool(cell.metadata.get("jupyter", {}).get("source_hidden"))


def unexplained(term: str, first: int, prose: Mapping[int, str]) -> Iterator[int]:
    """Yield the lessons before the ``first`` that explains a term, whose first use has no link."""
    word = rf"(?<![-\w]){re.escape(term)}s?\b"
    use = re.compile(rf"`[^`]*`|(?P<linked>\[[^\]]*\]\([^)]*\))|(?P<bare>{word})", re.IGNORECASE)
    for lesson, text in prose.items():
        if lesson < first:
            for found in use.finditer(text):
                if found["bare"]:
                    yield lesson
                    break
                if found["linked"] and re.search(rf"{word}[^\]]*\]\(glossary", found[0], re.I):
                    break

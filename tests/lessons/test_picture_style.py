"""Pictures of all lessons have one style: a colour means the same everywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

LESSONS = Path(__file__).parent.parent.parent / "mlc_course" / "lessons"
MODULES = sorted(LESSONS.rglob("*.py"))


def other_uses(source: str, name: str, meaning: str) -> Iterator[str]:
    """Functions that draw in the colour of a name, and do not speak of what it stands for."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            uses = any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(node))
            said = (ast.get_source_segment(source, node) or "").replace(name, "").casefold()
            if uses and meaning not in said:
                yield node.name


def test_the_colour_of_numpy_is_for_numpy() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in MODULES}
    found = {
        path.relative_to(LESSONS): other
        for path, source in sources.items()
        if "NUMPY" in source and (other := list(other_uses(source, "NUMPY", "numpy")))
    }
    assert not found


def test_another_use_of_a_colour_is_found() -> None:
    source = "def a():\n    line(1, NUMPY)\n\n\ndef b():\n    line(1, 'NumPy', NUMPY)\n"
    assert list(other_uses(source, "NUMPY", "numpy")) == ["a"]

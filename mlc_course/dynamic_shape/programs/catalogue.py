"""The programs by name, read from text files."""

from __future__ import annotations

from pathlib import Path

from mlc_course.dynamic_shape.ir import Module, parse
from mlc_course.errors import check_known

FOLDER = Path(__file__).parent / "modules"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.shapes")))


def program(name: str) -> Module:
    """Return a program by its name, one of ``NAMES``; raises ``UsageError`` for any other."""
    check_known("no program", name, NAMES)
    return parse((FOLDER / f"{name}.shapes").read_text(encoding="utf-8"))

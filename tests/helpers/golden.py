"""Golden files: generated text beside the text that was read and found good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Golden = Callable[[Path, str], None]


def golden_check(update: bool) -> Golden:
    """Return a check that a text is that of a file, or writes it with ``--update-golden``."""

    def check(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"differs from {path.name}"

    return check

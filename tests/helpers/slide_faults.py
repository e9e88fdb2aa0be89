"""Find slides that are cut off or scroll, and text that cannot be read from the back of a hall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SMALLEST_PX = 24  # on a wall of 1080 lines
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


def slide_faults(page: Any) -> list[str]:
    """Return what is wrong with the slides of an open deck, in words."""
    found: list[str] = page.evaluate(SCRIPT, SMALLEST_PX)
    return found

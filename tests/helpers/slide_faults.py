"""Find slides that are cut off or scroll, and text that cannot be read: in a hall, or on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

SMALLEST_PX = 24  # on a wall of 1080 lines
LEAST_CONTRAST = 7  # to 1, in a hall
HERE = Path(__file__).parent


def script(name: str) -> str:
    """Return the text of a script that runs in the page."""
    return (HERE / name).read_text(encoding="utf-8")


def slide_faults(page: Any) -> list[str]:
    """Return what is wrong with the slides of an open deck, in words."""
    found: list[str] = page.evaluate(script("slide_faults.js"), SMALLEST_PX)
    return found


def weak_contrasts(page: Any, least: float = LEAST_CONTRAST) -> list[str]:
    """Return the words of a deck or page that stand out less than ``least`` to 1."""
    found: list[str] = page.evaluate(script("contrast.js"), least)
    return found


def controls_without_effect(page: Any) -> list[str]:
    """Return nothing if a control of a widget on a slide moves it, and else what was tried."""
    found: list[str] = page.evaluate(script("slide_moves.js"))
    return found

"""Recordings of another machine, for machines that lack the instructions."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def recorded(name: str) -> Any:
    """Return what a file of the lesson's recordings holds."""
    place = files(__package__).joinpath("recordings", f"{name}.json")
    return json.loads(place.read_text("utf-8"))

"""What a search reports while it runs: one stream for progress bars, widgets, files and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.spec import Cell


@dataclass(frozen=True)
class Tried:
    """So many programs were computed on the tests, and so many values were new and kept."""

    goal: str
    instructions: int
    tried: int
    kept: int


@dataclass(frozen=True)
class Refuted:
    """A program agrees with the goal on all tests and differs on this input, which becomes a test."""

    goal: str
    program: str
    model: Mapping[str, int]
    wanted: int
    found: int


@dataclass(frozen=True)
class Undecided:
    """A program agrees with the goal on all tests; it is neither proved nor refuted, and not used."""

    goal: str
    program: str
    why: str


@dataclass(frozen=True)
class Found:
    """A program that is proved to compute a goal; ``weight`` counts instructions on registers."""

    cell: Cell
    program: CellProgram
    weight: int
    proof: str


@dataclass(frozen=True)
class Covered:
    """All programs of at most so many instructions were tried over these rows and constants."""

    goal: str
    instructions: int
    rows: int
    constants: int

    def __str__(self) -> str:
        return (
            f"every program of at most {self.instructions} instructions was tried over "
            f"{self.rows} rows and {self.constants} constants"
        )


Event: TypeAlias = "Tried | Refuted | Undecided | Found | Covered"

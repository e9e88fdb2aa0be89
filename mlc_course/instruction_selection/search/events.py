"""Events of a running search: one stream for progress bars, widgets, files and tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.spec import Cell
from mlc_course.units import plural


@dataclass(frozen=True)
class Tried:
    """So many programs were computed on the tests, and so many values were new and kept."""

    goal: str
    instructions: int
    tried: int
    kept: int


@dataclass(frozen=True)
class Refuted:
    """A program agrees with the goal on all tests and differs on this input: a new test.

    ``whole`` says that the goal is the whole cell and not a part of it; operands then have the
    names that they have there.
    """

    goal: str
    program: str
    model: Mapping[str, int]
    wanted: int
    found: int
    whole: bool = False


@dataclass(frozen=True)
class Undecided:
    """A program agrees with the goal on all tests, but is neither proved nor refuted: not used.

    ``whole`` is that of ``Refuted``.
    """

    goal: str
    program: str
    why: str
    whole: bool = False


@dataclass(frozen=True)
class Found:
    """A program that is proved to compute a goal; ``weight`` counts instructions on registers."""

    cell: Cell
    program: CellProgram
    weight: int
    proof: str


@dataclass(frozen=True)
class Covered:
    """The programs that were all tried: up to so many instructions, over rows and constants.

    A value that is used twice counts twice, also in what a program weighs. Where a program was
    found, only programs that weigh less were looked for (``lighter``); ``all_lighter`` says that
    those of more instructions weigh as much as the program, or more. ``reread`` is 0 where each
    instruction reads only values that were made as lanes of its width; otherwise values are reread
    as lanes of fewer bits. ``whole`` says that the goal is the whole cell and not a part of it.
    Where the goal adds to an accumulator, ``added_to``, programs compute what is added.
    """

    goal: str
    instructions: int
    rows: tuple[str, ...]
    constants: tuple[str, ...]
    lighter: bool = False
    reread: int = 0
    whole: bool = False
    added_to: str = ""
    all_lighter: bool = False

    def __str__(self) -> str:
        rows = plural(len(self.rows), "row")
        if not self.instructions:
            return f"not all programs of one instruction were tried over {rows}"
        lighter = "lighter " if self.lighter else ""
        count = plural(self.instructions, "instruction")
        at_most = "" if self.all_lighter else f" of at most {count}"
        reread = f", lanes reread below {self.reread} bits" if self.reread else ""
        constants = plural(len(self.constants), "constant")
        added = f" whose result is added to {self.added_to}" if self.added_to else ""
        return (
            f"every {lighter}program{at_most}{added} was tried over {rows} and {constants}{reread}"
        )


Event: TypeAlias = "Tried | Refuted | Undecided | Found | Covered"

"""A race: candidates for a specification, and what refutes each, a random test or only the proof.

A *candidate* is a program that agrees with the specification on the first four random tests. The
search keeps one program for each value that its own tests tell apart, so no two candidates are the
same. Random tests are numbered from 1, and every candidate meets the same ones.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from mlc_course.errors import check_known
from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.prove import Certificate, Proved
from mlc_course.instruction_selection.search import decoded
from mlc_course.instruction_selection.spec import CATALOGUE, Cell

RACED = (
    "mul_q15_sat",
    "gauss_121_u8",
    "avg_floor_u8",
    "requant_u8",
    "dot4_u8s8",
    "dot4_s8s8_full",
)  # specifications; ``survey`` says how far each one is searched
LEVEL = "avx2"
FIRST, MOST = 2, 20  # powers of two: the tests that every candidate passes, and all random tests
STOPS = tuple(2**k for k in range(FIRST, MOST + 1))  # numbers of tests at which to look
PROOF = len(STOPS)  # the place after all stops
RECORDING = "candidate_races.json"


@dataclass(frozen=True)
class Sample:
    """An input, by the names of the cell's variables, and the output that is wanted there."""

    inputs: Mapping[str, int]
    wanted: int


@dataclass(frozen=True)
class Candidate:
    """A program, and how it ends.

    ``fell`` is the number of the first random test that refutes it, or ``None``. ``at`` is that
    test, or the input by which the proof refutes it, with what the program gives in ``found``;
    where both are ``None`` the program is proved. ``proof`` says what the proof came to.
    ``equations`` are the program as the search records it.
    """

    program: str
    fell: int | None
    at: Sample | None
    found: int | None
    certificate: Certificate | None = field(compare=False)
    equations: tuple[Mapping[str, object], ...] = field(repr=False)

    @property
    def is_right(self) -> bool:
        return self.at is None

    @property
    def proof(self) -> str:
        """A sentence on why the program is right; empty where it is not."""
        return str(Proved(self.certificate)) if self.certificate else ""

    @property
    def instructions(self) -> int:
        return sum("row" in each for each in self.equations)

    def cell_program(self) -> CellProgram:
        """Return the program, to be run or proved."""
        return decoded(list(self.equations), level_of(LEVEL).rows)

    def stands(self, place: int) -> bool:
        """Return whether nothing has refuted it at a stop, or at ``PROOF``."""
        if place == PROOF:
            return self.is_right
        return self.fell is None or self.fell > STOPS[place]


@dataclass(frozen=True)
class Race:
    """All candidates for a specification, of which some are ``listed`` with their programs.

    ``tried`` counts the programs that the search computed. ``fell`` has for each candidate the
    number of the first random test that refutes it, or ``None``; ``proved`` counts those that are
    right. ``samples`` are the last random tests at each stop.
    """

    name: str
    tried: int
    fell: tuple[int | None, ...]
    proved: int
    listed: tuple[Candidate, ...]
    samples: tuple[Sample, ...]

    @cached_property
    def cell(self) -> Cell:
        return CATALOGUE[self.name].specification.cell

    @property
    def line(self) -> str:
        """The specification as a line."""
        return CATALOGUE[self.name].line

    @cached_property
    def inputs(self) -> int:
        """The number of all inputs."""
        lanes = (each.range for each in self.cell.operands for _ in range(each.lanes))
        return math.prod(hi - lo + 1 for lo, hi in lanes)

    @property
    def last_refuting(self) -> Sample:
        """The input that refutes a candidate last: by the proof, or by the latest random test."""
        wrong = [each for each in self.listed if each.at is not None]
        last = max(wrong, key=lambda each: math.inf if each.fell is None else each.fell)
        assert last.at is not None
        return last.at

    def standing(self, place: int) -> int:
        """Return how many candidates nothing has refuted at a stop, or at ``PROOF``."""
        if place == PROOF:
            return self.proved
        return sum(fell is None or fell > STOPS[place] for fell in self.fell)

    def to_json(self) -> dict[str, Any]:
        """Return the race as JSON can hold it."""
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Race:
        """Return the race that ``to_json`` wrote."""
        listed = [
            Candidate(
                each["program"],
                each["fell"],
                Sample(**each["at"]) if each["at"] else None,
                each["found"],
                Certificate.from_json(each["certificate"]) if each["certificate"] else None,
                tuple(each["equations"]),
            )
            for each in data["listed"]
        ]
        return Race(
            data["name"],
            data["tried"],
            tuple(data["fell"]),
            data["proved"],
            tuple(listed),
            tuple(Sample(**each) for each in data["samples"]),
        )


def race_for(name: str) -> Race:
    """Return the race for a specification as ``survey.record`` wrote it.

    Raises:
        UsageError: no such race is recorded.
    """
    check_known("no race is recorded for", name, RACED)
    return _recorded()[name]


@cache
def _recorded() -> Mapping[str, Race]:
    recordings = files("mlc_course.lessons.lesson_14_instruction_selection") / "recordings"
    races = json.loads((recordings / RECORDING).read_text("utf-8"))
    return {each["name"]: Race.from_json(each) for each in races}

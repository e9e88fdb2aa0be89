"""The search for a whole goal: directly where it is small, otherwise by its parts."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from mlc_course.instruction_selection.isa import (
    CellProgram,
    Instruction,
)
from mlc_course.instruction_selection.search.direct import (
    DirectSearch,
    Limits,
    Prover,
)
from mlc_course.instruction_selection.search.events import Event, Found
from mlc_course.instruction_selection.search.parts import (
    MOST_OPERANDS,
    Cut,
    cuts,
    tightened,
)
from mlc_course.instruction_selection.search.rewriting import (
    canonical,
    composed,
    renamed,
    sum_program,
    unit_of,
    weight_of,
)
from mlc_course.instruction_selection.spec import Cell

PARTS = Limits(
    instructions=3, kept=300_000, compared=6_000_000, improved=2_000_000, as_light=100_000
)
EASY = 4  # a program of so many instructions is not looked for in parts


@dataclass
class Solver:
    """Programs for cells over the rows of a level; what was solved once is remembered."""

    rows: Sequence[Instruction]
    prover: Prover
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    deadline: float = float("inf")

    def __post_init__(self) -> None:
        self._solved: dict[tuple[object, ...], CellProgram | None] = {}

    def solve(self, cell: Cell) -> Iterator[Event]:
        """Yield what happens; ``Found`` comes last, where a program was found and proved."""
        program = yield from self._solve(cell, self.limits)
        if program is not None:
            yield Found(cell, program, weight_of(program, unit_of(cell)), "")

    def _solve(self, cell: Cell, limits: Limits) -> Generator[Event, None, CellProgram | None]:
        standard, names = canonical(cell)
        key = (standard.goal, standard.operands, standard.result)
        if key not in self._solved:
            self._solved[key] = None  # a part of itself is no help
            self._solved[key] = yield from self._search(standard, limits)
        found = self._solved[key]
        return None if found is None else renamed(found, names)

    def _search(self, cell: Cell, limits: Limits) -> Generator[Event, None, CellProgram | None]:
        best: CellProgram | None = None
        if len(cell.operands) <= MOST_OPERANDS + 1 or cell.reduces:
            best = yield from self._direct(cell, limits)
        if cell.reduces or (best and len(best.instructions) <= EASY):
            return best
        for cut in cuts(replace(cell, goal=tightened(cell.goal))):
            if time.monotonic() > self.deadline:
                break
            made = yield from self._in_parts(cut, weight_of(best, 1) if best else None)
            if made is not None:
                best = made
                if limits is not PARTS:
                    yield Found(cell, made, weight_of(made, unit_of(cell)), "its parts are proved")
        return best

    def _in_parts(self, cut: Cut, bound: int | None) -> Generator[Event, None, CellProgram | None]:
        """Solve a cut, unless its programs together weigh ``bound`` or more."""
        whole = cut.rest
        if len(whole.operands) > MOST_OPERANDS + 1:
            rest = sum_program(whole, self.rows)
        else:
            rest = yield from self._solve(whole, PARTS)
        if rest is None:
            return None
        found: dict[str, CellProgram] = {}
        for at, part in enumerate(cut.parts):
            left = sum(each.result.bytes for each in cut.parts[at:])
            so_far = sum(weight_of(each, 1) for each in (rest, *found.values()))
            if bound is not None and so_far + left >= bound:
                return None
            program = yield from self._solve(part, PARTS)
            if program is None:
                return None
            found[part.name] = program
        made = composed(rest, found)
        return made if bound is None or weight_of(made, 1) < bound else None

    def _direct(self, cell: Cell, limits: Limits) -> Generator[Event, None, CellProgram | None]:
        best: Found | None = None
        turns = [(True, True), (True, False), (False, False)]
        if len(cell.operands) > MOST_OPERANDS and not cell.reduces:
            turns = turns[:1]
        elif cell.reduces or limits is PARTS:
            turns = turns[2:]
        for narrow, alike in turns:
            search = DirectSearch(
                cell,
                self.rows,
                self.prover,
                limits,
                self.seed,
                self.deadline,
                narrow,
                alike,
                best,
                whole=limits is not PARTS,
            )
            for event in search.run():
                if isinstance(event, Found):
                    best = event
                yield event
        return best.program if best else None

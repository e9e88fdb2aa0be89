"""The run of a race: a search collects candidates, then tests and the proof refute them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mlc_course.errors import check_known
from mlc_course.instruction_selection.integers import Formula, evaluate
from mlc_course.instruction_selection.isa import CellProgram, Equation, level_of
from mlc_course.instruction_selection.prove import Proved, Refuted, prove_cell
from mlc_course.instruction_selection.search import (
    Bank,
    Batch,
    DirectSearch,
    Plan,
    Rules,
    encoded,
    select_program,
)
from mlc_course.instruction_selection.spec import CATALOGUE, Cell
from mlc_course.lessons.lesson_14_instruction_selection.candidate_races import (
    FIRST,
    LEVEL,
    MOST,
    STOPS,
    Candidate,
    Race,
    Sample,
)

SEED = 1
OWN = 16  # random tests by which the search tells values apart, beside others at ends of ranges
LISTED = 10  # candidates that are shown with their programs
FEW = 2**12  # tests for all candidates, before those that stand meet the rest


@dataclass(frozen=True)
class Depth:
    """How far to search: instructions, an accumulator's addition not counted, and widths."""

    instructions: int
    narrow: bool  # lanes are no wider than those of the operands and the result


DEPTHS: Mapping[str, Depth] = {
    "mul_q15_sat": Depth(3, narrow=True),
    "gauss_121_u8": Depth(4, narrow=True),
    "avg_floor_u8": Depth(3, narrow=True),
    "requant_u8": Depth(3, narrow=True),
    "dot4_u8s8": Depth(3, narrow=False),
    "dot4_s8s8_full": Depth(4, narrow=False),
}


def record(path: Path) -> None:
    """Run all races and write them to a file, which takes a minute or two."""
    races = [run_race(name).to_json() for name in DEPTHS]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(races, indent=1) + "\n", encoding="utf-8")


def run_race(name: str) -> Race:
    """Return the race for a specification, which takes from a second to half a minute.

    Where the survey has no program that is right, the one that the whole search finds takes part.
    The result does not depend on the machine.

    Raises:
        UsageError: it is not known how far to search for that specification.
    """
    check_known("no race for", name, DEPTHS)
    cell = CATALOGUE[name].specification.cell
    drawn = _Drawn(cell)
    survey = Survey.over(cell, DEPTHS[name], drawn.tests[:OWN])
    found = list(survey.candidates())
    judged = [_judged(drawn, each) for each in found]
    tried = survey.tried
    if not any(each.is_right for each in judged):
        answer = select_program(cell, level_of(LEVEL), rules=Rules())
        tried += answer.tried
        if answer.program is not None:
            judged.append(_judged(drawn, answer.program))
    return Race(
        name,
        tried,
        tuple(each.fell for each in judged),
        sum(each.is_right for each in judged),
        tuple(most_telling(judged)),
        tuple(drawn.sample(stop) for stop in STOPS),
    )


class _Drawn:
    """The random tests of a race, with the outputs that are wanted."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.variables = [x for lanes in cell.inputs.values() for x in lanes]
        rng = np.random.default_rng(SEED)
        columns = [rng.integers(x.lo, x.hi, 2**MOST, endpoint=True) for x in self.variables]
        self.tests: npt.NDArray[np.int64] = np.stack(columns, 1).astype(np.int64)
        self.wanted = evaluate(cell.goal, self.columns(2**MOST))

    def columns(self, count: int) -> dict[Formula, npt.NDArray[np.int64]]:
        return dict(zip(self.variables, self.tests[:count].T, strict=True))

    def sample(self, number: int) -> Sample:
        """Return the test of that number, from 1."""
        row = self.tests[number - 1].tolist()
        inputs = {str(x): value for x, value in zip(self.variables, row, strict=True)}
        return Sample(inputs, int(self.wanted[number - 1]))


def _judged(drawn: _Drawn, program: CellProgram) -> Candidate:
    """Return a candidate with the first random test that refutes it, or with the proof."""
    cell = drawn.cell
    (lane,) = program.lanes(cell.inputs, cell.result)
    given = str(program), tuple(encoded(program))
    for count in (FEW, 2**MOST):
        found = evaluate(lane, drawn.columns(count))
        differ = np.flatnonzero(found != drawn.wanted[:count])
        if len(differ):
            number = int(differ[0])
            sample = drawn.sample(number + 1)
            return Candidate(given[0], number + 1, sample, int(found[number]), None, given[1])
    match prove_cell(cell, program):
        case Proved(certificate):
            timeless = replace(certificate, seconds=0.0)
            return Candidate(given[0], None, None, None, timeless, given[1])
        case Refuted(model, _, wanted, value):
            inputs = {str(x): model.get(str(x), max(x.lo, 0)) for x in drawn.variables}
            return Candidate(given[0], None, Sample(inputs, wanted), value, None, given[1])
        case unknown:
            raise AssertionError(f"{program}: {unknown}")


def most_telling(judged: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates to list: those that no test refutes, then others by their falls.

    Of candidates that fall by one test, the one of fewest instructions is listed; where there are
    too many, those that fall far apart.
    """

    def rank(each: Candidate) -> tuple[int, int, str]:
        return each.instructions, len(each.program), each.program

    standing = sorted((each for each in judged if each.fell is None), key=rank)[:LISTED]
    by_fall: dict[int, Candidate] = {}
    for each in sorted(judged, key=rank):
        if each.fell is not None:
            by_fall.setdefault(each.fell, each)
    chosen = [2.0**FIRST, 2.0**MOST]
    listed: list[Candidate] = []
    while by_fall and len(standing) + len(listed) < LISTED:
        fall = max(by_fall, key=lambda x: min(abs(math.log2(x / y)) for y in chosen))
        chosen.append(fall)
        listed.append(by_fall.pop(fall))
    return standing + sorted(listed, key=lambda each: -(each.fell or 0))


class Survey(DirectSearch):
    """The search, asked for all that agrees on the first tests and not for what is proved."""

    depth = Depth(0, narrow=True)
    tried = 0

    @staticmethod
    def over(cell: Cell, depth: Depth, tests: npt.NDArray[np.int64]) -> Survey:
        """Return a survey that tells values apart by these tests, and by eight at ends."""
        made = Survey(cell, level_of(LEVEL).rows, prove_cell, seed=SEED, narrow=depth.narrow)
        made.depth = depth
        at_ends = made.tests[:4], made.tests[8:12]  # as the search mixes them
        made.tests = np.concatenate([tests, *at_ends])
        return made

    def candidates(self) -> Iterator[CellProgram]:
        """Yield one program for each value that agrees, those of few instructions first."""
        bank = self._bank()
        seen: set[tuple[int, str | None]] = set()
        for count in range(1, self.depth.instructions + 1):
            last = count == self.depth.instructions
            plans = list(bank.plans_for(self.table, count))
            if self.cell.reduces and sum(plan.size for plan in plans) > self.limits.kept:
                plans = [plan for plan in plans if any(r.lanes > 1 for r in plan.instruction.reads)]
            self.tried += sum(plan.size for plan in plans)
            for plan in plans:
                if last and plan.shape.bytes != self.cell.result.bytes:
                    continue  # it is neither a candidate nor a part of one
                for batch in bank.batches(plan, OWN if last else None):
                    yield from self._agreeing(bank, plan, batch, seen)
                    if not last:
                        bank.keep(plan, batch)
            bank.seal(count)

    def _agreeing(
        self, bank: Bank, plan: Plan, batch: Batch, seen: set[tuple[int, str | None]]
    ) -> Iterator[CellProgram]:
        """Yield programs of a batch that agree with a goal on the first tests, and are new."""
        if plan.shape.bytes != self.cell.result.bytes:
            return
        for goal, accumulator in self._targets(2**FIRST):
            same = np.flatnonzero((batch.raw[:, : len(goal)] == goal).all(1))
            if not len(same):
                continue
            rows = batch.rows(same)
            marks = bank.fingerprints(bank.computed_together(plan, rows), plan.shape)
            for number, mark in enumerate(marks.tolist()):
                if (mark, accumulator) not in seen:
                    seen.add((mark, accumulator))
                    equations: list[Equation] = []
                    bank.applied(plan, [int(x[number]) for x in rows], equations)
                    yield self._hit(equations, accumulator).program

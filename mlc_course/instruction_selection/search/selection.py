"""From a cell to a program that may be used: recorded or searched for, and proved as a whole."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace

from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.isa import CellProgram, Level
from mlc_course.instruction_selection.prove import Certificate, Proved, Verdict, prove_cell
from mlc_course.instruction_selection.prove import Refuted as RefutedBy
from mlc_course.instruction_selection.search.direct import Limits
from mlc_course.instruction_selection.search.events import (
    Covered,
    Event,
    Found,
    Refuted,
    Tried,
    Undecided,
)
from mlc_course.instruction_selection.search.rewriting import (
    canonical,
    renamed,
    unit_of,
    weight_of,
)
from mlc_course.instruction_selection.search.rules import Rule, Rules
from mlc_course.instruction_selection.search.solver import Solver
from mlc_course.instruction_selection.spec import Cell
from mlc_course.units import plural

_LEAST_PROOF_S, _MOST_PROOF_S = 0.5, 10.0  # a program that was found late is proved all the same


@dataclass(frozen=True)
class Selection:
    """The outcome of a search for a cell.

    ``program`` is proved, or ``None`` where none was found in the time. ``weight`` counts its
    instructions on registers for as many outputs as one register of the narrowest operand holds.
    ``covered`` says what was tried completely; ``refuted`` and ``undecided`` are the candidates
    that agreed with all tests and were not used. ``out_of_time`` says that the time limit ended the
    search.
    """

    cell: Cell
    level: Level
    program: CellProgram | None
    certificate: Certificate | None
    weight: int
    tried: int
    covered: Covered | None
    refuted: tuple[Refuted, ...]
    undecided: tuple[Undecided, ...]
    seconds: float
    recorded: bool = False
    out_of_time: bool = False

    @property
    def coverage(self) -> str:
        """A sentence on what was tried, and on what comes next."""
        if self.recorded:
            return f"recorded: {self.tried:,} programs were tried when it was found"
        if self.covered is None:
            return f"{self.tried:,} programs were tried"
        if self.covered.all_lighter:
            return str(self.covered)
        next_one = plural(self.covered.instructions + 1, "instruction")
        return f"{self.covered}; next come those of {next_one}"


@dataclass
class Selecting:
    """A search for one cell: iterate for its events; ``result`` is what it came to so far.

    A search that is interrupted keeps what it has found until then.

    Raises:
        SizeError: the time limit is not above zero.
    """

    cell: Cell
    level: Level
    seconds: float = 20.0
    seed: int = 0
    rules: Rules | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.seconds <= 0:
            raise SizeError("the time limit of a search", expected="above 0 s", got=self.seconds)
        self._began = time.monotonic()
        self._best: tuple[CellProgram, Certificate] | None = None
        self._so_far: CellProgram | None = None  # proved by a part of the search, not yet here
        self._tried, self._recorded, self._out_of_time = 0, False, False
        self._seconds: float | None = None  # once it has ended
        self._covered: Covered | None = None
        self._refuted: list[Refuted] = []
        self._undecided: list[Undecided] = []

    @property
    def result(self) -> Selection:
        """The outcome so far; the program of an interrupted search is proved now."""
        if self._best is None and self._so_far is not None:
            verdict = prove_cell(self.cell, self._so_far)
            if isinstance(verdict, Proved):
                self._best = self._so_far, verdict.certificate
        program, certificate = self._best or (None, None)
        unit = unit_of(self.cell)
        return Selection(
            self.cell,
            self.level,
            program,
            certificate,
            0 if program is None else weight_of(program, unit),
            self._tried,
            self._covered,
            tuple(self._refuted),
            tuple(self._undecided),
            time.monotonic() - self._began if self._seconds is None else self._seconds,
            self._recorded,
            self._out_of_time,
        )

    def __iter__(self) -> Iterator[Event]:
        """Yield what happens; programs for the whole goal are proved before ``result`` has them."""
        try:
            if not (yield from self._replayed()):
                yield from self._searched()
        finally:
            self._seconds = time.monotonic() - self._began

    def _replayed(self) -> Generator[Event, None, bool]:
        standard, names = canonical(self.cell)
        rule = self.rules.find(standard, self.level) if self.rules else None
        if rule is None:
            return False
        try:
            program = renamed(rule.program, names)
            verdict = prove_cell(self.cell, program)
        except (KeyError, UsageError):
            return False  # no such program can be run
        if not isinstance(verdict, Proved):
            return False
        self._best, self._tried, self._recorded = (program, verdict.certificate), rule.tried, True
        yield self._found(program, verdict)
        return True

    def _searched(self) -> Iterator[Event]:
        solver = Solver(
            self.level.rows,
            self._verdict,
            self.limits,
            self.seed,
            self._began + self.seconds,
        )
        standard, names = canonical(self.cell)
        for event in solver.solve(self.cell):
            match event:
                case Tried():
                    self._tried += event.tried
                case Covered() if event.whole:
                    event = replace(event, added_to=names.get(event.added_to, ""))
                    if event.instructions or self._covered is None:
                        self._covered = event  # not the last turn, if the time ended before it
                case Refuted():
                    if event.whole:
                        model = {_named(name, names): x for name, x in event.model.items()}
                        event = replace(event, program=_named(event.program, names), model=model)
                    self._refuted.append(event)
                case Undecided():
                    if event.whole:
                        event = replace(event, program=_named(event.program, names))
                    self._undecided.append(event)
                case Found() if event.cell is self.cell:
                    yield from self._proved(event.program)
                    continue
                case Found() if event.cell == standard:
                    event = replace(event, cell=self.cell, program=renamed(event.program, names))
                    self._so_far = event.program
                case _:
                    pass
            yield event
        self._out_of_time = time.monotonic() > self._began + self.seconds
        if self._best and self.rules and not self._out_of_time:
            back = {old: new for new, old in names.items()}
            program, certificate = self._best
            rule = Rule(renamed(program, back), certificate, self._tried)
            self.rules.add(standard, self.level, rule)

    def _verdict(self, cell: Cell, program: CellProgram) -> Verdict:
        left = self._began + self.seconds - time.monotonic()
        return prove_cell(cell, program, seconds=min(max(left, _LEAST_PROOF_S), _MOST_PROOF_S))

    def _proved(self, program: CellProgram) -> Iterator[Event]:
        verdict = self._verdict(self.cell, program)
        if isinstance(verdict, Proved):
            self._best = program, verdict.certificate
            yield self._found(program, verdict)
        elif isinstance(verdict, RefutedBy):  # a part was proved that is wrong: this is a bug
            raise AssertionError(f"{program} was put together from proved parts: {verdict}")
        else:
            self._undecided.append(Undecided(self.cell.name, str(program), str(verdict), True))
            yield self._undecided[-1]

    def _found(self, program: CellProgram, verdict: Proved) -> Found:
        unit = unit_of(self.cell)
        return Found(self.cell, program, weight_of(program, unit), str(verdict))


def _named(text: str, names: Mapping[str, str]) -> str:
    """Return a text on operands x0, x1, ... with their own names."""
    return re.sub(r"\bx\d+\b", lambda found: names.get(found[0], found[0]), text)


def select_program(
    cell: Cell,
    level: Level,
    *,
    seconds: float = 20.0,
    seed: int = 0,
    rules: Rules | None = None,
    watch: Callable[[Event], None] = lambda event: None,
) -> Selection:
    """Return what a search for a cell comes to; ``watch`` is given each event.

    With ``rules``, a program recorded there takes no search, only the proof; what is found is
    recorded unless the time limit ended the search. The same seed gives the same program wherever
    the time is long enough.

    Raises:
        SizeError: the time limit is not above zero.
    """
    search = Selecting(cell, level, seconds, seed, rules)
    for event in search:
        watch(event)
    return search.result

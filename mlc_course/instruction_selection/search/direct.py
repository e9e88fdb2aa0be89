"""A search for one goal, from the smallest programs on: what agrees on tests is proved or refuted.

Values are computed on tests and told apart by them. A program that agrees with the goal on all
tests goes to the proof; an input that refutes it becomes a test, and the search begins again
(counter-example guided inductive synthesis). Goals besides the result are the result without an
accumulator, and two known values whose sum or difference is the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import numpy as np
import numpy.typing as npt

from mlc_course.instruction_selection.integers import Formula, IntType, evaluate, variables
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    program_of,
)
from mlc_course.instruction_selection.prove import Proved, Verdict
from mlc_course.instruction_selection.prove import Refuted as RefutedBy
from mlc_course.instruction_selection.search.bank import (
    TEST_STEP,
    Bank,
    Batch,
    Numbers,
    Place,
    Plan,
    Shape,
)
from mlc_course.instruction_selection.search.events import (
    Covered,
    Event,
    Found,
    Refuted,
    Tried,
    Undecided,
)
from mlc_course.instruction_selection.search.examples import (
    constants_for,
    first_tests,
    shifts_for,
    tests_around,
    variables_of,
)
from mlc_course.instruction_selection.search.relevance import (
    accumulates,
    alike,
    combining_row,
    computable,
    relevant,
)
from mlc_course.instruction_selection.search.rewriting import (
    absorbed,
    folded,
    unit_of,
    weight_of,
)
from mlc_course.instruction_selection.spec import Cell

# Programs of one number of instructions that are proved before more tests are asked for.
MOST_PROOFS = 8
# Pairs whose sum agrees with the goal that are looked at: few tests leave tens of thousands.
MOST_PAIRS = 1000
# Restarts for a lighter program than the one that was found.
MOST_RESTARTS = 8

Prover = Callable[[Cell, CellProgram], Verdict]


@dataclass(frozen=True)
class Limits:
    """Limits of a search, in counts and not seconds: it finds the same on any machine.

    A number of instructions of which more than ``kept`` programs would be kept is only compared
    with the goal; one with more than ``compared`` programs is not tried.
    """

    instructions: int = 6
    kept: int = 3_000_000
    compared: int = 100_000_000
    improved: int = 100_000_000  # programs to try, after one is found, for one of less weight
    as_light: int = 3_000_000  # ... and for one of the same weight that takes fewer cycles


@dataclass(frozen=True)
class Hit:
    """A program that agrees with the goal on all tests, with its weight and cycles."""

    weight: int
    cycles: float
    program: CellProgram

    @property
    def rank(self) -> tuple[int, float, int]:
        return self.weight, self.cycles, len(self.program.equations)


@dataclass
class DirectSearch:
    """The search for one cell; ``run`` yields what happens.

    Each ``Found`` is better than the one before: lighter, or as light in fewer cycles. ``Covered``
    comes last.
    """

    cell: Cell
    rows: Sequence[Instruction]
    prover: Prover
    limits: Limits = field(default_factory=Limits)
    seed: int = 0
    deadline: float = float("inf")  # of ``time.monotonic``
    narrow: bool = False  # lanes of the operands' and the result's widths only
    alike: bool = False  # only rows with no operator that the goal does not have
    known: Found | None = None  # a program already found: only those of less weight are wanted
    whole: bool = False  # the goal is a whole cell

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.tests = first_tests(self.cell, self.rng)
        self.blocked: set[CellProgram] = set()
        self.restarts = 0  # after a program was found

    # --- what there is to work with ---------------------------------------------------------------

    @cached_property
    def widths(self) -> list[int]:
        """The bits of the lanes that programs may have."""
        own = [each.type.bits for each in self.cell.operands] + [self.cell.result.bits]
        most = max(own) if self.narrow else max(max(own), 2 * min(own))
        return [bits for bits in (8, 16, 32, 64) if min(own) <= bits <= most]

    @cached_property
    def table(self) -> list[Instruction]:
        """The rows that can help, with the immediates to try."""
        found = []
        for row in self.rows:
            types = [read.type for read in row.reads] + [row.result]
            if any(t.bits not in self.widths for t in types) or not relevant(row, self.cell):
                continue
            if not row.has_immediate and row.kind != "interleave" and not computable(row):
                continue
            if self.alike and not alike(row, self.cell):
                continue
            if not row.has_immediate:
                found.append(row)
            else:
                bits = row.reads[0].type.bits
                most = min(bits, row.result.bits if row.kind == "narrow" else bits)
                found += [row.with_immediate(k) for k in shifts_for(self.cell.goal) if k < most]
        return found

    @cached_property
    def constants(self) -> dict[int, list[tuple[int, ...]]]:
        """Constants to try for each width of a lane, as repeating patterns."""
        found = constants_for(self.cell.goal, self.widths)
        if self.cell.reduces:
            found[self.cell.result.bits] = [(0,)]  # an accumulator that is empty
        return found

    @cached_property
    def accumulator(self) -> str | None:
        """The operand that all else is added to; one of another use is like other operands."""
        name = self.cell.accumulator
        if name is None:
            return None
        (own,) = self.cell.inputs[name]
        others, added, stack = list[Formula](), 0, [self.cell.goal]
        while stack:
            each = stack.pop()
            if each is own:
                added += 1
            elif each.op == "add" or (each.op == "wrap" and each.params[0] == self.cell.result):
                stack += each.operands
            else:
                others.append(each)
        return name if added == 1 and own not in variables(*others) else None

    def combining(self, sign: int) -> Instruction | None:
        """Return the instruction that adds (or subtracts) two lanes of the result's width."""
        return combining_row(self.rows, self.cell.result.bits, sign)

    # --- the search -------------------------------------------------------------------------------

    def run(self) -> Iterator[Event]:
        """Yield the events of the search."""
        while True:
            again = yield from self._sweep()
            if not again:
                return

    def _sweep(self) -> Generator[Event, None, bool]:
        """Try all programs on the present tests; return whether new ones ask for another turn."""
        bank = self._bank()
        best = self.known
        covered, complete = 0, True
        for count in range(self.limits.instructions + 1):
            plans = list(bank.plans_for(self.table, count))
            if best is not None:
                plans = self._worth_it(bank, plans, best)
            total = sum(plan.size for plan in plans)
            if total > self.limits.kept and self.cell.reduces:
                complete = False
                plans = [plan for plan in plans if _adds_lanes(bank, plan)]
                total = sum(plan.size for plan in plans)
            last = total > self.limits.kept
            if total > (self.limits.improved if best else self.limits.compared):
                break
            hits = [] if count else self._leaves(bank)
            for plan in plans:
                hits += self._hits_of(bank, plan, keep=not last)
                if time.monotonic() > self.deadline:
                    break
            late = time.monotonic() > self.deadline
            if count and not last and not late:
                bank.seal(count)
                pairs = list(islice(self._sums(bank, count, best), MOST_PAIRS))
                complete = complete and len(pairs) < MOST_PAIRS
                hits += pairs
            if count:
                yield Tried(self.cell.name, count, total, bank.kept)
            tests = len(self.tests)
            best, all_judged = yield from self._judged(hits, best)
            complete = complete and all_judged
            if late:
                break
            if len(self.tests) > tests:  # they tell values apart that were taken for one
                if best is None or self.restarts < MOST_RESTARTS:
                    self.restarts += best is not None
                    self.known = best
                    return True
                complete = False
            covered = count if complete else covered
            if last:
                break
        yield Covered(
            self.cell.name,
            covered,
            tuple(f"{row} {row.signature}" for row in self.table),
            tuple(
                f"{{{', '.join(map(str, values))}}} of {bits} bits"
                for bits, patterns in self.constants.items()
                for values in patterns
            ),
            best is not None,
            self.cell.result.bits if self.cell.reduces else 0,
            self.whole,
            self.accumulator or "",
            best is not None and covered >= max(1, best.weight - 1),  # one weighs 1 or more
        )
        return False

    def _judged(
        self, hits: Sequence[Hit], best: Found | None
    ) -> Generator[Event, None, tuple[Found | None, bool]]:
        """Prove hits in order of their rank, until none is better than the best.

        Return the best program, and whether no lighter one can be among the hits or hidden by one:
        another with the same values on all tests.
        """
        complete, proofs = True, 0
        for hit in sorted(hits, key=lambda each: each.rank):
            if best and hit.rank[:2] >= (best.weight, _cycles(best.program)):
                break
            if hit.program in self.blocked:
                complete = False
                continue
            if proofs == MOST_PROOFS:
                complete = complete and best is not None and hit.weight >= best.weight
                break
            proofs += 1
            verdict = self.prover(self.cell, hit.program)
            if isinstance(verdict, Proved):
                best = Found(self.cell, hit.program, hit.weight, str(verdict))
                yield best
            elif isinstance(verdict, RefutedBy):
                yield Refuted(
                    self.cell.name,
                    str(hit.program),
                    verdict.model,
                    verdict.wanted,
                    verdict.found,
                    self.whole,
                )
                around = tests_around(self.cell, verdict.model, self.rng)
                self.tests = np.concatenate([self.tests, around])
            else:
                complete = False
                self.blocked.add(hit.program)
                yield Undecided(self.cell.name, str(hit.program), str(verdict), self.whole)
        return best, complete

    def _worth_it(self, bank: Bank, plans: Sequence[Plan], best: Found) -> list[Plan]:
        """Return plans whose programs may be lighter than the best, or as light but faster."""
        weighed = [(plan, bank.least_weight(plan)) for plan in plans]
        as_light = [plan for plan, least in weighed if least <= best.weight]
        if sum(plan.size for plan in as_light) <= self.limits.as_light:
            return as_light
        return [plan for plan, least in weighed if least < best.weight]

    def _bank(self) -> Bank:
        bank = Bank(
            len(self.tests),
            reread_to=self.cell.result.bits if self.cell.reduces else None,
            unit=unit_of(self.cell),
        )
        at = 0
        for each in self.cell.operands:
            like = Equation(Input(each.name), (), each.type, each.lanes)
            if each.name != self.accumulator:
                bank.add_leaf(like.op, like, self.tests[:, at : at + each.lanes])
            at += each.lanes
        for size in self._cell_sizes():
            for bits, patterns in self.constants.items():
                of = IntType(signed=True, bits=bits)
                lanes = size // of.bytes
                for values in patterns:
                    if lanes and lanes % len(values) == 0:
                        row = np.array(values * (lanes // len(values)), dtype=np.int64)
                        like = Equation(Constant(values), (), of, lanes)
                        bank.add_leaf(like.op, like, np.tile(row, (len(self.tests), 1)))
        bank.seal(0)
        return bank

    def _cell_sizes(self) -> list[int]:
        """Bytes in one cell that values may have."""
        if self.cell.reduces:
            return sorted({each.bytes for each in self.cell.operands if each.lanes > 1})
        return [bits // 8 for bits in self.widths]

    def _goal_bytes(self, count: int) -> npt.NDArray[np.uint8]:
        inputs = dict(zip(variables_of(self.cell), self.tests[:count].T, strict=True))
        return self._as_bytes(np.broadcast_to(evaluate(self.cell.goal, inputs), (count,)))

    def _as_bytes(self, values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
        typed = np.ascontiguousarray(values.astype(self.cell.result.numpy))
        return typed.view(np.uint8).reshape(-1)

    def _targets(self, count: int) -> list[tuple[npt.NDArray[np.uint8], str | None]]:
        """The bytes to look for: those of the result, and of the result without an accumulator."""
        goal = self._goal_bytes(count)
        found: list[tuple[npt.NDArray[np.uint8], str | None]] = [(goal, None)]
        if self.accumulator and self.combining(+1):
            names = [x for each in self.cell.operands for x in [each.name] * each.lanes]
            column = self.tests[:count, names.index(self.accumulator)]
            kind = f"uint{self.cell.result.bits}"
            rest = goal.view(kind) - self._as_bytes(column).view(kind)
            found.append((rest.view(np.uint8), self.accumulator))
        return found

    def _leaves(self, bank: Bank) -> list[Hit]:
        """Return the operands and constants that are a goal: programs of no instruction."""
        shape = Shape(self.cell.result.bytes, self.cell.result.bits)
        if shape not in bank.groups:
            return []
        hits = []
        for goal, accumulator in self._targets(bank.tests):
            for row in np.flatnonzero((bank.groups[shape].raw == goal).all(1)):
                equations: list[Equation] = []
                bank.equations(Place(shape, int(row)), equations)
                hits.append(self._hit(equations, accumulator))
        return hits

    def _hits_of(self, bank: Bank, plan: Plan, *, keep: bool) -> list[Hit]:
        """Compare all candidates of a plan with the goals, and keep them if asked to."""
        fits = plan.shape.bytes == self.cell.result.bytes
        if not keep and not fits:
            return []
        hits = []
        targets = self._targets(bank.tests) if fits else []
        for batch in bank.batches(plan, None if keep else TEST_STEP):
            words = batch.raw.view(np.uint64)
            for target, accumulator in targets:
                wanted = target[: batch.raw.shape[1]].view(np.uint64)
                same = np.flatnonzero(words[:, 0] == wanted[0])
                same = same[(words[same] == wanted).all(1)]
                hits += self._confirmed(bank, plan, batch, same, target, accumulator)
            if keep:
                bank.keep(plan, batch)
            if time.monotonic() > self.deadline:
                break
        return hits

    def _confirmed(
        self,
        bank: Bank,
        plan: Plan,
        batch: Batch,
        same: Numbers,
        target: npt.NDArray[np.uint8],
        accumulator: str | None,
    ) -> list[Hit]:
        if not len(same):
            return []
        rows = batch.rows(same)
        if batch.raw.shape[1] < len(target):
            agree = np.flatnonzero((bank.computed_together(plan, rows) == target).all(1))
            rows = [each[agree] for each in rows]
        lightest = np.argsort(bank.weights(plan, rows), kind="stable")[: MOST_PROOFS + 1]
        hits = []
        for number in lightest:
            equations: list[Equation] = []
            bank.applied(plan, [int(each[number]) for each in rows], equations)
            hits.append(self._hit(equations, accumulator))
        return hits

    def _hit(self, equations: list[Equation], accumulator: str | None) -> Hit:
        if accumulator is not None:
            adder = self.combining(+1)
            assert adder is not None
            operand = next(x for x in self.cell.operands if x.name == accumulator)
            equations.append(Equation(Input(accumulator), (), operand.type, operand.lanes))
            last = len(equations) - 1
            equations.append(Equation(adder, (last, last - 1), adder.result, 1))
            absorbed(equations, last)
        program = folded(program_of(equations))
        return Hit(weight_of(program, unit_of(self.cell)), _cycles(program), program)

    def _sums(self, bank: Bank, count: int, best: Found | None) -> Iterator[Hit]:
        """Yield pairs of kept values whose sum or difference is a goal, one of them new.

        Those that weigh more than the best program are left out.
        """
        most = best.weight if best else None
        result = self.cell.result
        ways = [(sign, row) for sign in (1, -1) if (row := self.combining(sign))]
        for shape, group in bank.groups.items():
            if shape.bytes != result.bytes or shape.bits != result.bits:
                continue
            first, end = group.levels.get(count, (0, 0))
            kind = f"uint{result.bits}"
            for target, accumulator in self._targets(bank.tests):
                goal = target.view(kind)
                for start in range(first, end, 1 << 16):
                    some = group.raw[start : min(end, start + (1 << 16))].view(kind)
                    for sign, row in ways:
                        # x + y = goal; y - x = goal; x - y = goal
                        needs = (
                            [(goal - some, False)]
                            if sign > 0
                            else [
                                (goal + some, True),
                                (some - goal, False),
                            ]
                        )
                        for need, other_first in needs:
                            yield from self._pairs(
                                bank, row, shape, start, need, other_first, accumulator, most
                            )

    def _pairs(
        self,
        bank: Bank,
        row: Instruction,
        shape: Shape,
        start: int,
        need: npt.NDArray[np.unsignedinteger],
        other_first: bool,
        accumulator: str | None,
        most: int | None,
    ) -> Iterator[Hit]:
        raw = np.ascontiguousarray(need).view(np.uint8)
        here_weights = bank.groups[shape].weights[start:]
        for number, place in bank.places_of(bank.fingerprints(raw, shape)):
            weight = here_weights[number] + bank.groups[place.shape].weights[place.row]
            if most is not None and weight >= most:
                continue
            same = bank.groups[place.shape].raw[place.row]
            if len(same) != raw.shape[1] or not (same == raw[number]).all():
                continue
            equations: list[Equation] = []
            here = bank.equations(Place(shape, start + number), equations)
            other = bank.equations(place, equations)
            operands = (other, here) if other_first else (here, other)
            equations.append(Equation(row, operands, row.result, 1))
            yield self._hit(equations, accumulator)


def _cycles(program: CellProgram) -> float:
    return sum(x.cycles for x in program.instructions)


def _adds_lanes(bank: Bank, plan: Plan) -> bool:
    """Return whether an instruction adds lanes up, onto a constant if onto anything."""
    row = plan.instruction
    onto = plan.spans[0]
    return any(read.lanes > 1 for read in row.reads) and (
        not accumulates(row) or onto.last <= bank.groups[onto.shape].levels.get(0, (0, 0))[1]
    )

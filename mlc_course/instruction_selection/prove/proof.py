"""The proof: methods in order, from the cheapest to all inputs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlc_course.deadline import OutOfTime, until
from mlc_course.errors import SizeError, UsageError
from mlc_course.instruction_selection.integers import Formula, variables
from mlc_course.instruction_selection.isa import CellProgram
from mlc_course.instruction_selection.prove.cases import AllCases, by_cases
from mlc_course.instruction_selection.prove.classes import lane_classes
from mlc_course.instruction_selection.prove.differences import (
    Difference,
    Rows,
    Zero,
    decide,
    difference,
)
from mlc_course.instruction_selection.prove.exact import exact_value
from mlc_course.instruction_selection.prove.inputs import (
    Row,
    count_inputs,
    first_difference,
    first_exact_difference,
    named,
    sampled_difference,
)
from mlc_course.instruction_selection.prove.normal_form import NormalForm, Value
from mlc_course.instruction_selection.prove.polynomials import built
from mlc_course.instruction_selection.prove.reasons import of_normal_form, of_parts, of_sums
from mlc_course.instruction_selection.prove.shared import without_shared
from mlc_course.instruction_selection.prove.sums import Sum, summed
from mlc_course.instruction_selection.prove.tables import tabulated
from mlc_course.instruction_selection.prove.verdict import (
    METHODS,
    Certificate,
    Method,
    Proved,
    Refuted,
    Unknown,
    Verdict,
)
from mlc_course.instruction_selection.spec import Cell

FEW, MANY = 1 << 16, 1 << 24  # inputs that are always computed, and that are at most
SAMPLES = (1 << 11, 1 << 20)  # inputs that are tried before and after the methods of proof


@dataclass(frozen=True)
class _Equal:
    """One class of lanes is equal."""

    method: Method
    inputs: int = 0
    reason: str | None = None


def prove_cell(cell: Cell, program: CellProgram, *, seconds: float = 10.0) -> Verdict:
    """Return whether a program computes a cell's goal for all inputs.

    Raises:
        UsageError: the goal or the program reads other operands than the cell has, the program's
            types and lanes do not fit each other, or its result is not of the bytes of one output.
    """
    known = {x for each in cell.operands for x in each.variables()}
    for x in variables(cell.goal):
        if x not in known:
            raise UsageError(
                f"the goal of {cell.name} reads what no operand has",
                expected=", ".join(
                    f"{each} from {each.lo} to {each.hi}" for each in sorted(known, key=str)
                ),
                got=f"{x} from {x.lo} to {x.hi}",
            )
    program.check({each.name: (each.type, each.lanes) for each in cell.operands})
    if program.result.bytes != cell.result.bytes:
        raise UsageError(
            f"the program has another result than {cell.name}",
            expected=f"{cell.result.bytes} bytes, as {cell.result}",
            got=f"{program.result.lanes} lanes of {program.result.type}",
        )
    return prove_equal([cell.goal], program.lanes(cell.inputs, cell.result), seconds=seconds)


def prove_equal(
    wanted: Sequence[Formula], found: Sequence[Formula], *, seconds: float = 10.0
) -> Verdict:
    """Return whether lanes are equal, one by one, for all values of their variables.

    Variables are told apart by their names. After ``seconds`` the verdict is ``Unknown``, and so it
    is where no method decides.

    Raises:
        UsageError: the numbers of lanes differ, or one name has two ranges.
    """
    start = time.perf_counter()
    asked = lane_classes(wanted, found)
    proved: list[_Equal] = []
    unknown: str | None = None
    try:
        with until(time.time() + seconds):
            for each in asked:
                match _decide(each.wanted, each.found):
                    case _Equal() as equal:
                        proved.append(equal)
                    case None:
                        unknown = unknown or _undecided(each.wanted, each.found)
                    case row:
                        return _refuted(each.wanted, each.found, each.lane, row)
    except OutOfTime:
        spent = min(seconds, time.perf_counter() - start)  # an earlier deadline may have ended it
        unknown = unknown or f"no method was done in {spent:.2g} s"
    if unknown is not None:
        return Unknown(unknown)
    method = max((each.method for each in proved), key=METHODS.index, default=METHODS[0])
    return Proved(
        Certificate(
            method,
            lanes=len(wanted),
            classes=len(asked),
            inputs=sum(each.inputs for each in proved),
            seconds=time.perf_counter() - start,
            reason=_reason(proved, method),
        )
    )


def _reason(proved: Sequence[_Equal], method: Method) -> str | None:
    """Return a reason of that method, and that it is of one kind of lanes where others differ."""
    reason = next((each.reason for each in proved if each.method == method), None)
    if reason is None or all(each.reason == reason for each in proved):
        return reason
    return f"for one kind, {reason}"


def _refuted(wanted: Formula, found: Formula, lane: int, row: Row) -> Refuted:
    """Return the refutation by an input, which is computed again with exact integers."""
    values = exact_value(wanted, row), exact_value(found, row)
    assert values[0] != values[1], "an input that was to refute does not"
    return Refuted(named(row), lane, *values)


def _undecided(wanted: Formula, found: Formula) -> str:
    inputs = variables(wanted, found)
    ranges = f"{count_inputs(inputs):,} inputs" if len(inputs) < 4 else f"{len(inputs)} variables"
    return f"no method decides a question of {ranges}, and those tried show no difference"


def _decide(wanted: Formula, found: Formula) -> _Equal | Row | None:
    """Return how two formulas are equal, or an input on which they differ, or ``None``."""
    if wanted is found:
        return _Equal("same formula")
    inputs = variables(wanted, found)
    form = NormalForm()
    values = form.values([wanted, found])
    asked = difference(form, *values)
    if asked.nothing:
        return _Equal("normal form", reason=of_normal_form(form, values[0], wanted, found))
    if (row := sampled_difference(wanted, found, inputs, SAMPLES[0], seed=1)) is not None:
        return row
    if count_inputs(inputs) <= FEW:
        return _computed(wanted, found, inputs)
    proved = _by_sums(wanted, found, FEW)
    if proved is None and (parts := _by_parts(form, asked, wanted, found, FEW)) is not None:
        return parts
    if proved is None:
        proved = _by_tables(wanted, found) or _by_shared(form, values, wanted, found)
    if proved is None:
        proved = _by_sums(wanted, found, MANY >> 2)
    if proved is not None:
        return proved
    if count_inputs(inputs) <= MANY:
        computed = _computed(wanted, found, inputs)
        if computed is not None:
            return computed
    if (row := sampled_difference(wanted, found, inputs, SAMPLES[1], seed=2)) is not None:
        return row
    match by_cases(wanted, found):
        case AllCases() as done:
            return _Equal("case by case", done.inputs, f"{done.cases:,} cases")
        case None:
            return _by_parts(form, asked, wanted, found, MANY) or _by_sums(wanted, found, MANY)
        case row:
            return row


def _computed(wanted: Formula, found: Formula, inputs: Sequence[Formula]) -> _Equal | Row | None:
    try:
        row = first_difference(wanted, found, inputs)
    except SizeError:
        if count_inputs(inputs) > FEW:
            return None
        row = first_exact_difference(wanted, found, inputs)
    return _Equal("all inputs", count_inputs(inputs)) if row is None else row


def _by_sums(wanted: Formula, found: Formula, most: int) -> _Equal | None:
    """Return a proof over new variables for sums; it says nothing where they differ."""
    for form, sums, values in _with_sums(wanted, found):
        asked = difference(form, *values)
        done = _zero(form, asked, most)
        if done is not None:
            return _Equal("each sum one variable", done.inputs, of_sums(sums, asked))
    return None


def _with_sums(
    wanted: Formula, found: Formula
) -> Iterator[tuple[NormalForm, dict[Formula, Sum], list[Value]]]:
    """Yield normal forms in which sums are variables: those of inputs, then all."""
    pair, sums = summed([wanted, found])
    if sums:
        form = NormalForm()
        yield form, sums, form.values(pair)
    form = NormalForm(cut=True, taken=frozenset(map(str, variables(*pair))))
    values = form.values(pair)
    if form.sums:
        yield form, sums | form.sums, values


def _by_shared(
    form: NormalForm, values: Sequence[Value], wanted: Formula, found: Formula
) -> _Equal | None:
    """Return a proof over new variables for what both sides compute, as written or normal."""
    normal = [built(each.terms) for each in values]
    for pair in ([wanted, found], normal):
        for parts in without_shared(*pair):
            own = NormalForm()
            done = _zero(own, difference(own, *own.values(parts)), MANY >> 4)
            if done is not None:
                return _Equal("each shared part one variable", done.inputs)
    return None


def _by_tables(wanted: Formula, found: Formula) -> _Equal | None:
    """Return a proof from tables of small sub-formulas, of inputs or of sums of inputs."""
    pairs = [[wanted, found], summed([wanted, found])[0]]
    for pair in pairs:
        same, computed = tabulated(pair)
        form = NormalForm()
        asked = difference(form, *form.values(same))
        done = _zero(form, asked, FEW)
        if done is not None:
            return _Equal("tables", computed + done.inputs)
    return None


def _zero(form: NormalForm, asked: Difference, most: int) -> Zero | None:
    try:
        decided = decide(form, asked, most)
    except SizeError:
        return None
    return decided if isinstance(decided, Zero) else None


def _by_parts(
    form: NormalForm, asked: Difference, wanted: Formula, found: Formula, most: int
) -> _Equal | Row | None:
    """Return a proof or a refutation from the parts of the difference that share no variables."""
    try:
        decided = decide(form, asked, most)
    except SizeError:
        return None
    match decided:
        case Zero():
            return _Equal("all inputs", decided.inputs, of_parts(decided))
        case Rows(rows):
            others = {x: x.lo for x in variables(wanted, found)}
            full = [others | row for row in rows]
            return next(x for x in full if exact_value(wanted, x) != exact_value(found, x))
        case None:
            return None

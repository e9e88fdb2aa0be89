"""Wrong meanings made from a row's: would a check refuse them?

Each is a formula over the row's variables. Whether it differs from the right one at all is found on
other inputs than those of the check: all of them up to 24 bits, otherwise four times as many, with
another seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from mlc_course.instruction_selection.integers import (
    Formula,
    IntType,
    equals,
    saturate,
    substituted,
    where,
    wrap,
)
from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.semantics.inputs import (
    Trials,
    all_trials,
    trials,
    values_of,
    variables_of,
)

MANY = 1 << 18
OTHER_SEED = 20_011


@dataclass(frozen=True)
class Broken:
    """A wrong meaning: what is wrong, and the formula of one lane."""

    what: str
    formula: Formula


def broken_meanings(row: Instruction) -> Iterator[Broken]:
    """Yield wrong meanings of a row with its immediate, where they can be written down.

    There are none of a move that computes nothing. A moved lane is not among them: the formula of a
    row is one lane's.
    """
    if row.kind == "interleave":
        return
    right, result = row.formula, row.result
    variables = variables_of(row)
    for what, make in _MAKERS.items():
        made = make(right, result, row, variables)
        if made is not None:
            yield Broken(what, wrap(result, made))


def differs(row: Instruction, broken: Broken) -> bool:
    """Tell whether a wrong meaning gives another value on some input, apart from any check."""
    if broken.formula is row.formula:
        return False
    variables = variables_of(row)
    tried = all_trials(row) or trials(row, count=MANY, seed=OTHER_SEED)
    right, wrong = (values_of(each, variables, tried) for each in (row.formula, broken.formula))
    return bool((right != wrong).any())


def caught(row: Instruction, broken: Broken, tried: Trials) -> bool:
    """Tell whether a check on these inputs refuses a wrong meaning of a row that agrees."""
    variables = variables_of(row)
    right, wrong = (values_of(each, variables, tried) for each in (row.formula, broken.formula))
    return bool((right != wrong).any())


_Maker = Callable[[Formula, IntType, Instruction, Sequence[Formula]], "Formula | None"]


def _one_more(right: Formula, result: IntType, row: Instruction, _: Sequence[Formula]) -> Formula:
    return right + 1


def _exchanged(
    right: Formula, result: IntType, row: Instruction, variables: Sequence[Formula]
) -> Formula | None:
    """Return the meaning with its last two operands exchanged, each read as the other's type."""
    if len(row.variables) < 2 or len(row.variables[-1]) != len(row.variables[-2]):
        return None
    changed: dict[Formula, Formula] = {}
    pairs = zip(row.variables[-2], row.variables[-1], strict=True)
    for (a, b), (of_a, of_b) in (
        (pair, (row.reads[-2].type, row.reads[-1].type)) for pair in pairs
    ):
        changed |= {a: wrap(of_a, b), b: wrap(of_b, a)}
    return substituted([right], changed)[0]


def _top_bit_lost(
    right: Formula, result: IntType, row: Instruction, variables: Sequence[Formula]
) -> Formula:
    first, of = variables[0], row.reads[0].type
    return substituted([right], {first: first & ((1 << (of.bits - 1)) - 1)})[0]


def _even(right: Formula, result: IntType, row: Instruction, _: Sequence[Formula]) -> Formula:
    return right - (right & 1)


def _off_at_least(
    right: Formula, result: IntType, row: Instruction, variables: Sequence[Formula]
) -> Formula:
    return right + where(equals(variables[0], row.reads[0].type.lo), 1, 0)


def _off_at_greatest(
    right: Formula, result: IntType, row: Instruction, variables: Sequence[Formula]
) -> Formula:
    return right - where(equals(variables[-1], row.reads[-1].type.hi), 1, 0)


def _wrapped(
    right: Formula, result: IntType, row: Instruction, _: Sequence[Formula]
) -> Formula | None:
    """Return what is saturated, wrapped; ``None`` where nothing is."""
    inner = right
    for op, end in (("min", result.hi), ("max", result.lo)):
        if inner.op == op:
            kept = [x for x in inner.operands if x.value != end]
            inner = kept[0] if len(kept) == 1 else inner
    return None if inner is right else inner


def _saturated(
    right: Formula, result: IntType, row: Instruction, _: Sequence[Formula]
) -> Formula | None:
    """Return what is wrapped, saturated; ``None`` where nothing is."""
    return saturate(result, right.operands[0]) if right.op == "wrap" else None


def _other_sign(
    right: Formula, result: IntType, row: Instruction, variables: Sequence[Formula]
) -> Formula:
    changed: dict[Formula, Formula] = {}
    for part, read in zip(row.variables, row.reads, strict=True):
        other = IntType(not read.type.signed, read.type.bits)
        changed |= {each: wrap(other, each) for each in part}
    return substituted([right], changed)[0]


_MAKERS: dict[str, _Maker] = {
    "one more": _one_more,
    "operands exchanged": _exchanged,
    "top bit of the first lane lost": _top_bit_lost,
    "rounded down when odd": _even,
    "off only at the least value": _off_at_least,
    "off only at the greatest value": _off_at_greatest,
    "wrapped for saturated": _wrapped,
    "saturated for wrapped": _saturated,
    "signed for unsigned": _other_sign,
}

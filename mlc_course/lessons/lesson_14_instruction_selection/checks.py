"""Demands of the exercises of lesson 14, one function for each graded cell. All of them are proofs.

No test decides: a row, a program, a promise and an order of lanes are proved for all inputs, or an
input is shown on which they are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mlc_course.errors import UnmetCheck, WrongResult
from mlc_course.exercise import called, check, check_parts, given, holds, shown
from mlc_course.grading.checks import Examined
from mlc_course.instruction_selection.isa import Constant, Input
from mlc_course.instruction_selection.lower import check_layout
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.spec import Cell, specification
from mlc_course.lessons.lesson_14_instruction_selection.hunted import (
    DOT,
    THREE,
    TO_REFUTE,
    check_proved,
    held_lanes,
    packed,
    read_answer,
    with_permutation,
    without_permutation,
)
from mlc_course.lessons.lesson_14_instruction_selection.program_text import read_program
from mlc_course.lessons.lesson_14_instruction_selection.rows import TO_WRITE, check_row

NOTHING_RETURNED = "a function that reaches no return gives None; print only shows a value"
MOST = 8  # instructions of a mended intrinsic
ANOTHER_WAY = "the search splits A into even and odd lanes: split A in another way"
PLACES = 32  # of a register of bytes


def _listed(value: Any) -> Any:
    """Return an array as a list, and another value unchanged; tuples have become lists before."""
    return value.tolist() if isinstance(value, np.ndarray) else value


# 1. Rows from the manual


def rows(answer: Any) -> None:
    """Prove that each row is the instruction that the manual describes."""
    check(given(answer), holds(_rows, kind="proof"))


def _rows(value: Any) -> str:
    check_parts(value, list(TO_WRITE))
    for name, row in TO_WRITE.items():
        part = value[name]
        if type(part) is not dict or sorted(part) != ["lane", "reads", "result"]:
            expected = '{"reads": "...", "result": "...", "lane": "..."}'
            raise UnmetCheck(f"{name}: not a row", expected=expected, got=part)
        check_row(row, part)
    return f"all {len(TO_WRITE)} rows are proved"


# 2. Inputs that refute


def refuted(answer: Any) -> None:
    """Check that each input shows a difference between a candidate and its specification."""
    check(given(answer), holds(_refuted, kind="counter-example"))


def _refuted(value: Any) -> str:
    check_parts(value, list(TO_REFUTE))
    for name, candidate in TO_REFUTE.items():
        inputs = _inputs(name, candidate.spec.cell, value[name])
        wanted, found = candidate.values(inputs)
        if wanted == found:
            raise UnmetCheck(
                f"{name}: the candidate is right at this input",
                expected="an input on which the two differ",
                got=f"{wanted} from both",
                hint="which of its instructions wraps, saturates or rounds, and the line does not?",
            )
    return f"each of the {len(TO_REFUTE)} inputs refutes its candidate"


def _inputs(name: str, cell: Cell, value: Any) -> dict[str, Sequence[int]]:
    operands = {each.name: each for each in cell.operands}
    if type(value) is not dict or sorted(value) != sorted(operands):
        form = ", ".join(
            f'"{x.name}": {"..." if x.lanes == 1 else "[" + ", ".join(["..."] * x.lanes) + "]"}'
            for x in operands.values()
        )
        raise UnmetCheck(f"{name}: not an input", expected=f"{{{form}}}", got=value)
    found: dict[str, Sequence[int]] = {}
    for key, operand in operands.items():
        listed = _listed(value[key])
        lanes = listed if type(listed) is list else [listed]
        lo, hi = operand.range
        if len(lanes) != operand.lanes or not all(type(x) is int and lo <= x <= hi for x in lanes):
            raise UnmetCheck(
                f"{name}: {key} has no such value",
                expected=f"{operand.lanes} of {operand.type}, {lo} to {hi}"
                if operand.lanes > 1
                else f"{operand.type}, {lo} to {hi}",
                got=value[key],
            )
        found[key] = lanes
    return found


# 3. Mend TVM's intrinsic


def mended(promise: Any, program: Any) -> None:
    """Check a promise under which TVM's intrinsic is right, and a program that is always right."""
    promised(promise)
    always(program)


def promised(answer: Any) -> None:
    """Prove that TVM's three instructions are right under a promise, and under no wider one."""
    check(given(answer), holds(_promised, kind="promise"))


def always(answer: Any) -> None:
    """Prove that a program is right for all inputs, without moving lanes."""
    check(given(answer), holds(_always, kind="program"))


def _promised(value: Any) -> str:
    cell = specification(DOT).cell
    free = {each.name: each.type for each in cell.operands if each.name != "C"}
    if type(value) is not dict or not value or not set(value) <= set(free):
        expected = '{"A": [lo, hi]}, {"B": [lo, hi]}, or both'
        raise UnmetCheck("not a promise", expected=expected, got=value)
    ranges = {}
    for name, of in free.items():
        given_range = _listed(value.get(name, [of.lo, of.hi]))
        if (
            type(given_range) is not list
            or len(given_range) != 2
            or not all(type(x) is int for x in given_range)
            or not of.lo <= given_range[0] <= given_range[1] <= of.hi
        ):
            expected = f"[lo, hi] with {of.lo} <= lo <= hi <= {of.hi}"
            raise UnmetCheck(f"{name}: not a range of {of}", expected=expected, got=given_range)
        ranges[name] = (given_range[0], given_range[1])
    narrowed = _with(ranges)
    check_proved(
        narrowed,
        read_program(THREE, narrowed),
        "under this promise",
        "where does the sum of two products leave 16 bits?",
    )
    for name, of in free.items():
        lo, hi = ranges[name]
        for wider in ((lo - 1, hi), (lo, hi + 1)):
            if of.holds(*wider):
                cell = _with({**ranges, name: wider})
                if isinstance(prove_cell(cell, read_program(THREE, cell)), Proved):
                    raise UnmetCheck(
                        "the promise is right, and narrower than it has to be",
                        expected="a range that cannot grow at either end",
                        got=", ".join(f"{k} in {a}..{b}" for k, (a, b) in ranges.items()),
                        hint="what is the largest sum that pmaddubsw does not change?",
                    )
    return "right under " + ", ".join(f"{k} in {a}..{b}" for k, (a, b) in ranges.items())


def _with(ranges: Mapping[str, tuple[int, int]]) -> Cell:
    return specification(DOT, ranges=ranges).cell


def _always(value: Any) -> str:
    cell = specification(DOT).cell
    program = read_answer(value, cell, "your program")
    for each in program.equations:
        if isinstance(each.op, Constant) and len(set(each.op.values)) > 1:
            raise UnmetCheck(
                f"{{{each.op}}} is not the same in every lane",
                expected="constants such as {127}",
                hint=ANOTHER_WAY,
            )
        for number, read in zip(each.operands, getattr(each.op, "reads", ()), strict=True):
            operand = program.equations[number].op
            if isinstance(operand, Input) and operand.name in "AB" and read.type.bits != 8:
                raise UnmetCheck(
                    f"{each.op} reads {operand.name} as lanes of {read.type.bits} bits",
                    expected="instructions that read the bytes of A and B as bytes",
                    hint=ANOTHER_WAY,
                )
    count = len(program.instructions)
    if count > MOST:
        raise UnmetCheck("too many instructions", expected=f"at most {MOST}", got=count)
    check_proved(cell, program, "your program", "which instruction saturates or wraps there?")
    return f"right for all inputs, in {count} instructions"


# 4. Bug hunt: a pack without its permutation


def places(answer: Any) -> None:
    """Check the places in which another output is stored than the one that belongs there."""
    check(given(answer), holds(_places, kind="places"))


def order(answer: Any, width: int = 256) -> None:
    """Prove that a function puts the lanes of two programs in order, at a width in bits."""
    check(called(answer), *(Restores(name, width) for name in ("requant", "narrow")))


def _places(value: Any) -> str:
    value = _listed(value)
    if type(value) is not list or not all(type(x) is int and 0 <= x < PLACES for x in value):
        raise UnmetCheck(
            "not a list of places", expected=f"whole numbers, 0 to {PLACES - 1}", got=value
        )
    _, _, registers = packed("requant", 256)
    held = without_permutation(registers).steps[-1].outputs
    wrong = {place for place, output in enumerate(held) if place != output}
    if set(value) != wrong:
        missing, more = len(wrong - set(value)), len(set(value) - wrong)
        raise UnmetCheck(
            "these are not the places that hold another output",
            expected="each place whose output is not its own, and no other",
            got=f"{missing} missing, {more} too many",
            hint="which output does each place of the register hold, from the first one on?",
        )
    return f"{len(wrong)} of {PLACES} places are wrong"


@dataclass(frozen=True)
class Restores:
    """The order that a function returns puts the outputs of a program in memory's order: a proof.

    The registers are simulated on formulas with the order as their last permutation.
    """

    name: str
    width: int
    kind: ClassVar[str] = "proof"

    def judge(self, answer: Examined) -> str:
        spec, program, registers = packed(self.name, self.width)
        held = held_lanes(registers)
        assert answer.call is not None
        found = _listed(answer.call(list(held)))
        place = f"{self.name}, {self.width} bits"
        if type(found) is not list or not all(type(x) is int for x in found):
            raise UnmetCheck(
                f"{place}: not an order",
                expected="a list of lanes, as whole numbers",
                got=shown(found),
                hint=None if found is not None else NOTHING_RETURNED,
            )
        if sorted(found) != list(range(len(held))):
            raise UnmetCheck(
                f"{place}: not an order of all lanes",
                expected=f"each of 0 to {len(held) - 1} once",
                got=list(found),
            )
        try:
            check_layout(spec.cell, program, with_permutation(registers, found))
        except WrongResult:
            raise UnmetCheck(
                f"{place}: outputs are in other places than in memory",
                expected=f"held = {held} becomes {sorted(held)}",
                got=[held[lane] for lane in found],
                hint="lane i of the new register is lane order(held)[i] of the old one",
            ) from None
        return f"{place}: every output is in its place"

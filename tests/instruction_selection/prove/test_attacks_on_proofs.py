"""Questions that were answered wrongly once, and their relatives: no proof, no false sentence."""

from __future__ import annotations

import itertools
import re
import time

import numpy as np
import pytest

from mlc_course.deadline import until
from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import (
    S8,
    S16,
    S32,
    S64,
    U8,
    U16,
    U32,
    Formula,
    IntType,
    absolute,
    concat,
    const,
    equals,
    evaluate,
    greater,
    maximum,
    piece,
    saturate,
    substituted,
    var,
    variable,
    where,
    wrap,
)
from mlc_course.instruction_selection.isa import (
    CellProgram,
    Constant,
    Equation,
    Input,
    Instruction,
    level_of,
)
from mlc_course.instruction_selection.prove import (
    Proved,
    Refuted,
    Unknown,
    prove_cell,
    prove_equal,
)
from mlc_course.instruction_selection.prove.cases import AllCases, by_cases
from mlc_course.instruction_selection.prove.exact import exact_value
from mlc_course.instruction_selection.prove.tables import tabulated
from mlc_course.instruction_selection.spec import Cell, CellOperand

A, B = variable("A[0]", U8), variable("B[0]", U8)
ROWS = {row.name: row for row in level_of("avx2").rows}


def row(name: str, immediate: int | None = None) -> Instruction:
    return ROWS[name] if immediate is None else ROWS[name].with_immediate(immediate)


def bytes_cell(goal: Formula, result: IntType = U8) -> Cell:
    return Cell("attacked", (CellOperand("A", U8), CellOperand("B", U8)), result, goal)


READ_A, READ_B = (Equation(Input(name), (), U8, 1) for name in "AB")


# Programs that do not fit their cell.


@pytest.mark.parametrize(
    ("what", "goal", "result", "equations"),
    [
        ("too few bytes are no extension by zeros", A, U16, [READ_A]),
        ("a type that the operand has not", A, U16, [Equation(Input("A"), (), U16, 1)]),
        ("lanes that the operand has not", A, U8, [Equation(Input("A"), (), U8, 2)]),
        ("more bytes than an output", A, U8, [READ_A, Equation(row("punpck0b"), (0,), U16, 1)]),
        ("an operand that is not there", A, U8, [Equation(Input("Z"), (), U8, 1)]),
        (
            "a result of another type than the instruction's",
            wrap(U8, A + B),
            U16,
            [READ_A, READ_B, Equation(row("paddb"), (0, 1), U16, 1)],
        ),
        (
            "half of the lanes that an instruction reads",
            A,
            U16,
            [READ_A, Equation(row("psllw", 8), (0,), U16, 1)],
        ),
        (
            "operands of different lengths",
            wrap(U8, A + 1),
            U8,
            [READ_A, Equation(Constant((1, 2)), (), U8, 2), Equation(row("paddb"), (0, 1), U8, 1)],
        ),
        ("a later operand", A, U8, [Equation(row("pavgb"), (1, 1), U8, 1), READ_A]),
        ("a negative number", A, U8, [READ_A, Equation(row("pavgb"), (-1, 0), U8, 1)]),
        ("a constant of 9 bits", const(44), U8, [Equation(Constant((300,)), (), U8, 1)]),
        ("a constant of -9 bits", const(0), U8, [Equation(Constant((-256,)), (), U8, 1)]),
        ("no value", A, U8, []),
    ],
)  # fmt: skip
def test_a_program_that_does_not_fit_is_refused(
    what: str, goal: Formula, result: IntType, equations: list[Equation]
) -> None:
    with pytest.raises(UsageError):
        prove_cell(bytes_cell(goal, result), CellProgram(tuple(equations)))


@pytest.mark.parametrize("immediate", [None, -1, 0, 16, 17, 99])
def test_a_shift_by_what_no_shift_has_is_refused(immediate: int | None) -> None:
    words = Cell("w", (CellOperand("A", U16),), U16, const(0))
    shifted = Equation(row("psllw", immediate), (0,), U16, 1)
    with pytest.raises(UsageError):
        prove_cell(words, CellProgram((Equation(Input("A"), (), U16, 1), shifted)))


def test_a_constant_is_its_bits_whatever_its_sign() -> None:
    for value in (-1, 255):
        ones = Equation(Constant((value,)), (), U8, 1)
        program = CellProgram((READ_A, ones, Equation(row("psubb"), (1, 0), U8, 1)))
        assert isinstance(prove_cell(bytes_cell(255 - A), program), Proved)


# Cells that promise nothing.


@pytest.mark.parametrize(
    ("of", "lanes", "lo", "hi"),
    [(U8, 1, 5, 3), (U8, 1, -1, 3), (U8, 1, 0, 256), (S8, 1, -129, 0), (U8, 0, 0, 1)],
)
def test_an_operand_has_values_of_its_type(of: IntType, lanes: int, lo: int, hi: int) -> None:
    with pytest.raises(UsageError, match="no such values"):
        CellOperand("A", of, lanes, lo, hi)


@pytest.mark.parametrize(
    "goal", [variable("Z[0]", U8) + A, var("A[0]", 3, 3) * 1, var("A[0]", 0, 3)]
)
def test_a_goal_reads_its_operands_only(goal: Formula) -> None:
    three = CellProgram((Equation(Constant((3,)), (), U8, 1),))
    with pytest.raises(UsageError, match="no operand has"):
        prove_cell(bytes_cell(goal), three)


def test_a_variable_without_values_is_refused() -> None:
    with pytest.raises(UsageError, match="no value"):
        var("x", 5, 3)


def test_a_goal_outside_its_type_is_refuted() -> None:
    verdict = prove_cell(bytes_cell(A + 1), CellProgram((READ_A,)))
    assert isinstance(verdict, Refuted) and verdict.wanted == verdict.found + 1


# Lanes of odd types, and pieces of values that are wider than what is known of them.


def every(x: Formula, *inputs: Formula) -> list[int]:
    ranges = (range(each.lo, each.hi + 1) for each in inputs)
    return [
        exact_value(x, dict(zip(inputs, values, strict=True)))
        for values in itertools.product(*ranges)
    ]


@pytest.mark.parametrize("bits", [1, 2, 3, 4, 6, 8])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("lanes", [2, 3])
def test_lanes_side_by_side_are_a_value_of_their_type(bits: int, signed: bool, lanes: int) -> None:
    of = IntType(signed, bits * lanes)
    inputs = [var(name, 0, (1 << min(bits, 3)) - 1) for name in "xyz"[:lanes]]
    top = const((1 << bits) - 1)
    for parts in (inputs, [*inputs[:-1], top]):
        joined = concat(parts, of)
        for value in every(joined, *inputs):
            assert of.holds(value, value)
        grid = np.meshgrid(*(np.arange(x.hi + 1) for x in inputs), indexing="ij")
        read = dict(zip(inputs, (each.ravel() for each in grid), strict=True))
        assert evaluate(joined, read).tolist() == every(joined, *inputs)


def test_a_piece_above_a_wrapped_value_is_its_sign() -> None:
    x, y = var("x", 0, 255), var("y", 0, 15)
    narrow = wrap(S8, concat([x, y], U16))
    upper = piece(narrow, 1, U8)
    at = {x: 200, y: 5}
    assert exact_value(upper, at) == 255
    assert exact_value(piece(wrap(U16, concat([x, y], U16)), 1, U8), at) == 5


def test_a_substitution_keeps_the_piece_above_a_wrapped_value() -> None:
    x, y, t = var("x", 0, 255), var("y", 0, 15), var("t", 0, 65535)
    joined = concat([x, y], U16)
    upper = piece(wrap(S8, t), 1, U8)
    (changed,) = substituted([upper], {t: joined})
    signs = [255 if value > 127 else 0 for value in range(256) for _ in range(16)]
    assert every(changed, x, y) == signs


def test_tables_keep_the_piece_above_a_wrapped_value() -> None:
    x, y = var("x", 0, 255), var("y", 0, 15)
    first = wrap(S8, concat([x, y], U16))
    same = (x ^ 128) - 128 + minimum_of_none(y)
    upper = piece(maximum(same, -200), 1, U8)
    found, _ = tabulated([first * 3, upper])
    assert every(found[1], x, y) == every(upper, x, y)
    assert isinstance(prove_equal([first * 3 + y], [first * 3 + upper]), Refuted)


def minimum_of_none(y: Formula) -> Formula:
    """Return a formula that reads y and is 0."""
    return greater(y, y + 0) * 0 + (y - y)


# Pairs that differ rarely.

ACC, X, Y = variable("acc", S32), variable("x", S16), variable("y", S16)
WIDE = variable("wide", S64)
RARELY: dict[str, tuple[Formula, Formula]] = {
    "one byte of two": (A + B, A + B + equals(A, 37) * equals(B, 201)),
    "a corner": (A + B, A + B - greater(A, 254) * greater(1, B)),
    "one accumulator": (wrap(S32, ACC + A * B), wrap(S32, ACC + A * B) + equals(ACC, 0x12345678)),
    "one hash of an accumulator": (
        ACC + 0,
        ACC + equals(wrap(U32, ACC * 0x9E3779B1), 0xDEADBEEF),
    ),
    "two wraps at once": (
        wrap(S16, wrap(S16, X + 1) + wrap(S16, Y + 1)),
        where(
            equals(wrap(S16, X + 1), -32768) * equals(wrap(S16, Y + 1), -32768),
            1,
            wrap(S16, X + Y + 2),
        ),
    ),
    "the product of the least": (
        saturate(S16, (X * Y + 0x4000) >> 15),
        wrap(S16, (X * Y + 0x4000) >> 15),
    ),
    "the absolute value of the least": (absolute(WIDE), wrap(S64, absolute(WIDE))),
    "64 bits that wrap": (wrap(S64, WIDE + A), WIDE + A),
    "a knot": (maximum(A - 37, 0), maximum(A - 37, 0) + equals(A, 37) * equals(B, 1)),
}


@pytest.mark.parametrize("name", RARELY)
def test_a_pair_that_differs_rarely_is_not_proved(name: str) -> None:
    wanted, found = RARELY[name]
    verdict = prove_equal([wanted], [found], seconds=3.0)
    assert not isinstance(verdict, Proved)
    if isinstance(verdict, Refuted):
        assert verdict.wanted != verdict.found


# What is said must be true.


def reason_of(wanted: list[Formula], found: list[Formula]) -> str:
    verdict = prove_equal(wanted, found)
    assert isinstance(verdict, Proved)
    return verdict.certificate.reason or ""


P, Q = var("p", -9, 9), var("q", -9, 9)


def test_products_of_maxima_are_not_said_to_be_linear() -> None:
    p, q = maximum(P, 0), maximum(Q, 0)
    for one, other in ((p * q, q * p), ((p * q) >> 1, (q * p) >> 1), (p * Q, Q * p)):
        assert "linear" not in reason_of([one], [other])
    assert "linear" in reason_of([p + q], [q + p])
    assert "linear" in reason_of([maximum(p + Q, 0)], [maximum(Q + p, 0)])


def test_signed_lanes_side_by_side_may_leave_their_type() -> None:
    joined = concat([A, B], S16)
    assert "leaves its type" not in reason_of([joined + A], [A + joined])


def test_parts_of_different_types_have_no_common_modulus() -> None:
    one, other = wrap(U8, A + B + 1), wrap(U16, 300 * A + 1)
    assert "modulo" not in reason_of([one * other], [other * one])
    assert "modulo" not in reason_of([one + other], [other + one])
    assert "modulo 2^8" in reason_of([wrap(U8, A + B)], [wrap(U8, B + A)])
    fourth = wrap(IntType(False, 6), B + A)
    assert "modulo 2^8" in reason_of([wrap(U8, 4 * A + 4 * B)], [4 * fourth])


def test_a_reason_for_one_kind_of_lanes_says_so() -> None:
    kept = (P + Q + 1, Q + (1 + P))
    wrapped = (wrap(U8, wrap(U8, A + B) + 255), wrap(U8, A + (B + 255)))
    both = reason_of(*map(list, zip(kept, wrapped, strict=True)))
    assert both.startswith("for one kind, ")
    assert not reason_of([kept[0]] * 2, [kept[1]] * 2).startswith("for one kind")


def test_what_a_wrap_does_in_a_reason_is_true() -> None:
    for added in (1, 3, 255, -1, -100):
        for of in (U8, S8, U16, S16):
            reason = reason_of(
                [wrap(of, wrap(of, A + B) + added)], [wrap(of, A + B + added)]
            )  # fmt: skip
            said = re.match(
                r"(-?\d+) becomes (-?\d+) in \w+, and adding (-?\d+) .* to (-?\d+)", reason
            )
            if said:
                value, became, by, back = map(int, said.groups())
                assert of.wrapped(value) == became != value
                assert of.wrapped(became + by) == back == value + by


def test_cases_that_were_split_are_not_counted() -> None:
    x = var("x", 0, (1 << 18) - 1)
    done = by_cases(
        x & 0xFFFF, where(greater(x, 0x1FFFF), x - (x >> 16 << 16), x - (x >> 16 << 16))
    )
    assert done is None or isinstance(done, AllCases)
    halves = by_cases((x >> 17) * 2 + (x >> 17), where(greater(x, (1 << 17) - 1), 3, 0))
    assert halves == AllCases(2, 0) or halves == AllCases(1, 0)


def test_few_inputs_with_values_of_no_numpy_type_are_computed_one_by_one() -> None:
    x = var("x", 0, 15)
    high = where(equals(x * x * 2**70, 225 * 2**70), 1, 0)
    assert isinstance(prove_equal([high * x], [where(greater(x, 14), x, 0)]), Proved)
    verdict = prove_equal([(x * x * 2**70) ^ (x * 2**70)], [((x * x) ^ x) * 2**70 + equals(x, 11)])
    assert isinstance(verdict, Refuted) and verdict.model == {"x": 11}


def test_an_unknown_verdict_names_no_number_of_inputs_that_were_not_tried() -> None:
    x, y = var("x", 0, (1 << 40) - 1), var("y", 0, (1 << 40) - 1)
    mixed = (x * y * x) ^ (y * y * y)
    rare = equals((x * 3) ^ (y * 5), 987654321987)
    verdict = prove_equal([mixed], [mixed + rare * equals(x & 4095, 77)], seconds=20.0)
    assert isinstance(verdict, Unknown) and "1,048,576" not in verdict.why


def test_the_time_that_is_said_to_be_spent_was_spent() -> None:
    wanted = saturate(S16, X * Y)
    with until(time.time()):
        verdict = prove_equal([wanted], [saturate(S16, Y * X)], seconds=500.0)
    assert isinstance(verdict, Unknown) and "500" not in verdict.why

"""Programs as text: what prints is read again, and what is wrong is named."""

from __future__ import annotations

import pytest

from mlc_course.errors import CourseError
from mlc_course.instruction_selection.prove import Proved, prove_cell
from mlc_course.instruction_selection.spec import entry
from mlc_course.lessons.lesson_14_instruction_selection import read_program

BLUR = entry("gauss_121_u8").specification.cell
DOT = entry("dot4_u8s8").specification.cell
Q15 = entry("mul_q15_sat").specification.cell
REQUANT = entry("requant_u8").specification.cell


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (BLUR, "pavgb(B, paddb(A, psubb(D, pavgb(A, D))))"),
        (Q15, "paddsw({1}, paddw({-1}, pmulhrsw(A, B)))"),
        (REQUANT, "packuswb(psraw #6(paddsw(A, {32})))"),
        (
            DOT,
            "paddd(C, paddd(pmaddwd(pand:u16(A, {255}), pmaddubsw({1, 0}, B)), "
            "pmaddwd(psrlw #8(A), psraw #8(B))))",
        ),
    ],
    ids=["blur", "product", "shift", "dot"],
)
def test_a_program_is_read_and_proved(cell: object, text: str) -> None:
    assert isinstance(prove_cell(cell, read_program(text, cell)), Proved)  # type: ignore[arg-type]


def test_spaces_do_not_matter_and_equal_values_are_one() -> None:
    program = read_program(" paddb ( pavgb(A,B) ,pavgb( A , B ) ) ", BLUR)
    assert len(program.instructions) == 2


def test_parentheses_around_a_value_do_not_matter() -> None:
    text = "((pavgb((B), (paddb(A, D)))))"
    assert read_program(text, BLUR) == read_program("pavgb(B, paddb(A, D))", BLUR)


def test_a_constant_decides_between_rows_of_one_name() -> None:
    assert read_program("pand(pand(A, {127}), B)", BLUR).instructions[0].reads[0].type.bits == 8
    wide = read_program("paddd(C, pand(B, {-256}))", DOT).instructions[0]
    assert wide.reads[0].type.bits == 16


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "goes on in another way"),
        ("pavgb()", "goes on in another way"),
        ("pavgb(A, , B)", "goes on in another way"),
        ("(pavgb(A, B)", "goes on in another way"),
        ("pavgb:u16(A, B)", "pavgb reads no lanes of 'u16'"),
        ("pavgb(A, B", "goes on in another way"),
        ("pavgb(A B)", "goes on in another way"),
        ("pavgb(A, B))", "more after the program"),
        ("pavgb(A, 3)", "no part of a program"),
        ("pavgb(A, {x})", "no constant"),
        ("{3}", "a constant alone"),
        ("pavgb", "has no operands"),
        ("pavgb(A)", "another number of operands"),
        ("pavg(A, B)", "did you mean pavg[bw]"),
        ("pavgb(A, C)", "no operand and no instruction"),
        ("pavgb(A, {256})", "too many bits"),
        ("pavgb(A, {1, 2})", "does not fill the cell"),
        ("psrlw(A)", "lacks its shift"),
        ("pavgb #3(A, B)", "takes no shift"),
        ("packuswb(A)", "reads more than the cell has"),
        ("punpck0b(A)", "the result has another number of bits"),
        ("paddw(punpck0b(A), B)", "other numbers of bits"),
        ("pavgb(A, " * 40 + "B" + ")" * 40, "too deep"),
        ("pavgb(A, B)" + " " * 600, "too long"),
    ],
)
def test_what_is_wrong_with_a_text_is_named(text: str, words: str) -> None:
    with pytest.raises(CourseError, match=words):
        read_program(text, BLUR)


def test_a_shift_that_leaves_nothing_is_refused() -> None:
    with pytest.raises(CourseError, match="leaves nothing"):
        read_program("packuswb(psraw #16(A))", REQUANT)

from __future__ import annotations

import random
import sys
from collections.abc import Mapping, Sequence

import pytest

from mlc_course.instruction_selection.integers import Formula, substituted, variables
from mlc_course.instruction_selection.prove import Proved, Refuted, prove_cell, prove_equal
from tests.helpers.cell_programs import KNOWN, Known, known, program
from tests.helpers.integer_formulas import value_by_python

# What proves each program, where it is not the same formula.
METHODS = {
    "avg_floor_u8": "all inputs",
    "absdiff_u8": "normal form",
    "gauss_121_u8": "all inputs",
    "rshift_s16": "normal form",
    "requant_u8": "normal form",
    "narrow_s32": "normal form",
    "mul_q15_sat": "normal form",
    "blend_u8": "normal form",
    "avg3_u8": "normal form",
    "box9_u8": "normal form",
    "gauss3x3_u8": "normal form",
    "sobel_x_u8": "each sum one variable",
    "sobel_u8": "tables",
    "dot4_u7s8": "normal form",
    "dot4_u8s8": "normal form",
    "dot4_s8s8": "all inputs",
    "dot4_s8s8_full": "normal form",
    "dot2_s16": "normal form",
    "sad8_u8": "normal form",
    "requant_q31": "normal form",
    "dot4_s8s8_vnni": "normal form",
    "median3_u8": "all inputs",
    "alpha_blend_u8": "all inputs",
    "grey_u8": "normal form",
    "complex_real_s16": "normal form",
    "gauss_121_neon": "normal form",
    "mul_q15_sat_neon": "same formula",
}


@pytest.fixture(autouse=True)
def _no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)  # an import of it fails


@pytest.mark.parametrize("each", KNOWN, ids=lambda each: each.cell.name)
def test_a_program_known_to_be_right_is_proved_without_a_solver(each: Known) -> None:
    verdict = prove_cell(each.cell, each.program)
    assert isinstance(verdict, Proved), str(verdict)
    assert verdict.certificate.method == METHODS.get(each.cell.name, "same formula")


@pytest.mark.parametrize("each", KNOWN, ids=lambda each: each.cell.name)
def test_a_known_program_computes_its_cell_on_random_inputs(each: Known) -> None:
    (found,) = each.program.lanes(each.cell.inputs, each.cell.result)
    inputs, drawn = variables(each.cell.goal, found), random.Random(1)
    for _ in range(50):
        row = {x: drawn.choice([x.lo, x.hi, drawn.randint(x.lo, x.hi)]) for x in inputs}
        assert value_by_python(found, row) == value_by_python(each.cell.goal, row)


@pytest.mark.parametrize("each", KNOWN, ids=lambda each: each.cell.name)
def test_the_text_of_a_program_is_read_as_the_program(each: Known) -> None:
    if "pand" not in each.text:  # its rows have one name
        assert program(str(each.program), each.cell) == each.program


def lanes_of(each: Known, count: int) -> tuple[list[Formula], list[Formula]]:
    """The goal and the program's result for so many neighbouring cells."""
    wanted, found = [], []
    for at in range(count):
        inputs: Mapping[str, Sequence[Formula]] = {
            operand.name: operand.variables(at * operand.lanes) for operand in each.cell.operands
        }
        moved = {
            old: new
            for name, lanes in each.cell.inputs.items()
            for old, new in zip(lanes, inputs[name], strict=True)
        }
        wanted += substituted([each.cell.goal], moved)
        found += each.program.lanes(inputs, each.cell.result)
    return wanted, found


@pytest.mark.parametrize("name", ["gauss_121_u8", "sobel_u8", "dot4_s8s8", "mul_q15_sat"])
def test_a_register_of_equal_lanes_is_one_question(name: str) -> None:
    verdict = prove_equal(*lanes_of(known(name), 64))
    assert isinstance(verdict, Proved)
    assert (verdict.certificate.lanes, verdict.certificate.classes) == (64, 1)
    one = prove_cell(known(name).cell, known(name).program)
    assert isinstance(one, Proved) and one.certificate.inputs == verdict.certificate.inputs


def test_a_wrong_lane_is_found_among_right_ones() -> None:
    wanted, found = lanes_of(known("avg_floor_u8"), 32)
    found[20], found[21] = found[21], found[20]
    verdict = prove_equal(wanted, found)
    assert isinstance(verdict, Refuted) and verdict.lane == 20


def test_the_one_input_that_refutes_the_saturating_product_is_found() -> None:
    each = known("mul_q15_sat")
    assert prove_cell(each.cell, program("pmulhrsw(A, B)", each.cell)) == Refuted(
        {"A[0]": -32768, "B[0]": -32768}, 0, 32767, -32768
    )


def test_the_dot_product_of_a_known_library_is_refuted_where_a_sum_of_two_saturates() -> None:
    text = "paddd(C, pmaddwd({1}, pmaddubsw(A, B)))"
    verdict = prove_cell(known("dot4_u8s8").cell, program(text, known("dot4_u8s8").cell))
    assert isinstance(verdict, Refuted)
    assert any(verdict.model[f"A[{i}]"] > 127 for i in range(4))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("avg_floor_u8", "pavgb(A, psubb(B, {1}))"),
        ("gauss_121_u8", "pavgb(B, pavgb(D, psubb(A, {1})))"),
        ("gauss_121_u8", "pavgb(B, pavgb(A, D))"),
        ("dot4_s8s8_full", "paddd(C, pmaddwd({1}, pmaddubsw(pabsb(A), psignb(B, A))))"),
        ("absdiff_u8", "pmaxub(psubb(A, B), psubb(B, A))"),
        ("narrow_s32", "packsswb(packssdw(A))"),
        ("narrow_s32", "packuswb(packusdw(A))"),
        ("requant_q31", "packsswb(packssdw(psrad #12(paddd(A, {2047}))))"),
        ("requant_q31", "packsswb(packssdw(psrad #12(A)))"),
        ("sad8_u8", "paddq(C, psadbw(A, A))"),
    ],
)
def test_a_program_that_looks_right_is_refuted(name: str, text: str) -> None:
    each = known(name)
    made = program(text, each.cell)
    verdict = prove_cell(each.cell, made)
    assert isinstance(verdict, Refuted)
    row = {x: verdict.model.get(str(x), x.lo) for lanes in each.cell.inputs.values() for x in lanes}
    (found,) = made.lanes(each.cell.inputs, each.cell.result)
    assert value_by_python(each.cell.goal, row) == verdict.wanted
    assert value_by_python(found, row) == verdict.found != verdict.wanted


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("absdiff_u8", "psubb(pmaxub(A, B), pminub(A, B))"),
        ("absdiff_u8", "por(psubusb(A, B), psubusb(B, A))"),
        ("absdiff_u8", "pmaxub(psubusb(A, B), psubusb(B, A))"),
        ("sat_add_u8", "paddb(A, pminub(B, pxor(A, {255})))"),
        ("sat_sub_u8", "psubb(A, pminub(A, B))"),
        ("avg_floor_u8", "psubb(pavgb(A, B), pand(pxor(A, B), {1}))"),
        ("requant_u8", "packuswb(psraw #6(paddsw(A, {32})))"),
        ("requant_q31", "packsswb(psraw #4(packssdw(psrad #8(paddd(A, {2048})))))"),
        ("mul_q15_sat", "psubsw(pxor(pmulhrsw(A, B), pcmpeqw(pmulhrsw(A, B), {-32768})), {0})"),
        ("narrow_s32", "packuswb(packssdw(pminsd(pmaxsd(A, {0}), {255})))"),
        ("median3_u8", "pminub(pmaxub(A, B), pmaxub(pminub(A, B), D))"),
        ("sobel_x_u8", "packuswb(pabsw(psubw(paddw(punpck0b(D), paddw(psllw #1(punpck0b(G)),"
         " punpck0b(J))), paddw(punpck0b(A), paddw(psllw #1(punpck0b(E)), punpck0b(H))))))"),
    ],
)  # fmt: skip
def test_another_program_for_the_same_cell_is_proved(name: str, text: str) -> None:
    each = known(name)
    verdict = prove_cell(each.cell, program(text, each.cell))
    assert isinstance(verdict, Proved), str(verdict)

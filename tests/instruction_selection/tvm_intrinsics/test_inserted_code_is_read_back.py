"""What is put into a schedule is read back from TensorIR, and computes its specification."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hand_written_cells import CASES, Case, widths_of

from mlc_course.instruction_selection.insert import source
from mlc_course.instruction_selection.lower import RegisterProgram, lower
from mlc_course.instruction_selection.prove import Proved, Refuted
from mlc_course.instruction_selection.spec import CATALOGUE, Specification
from mlc_course.instruction_selection.tvm_intrinsics import compared, read_back
from mlc_course.tensor_program.tir import tvm

KNOWN = [case for case in CASES if case.cell.name in CATALOGUE]


def spec_of(case: Case) -> Specification:
    return CATALOGUE[case.cell.name].specification


def registers_of(case: Case, width: int) -> RegisterProgram:
    return lower(spec_of(case).cell, case.program, width)


@pytest.mark.parametrize(
    ("case", "width"),
    [(case, width) for case in KNOWN for width in widths_of(case)],
    ids=str,
)
def test_inserted_code_is_its_specification(case: Case, width: int) -> None:
    assert isinstance(read_back(spec_of(case), registers_of(case, width)), Proved)


def test_without_its_promise_a_program_is_refuted() -> None:
    case = next(each for each in KNOWN if str(each) == "dot4_u7s8-avx2")
    spec = spec_of(case)
    operands = tuple(replace(each, lo=None, hi=None) for each in spec.cell.operands)
    wider = replace(spec, cell=replace(spec.cell, operands=operands))
    assert isinstance(read_back(wider, registers_of(case, 256)), Refuted)


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("narrow_s32-avx2", "[0, 4, 1, 5, 2, 6, 3, 7]", "[0, 1, 4, 5, 2, 6, 3, 7]"),
        ("narrow_s32-avx2", "llvm.x86.avx2.packssdw", "llvm.x86.avx2.packusdw"),
        ("sat_add_u8-avx2", "llvm.uadd.sat", "llvm.usub.sat"),
        ("requant_u8-avx2", "T.int16(512)", "T.int16(511)"),
        ("requant_u8-neon", "T.int32(6)", "T.int32(5)"),
    ],
)
def test_a_fault_of_the_text_is_refuted(name: str, right: str, wrong: str) -> None:
    case = next(each for each in KNOWN if str(each) == name)
    spec, registers = spec_of(case), registers_of(case, widths_of(case)[-2 % len(widths_of(case))])
    text = source(spec, registers)
    assert right in text, text
    description = spec.prim_func(registers.outputs, offset_factor=1)
    broken = tvm.read_script(text.replace(right, wrong))
    assert isinstance(compared(description, broken), Refuted)

"""Programs of instructions, compiled and run: the same numbers as exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_cells import case_of, row_alone, specification_of
from hand_written_cells import CASES, Case, widths_of
from tvm.runtime import tensor

from mlc_course.errors import MachineError, SizeError, StepError, UsageError
from mlc_course.instruction_selection.insert import (
    FORMS,
    Form,
    check_compiles,
    compiled,
    implementation,
    intrinsic,
    processor_has,
    source,
    target_of,
)
from mlc_course.instruction_selection.isa import AVX2, LEVELS, VNNI, Instruction, level_of
from mlc_course.instruction_selection.lower import lower
from mlc_course.tensor_program.tir import IRModule, TensorIntrin, tvm

X86 = [level for level in ("avx2", "avx512", "vnni") if processor_has(level)]
# a level, the narrowest that a case runs at, and the widths that the level has registers of
RUNS = [
    (case, level, width)
    for case in CASES
    for level in X86
    if level == case.level or (case.level, level) == ("avx2", "avx512")
    for width in widths_of(case)
    if width <= level_of(level).width
]
needs_x86 = pytest.mark.skipif(not X86, reason="a processor with AVX2")


@pytest.mark.parametrize(("case", "level", "width"), RUNS, ids=str)
def test_a_tensorized_loop_computes_the_specification(case: Case, level: str, width: int) -> None:
    spec = specification_of(case.cell.name)
    tile = lower(spec.cell, case.program, width).outputs
    outputs = 3 * tile + 5  # whole tiles and a rest
    kernel = compiled(spec, outputs, "tensorize", level=level, program=case.program, width=width)
    for seed, extremes in ((0, 0.0), (1, 0.3), (2, 1.0)):
        arrays = spec.sample(outputs, seed, extremes=extremes)
        assert np.array_equal(kernel(arrays), spec.evaluate(arrays))


@needs_x86
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("outputs", [64, 100])
def test_all_forms_compute_the_same(form: Form, outputs: int) -> None:
    case = case_of("requant_u8")
    spec = specification_of(case.cell.name)
    for level in X86:
        if form == "wide" and level == "avx2":
            continue
        program = case.program if form == "tensorize" else None
        kernel = compiled(spec, outputs, form, level=level, program=program)
        arrays = spec.sample(outputs)
        assert np.array_equal(kernel(arrays), spec.evaluate(arrays))


ROWS = [
    (row.with_immediate(3) if row.has_immediate else row, level, width)
    for level, rows in (("avx2", AVX2), ("avx512", AVX2), ("vnni", VNNI))
    if level in X86
    for row in rows
    for width in row.reach
    if width <= level_of(level).width and (level != "avx512" or width == 512)
]


@pytest.mark.parametrize(("row", "level", "width"), ROWS, ids=str)
def test_every_row_is_reached(row: Instruction, level: str, width: int) -> None:
    spec, program = row_alone(row)
    registers = lower(spec.cell, program, width)
    made = implementation(spec, registers)
    library = tvm.compile_module(IRModule({"main": made}), target_of(level_of(level)))
    rng = np.random.default_rng(0)
    arrays = {
        each.name: _numbers(rng, shape, each.type.numpy)
        for each, shape in spec.inputs(registers.outputs)
    }
    output = tensor(np.zeros(registers.outputs, spec.cell.result.numpy))
    library["main"](*map(tensor, arrays.values()), output)
    assert np.array_equal(output.numpy(), spec.evaluate(arrays))


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], of: np.dtype) -> np.ndarray:  # type: ignore[type-arg]
    ends = np.iinfo(of)
    anywhere = rng.integers(ends.min, ends.max, shape, dtype=of, endpoint=True)
    special = rng.choice(np.array([ends.min, ends.min + 1, 0, 1, ends.max], of), shape)
    return np.where(rng.random(shape) < 0.5, anywhere, special)


# --- names and texts --------------------------------------------------------------------------


def test_a_name_has_the_level_and_a_digest_and_is_registered_once() -> None:
    spec = specification_of("requant_u8")
    program = case_of("requant_u8").program
    names = [intrinsic(spec, lower(spec.cell, program, width), "avx2") for width in (128, 256, 256)]
    assert names[1] == names[2] != names[0]
    assert "requant_u8_avx2_256_" in names[1]
    known = TensorIntrin.get(names[1])
    assert known is not None and known.same_as(TensorIntrin.get(names[1]))


def test_different_programs_of_one_specification_have_different_names() -> None:
    spec = specification_of("dot4_u7s8")
    names = {
        intrinsic(spec, lower(spec.cell, case_of("dot4_u7s8", level).program, 256), "vnni")
        for level in ("avx2", "vnni")
    }
    assert len(names) == 2


def test_the_implementation_is_one_let_a_register() -> None:
    spec = specification_of("gauss_121_u8")
    registers = lower(spec.cell, case_of("gauss_121_u8").program, 256)
    text = source(spec, registers)
    assert text.count(": T.let = ") == len(registers.steps)
    assert '"llvm.x86.avx2.pavg.b"' in text


def test_instructions_are_those_of_the_program() -> None:
    for name, level, expected in (
        ("gauss_121_u8", "avx2", {"vpavgb": 2, "vpsubb": 1, "vpaddb": 1}),
        ("mul_q15_sat", "avx2", {"vpmulhrsw": 1, "vpaddw": 1, "vpaddsw": 1}),
        ("dot4_u8s8", "vnni", {"vpdpbusd": 1}),
    ):
        case = case_of(name, level)
        kernel = compiled(
            specification_of(name), 8192, "tensorize", level=level, program=case.program
        )
        found = kernel.hot_loop.instructions
        least = min(found.values())
        assert {name: count // least for name, count in found.items()} == expected


# --- errors -----------------------------------------------------------------------------------


def test_a_name_that_llvm_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = specification_of("avg_round_u8")
    program = case_of("avg_round_u8").program
    registers = lower(spec.cell, program, 256)
    gone = "llvm.x86.avx2.pavg.gone"
    monkeypatch.setattr(Instruction, "__getattribute__", _with_reach({256: gone}))
    with pytest.raises(MachineError, match=gone):
        intrinsic(spec, registers, "avx2")


def _with_reach(reach: dict[int, str]):  # type: ignore[no-untyped-def]
    def get(self: Instruction, name: str) -> object:
        return reach if name == "reach" else object.__getattribute__(self, name)

    return get


def test_the_target_is_asked_before_llvm() -> None:
    case = case_of("dot4_u8s8", "vnni")
    with pytest.raises(MachineError, match="the target has not the instructions"):
        compiled(specification_of("dot4_u8s8"), 64, "tensorize", level="avx2", program=case.program)


@needs_x86
def test_what_llvm_ends_the_process_for_ends_a_child() -> None:
    function = tvm.read_script(
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "uint8"), O: T.Buffer((64,), "uint8")):
    O[T.ramp(T.int32(0), 1, 64)] = T.call_llvm_pure_intrin(
        T.llvm_lookup_intrinsic_id("llvm.x86.avx512.pavg.b.512"),
        A.vload([0], "uint8x64"), A.vload([0], "uint8x64"), dtype="uint8x64")
"""
    )
    module = IRModule({"main": function})
    check_compiles(module, target_of(level_of("avx512")))
    with pytest.raises(MachineError, match="LLVM does not compile") as caught:
        check_compiles(module, target_of(level_of("avx2")))
    assert "LLVM ERROR" in str(caught.value)


def test_a_level_that_this_processor_lacks_is_compiled_and_not_run() -> None:
    missing = [level for level in LEVELS if not processor_has(level)]
    assert missing  # none has both x86's and AArch64's
    case = next(each for each in CASES if each.level in missing)
    spec = specification_of(case.cell.name)
    kernel = compiled(spec, 64, "tensorize", level=case.level, program=case.program)
    with pytest.raises(MachineError, match="this processor has not the instructions"):
        kernel(spec.sample(64))


@needs_x86
def test_inputs_outside_their_promised_range_are_refused() -> None:
    case = case_of("dot4_u7s8")
    spec = specification_of("dot4_u7s8")
    kernel = compiled(spec, 8, "tensorize", level="avx2", program=case.program)
    arrays = spec.sample(8)
    arrays["A"][3, 2] = 200
    with pytest.raises(UsageError, match="outside the promised range"):
        kernel(arrays)
    with pytest.raises(UsageError, match="another number of outputs"):
        kernel(spec.sample(9))


def test_too_few_outputs_for_a_tile_are_refused() -> None:
    case = case_of("sat_add_u8")
    with pytest.raises(SizeError, match="does not fill one tile"):
        compiled(
            specification_of("sat_add_u8"), 31, "tensorize", level="avx2", program=case.program
        )


def test_a_form_is_asked_for_with_what_it_needs() -> None:
    spec, program = specification_of("sat_add_u8"), case_of("sat_add_u8").program
    with pytest.raises(UsageError, match="no form of a loop"):
        compiled(spec, 64, "vectorise", level="avx2")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a program for tensorize"):
        compiled(spec, 64, "tensorize", level="avx2")
    with pytest.raises(UsageError, match="a program for tensorize"):
        compiled(spec, 64, "serial", level="avx2", program=program)
    with pytest.raises(UsageError, match="no registers of 512 bits"):
        compiled(spec, 64, "wide", level="avx2")
    with pytest.raises(UsageError, match="did you mean avx2"):
        compiled(spec, 64, "serial", level="avx")


def test_vectorize_says_why_it_refuses_accumulating_cells() -> None:
    with pytest.raises(StepError, match="TVM does not vectorize"):
        compiled(specification_of("dot2_s16"), 64, "vectorize", level="avx2")

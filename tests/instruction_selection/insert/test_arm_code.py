"""Programs for AArch64: their instructions in the assembly, their code in an emulator."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_cells import case_of, emulated, row_alone, specification_of
from hand_written_cells import CASES, Case

from mlc_course.errors import MachineError
from mlc_course.instruction_selection.insert import (
    Compiled,
    call_memory,
    compiled,
    implementation,
    machine_code,
    target_of,
)
from mlc_course.instruction_selection.isa import NEON, Instruction, level_of
from mlc_course.instruction_selection.lower import lower
from mlc_course.tensor_program.tir import IRModule, tvm

ARM = [case for case in CASES if case.level == "neon"]
NOT_EMULATED = "usdot"  # newer than the emulator
OUTPUTS = 53


def kernel_of(case: Case) -> Compiled:
    spec = specification_of(case.cell.name)
    return compiled(spec, OUTPUTS, "tensorize", level="neon", program=case.program)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("avg_floor_u8", {"uhadd"}),
        ("absdiff_u8", {"uabd"}),
        ("gauss_121_u8", {"uhadd", "urhadd"}),
        ("requant_u8", {"sqrshrun", "sqrshrun2"}),
        ("narrow_s32", {"sqxtn", "sqxtn2", "sqxtun", "sqxtun2"}),
        ("mul_q15_sat", {"sqrdmulh"}),
        ("rshift_s16", {"srshr"}),
        ("dot4_u8s8", {"usdot"}),
        ("dot4_s8s8", {"sdot"}),
    ],
)
def test_the_assembly_has_the_instructions_of_the_program(name: str, expected: set[str]) -> None:
    case = case_of(name, "neon")
    spec = specification_of(name)
    kernel = compiled(spec, 8192, "tensorize", level="neon", program=case.program)
    assert set(kernel.hot_loop.instructions) == expected


@pytest.mark.parametrize("case", ARM, ids=str)
def test_an_emulator_runs_the_code(case: Case) -> None:
    pytest.importorskip("unicorn")
    if NOT_EMULATED in case.text:
        pytest.skip(f"the emulator has no {NOT_EMULATED}")
    kernel = kernel_of(case)
    for seed in (0, 1):
        arrays = kernel.spec.sample(OUTPUTS, seed, extremes=0.3)
        assert np.array_equal(emulated(kernel, arrays), kernel.spec.evaluate(arrays))


def test_an_emulator_runs_the_serial_loop() -> None:
    pytest.importorskip("unicorn")
    spec = specification_of("blend_u8")  # has constants in memory, which must be linked
    kernel = compiled(spec, OUTPUTS, "serial", level="neon")
    arrays = spec.sample(OUTPUTS)
    assert np.array_equal(emulated(kernel, arrays), spec.evaluate(arrays))


ROWS = [row.with_immediate(3) if row.has_immediate else row for row in NEON]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row}-{row.result}")
def test_every_row_is_reached(row: Instruction) -> None:
    pytest.importorskip("unicorn")
    spec, program = row_alone(row)
    registers = lower(spec.cell, program, 128)
    module = IRModule({"main": implementation(spec, registers)})
    library = tvm.compile_module(module, target_of(level_of("neon")))
    kernel = Compiled(spec, registers.outputs, "tensorize", "neon", library, registers)
    if row.name == NOT_EMULATED:
        assert NOT_EMULATED in kernel.assembly
        return
    rng = np.random.default_rng(0)
    arrays = {}
    for each, shape in spec.inputs(registers.outputs):
        ends = np.iinfo(each.type.numpy)
        arrays[each.name] = rng.integers(
            ends.min, ends.max, shape, dtype=each.type.numpy, endpoint=True
        )
        special = rng.choice(np.array([ends.min, 0, ends.max], each.type.numpy), shape)
        arrays[each.name] = np.where(rng.random(shape) < 0.4, special, arrays[each.name])
    assert np.array_equal(emulated(kernel, arrays), spec.evaluate(arrays))


# --- bytes ------------------------------------------------------------------------------------


def test_code_lies_where_it_is_linked_to() -> None:
    kernel = kernel_of(case_of("absdiff_u8", "neon"))
    for base in (0x10000, 0x7000000):
        code = machine_code(kernel.object_file, base)
        assert base <= code.entry < code.stub < base + len(code.image)
        assert code.entry % 4 == code.stub % 4 == 0


def test_the_memory_of_a_call_holds_the_arrays() -> None:
    arrays = {"A": np.arange(6, dtype="uint8").reshape(2, 3), "B": np.array([-1, 5], "int32")}
    memory = call_memory(arrays, 0x4000)
    assert memory.count == 2
    assert all(at % 64 == 0 for at in memory.arrays.values())
    for name, each in arrays.items():
        assert np.array_equal(memory.read(memory.memory, name, each), each)


def test_other_files_and_functions_are_refused() -> None:
    with pytest.raises(MachineError, match="no object file"):
        machine_code(b"MZ" + bytes(100), 0)
    spec = specification_of("absdiff_u8")
    with pytest.raises(MachineError, match="no object file"):  # of x86
        machine_code(compiled(spec, 64, "serial", level="avx2").object_file, 0)
    arm = compiled(spec, 64, "serial", level="neon").object_file
    with pytest.raises(MachineError, match="no such function"):
        machine_code(arm, 0, entry="other")

"""Functions for AArch64 and x86-64 run in an emulator, on any machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.isa import LEVELS
from mlc_course.instruction_selection.semantics import run_in_emulator, run_library_in_emulator
from mlc_course.instruction_selection.semantics.assembled import assembled, loop_text
from mlc_course.instruction_selection.semantics.one_instruction import target_of
from mlc_course.tensor_program.tir import IRModule, tvm

pytest.importorskip("unicorn")
keystone = pytest.importorskip("keystone")

# x[0] += y[0]; ret
ADDS = bytes.fromhex("080040f9 290040f9 0801098b 080000f9 c0035fd6")
TABLE = """
@T.prim_func(s_tir=True)
def scaled(A: T.Buffer((64,), "int32"), O: T.Buffer((64,), "int32")):
    for i in T.serial(16):
        O[T.ramp(i * 4, 1, 4)] = A.vload([i * 4], "int32x4") * T.Shuffle(
            [T.int32(3), T.int32(-70000), T.int32(123456), T.int32(7)], [0, 1, 2, 3]
        )
"""


def test_a_function_gets_pointers_and_gives_its_arrays_back() -> None:
    first, second = np.array([40, 7], np.int64), np.array([2], np.int64)
    found, unchanged = run_in_emulator(ADDS, [first, second])
    assert found.tolist() == [42, 7] and unchanged.tolist() == [2]
    assert first.tolist() == [40, 7]  # the caller's array is its own


def test_integers_are_passed_as_they_are() -> None:
    code = bytes.fromhex("010000f9 c0035fd6")  # str x1, [x0]; ret
    (found,) = run_in_emulator(code, [np.zeros((1, 1), np.uint64), 99])
    assert found.tolist() == [[99]]


def test_code_for_x86_runs_too() -> None:
    code = bytes.fromhex("488937c3")  # mov [rdi], rsi; ret
    (found,) = run_in_emulator(code, [np.zeros(1, np.uint64), 99], architecture="x86-64")
    assert found.tolist() == [99]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("209c824e c0035fd6", "at byte 0: 209c824e"),  # usdot: newer than the emulator
        ("0a0180d2 4a0140f9 c0035fd6", "at byte 4"),  # a load from address 8
    ],
)
def test_what_the_emulator_cannot_run_is_named_with_its_place(code: str, said: str) -> None:
    with pytest.raises(UsageError, match="does not run this code") as caught:
        run_in_emulator(bytes.fromhex(code), [np.zeros(16, np.uint8)])
    assert said in str(caught.value)


def test_more_arguments_than_registers_are_refused() -> None:
    with pytest.raises(UsageError, match="too many arguments"):
        run_in_emulator(ADDS, [0] * 9)


def compiled(text: str, tmp_path: Path) -> bytes:
    function = tvm.read_script(text)
    module: Any = tvm.compile_module(
        IRModule({"scaled": function.with_attr("global_symbol", "scaled")}),
        target_of(LEVELS["neon"]),
    ).mod
    module.write_to_file(str(tmp_path / "made.o"), "o")
    return (tmp_path / "made.o").read_bytes()


def test_a_function_that_tvm_compiled_for_arm_runs_with_its_table_of_constants(
    tmp_path: Path,
) -> None:
    values = np.arange(-32, 32, dtype=np.int32)
    made = compiled(TABLE, tmp_path)
    _, found = run_library_in_emulator(made, "scaled", [values, np.zeros(64, np.int32)])
    assert found.tolist() == (values * np.resize([3, -70000, 123456, 7], 64)).tolist()


def test_a_function_that_the_object_file_lacks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="__tvm_ffi_scaled"):
        run_library_in_emulator(compiled(TABLE, tmp_path), "other", [])


def test_what_is_no_object_file_for_arm_is_refused() -> None:
    with pytest.raises(UsageError, match="not an object file"):
        run_library_in_emulator(b"MZ" + bytes(64), "scaled", [])


def test_a_row_is_assembled_as_the_manual_writes_it() -> None:
    rows = {row.name: row for level in LEVELS.values() for row in level.rows}
    assert "sqrshrun2 v2.16b, v1.8h, #3" in loop_text(rows["sqrshrun"].with_immediate(3))
    assert "pmaddubsw xmm0, xmm1" in loop_text(rows["pmaddubsw"])
    assert assembled(rows["sdot"]) != assembled(rows["udot"])
    with pytest.raises(UsageError, match="does not know"):
        assembled(rows["vpdpbusd"])

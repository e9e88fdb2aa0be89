"""Tensor intrinsics are read on exact integers, and compared with their descriptions."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.integers import S8, S16, S32, U8, U32, evaluate, variable
from mlc_course.instruction_selection.prove import Proved, Refuted
from mlc_course.instruction_selection.tvm_intrinsics import (
    TVM_INTRINSICS,
    IntrinsicCheck,
    check_intrinsic,
    check_intrinsics,
    compared,
    meaning_of,
    memory_of,
    run,
    run_intrinsic,
)
from mlc_course.tensor_program.tir import read_script, tvm

SATURATING = "dot_16x4_avx512"
RIGHT = [name for name in TVM_INTRINSICS if name != SATURATING]


def function(body: str) -> object:
    lines = "\n".join(f"        {each}" for each in body.splitlines())
    return read_script(
        "@T.prim_func(s_tir=True)\n"
        'def main(A: T.Buffer((8,), "uint8"), C: T.Buffer((8,), "uint8")):\n'
        f'    with T.sblock("root"):\n{lines}\n'
    )


@pytest.mark.parametrize("name", RIGHT)
def test_an_intrinsic_is_its_description_for_all_inputs(name: str) -> None:
    assert isinstance(compared(*tvm.tensor_intrinsic(name)), Proved)


def test_the_saturating_one_is_right_for_small_inputs_only() -> None:
    pair = tvm.tensor_intrinsic(SATURATING)
    assert isinstance(compared(*pair, {"A": (0, 127)}), Proved)
    found = compared(*pair, {"A": (0, 129), "B": (-128, 127)})
    assert isinstance(found, Refuted)
    assert found.wanted != found.found


def test_a_refuting_input_is_replayed_by_both_and_by_the_processor() -> None:
    found = check_intrinsic(SATURATING)
    assert isinstance(found.verdict, Refuted)
    assert found.ran is not None
    lane = found.verdict.lane
    assert found.ran.described[lane] == found.verdict.wanted
    assert found.ran.implemented[lane] == found.verdict.found
    assert found.ran.processor in (None, found.ran.implemented)
    assert not found.is_right
    assert "For A in 0..127: Proved" in " ".join(str(found).split())


def test_255_times_127_four_times_is_65534() -> None:
    found = run_intrinsic(SATURATING, {"A": 255, "B": 127})
    assert set(found.described) == {129540}
    assert set(found.implemented) == {65534}
    assert found.processor in (None, found.implemented)


def test_one_lane_of_an_input_can_be_given() -> None:
    found = run_intrinsic("dot_4x4_i8i8s32_sdot", {"A[1]": 3, "B": -2, "B[5]": 7})
    assert found.described == found.implemented == (-6, 21, -6, -6)
    assert found.processor is None


def test_every_check_is_a_row_with_a_text() -> None:
    rows = check_intrinsics(RIGHT[1:3])
    assert [each.intrinsic.name for each in rows] == RIGHT[1:3]
    assert all(isinstance(each, IntrinsicCheck) and each.is_right for each in rows)
    assert str(rows[0]).splitlines()[0] == "dot_4x4_i8i8s32_neon  (aarch64-linux-gnu, +neon)"
    assert str(rows[0]).endswith("It compiles.")


def test_an_unknown_intrinsic_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean dot_16x4_vnni"):
        check_intrinsic("dot_16x4_vni")
    with pytest.raises(UsageError, match="TVM has no tensor intrinsic"):
        tvm.tensor_intrinsic("dot_3x3")


def test_a_wrong_implementation_is_refuted() -> None:
    description = function("for i in range(8):\n    C[i] = T.max(A[i], T.uint8(1))")
    right = function("C[T.ramp(0, 1, 8)] = T.max(A[T.ramp(0, 1, 8)], T.broadcast(T.uint8(1), 8))")
    wrong = function("C[T.ramp(0, 1, 8)] = T.max(A[T.ramp(0, 1, 8)], T.broadcast(T.uint8(2), 8))")
    part = function("C[T.ramp(0, 1, 4)] = T.max(A[T.ramp(0, 1, 4)], T.broadcast(T.uint8(1), 4))")
    assert isinstance(compared(description, right), Proved)
    assert isinstance(compared(description, wrong), Refuted)
    assert isinstance(compared(description, part), Refuted)


def test_lanes_are_reread_as_the_processor_does() -> None:
    body = """v: T.let = T.reinterpret(A[T.ramp(0, 1, 8)], dtype="uint16x4")
C[T.ramp(0, 1, 8)] = T.reinterpret(v + T.broadcast(T.uint16(256), 4), dtype="uint8x8")"""
    made = function(body)
    memory = memory_of(made)
    after = run(made, memory)["C"]
    values = dict.fromkeys(memory["A"], 7)
    assert [int(evaluate(each, values)) for each in after] == [7, 8] * 4


def test_lanes_that_are_switched_off_are_refused() -> None:
    call = (
        'C[T.ramp(0, 1, 8)] = T.call_llvm_pure_intrin("uint8x8", "llvm.vp.add", '
        "A[T.ramp(0, 1, 8)], A[T.ramp(0, 1, 8)], T.broadcast(T.bool({}), 8), T.uint32({}))"
    )
    doubled = function("for i in range(8):\n    C[i] = A[i] + A[i]")
    assert isinstance(compared(doubled, function(call.format(True, 8))), Proved)
    for mask, lanes in ((False, 8), (True, 7)):
        with pytest.raises(UsageError, match="no part of straight-line vector code"):
            compared(doubled, function(call.format(mask, lanes)))


def test_what_has_no_meaning_is_refused() -> None:
    with pytest.raises(UsageError, match="no part of straight-line vector code"):
        made = function("C[0] = A[0] // T.uint8(3)")
        run(made, memory_of(made))
    with pytest.raises(UsageError, match="no row has the LLVM intrinsic"):
        meaning_of("llvm.x86.avx512.none", [U8])
    with pytest.raises(UsageError, match="no parameter of the function 'D'"):
        memory_of(function("C[0] = A[0]"), {"D": (0, 1)})
    with pytest.raises(UsageError, match="does not fit its type"):
        memory_of(function("C[0] = A[0]"), {"A": (0, 256)})


def test_intrinsics_of_one_name_are_told_apart_by_their_lanes() -> None:
    a, b = variable("a", S8), variable("b", S8)
    assert meaning_of("llvm.aarch64.neon.smull", [S8, S8]).lanes([[a], [b]], []) == [a * b]
    assert meaning_of("llvm.aarch64.neon.udot", [S32, U8, U8]).result == U32
    assert meaning_of("llvm.x86.avx512.vpdpbusd.512", [S32, S32, S32]).reads == (S32, U8, S8)
    assert meaning_of("llvm.aarch64.neon.addp", [S32, S32]).result == S32
    assert meaning_of("llvm.aarch64.neon.saddlp", [S16]).result == S32

"""The step that puts instructions into a block of a schedule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiled_cells import Array, case_of
from hand_written_cells import program
from tvm.runtime import tensor

from mlc_course.errors import (
    BlockError,
    CourseError,
    MachineError,
    SizeError,
    StepError,
    UsageError,
    WrongResult,
)
from mlc_course.instruction_selection.insert import (
    divide,
    int8_matmul,
    int8_rungs,
    packed_bytes,
    processor_has,
    select,
    selecting,
    target_of,
    vector_instructions,
)
from mlc_course.instruction_selection.isa import LEVELS, CellProgram, level_of
from mlc_course.instruction_selection.spec import block_specification, specification
from mlc_course.tensor_program.legality import Legal, sound
from mlc_course.tensor_program.schedule import hoist_init, lookup, replayed, split, tile, trace
from mlc_course.tensor_program.tir import IRModule, PrimFunc, Schedule, tvm

LEVELS_HERE = [level for level in ("avx2", "avx512", "vnni") if processor_has(level)]
needs_avx2 = pytest.mark.skipif(not LEVELS_HERE, reason="a processor with AVX2")

AVERAGE = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({rows}, {columns}), "uint8"), B: T.Buffer(({rows}, {columns}), "uint8"),
         O: T.Buffer(({rows}, {columns}), "uint8")):
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("average"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = T.cast((T.cast(A[vi, vj], "int32") + T.cast(B[vi, vj], "int32") + 1) >> 1,
                "uint8")
"""
FILTER = """
@T.prim_func(s_tir=True)
def main(A: T.Buffer(({rows}, {wide}), "uint8"), O: T.Buffer(({rows}, {columns}), "uint8")):
    for i, j in T.grid({rows}, {columns}):
        with T.sblock("filter"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = T.cast((T.cast(A[vi, vj], "int32") + 2 * T.cast(A[vi, vj + 1], "int32")
                + T.cast(A[vi, vj + 2], "int32") + 2) >> 2, "uint8")
"""


def average(rows: int = 6, columns: int = 100) -> Schedule:
    return schedule(AVERAGE.format(rows=rows, columns=columns))


def schedule(text: str | PrimFunc) -> Schedule:
    made = tvm.read_script(text) if isinstance(text, str) else text
    return Schedule(IRModule({"main": made}))


def averaging() -> CellProgram:
    return case_of("avg_round_u8").program


def run(sch: Schedule, level: str, *arrays: Array) -> Array:
    library: Any = tvm.compile_module(sch.mod, target_of(level_of(level)))
    tensors = [tensor(each) for each in arrays]
    library["main"](*tensors)
    found: Array = tensors[-1].numpy()
    return found


def random(shape: tuple[int, ...], of: str, seed: int) -> Array:
    ends = np.iinfo(of)
    rng = np.random.default_rng(seed)
    return rng.integers(ends.min, ends.max, shape, dtype=of, endpoint=True)


@needs_avx2
@pytest.mark.parametrize("columns", [32, 64, 96, 100, 33, 127])
def test_tiles_and_the_rest_compute_the_block(columns: int) -> None:
    for level in LEVELS_HERE:
        for width in (128, 256, 512):
            if width > min(level_of(level).width, 8 * columns):
                continue
            sch = average(6, columns)
            registers = select(sch, "average", level=level, program=averaging(), width=width)
            assert registers.outputs == width // 8
            a, b = (random((6, columns), "uint8", seed) for seed in (0, 1))
            want = ((a.astype(int) + b + 1) >> 1).astype("uint8")
            assert np.array_equal(run(sch, level, a, b, np.zeros_like(a)), want)


@needs_avx2
@pytest.mark.parametrize("columns", [64, 77])
def test_several_operands_of_one_image(columns: int) -> None:
    sch = schedule(FILTER.format(rows=5, wide=columns + 2, columns=columns))
    spec = block_specification(sch, "filter")
    a0, a1, a2 = (each.name for each in spec.cell.operands)
    text = f"pavgb({a1}, paddb({a0}, psubb({a2}, pavgb({a0}, {a2}))))"
    found = program(text, spec.cell, LEVELS["avx2"].rows)
    select(sch, "filter", level="avx2", program=found)
    a = random((5, columns + 2), "uint8", 0)
    wide = a.astype(int)
    want = ((wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:] + 2) >> 2).astype("uint8")
    assert np.array_equal(run(sch, "avx2", a, np.zeros((5, columns), "uint8")), want)


def test_a_trace_without_a_rest_is_replayed() -> None:
    sch = average(4, 64)
    start = sch.mod
    select(sch, "average", level="avx2", program=averaging())
    again = replayed(start, sch.trace)
    assert tvm.same_structure(again.mod, sch.mod)
    lines = trace.lines(sch, start)
    assert lines[0] == "split(j, [None, 32])"
    assert lines[1].startswith("tensorize(j_1, 'mlc_course_average_avx2_256_")


def test_a_loop_of_one_tile_is_not_split() -> None:
    sch = average(4, 32)
    start = sch.mod
    select(sch, "average", level="avx2", program=averaging())
    assert [line.partition("(")[0] for line in trace.lines(sch, start)] == ["tensorize"]


@pytest.mark.parametrize("columns", [40, 63, 100])
def test_a_divided_loop_computes_the_same_elements(columns: int) -> None:
    sch = average(3, columns)
    before = sch.copy()
    divide(sch, "average", "j", 32)
    assert lookup.blocks(sch) == ["average", "average_rest"]
    assert lookup.length(sch, "average", "j") == columns // 32 * 32
    assert isinstance(sound(sch, like=before), Legal)


def test_dividing_does_nothing_where_the_tile_divides() -> None:
    sch = average(3, 64)
    before = sch.mod
    divide(sch, "average", "j", 32)
    assert sch.mod.same_as(before)


# --- a whole matmul ---------------------------------------------------------------------------


@needs_avx2
@pytest.mark.parametrize("level", LEVELS_HERE)
def test_the_found_cell_is_a_rung_of_a_matmul(level: str) -> None:
    rows, columns, depth = 16, 48, 20
    a, b = random((rows, depth), "uint8", 0), random((depth, columns), "int8", 1)
    a[0], b[:, 0] = 255, -128
    want = a.astype("int32") @ b.astype("int32")
    found = case_of("matmul_u8s8", "vnni" if level == "vnni" else "avx2").program
    for rung in int8_rungs(level, found):
        sch = schedule(int8_matmul(rows, columns, depth))
        rung.apply(sch)
        got = run(sch, level, a, packed_bytes(b), np.zeros((rows, columns), "int32"))
        assert np.array_equal(got, want), rung.name


def test_the_hot_loop_of_the_matmul_is_the_found_instruction() -> None:
    *_, last = int8_rungs("vnni", case_of("matmul_u8s8", "vnni").program)
    sch = schedule(int8_matmul(64, 64, 256))
    last.apply(sch)
    library = tvm.compile_module(sch.mod, target_of(level_of("vnni")))
    assert set(vector_instructions(library.mod.inspect_source("asm")).instructions) == {"vpdpbusd"}


def test_a_matmul_is_of_whole_tiles() -> None:
    with pytest.raises(SizeError, match="whole tiles"):
        int8_matmul(16, 40, 16)


# --- errors leave the schedule unchanged ------------------------------------------------------


def refused(sch: Schedule, kind: type[CourseError], match: str, **choices: Any) -> CourseError:
    before, insts = sch.mod, len(sch.trace.insts)
    with pytest.raises(kind, match=match) as caught:
        select(sch, choices.pop("block", "average"), **choices)
    assert sch.mod.same_as(before)
    assert len(sch.trace.insts) >= insts
    return caught.value


def test_another_cell_than_the_block_is_refused() -> None:
    wrong = specification("u8 A, u8 B -> u8 O: (A + B) >> 1")
    error = refused(
        average(3, 64),
        StepError,
        "does not find the specification's loop",
        level="avx2",
        program=case_of("avg_floor_u8").program,
        spec=wrong,
    )
    assert error.got == "The stmt (a block) doesn't match the tensor intrin"


def test_an_unknown_block_level_or_width_is_refused() -> None:
    refused(average(), BlockError, "no block", block="averag", level="avx2", program=averaging())
    refused(average(), UsageError, "did you mean avx2", level="avx", program=averaging())
    refused(average(), UsageError, "no width", level="avx2", program=averaging(), width=100)


def test_a_program_of_another_level_is_refused() -> None:
    sch = schedule(int8_matmul(16, 16, 4))
    tile(sch, "C", m=8, n=16, k=4)
    hoist_init(sch, "C", "k_0")
    refused(
        sch,
        MachineError,
        "the target has not",
        block="C_update",
        level="avx2",
        program=case_of("matmul_u8s8", "vnni").program,
        width=256,
    )


def test_a_loop_shorter_than_a_tile_is_refused() -> None:
    error = refused(
        average(3, 20), SizeError, "does not fill one tile", level="avx2", program=averaging()
    )
    assert error.__notes__ == ["in step select('average')"]
    select(average(3, 20), "average", level="avx2", program=averaging(), width=128)


def test_a_part_of_a_split_loop_that_the_tile_does_not_divide_is_refused() -> None:
    sch = average(3, 100)
    split(sch, "average", "j", 50)
    error = refused(sch, SizeError, "only a part", level="avx2", program=averaging())
    assert error.hint is not None and "before the loop is split" in error.hint


def test_loops_that_do_not_fit_the_cell_are_refused() -> None:
    sch = schedule(int8_matmul(16, 32, 16))
    split(sch, "C", "n", 16)
    sch.decompose_reduction(sch.get_sblock("C"), sch.get_loops(sch.get_sblock("C"))[0])
    spec = specification("s32 C, u8*4 A!, s8*4 B -> s32 C: C + A * B")
    found = case_of("matmul_u8s8").program
    error = refused(
        sch, SizeError, "not the lanes", block="C_update", level="avx2", program=found, spec=spec
    )
    assert error.hint == "split k by 4 first"
    refused(sch, UsageError, "in equal steps", block="C_update", level="avx2", program=found)
    bare = schedule("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((1,), "uint8"), O: T.Buffer((1,), "uint8")):
    with T.sblock("average"):
        O[0] = A[0]
""")
    spec = specification("u8 A, u8 B -> u8 O: (A + B + 1) >> 1")
    refused(bare, BlockError, "no block", level="avx2", program=averaging(), spec=spec)
    one = schedule(AVERAGE.format(rows=1, columns=32))
    narrow = specification("s32 C, u8*2 A, s8*2 B -> s32 C: C + A * B")
    found = case_of("matmul_u8s8").program
    refused(one, UsageError, "another cell", level="avx2", program=found, spec=narrow)


def test_a_block_that_is_no_specification_is_refused() -> None:
    text = AVERAGE.format(rows=4, columns=64).replace("uint8", "float32")
    refused(schedule(text), UsageError, "float32", level="avx2", program=averaging())


def test_a_program_that_is_wrong_before_is_refused() -> None:
    sch = schedule("""
@T.prim_func(s_tir=True)
def main(A: T.Buffer((64,), "uint8"), M: T.Buffer((64,), "uint8"), O: T.Buffer((64,), "uint8")):
    for j in range(64):
        with T.sblock("average"):
            vj = T.axis.remap("S", [j])
            O[vj] = T.cast((T.cast(A[vj], "int32") + T.cast(M[vj], "int32") + 1) >> 1, "uint8")
    for j in range(64):
        with T.sblock("late"):
            vj = T.axis.remap("S", [j])
            M[vj] = A[vj]
""")
    found = program("pavgb(A, M)", block_specification(sch, "average").cell, LEVELS["avx2"].rows)
    error = refused(sch, StepError, "wrong before", level="avx2", program=found)
    assert "may not be written yet" in str(error.got)


def test_a_lowering_with_a_fault_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    lower: Callable[..., Any] = selecting.lower

    def without_permutation(*arguments: Any) -> Any:
        found = lower(*arguments)
        return replace(found, results=tuple(found.steps[x].operands[0] for x in found.results))

    spec = specification("s16 A -> u8 O: clamp((A + 32) >> 6, 0, 255)", name="requant")
    sch = Schedule(IRModule({"main": spec.prim_func(64)}))
    monkeypatch.setattr(selecting, "lower", without_permutation)
    refused(
        sch,
        WrongResult,
        "is not the cell program's",
        block="cell",
        level="avx2",
        program=case_of("requant_u8").program,
        spec=spec,
    )


def test_a_program_that_is_not_proved_is_refused() -> None:
    sch = schedule(AVERAGE.format(rows=3, columns=64))
    wrong = program("paddb(A, B)", block_specification(sch, "average").cell, level_of("avx2").rows)
    error = refused(sch, StepError, "not proved", level="avx2", program=wrong)
    assert "Different at" in str(error.got)

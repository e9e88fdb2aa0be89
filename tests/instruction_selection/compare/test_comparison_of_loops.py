"""Ratios to LLVM's loops: all are checked first, and the table says what bounds the time."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hand_written_cells import CASES

from mlc_course.errors import SizeError, UsageError, WrongResult
from mlc_course.instruction_selection.compare import (
    BLAS,
    FOUND,
    MOVES,
    NUMPY,
    SAME_LOOPS,
    LoopComparison,
    compare,
    compare_matmul,
    data_movement,
    geometric_mean,
    inputs,
    llvm_loops,
    numpy_programs,
    outputs_in_l1,
)
from mlc_course.instruction_selection.insert import target_of, vector_instructions
from mlc_course.instruction_selection.isa import level_of
from mlc_course.instruction_selection.spec import CATALOGUE, Specification, specification
from mlc_course.machine import describe
from mlc_course.measure import Timing
from mlc_course.tensor_program.tir import tvm

AVX2 = level_of("avx2")
needs_avx2 = pytest.mark.skipif(
    describe().isa not in ("AVX2", "AVX-512"), reason="runs instructions of AVX2"
)
NAMES = pytest.mark.parametrize("name", CATALOGUE)


def loops(name: str, outputs: int = 2048) -> dict[str, object]:
    spec = CATALOGUE[name].specification
    return {each.name: each.kernel for each in llvm_loops(spec, AVX2, outputs)}


@needs_avx2
def test_a_comparison_has_llvm_in_several_wordings_numpy_and_moves() -> None:
    spec = CATALOGUE["sat_add_u8"].specification
    found = compare(spec, AVX2, loops("sat_add_u8")["narrow loop"], outputs=2048, rounds=3)
    assert {FOUND, NUMPY, MOVES, "loop", "vectorize", "narrow loop"} <= set(found.timings)
    assert found.best_llvm in found.llvm
    assert not found.best_llvm.startswith("as a u8 select")
    assert found.per_32_bytes("loop") > found.per_32_bytes("narrow loop") > 1  # type: ignore[operator]
    assert all(len(each.seconds) == 3 for each in found.timings.values())
    figures = json.loads(json.dumps(found.to_dict()))
    low, middle, high = figures["over_best_llvm"]
    assert low <= middle <= high
    assert f"{found}".splitlines()[0] == "sat_add_u8, avx2, 2048 outputs, one thread"
    assert "best of LLVM" in str(found)


@needs_avx2
def test_sums_over_lanes_are_compared_without_vectorize() -> None:
    spec = CATALOGUE["dot4_u8s8"].specification
    found = compare(spec, AVX2, loops("dot4_u8s8")["loop"], outputs=2048, rounds=2)
    assert "vectorize" not in found.timings
    assert "loop" in found.timings


@needs_avx2
def test_a_wrong_program_is_not_timed() -> None:
    spec = CATALOGUE["avg_round_u8"].specification
    with pytest.raises(WrongResult, match="avg_round_u8: found computes something else"):
        compare(spec, AVX2, loops("avg_floor_u8")["loop"], outputs=2048, rounds=2)


@needs_avx2
def test_a_matmul_is_compared_with_llvm_on_the_same_loops_and_on_better_ones() -> None:
    case = next(each for each in CASES if str(each) == "matmul_u8s8-avx2")
    found = compare_matmul(AVX2, case.program, size=64, rounds=2)
    assert {FOUND, SAME_LOOPS, "vectors of 16", BLAS} <= set(found.timings)
    assert found.over(BLAS).ratio > 0
    assert found.bound == "bound by instructions"
    with pytest.raises(SizeError, match="whole tiles"):
        compare_matmul(AVX2, case.program, size=40, rounds=2)


def told(seconds: dict[str, float], other_words: frozenset[str] = frozenset()) -> LoopComparison:
    timings = {name: Timing(name, (s, s, s, s, s, s)) for name, s in seconds.items()}
    return LoopComparison("spec", "avx2", 64, 1, timings, {}, other_words)


def test_the_best_of_llvm_is_the_fastest_wording_of_the_specification() -> None:
    found = told(
        {FOUND: 1, "loop": 5, "narrow loop": 3, "by hand": 2, NUMPY: 50, MOVES: 0.9},
        frozenset(["by hand"]),
    )
    assert (found.best_llvm, found.best_llvm_in_any_words) == ("narrow loop", "by hand")
    assert (found.over_llvm.ratio, found.over_numpy.ratio) == (3, 50)


def test_what_takes_as_long_as_its_loads_is_bound_by_them() -> None:
    found = told({FOUND: 1, "loop": 5, NUMPY: 50, MOVES: 0.9})
    assert found.bound.startswith("bound by loads and stores: loads and stores alone take 90%")
    slower = dataclasses.replace(found, timings=told({FOUND: 2, "loop": 5, MOVES: 0.9}).timings)
    assert slower.bound.startswith("bound by instructions")
    assert found.limit == pytest.approx(5 / 0.9)


@NAMES
def test_numpy_computes_what_the_specification_says(name: str) -> None:
    spec = CATALOGUE[name].specification
    arrays = inputs(spec, 100)
    for run in numpy_programs(spec, arrays, 100).values():
        assert np.array_equal(run(), spec.evaluate(arrays))


def test_a_line_that_the_catalogue_has_is_compared_with_its_wordings() -> None:
    line = CATALOGUE["sat_add_u8"].line
    assert "as a u8 select: loop" in {
        each.name for each in llvm_loops(specification(line), AVX2, 64)
    }


@NAMES
def test_all_loads_and_stores_are_in_the_loop_that_only_moves(name: str) -> None:
    spec = CATALOGUE[name].specification
    program = data_movement(spec, 8192, 256)
    text = tvm.compile_module(program, target_of(AVX2)).mod.inspect_source("asm")
    if name == "rshift_s16":  # a copy of one array to another has nothing to count
        return
    code = vector_instructions(text)
    assert code.stored_bytes % 32 == 0 < code.stored_bytes


def test_a_part_of_a_register_is_not_moved() -> None:
    with pytest.raises(SizeError, match="whole registers"):
        data_movement(CATALOGUE["sat_add_u8"].specification, 33, 256)


def test_rows_that_are_not_neighbours_are_not_moved() -> None:
    spec = CATALOGUE["sat_add_u8"].specification
    place = dataclasses.replace(spec.places["A"], per_output=(2,))
    tile = dataclasses.replace(spec.tile, places={**spec.places, "A": place})
    with pytest.raises(UsageError, match="side by side"):
        data_movement(dataclasses.replace(spec, tile=tile), 64, 256)


@pytest.mark.parametrize(
    ("name", "kib", "outputs"),
    [("sat_add_u8", 48, 8192), ("sat_add_u8", 32, 8192), ("gauss3x3_u8", 48, 2048)]
    + [("sad8_u8", 32, 1024), ("binomial5x5_u8", 1, 512)],
)
def test_so_many_outputs_fill_the_first_cache(name: str, kib: int, outputs: int) -> None:
    assert outputs_in_l1(CATALOGUE[name].specification, kib << 10) == outputs


def test_a_geometric_mean_is_that_of_the_ratios() -> None:
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4)


@needs_avx2
@pytest.mark.parametrize(
    "line",
    [
        "u8 A, u8 C -> u8 C: max(C, A)",
        "s16 C, s16 A -> s16 C: clamp(C + A, -32768, 32767)",
        "s32 C in 2000000..3000000, s32 A in 0..9 -> s32 C: C + A",
        "s32 C in -3000000..-2000000, s32 A in 0..9 -> s32 C: C + A",
        "u8 A! -> u8 O: A + 1",
    ],
)
def test_accumulators_of_any_type_and_range_and_shared_operands_are_timed(line: str) -> None:
    spec = specification(line)
    found = compare(spec, AVX2, llvm_loops_of(spec)["loop"], outputs=2048, rounds=2)
    assert {FOUND, NUMPY, "loop"} <= set(found.timings)
    assert (MOVES in found.timings) == ("!" not in line)


def llvm_loops_of(spec: Specification) -> dict[str, object]:
    return {each.name: each.kernel for each in llvm_loops(spec, AVX2, 2048)}


@pytest.mark.parametrize("line", ["u8 A -> u8 O: A", "u8 A! -> u8 O: A + 1", "s8 A -> u8 O: A"])
def test_numpy_stores_each_output(line: str) -> None:
    spec = specification(line)
    arrays = inputs(spec, 512)
    made = numpy_programs(spec, arrays, 512)[NUMPY]()
    assert made.shape == (512,) and made.flags.owndata
    assert not any(np.may_share_memory(made, each) for each in arrays.values())
    assert (made == spec.evaluate(arrays)).all()


@needs_avx2
def test_a_copy_has_vectors_and_no_instructions() -> None:
    spec = specification("u8 A -> u8 O: A")
    found = compare(spec, AVX2, llvm_loops_of(spec)["vectorize"], outputs=2048, rounds=2)
    assert found.per_32_bytes() == 0
    assert "found has none for 32 bytes" in found.bound

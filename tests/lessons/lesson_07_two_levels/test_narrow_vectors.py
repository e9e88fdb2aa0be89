"""Programs for narrower vectors than this machine has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlc_course.errors import UsageError
from mlc_course.lessons.kit.tiles import Tile, tiled, untiled
from mlc_course.lessons.lesson_07_two_levels.narrow_vectors import race_targets, vector_targets
from mlc_course.machine import describe
from mlc_course.tensor_program.problems import matmul
from mlc_course.tensor_program.processor import assembly
from mlc_course.tensor_program.tir import Schedule


def test_the_machine_itself_is_always_a_target_and_the_last() -> None:
    targets = vector_targets(describe())
    assert list(targets)[-1] == describe().isa
    assert targets[describe().isa] is None


@pytest.mark.parametrize("isa", ["NEON", "SSE"])
def test_there_is_nothing_narrower_than_four_lanes(isa: str) -> None:
    assert vector_targets(replace(describe(), isa=isa)) == {isa: None}


def test_code_for_a_target_is_as_wide_as_its_vectors() -> None:
    sch = Schedule(matmul(32, 32, 64).program())
    untiled(sch)
    lanes = [assembly(sch, cpu=cpu).lanes for cpu in vector_targets(describe()).values()]
    assert lanes == sorted(lanes)
    assert lanes[:-1] == [4, 8][: len(lanes) - 1]
    # 8 of 16 for Intel's AVX-512, where LLVM prefers narrow vectors.
    assert lanes[-1] in (describe().lanes, 8)


def test_each_program_is_timed_for_each_target() -> None:
    targets = vector_targets(describe())
    programs = {"plain": untiled, "tiles": tiled(Tile(8, 16))}
    found = race_targets("matmul", programs, (16, 32, 32), targets, budget_s=0)
    assert set(found) == {(name, target) for name in programs for target in targets}
    assert all(each.baseline.name == "NumPy" for each in found.values())


def test_an_unknown_workload_is_refused() -> None:
    with pytest.raises(UsageError, match="no workload"):
        race_targets("quicksort", {"plain": untiled}, (), {"here": None})

"""Schedules in which more than one block, or a changed loop, is given instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mlc_course.errors import CourseError
from mlc_course.instruction_selection.insert import compiled, select, target_of
from mlc_course.instruction_selection.isa import CellProgram, level_of
from mlc_course.instruction_selection.search import select_program
from mlc_course.instruction_selection.spec import Specification, specification
from mlc_course.tensor_program.schedule import lookup
from mlc_course.tensor_program.tir import IRModule, Schedule, read_script, shared_tensor, tvm

AVX2 = level_of("avx2")
SUM = specification("u8 A, u8 B -> u8 O: min(A + B, 255)")


def program(spec: Specification) -> CellProgram:
    found = select_program(spec.cell, AVX2).program
    assert found is not None
    return found


def aligned(values: Any) -> Any:
    room = np.empty(values.nbytes + 64, np.uint8)
    skip = -room.ctypes.data % 64
    copy = room[skip : skip + values.nbytes].view(values.dtype)
    copy[...] = values
    return copy


def test_two_blocks_of_one_schedule_are_given_instructions() -> None:
    function = read_script(
        "@T.prim_func(s_tir=True)\n"
        "def main("
        + ", ".join(f'{x}: T.Buffer((100,), "uint8")' for x in "ABOQ")
        + "):\n"
        + "".join(
            "    for i in range(100):\n"
            f'        with T.sblock("{block}"):\n'
            "            vi = T.axis.spatial(100, i)\n"
            f"            {output}[vi] = T.{block}(A[vi], B[vi])\n"
            for block, output in (("max", "O"), ("min", "Q"))
        )
    )
    sch = Schedule(IRModule({"main": function}))
    for block in ("max", "min"):
        select(
            sch,
            block,
            level="avx2",
            program=program(specification(f"u8 A, u8 B -> u8 O: {block}(A, B)")),
        )
    arrays = [aligned(x) for x in SUM.sample(100, 1).values()]
    got = [aligned(np.zeros(100, np.uint8)) for _ in range(2)]
    made = tvm.compile_module(sch.mod, target_of(AVX2))
    made["main"](*(shared_tensor(x) for x in (*arrays, *got)))
    assert np.array_equal(got[0], np.maximum(*arrays))
    assert np.array_equal(got[1], np.minimum(*arrays))


@pytest.mark.parametrize("kind", ["vectorize", "parallel", "unroll"])
@pytest.mark.parametrize("outputs", [100, 128])
def test_a_loop_of_another_kind_computes_the_same(kind: str, outputs: int) -> None:
    sch = Schedule(IRModule({"main": SUM.prim_func(outputs)}))
    getattr(sch, kind)(lookup.loop(sch, "cell", "i"))
    select(sch, "cell", level="avx2", program=program(SUM))
    arrays = SUM.sample(outputs, 1)
    got = aligned(np.zeros(outputs, np.uint8))
    made = tvm.compile_module(sch.mod, target_of(AVX2))
    made["main"](*(shared_tensor(aligned(x)) for x in arrays.values()), shared_tensor(got))
    assert np.array_equal(got, SUM.evaluate(arrays))


def _split(*factors: int | None) -> Callable[[Schedule], object]:
    return lambda sch: sch.split(lookup.loop(sch, "cell", "i"), list(factors))


WRONG: dict[str, tuple[Callable[[Schedule], object], dict[str, Any]]] = {
    "a tile with a condition": (_split(None, 7), {}),
    "a part that no tile divides": (_split(None, 50), {}),
    "a part that is too short": (_split(None, 20), {}),
    "no such block": (lambda sch: None, {"block": "cells"}),
    "no such level": (lambda sch: None, {"level": "avx9"}),
    "no such width": (lambda sch: None, {"width": 96}),
    "no width": (lambda sch: None, {"width": 0}),
    "a width of another level": (lambda sch: None, {"width": 512}),
    "another specification": (
        lambda sch: None,
        {"spec": specification("u8 A, u8 B -> u8 O: max(A + B - 255, 0)")},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_schedule_that_is_refused_is_unchanged(name: str) -> None:
    change, given = WRONG[name]
    sch = Schedule(IRModule({"main": SUM.prim_func(100)}))
    change(sch)
    before = sch.mod.script()
    with pytest.raises(CourseError):
        select(sch, **({"block": "cell", "level": "avx2", "program": program(SUM)} | given))
    assert sch.mod.script() == before


@pytest.mark.parametrize("outputs", [1, 31])
def test_fewer_outputs_than_a_tile_are_refused(outputs: int) -> None:
    with pytest.raises(CourseError, match="does not fill one tile"):
        compiled(SUM, outputs, "tensorize", level="avx2", program=program(SUM))


@pytest.mark.parametrize("outputs", [32, 33, 63, 64, 65, 1000])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_kernel_with_a_rest_is_the_specification(outputs: int, seed: int) -> None:
    made = compiled(SUM, outputs, "tensorize", level="avx2", program=program(SUM))
    arrays = SUM.sample(outputs, seed)
    assert np.array_equal(made(arrays), SUM.evaluate(arrays))

"""Blocks whose names hide that two things are not one, or whose sizes are not known."""

from __future__ import annotations

from typing import Any

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.spec import block_specification
from mlc_course.tensor_program.tir import (
    IRBuilder,
    IRModule,
    Schedule,
    read_script,
    tir_builder,
    tirx,
)


def _difference(a: Any, b: Any) -> Any:
    return tirx.Max(a, b) - tirx.Min(a, b)


def two_buffers(first: str, second: str, output: str) -> Schedule:
    with IRBuilder() as builder, tir_builder.prim_func(s_tir=True):
        tir_builder.func_name("main")
        of = [tir_builder.Buffer((64,), "uint8") for _ in range(3)]
        a, b, o = (tir_builder.arg(x, y) for x, y in zip((first, second, output), of, strict=True))
        with tir_builder.grid(64) as i, tir_builder.sblock("cell"):
            vi = tir_builder.axis.spatial(64, i)
            tir_builder.buffer_store(o, _difference(a[vi], b[vi]), [vi])
    return Schedule(IRModule({"main": builder.get()}))


@pytest.mark.parametrize(
    "names", [("A", "A", "O"), ("A", "B", "A"), ("A", "A", "A"), ("A.x", "A_x", "O")]
)
def test_two_buffers_of_one_name_are_not_one(names: tuple[str, str, str]) -> None:
    with pytest.raises(UsageError, match="two buffers with one name"):
        block_specification(two_buffers(*names), "cell")


def test_a_buffer_may_have_a_name_that_no_text_can_have() -> None:
    made = block_specification(two_buffers("A.shared", "B x", "O"), "cell")
    assert [each.name for each in made.cell.operands] == ["A_shared", "B_x"]


@pytest.mark.parametrize("rough", [False, True])
def test_two_loops_of_one_name_are_not_one(rough: bool) -> None:
    with IRBuilder() as builder, tir_builder.prim_func(s_tir=True):
        tir_builder.func_name("main")
        a = tir_builder.arg("A", tir_builder.Buffer((4, 64), "uint8"))
        o = tir_builder.arg("O", tir_builder.Buffer((4, 4, 64), "uint8"))
        with tir_builder.grid(4, 4, 64) as loops, tir_builder.sblock("cell"):
            IRBuilder.name_many(["i", "i", "k"], list(loops))
            x, y, z = (
                tir_builder.axis.spatial(extent, loop)
                for extent, loop in zip((4, 4, 64), loops, strict=True)
            )
            IRBuilder.name_many(["v", "v", "w"], [x, y, z])
            rows = (x // 2, y // 2) if rough else (x, y)
            tir_builder.buffer_store(o, _difference(*(a[row, z] for row in rows)), [x, y, z])
    sch = Schedule(IRModule({"main": builder.get()}))
    with pytest.raises(UsageError, match="two ways that move apart"):
        block_specification(sch, "cell")


SIZES = {
    "a loop": ("(64,)", "n"),
    "a buffer": ("(n,)", "64"),
    "rows of a buffer": ("(n, 64)", "64"),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_size_that_is_not_known_is_refused(name: str) -> None:
    shape, extent = SIZES[name]
    index = "0, vi" if "," in shape.strip("(),") else "vi"
    function = read_script(
        "@T.prim_func(s_tir=True)\n"
        "def main(a: T.handle, o: T.handle, n: T.int32):\n"
        f'    A = T.match_buffer(a, {shape}, "uint8")\n'
        '    O = T.match_buffer(o, (64,), "uint8")\n'
        f"    for i in range({extent}):\n"
        '        with T.sblock("cell"):\n'
        "            vi = T.axis.spatial(64, i)\n"
        f"            O[vi] = A[{index}]\n"
    )
    with pytest.raises(UsageError, match="not known before the loop runs"):
        block_specification(Schedule(IRModule({"main": function})), "cell")

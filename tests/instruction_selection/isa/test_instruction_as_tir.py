"""An instruction as an expression of TIR; ``semantics`` compiles every row's."""

from __future__ import annotations

import pytest

from mlc_course.errors import UsageError
from mlc_course.instruction_selection.isa import (
    LEVELS,
    Instruction,
    in_turns,
    register_types,
    registers_of_result,
    tir_text,
)

ROWS = list(dict.fromkeys(row for level in LEVELS.values() for row in level.rows))
CALL = "T.call_llvm_pure_intrin"
ALL_OF_4 = "T.broadcast(T.bool(True), 4), T.uint32(4)"


def named(name: str) -> Instruction:
    return next(row for row in ROWS if row.name == name)


@pytest.mark.parametrize(
    ("name", "immediate", "width", "text"),
    [
        ("paddb", None, 256, "a + b"),
        ("paddusb", None, 512, f'{CALL}("uint8x64", "llvm.uadd.sat", a, b)'),
        ("pavgb", None, 128, f'{CALL}("uint8x16", "llvm.x86.sse2.pavg.b", a, b)'),
        ("psraw", 3, 256, "T.shift_right(a, T.broadcast(T.int16(3), 16))"),
        ("pabsb", None, 128, f'{CALL}("int8x16", "llvm.abs", a, T.bool(False))'),
        (
            "pcmpgtd",
            None,
            128,
            "T.Select(a > b, T.broadcast(T.int32(-1), 4), T.broadcast(T.int32(0), 4))",
        ),
        (
            "urshr.16",
            4,
            128,
            f'{CALL}("uint16x8", "llvm.aarch64.neon.urshl", a, T.broadcast(T.uint16(65532), 8))',
        ),
        (
            "sqrshrn.32",
            2,
            128,
            f'T.Shuffle([{CALL}("int16x4", "llvm.aarch64.neon.sqrshrn", a, T.int32(2)), '
            f'{CALL}("int16x4", "llvm.aarch64.neon.sqrshrn", b, T.int32(2))], '
            "[0, 1, 2, 3, 4, 5, 6, 7])",
        ),
        ("pmovsxw", None, 128, 'T.Cast("int32x4", T.Shuffle([a], [0, 1, 2, 3]))'),
        (
            "sadalp.16",
            None,
            128,
            f'{CALL}("int32x4", "llvm.vp.add", a, '
            f'{CALL}("int32x4", "llvm.aarch64.neon.saddlp", b), {ALL_OF_4})',
        ),
    ],
)
def test_the_short_form_of_a_row_becomes_an_expression(
    name: str, immediate: int | None, width: int, text: str
) -> None:
    row = named(name) if immediate is None else named(name).with_immediate(immediate)
    assert tir_text(row, width, ["a", "b", "c"][: len(register_types(row))]) == text


def test_the_high_half_of_a_long_result_reads_the_high_halves() -> None:
    text = tir_text(named("umull.16"), 128, ["a", "b"], part=1)
    high = 'T.Cast("uint32x4", T.Shuffle([{}], [4, 5, 6, 7]))'
    operands = f"{high.format('a')}, {high.format('b')}"
    assert text == f'{CALL}("uint32x4", "llvm.vp.mul", {operands}, {ALL_OF_4})'


def test_x86_puts_lanes_side_by_side_within_blocks_of_128_bits() -> None:
    assert in_turns(128, 32, 0) == [0, 4, 1, 5]
    assert in_turns(256, 64, 1) == [1, 5, 3, 7]
    assert in_turns(256, 64, 1, block=256) == [2, 6, 3, 7]


def test_a_result_twice_as_wide_fills_two_registers() -> None:
    two = {row.kind for row in ROWS if registers_of_result(row) == 2}
    assert two == {"long", "widen", "interleave"}


@pytest.mark.parametrize(("name", "width"), [("psignb", 512), ("sdot", 256), ("psraw", 256)])
def test_a_width_or_an_immediate_that_is_missing_is_refused(name: str, width: int) -> None:
    with pytest.raises(UsageError, match="is not reached"):
        tir_text(named(name), width, ["a", "b", "c"])

"""Addresses: the place of each buffer of a program in memory, and the bytes of its accesses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from mlc_course.errors import UsageError
from mlc_course.tensor_program.tir.traversal import (
    Expr,
    Step,
    Touch,
    Var,
    every_step,
    main_function,
    walk,
)
from mlc_course.tensor_program.tir.tvm import IRModule, TensorProgram, compact_buffers, tirx

PAGE = 4096


def buffers(steps: Sequence[Step]) -> Iterator[Var]:
    """The buffer of every access, in program order."""
    return (step.buffer for step in every_step(steps) if isinstance(step, Touch))


def placed(
    program: TensorProgram, registers: Sequence[str], start: int = 0
) -> tuple[tuple[Step, ...], dict[Var, int]]:
    """The steps of a program with its buffers as TVM allocates them, and the start of each buffer.

    Buffers follow one another from byte ``start``, parameters first, each from a new page on. Those
    in the storage scopes named by ``registers`` have no address. Raises ``UsageError`` for buffers
    whose elements do not stand side by side: with strides, with an offset, or of vectors.
    """
    function = main_function(program).with_attr("global_symbol", "main")
    compact = main_function(compact_buffers(IRModule({"main": function})))
    steps = walk(compact)
    base: dict[Var, int] = {}
    for buffer in (*compact.params, *buffers(steps)):
        _check_plain(buffer)
        if buffer not in base and buffer.ty.storage_scope not in registers:
            base[buffer] = start
            size = prod(int(extent) for extent in buffer.shape) * element_bytes(buffer)
            start += -(-size // PAGE) * PAGE
    return steps, base


def _check_plain(buffer: Var) -> None:
    ty = buffer.ty
    offset = ty.elem_offset if isinstance(ty.elem_offset, tirx.IntImm) else None
    odd = {
        "strides": bool(len(ty.strides)),
        "an offset": offset is None or int(offset.value) != 0,
        "vectors": int(ty.dtype.dtype.lanes) != 1,
    }
    if any(odd.values()):
        raise UsageError(
            f"buffer {buffer.name}: its addresses are not followed",
            expected="a row-major array of single numbers",
            got=", ".join(name for name, found in odd.items() if found),
        )


def address(touch: Touch, base: dict[Var, int]) -> Expr:
    """The first byte that an access touches, as an int64 expression of the loops around it."""
    element = tirx.const(0, "int64")
    for index, extent in zip(touch.indices, touch.buffer.shape, strict=True):
        element = element * int(extent) + tirx.Cast("int64", index)
    return base[touch.buffer] + element * element_bytes(touch.buffer)


def element_bytes(buffer: Var) -> int:
    """The size of one element in whole bytes."""
    return (int(buffer.ty.dtype.dtype.bits) + 7) // 8

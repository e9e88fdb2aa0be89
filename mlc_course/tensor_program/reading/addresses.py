"""Where the buffers of a program stand in memory, and which byte each access touches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod

from mlc_course.tensor_program.reading.walk import Expr, Guard, Repeat, Step, Touch, Var
from mlc_course.tensor_program.tvm_names import tirx

PAGE = 4096


def buffers(steps: Sequence[Step]) -> Iterator[Var]:
    """The buffer of every access, in program order."""
    for step in steps:
        match step:
            case Touch():
                yield step.buffer
            case Guard():
                yield from buffers((*step.then, *step.otherwise))
            case Repeat():
                yield from buffers(step.body)


def placed(buffers: Iterable[Var], registers: Sequence[str], start: int) -> dict[Var, int]:
    """Where each buffer begins: one behind the other, each from a new page on.

    Those in the storage scopes named by ``registers`` have no address.
    """
    base: dict[Var, int] = {}
    for buffer in buffers:
        if buffer not in base and buffer.ty.storage_scope not in registers:
            base[buffer] = start
            size = prod(int(extent) for extent in buffer.shape) * element_bytes(buffer)
            start += -(-size // PAGE) * PAGE
    return base


def address(touch: Touch, base: Mapping[Var, int]) -> Expr:
    """The first byte that an access touches, as an int64 expression of the loops around it."""
    element = tirx.const(0, "int64")
    for index, extent in zip(touch.indices, touch.buffer.shape, strict=True):
        element = element * int(extent) + tirx.Cast("int64", index)
    return base[touch.buffer] + element * element_bytes(touch.buffer)


def element_bytes(buffer: Var) -> int:
    """The size of one element in bytes; a bit takes a whole one."""
    return (int(buffer.ty.dtype.dtype.bits) + 7) // 8

"""Addresses: the place of each buffer of a program in memory, and the bytes of its accesses.

TVM decides on the places when it lowers a program: buffers shrink to what is in use at a time, and
one whose values are no longer needed lends its memory to the next. So two buffers may have one
place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from mlc_course.errors import UsageError
from mlc_course.machine import describe
from mlc_course.tensor_program.tir.flattening import check_flattening
from mlc_course.tensor_program.tir.traversal import (
    Expr,
    Step,
    Touch,
    Var,
    every_step,
    main_function,
    name_of,
    walk,
)
from mlc_course.tensor_program.tir.tvm import (
    BufferType,
    Call,
    MemoryStages,
    PrimFunc,
    SBlock,
    TensorLoad,
    TensorProgram,
    every_node,
    memory_stages,
    tirx,
)

PAGE = 4096
MASKED = ("tirx.masked_load", "tirx.masked_store")


def buffers(steps: Sequence[Step]) -> Iterator[Var]:
    """The buffer of every access, in program order."""
    return (step.buffer for step in every_step(steps) if isinstance(step, Touch))


def placed(
    program: TensorProgram, registers: Sequence[str], start: int = 0
) -> tuple[tuple[Step, ...], dict[Var, int]]:
    """The steps of a program with its buffers as TVM allocates them, and the start of each buffer.

    The parameters follow one another from byte ``start``, then come the allocations in TVM's order,
    each from a new page on. Buffers that share an allocation have the same start. What a parallel
    loop allocates is given back after each of its iterations, so the next such loop has it again.
    Buffers in the storage scopes named by ``registers`` have no address.

    Raises ``UsageError`` for buffers whose elements do not stand side by side: with strides, with
    an offset, or of vectors; and for one that ``registers`` names but that is larger than all
    vector registers of this machine together.
    """
    function = main_function(program)
    # What is not followed is refused in the course's words, before TVM does it in its own.
    for buffer in (*function.params, *buffers(walk(function))):
        check_plain(buffer)
    check_flattening(function)
    stages = memory_stages(function)
    steps = walk(stages.compact)
    base: dict[Var, int] = {}
    for buffer in stages.compact.params:
        base[buffer] = start
        start += _pages(buffer)
    base |= _places(stages, start)
    for buffer in [each for each in base if each.ty.storage_scope in registers]:
        _check_fits(buffer)
        del base[buffer]
    return steps, base


def own_buffers(function: PrimFunc) -> Iterator[Var]:
    """The buffers that the blocks and statements of a program allocate, in program order."""
    for node in every_node(function):
        match node:
            case SBlock():
                yield from node.alloc_buffers
            case tirx.AllocBuffer():
                yield node.buffer


def _allocations(root: object) -> Iterator[Var]:
    return (node.buffer for node in every_node(root) if isinstance(node, tirx.AllocBuffer))


def _places(stages: MemoryStages, start: int) -> dict[Var, int]:
    """The start of each buffer that is allocated, where allocations begin at ``start``."""
    renamed = dict(zip(_touched(stages.flat), _touched(stages.shared), strict=True))
    lent = {
        node.buffer: node.data.args[0]
        for node in every_node(stages.shared)
        if isinstance(node, tirx.DeclBuffer)
    }
    starts = _starts(stages.shared, start)
    found = {}
    pairs = zip(own_buffers(stages.compact), _allocations(stages.flat), strict=True)
    for buffer, lowered in pairs:
        if lowered in renamed:
            shared = renamed[lowered]
            found[buffer] = starts[lent.get(shared, shared)]
    return found


def _touched(function: PrimFunc) -> list[Var]:
    """The buffers that a flat program uses, each once, in the order of their first use."""
    return [*dict.fromkeys(each for node in every_node(function) for each in _used(node))]


def _used(node: object) -> Sequence[Var]:
    """The buffers that a node itself loads or stores, with a mask or without."""
    match node:
        case tirx.BufferStore():
            return [node.buffer]
        case TensorLoad():
            return [node.source]
        case Call() if name_of(node) in MASKED:
            return [node.args[0]]
    return []


def _starts(shared: PrimFunc, start: int) -> dict[Var, int]:
    """The start of each allocation."""
    loops = [
        [*_allocations(node)]
        for node in every_node(shared)
        if isinstance(node, tirx.For) and node.kind == tirx.ForKind.PARALLEL
    ]
    inside = {each for group in loops for each in group}
    starts: dict[Var, int] = {}

    def put(group: Sequence[Var], place: int) -> int:
        for each in group:
            starts[each] = place
            place += _pages(each)
        return place

    end = put([each for each in _allocations(shared) if each not in inside], start)
    for group in reversed(loops):  # the outer loop of two last
        put(group, end)
    return starts


def _pages(buffer: Var) -> int:
    """The bytes of the pages that a buffer begins or fills."""
    return -(-buffer_bytes(buffer) // PAGE) * PAGE


def _check_fits(buffer: Var) -> None:
    machine = describe()
    room = machine.vector_registers * machine.vector_bits // 8
    if buffer_bytes(buffer) > room:
        raise UsageError(
            f"buffer {buffer.name}: too large for registers, and what is spilled is not followed",
            expected=f"at most {room:,} bytes, all vector registers of this machine",
            got=f"{buffer_bytes(buffer):,} bytes",
            hint="cache.count with registers=() counts it as memory",
        )


def check_plain(buffer: Var) -> None:
    """Raise ``UsageError`` for what is no row-major array of single numbers, of a known shape."""
    ty = buffer.ty
    if not isinstance(ty, BufferType) or not all(isinstance(n, tirx.IntImm) for n in buffer.shape):
        raise UsageError(
            f"{buffer.name}: its addresses are not followed",
            expected="a buffer of a known shape",
            got=f"{ty}",
        )
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
    """The size of one element in whole bytes, of all its lanes where it is a vector."""
    kind = buffer.ty.dtype.dtype
    return (int(kind.bits) * int(kind.lanes) + 7) // 8


def buffer_bytes(buffer: Var) -> int:
    """The size of a buffer of known shape."""
    return prod(int(extent) for extent in buffer.shape) * element_bytes(buffer)

"""Where the lanes of a value lie in its registers.

A value of all outputs of a tile is, in the order of memory, a row of bytes. A layout says for each
byte of a register which byte of that row it holds. x86 packs and unpacks within blocks of 128 bits,
so that with wider registers a layout is not the order of memory any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from mlc_course.instruction_selection.isa import BLOCK, in_turns

Item = TypeVar("Item")
Layout: TypeAlias = tuple[int, ...]
CHUNKS = (8, 4, 2, 1)  # bytes of a lane that a permutation moves


def natural(register: int, size: int) -> Layout:
    """Return the layout of register number ``register`` of ``size`` bytes in memory's order."""
    return tuple(range(register * size, (register + 1) * size))


def is_whole(layout: Layout, size: int) -> bool:
    """Return whether every lane of ``size`` bytes holds a whole lane of the value."""
    return all(
        layout[i] % size == 0 and layout[i : i + size] == natural(layout[i] // size, size)
        for i in range(0, len(layout), size)
    )


def lanes_of(layout: Layout, size: int) -> tuple[int, ...]:
    """Return the numbers of the value's lanes of ``size`` bytes, in the order of the register."""
    return tuple(layout[i] // size for i in range(0, len(layout), size))


def of_lanes(lanes: Iterable[int], size: int) -> Layout:
    """Return the layout of a register that holds these lanes of ``size`` bytes."""
    return tuple(lane * size + i for lane in lanes for i in range(size))


def in_blocks(lanes: Sequence[Item], register_bytes: int) -> list[Sequence[Item]]:
    """Return the lanes of each block of 128 bits."""
    blocks = 8 * register_bytes // BLOCK
    count = len(lanes) // blocks
    return [lanes[b * count : (b + 1) * count] for b in range(blocks)]


def half_of(lanes: Sequence[Item], upper: int) -> Sequence[Item]:
    """Return the lower (0) or the upper (1) half of lanes."""
    middle = len(lanes) // 2
    return lanes[middle:] if upper else lanes[:middle]


def unpacked(layout: Layout, size: int, upper: int) -> Layout:
    """Return where lanes lie that were widened from one half of each block, or interleaved."""
    blocks = in_blocks(lanes_of(layout, size), len(layout))
    return of_lanes((lane for block in blocks for lane in half_of(block, upper)), 2 * size)


def extended(layout: Layout, size: int, upper: int) -> Layout:
    """Return where lanes lie that were widened from one half of a register."""
    return of_lanes(half_of(lanes_of(layout, size), upper), 2 * size)


def packed(first: Layout, second: Layout, size: int) -> Layout:
    """Return where the lanes of two registers lie, made half as wide within each block."""
    sides = [in_blocks(lanes_of(each, size), len(first)) for each in (first, second)]
    return of_lanes(
        (x for blocks in zip(*sides, strict=True) for b in blocks for x in b), size // 2
    )


def unpacking(size: int, register_bytes: int, upper: int) -> tuple[int, ...]:
    """Return the lanes, of two registers one after the other, that an unpack puts side by side."""
    return tuple(in_turns(8 * register_bytes, 8 * size, upper))


def chunks_moved(
    sources: Mapping[int, Layout], wanted: Layout, period: int | None = None
) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the widest lane that gathers a layout from registers, and what each lane is.

    A lane of the result is (register, lane in it); the registers are the keys of ``sources``. Bytes
    are the same where they are equal modulo the ``period``, if there is one.
    """

    def same(byte: int) -> int:
        return byte if period is None else byte % period

    for size in CHUNKS:
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        for register, layout in sources.items():
            for at in range(0, len(layout), size):
                chunk = tuple(same(x) for x in layout[at : at + size])
                found.setdefault(chunk, (register, at // size))
        asked = [
            tuple(same(x) for x in wanted[at : at + size]) for at in range(0, len(wanted), size)
        ]
        if all(chunk in found for chunk in asked):
            return size, tuple(found[chunk] for chunk in asked)
    raise AssertionError("the registers of a value hold all its bytes")

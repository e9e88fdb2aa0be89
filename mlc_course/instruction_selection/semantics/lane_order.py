"""The order in which registers hold the lanes that one instruction gives, as numbers.

A meaning numbers the lanes of its operands as memory does. Most instructions keep that order. The
packs and unpacks of x86 work on each block of 128 bits apart, so that a wider register holds its
lanes in another one.
"""

from __future__ import annotations

from mlc_course.instruction_selection.isa import BLOCK, Instruction, register_types

IN_BLOCKS = ("pack", "punpck")  # how the names of such families begin


def registers_read(row: Instruction) -> int:
    """Return how many registers of each operand one application reads: two of a ``narrow`` one."""
    return 2 if row.kind == "narrow" else 1


def lanes_written(row: Instruction, width: int) -> int:
    """Return how many lanes of the result one application at ``width`` bits writes."""
    return width // row.result.bits * (2 if row.kind in ("long", "widen", "interleave") else 1)


def lane_order(row: Instruction, width: int) -> list[int]:
    """Return, for each lane that one application writes, the number of that lane in memory order.

    Lanes of a second register follow those of the first.
    """
    count = lanes_written(row, width)
    if not row.family.startswith(IN_BLOCKS):
        return list(range(count))
    lanes = BLOCK // register_types(row)[0].bits  # of an operand, in a block
    blocks = range(width // BLOCK)
    if row.kind == "narrow":  # each block of the first register, beside that of the second
        read = width // row.reads[0].type.bits
        return [at + b * lanes + i for b in blocks for at in (0, read) for i in range(lanes)]
    halves = [range(half * lanes // 2, (half + 1) * lanes // 2) for half in (0, 1)]
    found = [b * lanes + i for half in halves for b in blocks for i in half]
    if row.kind == "widen":
        return found
    return [2 * each + turn for each in found for turn in (0, 1)]

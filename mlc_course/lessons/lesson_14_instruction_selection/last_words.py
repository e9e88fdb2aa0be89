"""The last words of lesson 14, with what the lesson searched, proved and measured."""

from __future__ import annotations

import math
from textwrap import fill

from mlc_course.instruction_selection.isa import Instruction
from mlc_course.instruction_selection.search import Selection
from mlc_course.lessons.lesson_14_instruction_selection.loop_races import LoopRace

WIDTH = 84


def last_sentence(selection: Selection, race: LoopRace) -> str:
    """Return the last sentence; what was not found or not faster is said so."""
    program = selection.program
    if program is None:
        return fill(
            f"In its time the search tried {selection.tried:,} programs and found none here: "
            f"{selection.coverage}. So nothing may be used, however fast it would be.",
            WIDTH,
        )
    inputs = math.prod(
        (high - low + 1) ** each.lanes
        for each in selection.cell.operands
        for low, high in (each.range,)
    )
    bits = math.log2(inputs)
    many = f"2^{bits:.0f}" if bits.is_integer() else f"{inputs:,}"
    widest = max(each.type.bits for each in program.equations if isinstance(each.op, Instruction))
    low, ratio, _ = race.over_llvm
    narrow = selection.cell.result.bits
    stays = f"it never leaves {narrow} bits" if widest == narrow else f"it needs {widest} bits"
    if low > 1.03:
        speed = f"is {ratio:.1f} times as fast as the compiler's because {stays}"
    else:
        speed = f"is {ratio:.2f} times as fast as the compiler's here, although {stays}"
    where = f" ({race.where})" if race.where else ""
    return fill(
        f"This program was found among {selection.tried:,} programs, is right on all {many} inputs "
        f"and not only on a million I tried, and it {speed}{where}.",
        WIDTH,
    )

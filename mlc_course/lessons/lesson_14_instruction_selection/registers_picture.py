"""A program on whole registers as a picture: which output of the loop lies where, step by step."""

from __future__ import annotations

from collections.abc import Iterator

from mlc_course.drawing import PAGE_PAPER, PAGE_TINT, SMALL, document, line, rect, text
from mlc_course.instruction_selection.isa import Constant
from mlc_course.instruction_selection.lower import RegisterProgram, Step
from mlc_course.lessons.lesson_14_instruction_selection.code_text import LETTER, SIZE, code

CELLS = 640.0  # pixels of a register
HEAD, ROW, HIGH = 40.0, 34.0, 26.0
BLOCK = 16  # bytes within which x86 packs and unpacks
BLOCK_GAP = 10.0
NARROW = 16.0  # pixels of a cell below which only every fourth is numbered
FIRST, LAST = (179, 217, 242), (242, 176, 80)  # colours of the first and of the last output
ON_COLOUR = "#222221"


def register_picture(program: RegisterProgram) -> str:
    """Draw each register as a row of cells, one for each output whose lanes it holds.

    A cell has the number of its output, and a colour between blue for the first and amber for the
    last: where the colours are out of order, so are the outputs. Short lines part the lanes of one
    output, gaps the blocks of 128 bits.
    """
    texts = [f"v{at} = {program.text_of(at)}" for at in range(len(program.steps))]
    left = 20 + LETTER * SIZE * max(map(len, texts))
    blocks = max(1, program.register_bytes // BLOCK)
    wide = left + CELLS + (blocks - 1) * BLOCK_GAP + 90
    parts = [text(left, 20, f"a register of {program.width_bits} bits", size=SMALL, anchor="start")]
    y = HEAD
    for at, step in enumerate(program.steps):
        parts.append(code(10, y + 18, texts[at], bold=program.executed(at) > 0))
        parts += _register(program, step, left, y)
        lanes = f"{program.register_bytes // step.type.bytes} x {step.type}"
        parts.append(text(wide - 10, y + 18, lanes, size=SMALL, anchor="end"))
        y += ROW
    stored = ", ".join(f"v{x}" for x in program.results)
    parts.append(code(10, y + 18, f"store {stored}"))
    return document(wide, y + ROW, register_said(program), parts)


def register_said(program: RegisterProgram) -> str:
    """Return in sentences what the picture shows."""
    mixed = [f"v{at}" for at, step in enumerate(program.steps) if not in_order(step)]
    order = (
        f"In {', '.join(mixed)} the outputs are out of order"
        if mixed
        else "In every register the outputs are in order"
    )
    return (
        f"{len(program.steps)} registers of {program.width_bits} bits for {program.outputs} "
        f"outputs, by {program.instructions} instructions. {order}."
    )


def in_order(step: Step) -> bool:
    """Return whether a register holds neighbouring outputs one after the other."""
    return all(b - a in (0, 1) for a, b in zip(step.outputs, step.outputs[1:], strict=False))


def _register(program: RegisterProgram, step: Step, left: float, top: float) -> Iterator[str]:
    size = program.register_bytes
    if not step.outputs:
        words = str(step.op) if isinstance(step.op, Constant) else "the same for all outputs"
        blocks = max(1, size // BLOCK)
        wide = CELLS + (blocks - 1) * BLOCK_GAP
        yield rect(left, top, wide, HIGH, fill=PAGE_TINT, line=0.7, round_by=2)
        yield text(left + wide / 2, top + 18, words, size=SMALL)
        return
    per_byte = CELLS / size
    cell = size / len(step.outputs)
    numbers = []  # above all cells, as some are wider than theirs
    for place, output in enumerate(step.outputs):
        first = place * cell
        x = left + first * per_byte + first // BLOCK * BLOCK_GAP
        wide = cell * per_byte
        colour = colour_of(output, program.outputs)
        yield rect(x, top, wide, HIGH, fill=colour, stroke=PAGE_PAPER, line=1, round_by=2)
        lanes = int(cell // step.type.bytes)
        for lane in range(1, lanes):
            at = x + wide * lane / lanes
            yield line((at, top + HIGH - 6), (at, top + HIGH), colour=ON_COLOUR, wide=0.8)
        if wide >= NARROW:
            numbers.append(text(x + wide / 2, top + 17, str(output), size=12, colour=ON_COLOUR))
        elif output % 4 == 0:
            number = text(x + 2, top + 17, str(output), size=12, colour=ON_COLOUR, anchor="start")
            numbers.append(number)
    yield from numbers


def colour_of(output: int, outputs: int) -> str:
    """Return the colour of an output, between those of the first and of the last."""
    share = output / max(1, outputs - 1)
    mixed = (round(a + (b - a) * share) for a, b in zip(FIRST, LAST, strict=True))
    return "#" + "".join(f"{each:02x}" for each in mixed)

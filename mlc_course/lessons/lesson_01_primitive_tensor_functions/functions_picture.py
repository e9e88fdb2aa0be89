"""A chain of tensor functions, with the values of every tensor for one image, as SVG text.

A value is a square: full and blue above zero, small and amber below, none at zero; its strength
says how large it is beside the largest of its tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from mlc_course.drawing import AMBER, PAGE_INK, PAGE_OURS, PAGE_PAPER, PAGE_TINT, document, text
from mlc_course.errors import SizeError, UsageError
from mlc_course.lessons.lesson_01_primitive_tensor_functions.tensor_functions import WEIGHTS, Chain
from mlc_course.tensor_program.problems import Array

WIDTH, HEIGHT = 1000, 400
_text = partial(text, size=14)
FRAME = f'fill="none" stroke="{PAGE_INK}"'
ROW, PICTURE = 106, 92  # the middle of the chain, and the size of a tensor's picture
IMAGE = (400, 236, 136)  # x, y, size of the image
SCORES = (590, 252, 390, 116)  # x, y, width, height of the class scores


def digits_svg(images: Array, captions: Sequence[str] = (), *, width: int = 100) -> str:
    """Images (n, 64) side by side, each ``width`` pixels wide, with a caption below each.

    Raises ``SizeError`` for images of another size, and unless there is a caption for each or none.
    """
    if images.ndim != 2 or images.shape[1] != 64:
        raise SizeError("digits_svg: not 8 x 8 pixels each", expected="(n, 64)", got=images.shape)
    if captions and len(captions) != len(images):
        raise SizeError(
            "digits_svg: captions", expected=f"{len(images)} or none", got=len(captions)
        )
    side, pitch = width - 8, width
    tall = width + (20 if captions else 0)
    parts = []
    for place, image in enumerate(images):
        x = 4 + place * pitch
        parts.append(f'<rect x="{x}" y="4" width="{side}" height="{side}" {FRAME}/>')
        parts.append(_cells(image, x, 4, side, columns=8))
    middles = (4 + place * pitch + side / 2 for place in range(len(captions)))
    parts += [_text(x, width + 12, text) for x, text in zip(middles, captions, strict=True)]
    said = ", ".join(captions) or "handwritten digits"
    return document(pitch * len(images), tall, said, parts)


def chain_svg(chain: Chain, values: Mapping[str, Array], selected: int, label: int) -> str:
    """The chain with one function selected; ``values`` has every tensor, ``label`` is the truth.

    Raises ``UsageError`` for a function that is not there, and ``SizeError`` for more than one
    image.
    """
    if not 0 <= selected < len(chain.functions):
        last = len(chain.functions) - 1
        raise UsageError("no such function here", expected=f"0 to {last}", got=selected)
    if len(values["X"]) != 1:
        raise SizeError("chain_svg: one image", expected="X (1, 64)", got=values["X"].shape)
    x, y, size = IMAGE
    parts = [
        *_chain(chain, values, selected),
        *_facts(chain, selected),
        f'<rect x="{x}" y="{y}" width="{size}" height="{size}" {FRAME}/>',
        _cells(values["X"], x, y, size, columns=8),
        *_scores(values["Y"], label),
    ]
    return document(WIDTH, HEIGHT, f"{chain.name}, and the scores of one image", parts)


def _chain(chain: Chain, values: Mapping[str, Array], selected: int) -> Iterator[str]:
    """Tensors and functions from left to right, on a line that shows where values flow."""
    count = len(chain.functions)
    step = (WIDTH - 100) / count
    yield f'<path d="M50 {ROW} H{WIDTH - 50}" stroke="{PAGE_INK}" stroke-width="2"/>'
    for place, function in enumerate(chain.functions):
        yield _function(chain, place, 50 + (place + 0.5) * step, place == selected)
        yield _tensor(chain, function.writes, values, 50 + (place + 1) * step)
    yield _tensor(chain, "X", values, 50)


def _function(chain: Chain, place: int, x: float, chosen: bool) -> str:
    function = chain.functions[place]
    stroke, fill = (PAGE_OURS, PAGE_TINT) if chosen else (PAGE_INK, PAGE_PAPER)
    wide = 72 if len(chain.functions) > 2 else 150
    weights = [name for name in function.reads if name in WEIGHTS]
    lines = [f"{name} {_shape(chain, name)}" for name in weights]
    if len(chain.functions) == 1:
        lines = [", ".join(lines[:2]), ", ".join(lines[2:])]
    above = "".join(
        _text(x, ROW - 30 - 16 * (len(lines) - row), line) for row, line in enumerate(lines)
    )
    arrow = (
        f'<path d="M{x} {ROW - 42} v12 m-5 -6 l5 6 l5 -6" fill="none" stroke="{PAGE_INK}"/>'
        if lines
        else ""
    )
    return (
        f'{above}{arrow}<g id="function-{place}"><rect x="{x - wide / 2}" y="{ROW - 28}" '
        f'width="{wide}" height="56" rx="6" fill="{fill}" stroke="{stroke}" '
        f'stroke-width="{4 if chosen else 1.5}"/>'
        f"{_text(x, ROW + 5, function.name, bold=chosen)}</g>"
    )


def _tensor(chain: Chain, name: str, values: Mapping[str, Array], x: float) -> str:
    columns = {64: 8, 200: 15, 10: 5}.get(values[name].size, 10)
    box = (
        f'<rect x="{x - PICTURE / 2}" y="{ROW - PICTURE / 2}" width="{PICTURE}" '
        f'height="{PICTURE}" fill="{PAGE_PAPER}" stroke="{PAGE_INK}"/>'
    )
    cells = _cells(values[name], x - PICTURE / 2, ROW - PICTURE / 2, PICTURE, columns=columns)
    below = ROW + PICTURE / 2
    return (
        f"{box}{cells}{_text(x, below + 17, f'{name} {_shape(chain, name)}', bold=True)}"
        f"{_text(x, below + 33, f'{chain.bytes(name):,} bytes')}"
        f"{_text(x, below + 49, _kept(values[name])) if name == 'H' else ''}"
    )


def _kept(values: Array) -> str:
    """Return the number of values that ReLU leaves above zero."""
    return f"{int((values > 0).sum())} of {values.size} kept"


def _cells(values: Array, x: float, y: float, size: float, *, columns: int) -> str:
    """Values in rows of ``columns``, as squares."""
    flat = values.reshape(-1).astype(float)
    pitch = size / columns
    y += (size - pitch * -(-flat.size // columns)) / 2  # few rows are centred
    largest = float(np.abs(flat).max()) or 1.0
    squares = []
    for place, value in enumerate(flat):
        strength = abs(value) / largest
        if not strength >= 0.02:
            continue
        row, column = divmod(place, columns)
        side = pitch * (0.94 if value > 0 else 0.55)
        inset = (pitch - side) / 2
        squares.append(
            f'<rect x="{x + column * pitch + inset:.1f}" y="{y + row * pitch + inset:.1f}" '
            f'width="{side:.1f}" height="{side:.1f}" fill="{PAGE_OURS if value > 0 else AMBER}" '
            f'fill-opacity="{0.15 + 0.85 * strength:.2f}"/>'
        )
    return "".join(squares)


def _facts(chain: Chain, selected: int) -> Iterator[str]:
    """Say what the selected function reads, writes and computes, and what the whole chain keeps."""
    function = chain.functions[selected]
    read, written = chain.bytes(*function.reads), chain.bytes(function.writes)
    names = ", ".join(function.reads)
    between = ", ".join(chain.between) or "nothing"
    lines = [
        f"reads {names}: {read:,} bytes",
        f"writes {function.writes}: {written:,} bytes",
        f"{function.flops:,} operations, {function.flops / (read + written):.2f} for each byte",
    ]
    yield _text(
        20, 238, f"{function.name}, step {selected + 1}", size=16, bold=True, anchor="start"
    )
    for row, line in enumerate(lines):
        yield _text(20, 262 + 22 * row, line, anchor="start")
    yield _text(20, 336, "between the functions of this stage", anchor="start")
    kept = f"{between}: {chain.bytes(*chain.between):,} bytes"
    yield _text(20, 358, kept, bold=True, anchor="start")
    yield (
        f'<rect x="20" y="378" width="10" height="10" fill="{PAGE_OURS}"/>'
        f"{_text(36, 388, 'above zero', anchor='start')}"
        f'<rect x="122" y="380" width="6" height="6" fill="{AMBER}"/>'
        f"{_text(134, 388, 'below zero', anchor='start')}"
    )


def _scores(scores: Array, label: int) -> Iterator[str]:
    """Bars from the lowest score; the highest is the answer."""
    x, y, width, height = SCORES
    (row,) = scores
    best, low, high = int(row.argmax()), float(row.min()), float(row.max())
    verdict = "right" if best == label else "wrong"
    said = f"answer {best}, label {label}: {verdict}"
    yield _text(x, y - 12, f"scores Y: {said}", size=16, bold=True, anchor="start")
    unit = height / ((high - min(low, 0.0)) or 1.0)
    zero = y + height - unit * max(0.0, -low)
    step = width / len(row)
    for place, score in enumerate(row):
        tall = abs(float(score)) * unit
        top = zero - tall if score > 0 else zero
        chosen = place == best
        stroke = f' stroke="{PAGE_INK}" stroke-width="2.5"' if chosen else ""
        inset = 4 if score > 0 else 10
        yield (
            f'<rect x="{x + place * step + inset:.1f}" y="{top:.1f}" '
            f'width="{step - 2 * inset:.1f}" height="{tall:.1f}" '
            f'fill="{PAGE_OURS if score > 0 else AMBER}"{stroke}/>'
        )
        middle = x + (place + 0.5) * step
        yield _text(middle, y + height + 18, str(place), bold=chosen)
    yield f'<path d="M{x} {zero:.1f} h{width}" stroke="{PAGE_INK}"/>'
    yield _text(x - 8, zero + 5, "0", anchor="end")


def _shape(chain: Chain, name: str) -> str:
    return " x ".join(map(str, chain.shapes[name]))

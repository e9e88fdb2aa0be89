"""The race of register tiles: a bar for each, and what the counts say about its order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

import matplotlib as mpl
from matplotlib.figure import Figure

from mlc_course.drawing import STYLE, WIDTH_IN, svg_text
from mlc_course.lessons.kit import race_bars
from mlc_course.lessons.lesson_11_packing_and_the_micro_kernel.kernels import (
    fits,
    loads_each,
    name,
    slots,
)
from mlc_course.machine import Machine, runs_as_written
from mlc_course.measure import Comparison
from mlc_course.tensor_program.processor import Assembly
from mlc_course.units import milliseconds

CLEAR = 1.1  # ratios of times nearer to 1 are no order


def race_svg(found: Mapping[str, Comparison], what: str) -> str:
    """Draw the times of a race of tiles, with NumPy as a line."""
    with mpl.rc_context(STYLE):
        height = 1.25 + 0.36 * len(found)
        figure = Figure(figsize=(WIDTH_IN, height))
        box = (0.13, 0.72 / height, 0.85, (height - 1.1) / height)
        axes = figure.add_axes(box)
        race_bars(axes, found, None, per_second=1e3, text=milliseconds, of=f"ms for {what}")
    said = ", ".join(f"{tile} {each.ratio:.2f} x NumPy" for tile, each in found.items())
    return svg_text(figure, f"Speed of each tile: {said}")


def order_sentence(
    found: Mapping[str, Comparison], tiles: tuple[tuple[int, int], ...], machine: Machine
) -> str:
    """Return how many pairs of the tiles that fit are ordered as loads and waiting say.

    A pair counts where both the two limits and the two times differ clearly.
    """
    fitting = [tile for tile in tiles if fits(tile, machine.vector_registers)]
    pairs = right = 0
    for one, other in combinations(fitting, 2):
        expected = slots(one) / slots(other)
        measured = found[name(other)].ratio / found[name(one)].ratio
        if max(expected, 1 / expected) < CLEAR or max(measured, 1 / measured) < CLEAR:
            continue
        pairs += 1
        right += (expected > 1) == (measured > 1)
    best = max(found, key=lambda tile: found[tile].ratio)
    if not runs_as_written():
        return (
            f"fastest: {best}. Counts and times do not belong together here: instructions are "
            f"counted for {machine.isa}, and run as code for narrower registers."
        )
    if not pairs:
        return f"fastest: {best}. No two tiles differ clearly in this race; run the cell again."
    verdict = "the two limits explain the order" if right == pairs else "something else counts too"
    return f"fastest: {best}. Of {pairs} clear pairs, {right} are ordered as expected: {verdict}."


def spill_sentence(found: Mapping[str, Assembly], large: tuple[int, int]) -> str:
    """Return what LLVM made of a tile, beside the loads that the formula promises."""
    rows, vectors = large
    promised, code = (rows + vectors) / (rows * vectors), found[name(large)]
    return (
        f"{name(large)}: the formula says {promised:.2f} loads for each multiply-add, LLVM's code "
        f"has {loads_each(code):.2f}, and {code.spills} vector instructions on the stack."
    )

"""The size slider: which guard holds at a size, which kernel runs, and how long it takes."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import traitlets
from matplotlib.figure import Figure

from mlc_course.drawing import INK, NUMPY, OURS, STYLE, WIDTH_IN, svg_text
from mlc_course.dynamic_shape.codegen import Compiled, PlannedKernel, compile_for_all_sizes
from mlc_course.dynamic_shape.ir import bind
from mlc_course.dynamic_shape.programs import example_inputs, example_sizes, in_numpy, program
from mlc_course.lessons.kit import INTERRUPT, Choice, Widget, charts, in_range, table
from mlc_course.lessons.lesson_20_dynamic_shapes.tables import timed
from mlc_course.machine import describe
from mlc_course.units import times

# Programs of one kernel, with a batch, a length and heads; and the rows of the sweep.
PROGRAMS: Mapping[str, tuple[int, int, int]] = {
    "residual_layer_norm": (2, 64, 1),
    "masked_softmax": (1, 32, 1),
    "rotary_embedding": (1, 64, 8),
}
ROWS = (
    *(1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 61, 63, 64, 65, 96, 127, 128, 129, 192, 251),
    *(255, 256, 257, 320, 384, 509, 511, 512, 513, 640, 767, 768, 769, 896, 1009, 1023, 1024, 1025),
)
MARKS = ("o", "s", "^", "D")  # of the variants, the general one first
TICKS = (1, 4, 16, 64, 256, 1024)
ROUNDS = 15


@dataclass(frozen=True)
class Reading:
    """Times at one size, in microseconds."""

    size: int
    variant: int
    ours_us: float
    numpy_us: float


class SizeSlider(Widget):
    """A program compiled once, at one size after another.

    ``program`` is one of ``PROGRAMS``, ``place`` the number of a size among ``sizes``; setting one
    of them shows the guards there. ``measure`` times all sizes beside NumPy. Raises ``UsageError``
    for others.
    """

    program = Choice("residual_layer_norm", PROGRAMS)
    place = traitlets.Int(0).tag(sync=True)

    programs = traitlets.List(list(PROGRAMS)).tag(sync=True)
    sizes = traitlets.List(list(ROWS)).tag(sync=True)
    guards = traitlets.Unicode("").tag(sync=True)
    svg = traitlets.Unicode("").tag(sync=True)

    def __init__(self, program: str = "residual_layer_norm", row: int = 16) -> None:
        self.compiled: dict[str, Compiled] = {}
        self.readings: dict[str, list[Reading]] = {name: [] for name in PROGRAMS}
        super().__init__(program=program, place=ROWS.index(row))
        self._show()

    @traitlets.validate("place")
    def _check_place(self, proposal: Any) -> int:
        return in_range("place", 0, len(ROWS) - 1, proposal.value)

    @traitlets.observe("program", "place")
    def _change(self, change: Any) -> None:
        if hasattr(self, "compiled"):
            self._show()

    @property
    def made(self) -> Compiled:
        """The chosen program, compiled for all sizes."""
        if self.program not in self.compiled:
            known = program(self.program)
            self.compiled[self.program] = compile_for_all_sizes(known, threads=1)
        return self.compiled[self.program]

    @property
    def kernel(self) -> PlannedKernel:
        """Its only kernel."""
        (kernel,) = [step.kernel for step in self.made.steps if step.kernel]
        return kernel

    def inputs_of(self, row: int) -> tuple[dict[str, Any], dict[str, int]]:
        """Return drawn inputs with a row of this size, and all sizes."""
        given = example_sizes(self.program, *PROGRAMS[self.program], row)
        inputs = example_inputs(self.made.module, given)
        shapes = {name: array.shape for name, array in inputs.items()}
        return inputs, bind(self.made.module, shapes)

    def measure(self) -> list[Reading]:
        """Time every size, beside NumPy; an interrupt keeps those that are measured."""
        rows: list[Reading] = []
        with self.measuring(f"{self.program}, {len(ROWS)} sizes ... {INTERRUPT}."):
            for reading in self.paced(map(self._reading, ROWS), unit="size"):
                rows.append(reading)
        self.readings[self.program] = rows
        self._show()
        return rows

    def _reading(self, row: int) -> Reading:
        inputs, sizes = self.inputs_of(row)
        calls: dict[str, Callable[[], object]] = {
            "ours": self.made.bind(**inputs),
            "NumPy": in_numpy(self.made.module, inputs),
        }
        us = timed(calls, ROUNDS)
        chosen = self.kernel.variants.index(self.kernel.chosen(sizes))
        return Reading(row, chosen, us["ours"], us["NumPy"])

    # --- what is shown --------------------------------------------------------------------------

    def _show(self) -> None:
        row = ROWS[self.place]
        _, sizes = self.inputs_of(row)
        chosen = self.kernel.chosen(sizes)
        lines = []
        is_decided = False
        for variant in self.kernel.variants:
            holds = variant.admits(sizes)
            said = "not asked" if is_decided else ("runs" if variant is chosen else "no")
            is_decided |= holds
            lines.append((str(variant), "holds" if holds else "does not hold", said))
        head = ("guard", f"at a row of {row:,}", "kernel")
        number = self.kernel.variants.index(chosen)
        self.guards = table(head, lines, kind="mlc-runs mlc-loads", chosen=number)
        readings = self.readings[self.program]
        self.svg = sweep_svg(readings, self.kernel, row) if readings else ""
        self.status = self._said(row, str(chosen))

    def _said(self, row: int, chosen: str) -> str:
        here = [each for each in self.readings[self.program] if each.size == row]
        first = f"A row of {row:,}: the kernel for {chosen} runs"
        if not here:
            return f"{first}. Not measured yet."
        (each,) = here
        ratio = times(each.numpy_us / each.ours_us)
        return f"{first}, in {each.ours_us:,.1f} µs, {ratio} NumPy's speed, on {describe()}."

    def static_html(self) -> str:
        """The guards at the present size, and what has been measured."""
        return f"<p>{html.escape(self.status)}</p>{self.guards}{charts(self.svg)}"


def tails(readings: Mapping[int, Reading], multiples: Iterable[int]) -> None:
    """Print how long rows take that are one float short of these sizes, beside rows of them."""
    for size in multiples:
        ratio = readings[size - 1].ours_us / readings[size].ours_us
        print(f"a row of {size - 1:>3} takes {ratio:.2f} times as long as a row of {size}")


def sweep_svg(readings: list[Reading], kernel: PlannedKernel, row: int) -> str:
    """Draw time against the size of a row, with a mark for each variant and a line for NumPy."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 2.6), layout="constrained")
        axes = figure.subplots()
        sizes = [each.size for each in readings]
        axes.plot(sizes, [each.numpy_us for each in readings], color=NUMPY, label="NumPy")
        axes.plot(sizes, [each.ours_us for each in readings], color=OURS, alpha=0.4, linewidth=1)
        for number, variant in enumerate(kernel.variants):
            own = [each for each in readings if each.variant == number]
            mark = MARKS[len(kernel.variants) - 1 - number]
            axes.plot(
                [each.size for each in own],
                [each.ours_us for each in own],
                color=OURS,
                marker=mark,
                linestyle="",
                label=str(variant),
            )
        axes.axvline(row, color=INK, linewidth=0.8, linestyle=":")
        axes.set(xlabel="size of a row", ylabel="microseconds a call", xscale="log", yscale="log")
        axes.set_xticks(TICKS, [f"{each:,}" for each in TICKS])
        ticks = [each for each in (1, 10, 100, 1000, 10_000) if each <= axes.get_ylim()[1]]
        axes.set_yticks(ticks, [f"{each:,}" for each in ticks])
        axes.minorticks_off()
        figure.legend(frameon=False, loc="outside right center")
    first, last = readings[0], readings[-1]
    said = "; ".join(
        f"a row of {each.size:,}: ours {each.ours_us:,.1f} µs, NumPy {each.numpy_us:,.1f} µs"
        for each in (first, last, *(each for each in readings if each.size == row))
    )
    return svg_text(figure, f"Time against the size of a row. {said}")

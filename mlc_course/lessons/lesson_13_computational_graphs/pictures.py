"""Programs, graphs and races as HTML, each picture with words for those who cannot see it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import matplotlib as mpl
from IPython.display import HTML
from matplotlib.figure import Figure

from mlc_course.drawing import STYLE, svg_text
from mlc_course.lessons.kit import one_program, race_bars, race_words, side_by_side
from mlc_course.measure import Comparison, warning_lines
from mlc_course.tensor_program.networks import graph, graph_svg, passes
from mlc_course.tensor_program.tir import IRModule, PrimFunc, outline
from mlc_course.units import milliseconds

WIDE_IN, ROW_IN, REST_IN = 9.0, 0.46, 1.3
ROOM = 0.7  # of the axis, to the right of it
SHORT_S = 1e-4  # below this, times are in microseconds


def program_view(program: IRModule | PrimFunc, title: str) -> HTML:
    """Show a program in TVMScript."""
    return _html(one_program(passes.script(program), title=title))


def nests(before: PrimFunc, after: PrimFunc, titles: tuple[str, str]) -> HTML:
    """Show the loops and statements of two programs side by side."""
    return _html(side_by_side(outline(before), outline(after), titles=titles, context=None))


def graph_view(module: IRModule, *, scale: int | None = None) -> HTML:
    """Draw a module's graph; ``scale`` is the bytes of a full bar, by default the graph's own."""
    return _html(graph_svg(graph(module), scale=scale))


def race_view(found: Mapping[str, Comparison], title: str) -> HTML:
    """Draw the bars of a race, with NumPy as a line, and below them its warnings."""
    warned = "".join(
        f"<p><small>{escape(line)}</small></p>"
        for line in warning_lines(each.warning for each in found.values())
    )
    return _html(f"<p><b>{escape(title)}</b></p>{_bars(found, title)}{warned}")


def _bars(found: Mapping[str, Comparison], title: str) -> str:
    height = REST_IN + ROW_IN * len(found)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDE_IN, height))
        axes = figure.add_axes((0.17, 0.68 / height, 0.81, (height - 1.0) / height))
        if max(each.timing.median_s for each in found.values()) < SHORT_S:
            race_bars(axes, found, None, per_second=1e6, text=_microseconds, of="µs")
        else:
            race_bars(axes, found, None, per_second=1e3, text=milliseconds, of="ms")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** ROOM)  # for the labels, if NumPy is last
    return svg_text(figure, f"{title}: {race_words(found)}")


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g} µs"


def _html(text: str) -> HTML:
    return HTML(text)  # type: ignore[no-untyped-call]

"""When does each stage write each element? One dot for each write, from left to right in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from mlc_course.drawing import INK, OURS, STYLE, WIDTH_IN, svg_text
from mlc_course.errors import UsageError
from mlc_course.tensor_program.legality import Run
from mlc_course.tensor_program.tir import TensorProgram

# Okabe and Ito's blue, orange and purple; the shapes say the same.
MARKS = ((OURS, "o"), ("#e69f00", "s"), ("#cc79a7", "^"))


@dataclass(frozen=True)
class Write:
    """One execution of a statement: which element of which stage it writes."""

    stage: str
    element: int


def writes(program: TensorProgram) -> list[Write]:
    """Return the writes of a small program in the order in which they happen.

    Elements are numbered row by row. Raises what ``legality.Run`` raises.
    """
    run = Run(program)
    found = []
    for part, row in zip(run.part.tolist(), run.row.tolist(), strict=True):
        each = run.parts[part]
        found.append(Write(str(each.touches[0].buffer.name), int(each.elements[row, 0])))
    return found


def when_svg(programs: Mapping[str, TensorProgram]) -> str:
    """Draw the writes of each program in a panel of its own, named by its key.

    Raises ``UsageError`` for more than three stages.
    """
    found = {name: writes(program) for name, program in programs.items()}
    stages = list(dict.fromkeys(each.stage for panel in found.values() for each in panel))
    if len(stages) > len(MARKS):
        raise UsageError(
            "when_svg: too many stages", expected=f"at most {len(MARKS)}", got=", ".join(stages)
        )
    marks = dict(zip(stages, MARKS, strict=False))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 3.1))
        longest = max(map(len, found.values()))
        panels = figure.subplots(1, len(found), sharey=True, squeeze=False)[0]
        for axes, (name, panel) in zip(panels, found.items(), strict=True):
            _panel(axes, name, panel, marks, longest)
        panels[0].set_ylabel("element")
        handles = [
            mpl.lines.Line2D([], [], color=colour, marker=shape, linestyle="", label=f"writes {s}")
            for s, (colour, shape) in marks.items()
        ]
        figure.legend(handles=handles, loc="upper left", ncols=3, frameon=False)
        figure.subplots_adjust(0.06, 0.17, 0.99, 0.76, wspace=0.08)
    return svg_text(figure)


def _panel(
    axes: Axes,
    name: str,
    panel: list[Write],
    marks: Mapping[str, tuple[str, str]],
    longest: int,
) -> None:
    for stage, (colour, shape) in marks.items():
        points = [(time, w.element) for time, w in enumerate(panel, start=1) if w.stage == stage]
        axes.plot(*zip(*points, strict=True) if points else ((), ()), shape, color=colour, ms=5)
    axes.set_title(f"{name}: {len(panel)} statements", loc="left", fontsize=12, fontweight="bold")
    axes.set_xlim(0, longest + 1)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.grid(axis="y", color=INK, alpha=0.12)
    axes.set_xlabel("statements so far")

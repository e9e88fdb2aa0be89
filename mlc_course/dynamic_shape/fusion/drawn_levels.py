"""A picture of how kernels melt together: a line for each operator, a column for each level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlc_course.drawing import INK, OURS, PAPER, STYLE, TINT, WIDTH_IN
from mlc_course.dynamic_shape.fusion.flow import Flow
from mlc_course.dynamic_shape.fusion.planner import Plan
from mlc_course.extras import on_demand

if TYPE_CHECKING:
    import matplotlib as mpl
else:
    mpl = on_demand("matplotlib", "bench")

LINE_IN = 0.24  # a line's height


def levels_picture(plans: Sequence[Plan]) -> mpl.figure.Figure:
    """Draw plans of one program beside each other.

    An operator has its kernel's number in each column; a box begins where another kernel does.
    """
    function = plans[0].module.function
    flow = Flow(function)
    values = [value for value in flow.equations if not flow.is_call(value)]
    with mpl.rc_context(STYLE):
        figure = mpl.figure.Figure(
            figsize=(WIDTH_IN, LINE_IN * (len(values) + 4)), layout="constrained"
        )
        axes = figure.subplots()
        for column, plan in enumerate(plans):
            number = {
                value: at for at, kernel in enumerate(plan.kernels, 1) for value in kernel.values
            }
            for line, value in enumerate(values):
                kernel = number[value]
                is_dark = kernel % 2 == 1
                axes.barh(
                    line,
                    0.9,
                    1.0,
                    left=column + 0.05,
                    color=OURS if is_dark else TINT,
                    edgecolor=PAPER,
                    linewidth=0.6,
                )
                axes.text(
                    column + 0.5,
                    line,
                    str(kernel),
                    ha="center",
                    va="center",
                    color=PAPER if is_dark else INK,
                )
        axes.set_yticks(
            range(len(values)),
            [f"{function.name_of(v)} = {flow.equations[v].op.name}" for v in values],
            fontfamily="monospace",
        )
        axes.set_xticks(
            [at + 0.5 for at in range(len(plans))],
            [f"{plan.level}\n{_count(len(plan.kernels))}" for plan in plans],
        )
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.set_xlim(0, len(plans))
        axes.set_ylim(max(1, len(values)) - 0.5, -0.5)
        for side in axes.spines.values():
            side.set_visible(False)
        axes.set_title(f"@{function.name}: the kernel of each operator, by what is known", pad=8)
    return figure


def _count(kernels: int) -> str:
    return "1 kernel" if kernels == 1 else f"{kernels} kernels"

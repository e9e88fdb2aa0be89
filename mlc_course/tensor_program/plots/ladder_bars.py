"""The pictures of a ladder: a bar for each rung over a logarithmic axis of time.

Ours is always a bar, NumPy always a line, the machine's roof always dashed, and the middle half of
the readings always a whisker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_course.drawing import (
    INK,
    NUMPY,
    OURS,
    ROOF,
    STYLE,
    TINT,
    UNDATED,
    WIDTH_IN,
    round_ticks,
    svg_text,
)
from mlc_course.errors import UsageError
from mlc_course.extras import on_demand
from mlc_course.measure import mark
from mlc_course.tensor_program.ladders import (
    Record,
    headline,
    made_on,
    ratio_interval,
    setback_mark,
)
from mlc_course.units import milliseconds, plural, times

if TYPE_CHECKING:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    mpl = on_demand("matplotlib", "bench")

ROW_IN, FRAME_IN = 0.34, 2.05
MACHINES_FOOT = (
    "Bars: median; whiskers: the middle half of the readings; hatched: with a warning.\n"
    "Beside them: the time, and NumPy's time / ours."
)


def ladder_figure(
    record: Record, selected: int | None = None, *, planned: Sequence[str] = ()
) -> Figure:
    """The rungs of a record as bars over a logarithmic axis of time, the first rung on top.

    ``selected`` is marked. ``planned`` names every rung of a climb that is still under way: the
    ones without a record yet keep their place. Raises ``UsageError`` for a rung that is not there.
    """
    rungs = record["rungs"]
    names = [rung["name"] for rung in rungs]
    names += planned[len(names) :]
    if selected is not None and not 0 <= selected < len(names):
        raise UsageError(
            "the ladder has no such rung", expected=f"0 to {len(names) - 1}", got=selected
        )
    with mpl.rc_context(STYLE):
        height = FRAME_IN + ROW_IN * max(len(names), 1)
        figure = mpl.figure.Figure(figsize=(WIDTH_IN, height))
        axes = figure.add_subplot()
        _time_axis(axes, _seconds(record))
        _rows(axes, names, selected)
        _climb(axes, record, selected)
        axes.set_title(headline(record), loc="left", pad=48, fontsize=14, fontweight="bold")
        figure.text(0.012, 0.12 / height, _foot(record), fontsize=10, gid="foot")
        figure.subplots_adjust(0.16, 1.1 / height, 0.985, 1 - 0.95 / height)
    return figure


def ladder_svg(record: Record, selected: int | None = None, *, planned: Sequence[str] = ()) -> str:
    """``ladder_figure`` as SVG text.

    The parts of rung 3 have the ids ``row-3``, ``rung-3`` (its bar) and ``name-3``.
    """
    numpy_s = record["baseline"]["median_s"]
    rungs = [
        f"{each['name']} {milliseconds(each['median_s'])}, {times(each['ratio_to_numpy'])} NumPy"
        for each in record["rungs"]
    ]
    lines = [f"NumPy {milliseconds(numpy_s)}"] if numpy_s else []
    lines += [f"measured roof {milliseconds(record['roofs']['seconds'])}"]
    said = "; ".join([headline(record), *rungs, *lines])
    return svg_text(ladder_figure(record, selected, planned=planned), said)


def save_plot(record: Record, path: Path) -> None:
    """Write the picture of a record: PNG, SVG or PDF, by the ending of ``path``."""
    with mpl.rc_context(STYLE):
        ladder_figure(record).savefig(path, dpi=150, metadata=UNDATED.get(path.suffix))


def machines_figure(records: Sequence[Record]) -> Figure:
    """One ladder on several machines: a panel for each, on one logarithmic axis of time.

    Raises ``UsageError`` for records that are not of the same rungs, sizes and threads.
    """
    first = records[0]
    for record in records[1:]:
        if _climbed(record) != _climbed(first):
            raise UsageError(
                "only climbs of one ladder can be drawn beside each other",
                expected=_climbed(first),
                got=_climbed(record),
            )
    names = [rung["name"] for rung in first["rungs"]]
    with mpl.rc_context(STYLE):
        height = FRAME_IN + 0.65 + ROW_IN * len(names)
        figure = mpl.figure.Figure(figsize=(WIDTH_IN, height))
        panels = figure.subplots(1, len(records), sharex=True, sharey=True, squeeze=False)[0]
        _time_axis(panels[0], [seconds for record in records for seconds in _seconds(record)])
        ticks = panels[0].get_xticks()[::2]  # all of them are too many for a panel
        panels[0].set_xticks(ticks, labels=[f"{tick:,.6g}" for tick in ticks])
        for axes, record in zip(panels, records, strict=True):
            _rows(axes, names, None)
            _climb(axes, record, terse=True)
            axes.label_outer()
            _name_machine(axes, record)
            axes.set_xlabel("time of one call, ms (logarithmic)")
        title = f"{headline(first)}; {plural(first['threads'], 'thread')}"
        figure.text(0.012, 1 - 0.3 / height, title, fontsize=14, fontweight="bold")
        figure.text(0.012, 0.12 / height, MACHINES_FOOT, fontsize=11)
        figure.subplots_adjust(0.15, 1.1 / height, 0.99, 1 - 1.6 / height, wspace=0.06)
    return figure


def save_machines(records: Sequence[Record], path: Path) -> None:
    """Write ``machines_figure`` as a PNG that names what is drawn: see ``machines_drawing``."""
    notes = {"Software": None, "Source": machines_drawing(records)}
    with mpl.rc_context(STYLE):
        machines_figure(records).savefig(path, format="png", dpi=150, metadata=notes)


def machines_drawing(records: Sequence[Record]) -> str:
    """A digest of the drawing, by which a file can be told from one of other records."""
    return hashlib.sha256(svg_text(machines_figure(records)).encode()).hexdigest()


def _climbed(record: Record) -> str:
    """Name the workload, threads and rungs of a record, for an error."""
    names = ", ".join(rung["name"] for rung in record["rungs"])
    return f"{headline(record)}, {plural(record['threads'], 'thread')}: {names}"


def _foot(record: Record) -> str:
    each = plural(record["threads"], "thread")
    return (
        f"{made_on(record)}; {each} for NumPy and for ours.\n"
        "Bars: median; whiskers: the middle half of the readings; "
        "x NumPy: its time / ours, in turns."
    )


def _name_machine(axes: Axes, record: Record) -> None:
    """The machine of a panel, above the labels of its lines."""
    here = record["machine"]
    kind = f"{here['isa']}, {plural(here['cores'], 'core')}, {record['date']}"
    axes.set_title(kind, loc="left", pad=66, fontsize=13, fontweight="bold")
    axes.annotate(
        here["cpu"], (0, 1), (0, 48), xycoords="axes fraction", textcoords="offset points"
    )


def _seconds(record: Record) -> list[float]:
    """The times that a picture of this record must have room for."""
    quartiles = [seconds for rung in record["rungs"] for seconds in rung["iqr_s"]]
    lines = (record["roofs"]["seconds"], record["baseline"]["median_s"])
    return [*quartiles, *(seconds for seconds in lines if seconds)]


def _climb(axes: Axes, record: Record, selected: int | None = None, *, terse: bool = False) -> None:
    """Bars, and the lines of NumPy and the roof."""
    numpy_s, roof_s = record["baseline"]["median_s"], record["roofs"]["seconds"]
    for place, rung in enumerate(record["rungs"]):
        _bar(axes, place, rung, numpy_s, selected=place == selected, terse=terse)
    roof = f"measured roof\n{milliseconds(roof_s)}{mark(record['roofs'].get('warning'))}"
    _line(axes, roof_s, roof, ROOF, side="left")
    if numpy_s:
        _line(axes, numpy_s, f"NumPy\n{milliseconds(numpy_s)}", NUMPY, side="right")


def _time_axis(axes: Axes, seconds: Sequence[float]) -> None:
    low, high = 1e3 * min(seconds), 1e3 * max(seconds)
    span = max(high / low, 1.5)
    axes.set_xscale("log")
    axes.set_xlim(low / span**0.15, high * span**0.95)  # room for the labels at the bars
    axes.set_xlabel("time of one call, ms (logarithmic)")
    round_ticks(axes.xaxis, axes.get_xlim()[0], high * 1.1)


def _rows(axes: Axes, names: Sequence[str], selected: int | None) -> None:
    axes.set_ylim(max(len(names), 1) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), labels=list(names))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for place, label in enumerate(axes.get_yticklabels()):
        label.set_gid(f"name-{place}")
        label.set_fontweight("bold" if place == selected else "normal")
        colour = TINT if place == selected else "none"
        band = axes.axhspan(place - 0.5, place + 0.5, facecolor=colour, edgecolor="none", zorder=0)
        band.set_gid(f"row-{place}")


def _bar(
    axes: Axes,
    place: int,
    rung: Mapping[str, Any],
    numpy_s: float | None,
    *,
    selected: bool,
    terse: bool,
) -> None:
    """The bar of a rung and its figures; ``terse`` ones are without unit and warning."""
    time_ms = 1e3 * rung["median_s"]
    low, high = (1e3 * quartile for quartile in rung["iqr_s"])
    left = axes.get_xlim()[0]
    (bar,) = axes.barh(place, time_ms - left, left=left, height=0.66, color=OURS, zorder=2)
    bar.set_gid(f"rung-{place}")
    if rung["warning"]:
        bar.set_hatch("//")
    if selected:
        bar.set(edgecolor=INK, linewidth=2.5)
    whiskers = [[time_ms - low], [high - time_ms]]
    axes.errorbar(time_ms, place, xerr=whiskers, color=INK, capsize=4, linewidth=1.6, zorder=4)
    past_numpy = ratio_interval(rung)[0] >= 1 and not rung["warning"]
    figures = f"{milliseconds(rung['median_s'])}, {times(rung['ratio_to_numpy'])}"
    axes.annotate(
        f"{figures}{setback_mark(rung)}"
        if terse
        else f"{figures} NumPy{setback_mark(rung)}{mark(rung['warning'])}",
        (max(high, 1e3 * (numpy_s or 0)), place),  # to the right of the line as well
        xytext=(9, 0),
        textcoords="offset points",
        va="center",
        fontweight="bold" if past_numpy else "normal",
        zorder=5,
    )


def _line(axes: Axes, seconds: float, text: str, colour: str, *, side: str) -> None:
    dashes = "--" if colour == ROOF else "-"
    axes.axvline(1e3 * seconds, color=colour, linestyle=dashes, linewidth=2.5, zorder=3)
    axes.annotate(
        text,
        (1e3 * seconds, 1),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if side == "left" else 5, 4),
        textcoords="offset points",
        ha="right" if side == "left" else "left",
        color=colour,
        fontweight="bold",
    )

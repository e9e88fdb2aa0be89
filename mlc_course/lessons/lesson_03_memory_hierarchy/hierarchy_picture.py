"""The picture of the memory hierarchy: latency and bandwidth over the size of the working set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from mlc_course.drawing import INK, OURS, STYLE, WIDTH_IN, round_ticks, svg_text
from mlc_course.errors import UsageError
from mlc_course.lessons.kit import above
from mlc_course.machine import Machine, describe
from mlc_course.tensor_program.memory import Probe

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"), (1, "bytes"))


def hierarchy_svg(probes: Sequence[Probe], machine: Machine | None = None) -> str:
    """Latency above bandwidth, both axes logarithmic; the machine's caches are vertical lines.

    Dots are medians, whiskers the middle half of the readings. Raises ``UsageError`` without
    probes.
    """
    if not probes:
        raise UsageError("no probes to draw", expected="one or more", got="none")
    here = machine or describe()
    caches = {"L1": here.l1d_bytes, "L2": here.l2_bytes, "L3": here.l3_bytes}
    caches = {name: size for name, size in caches.items() if size}
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 6.4))
        latency, bandwidth = figure.subplots(2, 1, sharex=True)
        _curve(latency, probes, lambda p: p.latency_ns, lambda p: p.latency_iqr_ns)
        _curve(
            bandwidth,
            probes,
            lambda p: p.bandwidth_gb_per_s,
            lambda p: p.bandwidth_iqr_gb_per_s,
        )
        latency.set_ylabel("ns for each load")
        bandwidth.set_ylabel("GB/s, read in order")
        bandwidth.set_xlabel("working set: all that is read, again and again")
        for axes in (latency, bandwidth):
            _caches(axes, caches, named=axes is latency)
        _sizes(bandwidth, [each.bytes for each in probes])
        latency.set_title(
            "One load after the other in random order; and all of it in order",
            loc="left",
            fontsize=14,
            fontweight="bold",
            pad=24,
        )
        figure.subplots_adjust(0.09, 0.1, 0.985, 0.89, hspace=0.1)
    said = "; ".join(
        f"{size_text(p.bytes)}: {p.latency_ns:.1f} ns, {p.bandwidth_gb_per_s:.0f} GB/s"
        for p in probes
    )
    return svg_text(figure, f"Working sets. {said}")


def size_text(size: float) -> str:
    """``32 KiB``, ``1.5 MiB``."""
    unit, name = next((u, n) for u, n in UNITS if size >= u or u == 1)
    return f"{size / unit:.3g} {name}"


def _curve(
    axes: Axes,
    probes: Sequence[Probe],
    middle: Callable[[Probe], float],
    quartiles: Callable[[Probe], tuple[float, float]],
) -> None:
    values = [middle(each) for each in probes]
    ends = [quartiles(each) for each in probes]
    whiskers = [
        [max(value - low, 0) for value, (low, _) in zip(values, ends, strict=True)],
        [max(high - value, 0) for value, (_, high) in zip(values, ends, strict=True)],
    ]
    sizes = [each.bytes for each in probes]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    axes.set(xscale="log", yscale="log")
    axes.set_ylim(low / 1.5, high * 1.6)
    axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)
    axes.errorbar(
        sizes,
        values,
        yerr=whiskers,
        color=OURS,
        ecolor=INK,
        marker="o",
        markersize=6,
        linewidth=2,
        elinewidth=1.2,
        capsize=3,
    )
    round_ticks(axes.yaxis, *axes.get_ylim())


def _caches(axes: Axes, caches: Mapping[str, int], *, named: bool) -> None:
    left, right = axes.get_xlim()
    for name, size in caches.items():
        if not left <= size <= right:
            continue
        axes.axvline(size, color=INK, linestyle=":", linewidth=1.6, zorder=1)
        if named:
            above(axes, size, f"{name} {size_text(size)}")


def _sizes(axes: Axes, sizes: Sequence[int]) -> None:
    ticks = [1 << power for power in range(10, 40, 2)]
    shown = [tick for tick in ticks if min(sizes) / 2 <= tick <= max(sizes) * 2]
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([size_text(tick) for tick in shown])

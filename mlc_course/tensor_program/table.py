"""A climb as text, one row a rung, printed as it goes."""

from __future__ import annotations

from mlc_course.tensor_program.picture import milliseconds
from mlc_course.tensor_program.record import Record

HEAD = (
    f"{'rung':<16} {'time':>11} {'spread':>7} {'NumPy / ours':>20} {'GFLOP/s':>8} "
    f"{'of peak':>8} {'rel. error':>10}"
)


def title(record: Record) -> str:
    """What is climbed, and what this machine reached in this run."""
    work, roofs = record["workload"], record["roofs"]
    sizes = ", ".join(f"{name}={size}" for name, size in work["sizes"].items())
    threads = "1 thread" if record["threads"] == 1 else f"{record['threads']} threads"
    return (
        f"{work['name']} ({sizes}), {threads} each for NumPy and ours\n"
        f"measured roofs: {roofs['gflops']:.0f} GFLOP/s, {roofs['gbytes_per_s']:.1f} GB/s; "
        f"no program can be faster here than {milliseconds(roofs['seconds'])}"
    )


def row(rung: Record) -> str:
    """One rung: median, spread, paired ratio with its quartiles, and its share of the peak."""
    low, high = rung["ratio_iqr"]
    spread = (rung["iqr_s"][1] - rung["iqr_s"][0]) / rung["median_s"]
    ratio = f"{rung['ratio_to_numpy']:.3f} [{low:.3f} {high:.3f}]"
    noisy = "  noisy" if rung["warning"] else ""
    return (
        f"{rung['name']:<16} {milliseconds(rung['median_s']):>11} {spread:>7.1%} {ratio:>20} "
        f"{rung['gflops']:>8.1f} {rung['fraction_of_peak']:>8.1%} {rung['relative_error']:>10.1e}"
        f"{noisy}"
    )

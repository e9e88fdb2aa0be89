"""Records of climbs, which the table, the plot, the widget and the JSON file all read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from mlc_course import machine
from mlc_course import provenance as ground
from mlc_course.errors import UsageError, check_known
from mlc_course.measure import Timing, mark
from mlc_course.tensor_program.ladders.rungs import Climbed
from mlc_course.tensor_program.memory import Roofs
from mlc_course.tensor_program.problems import Workload
from mlc_course.tensor_program.tir import tvm
from mlc_course.units import milliseconds, plural

Record = dict[str, Any]


def provenance() -> Record:
    """The machine, the date and the versions, with the processor that LLVM compiles for."""
    head = ground.provenance()
    head["versions"] |= {"tvm": tvm.version, "llvm_cpu": tvm.host_cpu()}
    return head


def ladder_record(
    workload: Workload, climbed: Iterable[Climbed], roofs: Roofs, *, threads: int
) -> Record:
    """The record of a climb, ready for JSON.

    Times are in seconds, speeds in 1e9 operations per second and in fractions of the peak.
    """
    rungs = list(climbed)
    baseline = [s for c in rungs for s in c.comparison.baseline.seconds]
    return {
        **provenance(),
        "threads": threads,
        "workload": {
            "name": workload.name,
            "sizes": dict(workload.sizes),
            "flops": workload.flops,
            "bytes": workload.bytes,
        },
        "roofs": {
            "gflops": roofs.gflops,
            "gbytes_per_s": roofs.gbytes_per_s,
            "caches": list(roofs.caches),
            "spreads": list(roofs.spreads),
            "taken": roofs.taken,
            "warning": roofs.warning,
            "seconds": roofs.seconds(workload.flops, workload.bytes),
        },
        "baseline": {
            "name": "NumPy",
            "median_s": Timing("NumPy", tuple(baseline)).median_s if baseline else None,
        },
        "rungs": [rung_record(workload, c, roofs) for c in rungs],
    }


def rung_record(workload: Workload, climbed: Climbed, roofs: Roofs) -> Record:
    """One rung of a ladder's record."""
    timing = climbed.comparison.timing
    gflops = workload.flops / timing.median_s / 1e9
    return {
        "name": climbed.rung.name,
        "why": climbed.rung.why,
        "setback": climbed.rung.setback,
        "median_s": timing.median_s,
        "iqr_s": list(timing.iqr_s),
        "readings": len(timing.seconds),
        "ratio_to_numpy": climbed.comparison.ratio,
        "ratio_iqr": list(climbed.comparison.ratio_iqr),
        "ratio_interval": list(climbed.comparison.interval),
        "numpy_median_s": climbed.comparison.baseline.median_s,
        "gflops": gflops,
        "fraction_of_peak": gflops / roofs.gflops,
        "relative_error": climbed.relative_error,
        "warning": climbed.comparison.warning,
        "program": climbed.program,
        "rows": climbed.rows,
    }


def ratio_interval(measured: Mapping[str, Any]) -> tuple[float, float]:
    """The 95 % interval of a recorded ratio; its middle half, in records from before that."""
    low, high = measured["ratio_interval" if "ratio_interval" in measured else "ratio_iqr"]
    return low, high


def made_on(record: Mapping[str, Any]) -> str:
    """The machine and the date of a record, to be shown beside its figures."""
    here = record["machine"]
    return f"{here['cpu']}, {here['cores']} cores, {here['isa']}, {record['date']}"


def headline(record: Mapping[str, Any]) -> str:
    """The workload of a record and its sizes."""
    work = record["workload"]
    return f"{work['name']}: {', '.join(f'{k} = {v}' for k, v in work['sizes'].items())}"


def save(record: Mapping[str, Any], path: Path) -> None:
    """Write a record to a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(path)


def load(path: Path | Traversable) -> Record:
    """Read a record from a file; raises ``UsageError`` when there is none, or it is no record."""
    try:
        record = json.loads(path.read_text())
        return {**record, "machine": {**record["machine"]}, "date": str(record["date"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"cannot read the record {path}",
            expected="a JSON file that this course wrote, with its machine and date",
            got=repr(error),
        ) from None


# --- the climbs that come with the course ---------------------------------------------------------

RECORDINGS = resources.files("mlc_course.tensor_program.ladders") / "recordings"


def recording_file(name: str, record: Record) -> Path:
    """The file of a recording: each instruction set has a folder, ``avx2/matmul_1_thread.json``."""
    return Path(record["machine"]["isa"].lower()) / f"{name}.json"


def recordings(name: str) -> list[Record]:
    """The climbs of this name, such as ``matmul_exp_matmul_1_thread``, one of each machine.

    The one whose machine's vectors are most like those of this machine comes first. Raises
    ``UsageError`` for a name of which there is none.
    """
    files = [f for kind in RECORDINGS.iterdir() if kind.is_dir() for f in kind.iterdir()]
    known = sorted({file.name.removesuffix(".json") for file in files})
    check_known("no recording", name, known)
    found = [load(file) for file in files if file.name == f"{name}.json"]
    return sorted(found, key=unlike_this_machine)


def unlike_this_machine(record: Record) -> tuple[int, bool, str]:
    """Order records by how far their machine's vectors are from those of this machine."""
    here, there = machine.describe(), record["machine"]
    unlike = abs(there["vector_bits"] - here.vector_bits)
    return unlike, there["isa"] != here.isa, there["isa"]


def recorded(name: str, isa: str | None = None) -> Record:
    """The climb of this name on the machine with this instruction set.

    By default the machine is the one most like this one. Raises ``UsageError`` for a name or an
    instruction set of which there is no recording.
    """
    found = {each["machine"]["isa"]: each for each in recordings(name)}
    isa = isa or next(iter(found))
    check_known(f"no recording of {name} with", isa, found)
    return found[isa]


# --- the table ------------------------------------------------------------------------------------

HEAD = (
    f"{'rung':<16} {'time':>11} {'spread':>7} {'NumPy / ours':>20} {'GFLOP/s':>8} "
    f"{'of peak':>8} {'rel. error':>10}"
)


def title(record: Record) -> str:
    """The lines above the table: what is climbed, and the measured roofs of this machine."""
    work, roofs = record["workload"], record["roofs"]
    sizes = ", ".join(f"{name}={size}" for name, size in work["sizes"].items())
    return (
        f"{work['name']} ({sizes}), {plural(record['threads'], 'thread')} each for NumPy and ours\n"
        f"measured roofs: {roofs['gflops']:.0f} GFLOP/s, {roofs['gbytes_per_s']:.1f} GB/s"
        f"{mark(roofs.get('warning'))}; with its data in memory, no program can be faster than "
        f"{milliseconds(roofs['seconds'])}"
    )


def timed_part(record: Record, rung: Record) -> str:
    """Say how much of a rung was timed: ``timed on 16 of its 1,024 rows``, or nothing for all."""
    rows = next(iter(record["workload"]["sizes"].values()))
    return f"timed on {rung['rows']} of its {rows:,} rows" if rung.get("rows") else ""


def setback_mark(rung: Mapping[str, Any]) -> str:
    """The mark of a rung that is a setback, to be put behind its figures; empty for others."""
    return " (setback)" if rung.get("setback") else ""


def setback_lines(record: Record) -> list[str]:
    """A line for each rung that is a setback, with its reason, to be put below the table."""
    return [
        f"setback: {rung['name']}: {rung['setback']}"
        for rung in record["rungs"]
        if rung.get("setback")
    ]


def row(rung: Record) -> str:
    """The row of one rung: median, spread, paired ratio with its interval, share of the peak."""
    low, high = ratio_interval(rung)
    spread = (rung["iqr_s"][1] - rung["iqr_s"][0]) / rung["median_s"]
    ratio = f"{rung['ratio_to_numpy']:.3f} [{low:.3f} {high:.3f}]"
    return (
        f"{rung['name']:<16} {milliseconds(rung['median_s']):>11} {spread:>7.1%} {ratio:>20} "
        f"{rung['gflops']:>8.1f} {rung['fraction_of_peak']:>8.1%} {rung['relative_error']:>10.1e}"
        f"{setback_mark(rung)}{mark(rung['warning'])}"
    )

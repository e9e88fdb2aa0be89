"""A climb as a record: what the table, the plot, the widget and the JSON file all read."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Iterable, Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from mlc_course import machine
from mlc_course.errors import UsageError
from mlc_course.measure import Timing
from mlc_course.tensor_program import tvm_names
from mlc_course.tensor_program.ladder import Climbed
from mlc_course.tensor_program.memory.roofs import Roofs
from mlc_course.tensor_program.problems.workload import Workload

Record = dict[str, Any]


def provenance() -> Record:
    """Which machine, when, with what: the head of every file of results."""
    return {
        "machine": machine.describe().to_dict(),
        "date": datetime.date.today().isoformat(),
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "tvm": tvm_names.version,
            "llvm_cpu": tvm_names.host_cpu(),
        },
    }


def ladder_record(
    workload: Workload, climbed: Iterable[Climbed], roofs: Roofs, *, threads: int
) -> Record:
    """JSON-ready: seconds, 1e9 flops per second, and fractions of the measured peak."""
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
        "median_s": timing.median_s,
        "iqr_s": list(timing.iqr_s),
        "readings": len(timing.seconds),
        "ratio_to_numpy": climbed.comparison.ratio,
        "ratio_iqr": list(climbed.comparison.ratio_iqr),
        "numpy_median_s": climbed.comparison.baseline.median_s,
        "gflops": gflops,
        "fraction_of_peak": gflops / roofs.gflops,
        "relative_error": climbed.relative_error,
        "warning": climbed.comparison.warning,
        "program": climbed.program,
    }


def made_on(record: Mapping[str, Any]) -> str:
    """The machine and date of a record, as a reader should see them beside every figure."""
    here = record["machine"]
    return f"{here['cpu']}, {here['cores']} cores, {here['isa']}, {record['date']}"


def headline(record: Mapping[str, Any]) -> str:
    """What was climbed: the workload and its sizes."""
    work = record["workload"]
    return f"{work['name']}: {', '.join(f'{k} = {v}' for k, v in work['sizes'].items())}"


def check_writable(path: Path | None, suffixes: tuple[str, ...]) -> None:
    """Raises ``UsageError`` now when ``save`` or a plot could not write there later."""
    if path is None:
        return
    if path.suffix not in suffixes:
        raise UsageError(
            f"cannot write {path}", expected=f"a name that ends in {' or '.join(suffixes)}"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_name(path.name + ".part").touch()
        path.with_name(path.name + ".part").unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write {path}", expected="a folder that can be written", got=error
        ) from None


def save(record: Mapping[str, Any], path: Path) -> None:
    """Write a record whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(path)


def load(path: Path | Traversable) -> Record:
    """Raises ``UsageError`` when there is no such file or it is not a record."""
    try:
        record = json.loads(path.read_text())
        return {**record, "machine": {**record["machine"]}, "date": str(record["date"])}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"cannot read the record {path}",
            expected="a JSON file that this course wrote, with its machine and date",
            got=repr(error),
        ) from None


def recorded(name: str) -> Record:
    """A climb that comes with the course, such as ``matmul_exp_matmul_1_thread``.

    Raises ``UsageError`` for any other name.
    """
    folder = resources.files("mlc_course") / "recordings"
    known = sorted(f.name.removesuffix(".json") for f in folder.iterdir() if f.is_file())
    if name not in known:
        raise UsageError(f"no recording {name!r}", expected=" | ".join(known), got=name)
    return load(folder / f"{name}.json")

"""Recorded times of a graph's kernel, from ``make gpu`` on each GPU that somebody ran it on."""

from __future__ import annotations

import json
from pathlib import Path

from mlc_course.course_files import origin

RESULTS = origin() / "benchmarks" / "results"
NOT_MEASURED = "Times on a GPU: not yet measured."


def recorded_times(graph: str, folder: Path = RESULTS) -> str:
    """Return a sentence for each GPU: the time of a graph's kernel, and of what ran beside it.

    Says that nothing was measured where no record has the graph.
    """
    said = []
    for path in sorted(folder.glob("gpu_*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        for row in record["rows"]:
            times = row.get("us", {})  # what was only compiled has none
            if graph not in times:
                continue
            ours = times[graph]
            others = [
                f"{name} takes {us / ours:.2f} times as long"
                for name, us in times.items()
                if name != graph
            ]
            beside = f"; {', '.join(others)}" if others else ""
            said.append(f"Recorded on {record['gpu']}: {ours:.1f} µs{beside}.")
    return " ".join(said) or NOT_MEASURED

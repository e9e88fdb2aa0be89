"""Is one kernel for all sizes as fast as one that is compiled for each?

    python benchmarks/symbolic_mugraphs.py --check --json out/symbolic_mugraphs.json

Each graph is compiled once with free sizes, and verified at all of them, and once for each size in
the list, with the tiling that the cost model puts first there. Both are timed by turns, in time of
one thread, on sizes that tiles divide and on sizes that they do not.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from common import Target, command_line, finish
from matplotlib import rc_context
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.drawing import NUMPY, OURS, STYLE, UNDATED, WIDTH_IN
from mlc_course.mugraph.programs import FREE_SIZED, free_sized, workload
from mlc_course.mugraph.runtime import compile_graph, random_inputs
from mlc_course.mugraph.symbolic import CompiledSymbolic, compile_symbolic

Sizes = Mapping[str, int]
# The tiles of each graph's free sizes, and sizes: exact ones, one more, primes, and small ones.
GRAPHS: Mapping[str, tuple[Sizes, tuple[Sizes, ...]]] = {
    "rms_norm_matmul_in_rows": (
        {"b": 8, "d": 256, "n": 128},
        (
            {"b": 8, "d": 1024, "n": 1024},
            {"b": 64, "d": 1024, "n": 1024},
            {"b": 65, "d": 1025, "n": 1025},
            {"b": 61, "d": 1009, "n": 997},
            {"b": 1, "d": 1024, "n": 1024},
        ),
    ),
    "softmax_in_two_passes": (
        {"b": 4, "n": 512},
        ({"b": 64, "n": 4096}, {"b": 65, "n": 4097}, {"b": 61, "n": 3989}, {"b": 3, "n": 100}),
    ),
    "online_softmax_attention": (
        {"h": 1, "m": 16, "n": 64},
        (
            {"h": 4, "m": 256, "n": 1024},
            {"h": 4, "m": 257, "n": 1025},
            {"h": 4, "m": 251, "n": 1021},
            {"h": 4, "m": 16, "n": 100},
            {"h": 4, "m": 1, "n": 1024},
        ),
    ),
}
LEAST_SECONDS = 5e-3  # of one measurement
WANTED = 0.5  # of the speed of kernels for one size, in the geometric mean


def seconds_of(call: Callable[[], object], times: int) -> float:
    """Time of this thread for one call, of so many."""
    start = time.thread_time()
    for _ in range(times):
        call()
    return (time.thread_time() - start) / times


def by_turns(calls: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, timed one after the other in every round."""
    times = {
        name: max(1, round(LEAST_SECONDS / max(seconds_of(call, 3), 1e-6)))
        for name, call in calls.items()
    }
    spent: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            spent[name].append(seconds_of(call, times[name]))
    return {name: 1e3 * statistics.median(each) for name, each in spent.items()}


def compared(name: str, run: CompiledSymbolic, sizes: Sizes, rounds: int) -> dict[str, Any]:
    """Times of a graph at given sizes: compiled for all, and for these."""
    inputs = random_inputs(workload(FREE_SIZED[name]).resized(sizes))
    ours = run.bind(**inputs)
    start = time.perf_counter()
    static = compile_graph(run.symbolic.at(sizes).graph, threads=1)
    seconds = time.perf_counter() - start
    theirs = static.bind(inputs)
    for a, b in zip(ours(), theirs(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4)
    found = by_turns({"all_sizes": ours, "one_size": theirs}, rounds)
    return {
        "graph": name,
        "sizes": dict(sizes),
        "took": sorted(set(ours.took.values())),
        "ms": found,
        "compile_seconds": seconds,
    }


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw both times of each graph and size."""
    with rc_context(STYLE):
        figure = Figure(figsize=(WIDTH_IN, 5), layout="constrained")
        axes = figure.subplots()
        labels = [
            f"{row['graph']}, " + " ".join(f"{k}={n}" for k, n in row["sizes"].items())
            for row in rows
        ]
        for shift, key, label, colour in (
            (-0.2, "one_size", "compiled for this size", NUMPY),
            (0.2, "all_sizes", "compiled once, for all sizes", OURS),
        ):
            places = np.arange(len(rows)) + shift
            axes.barh(places, [row["ms"][key] for row in rows], 0.4, color=colour, label=label)
        axes.set_yticks(range(len(rows)), labels)
        axes.invert_yaxis()
        axes.set_xscale("log")
        axes.set_xlabel("milliseconds")
        axes.legend(frameon=False)
        figure.savefig(path, metadata=UNDATED.get(path.suffix))


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    compilations = []
    for name, (tiles, cases) in tqdm(GRAPHS.items(), unit="graph"):
        start = time.perf_counter()
        run = compile_symbolic(free_sized(name), tiles, threads=1)
        compilations.append(
            {"graph": name, "tiles": dict(tiles), "seconds": time.perf_counter() - start}
        )
        rows += (compared(name, run, sizes, arguments.rounds) for sizes in cases)
    for each in compilations:
        print(f"{each['graph']}: compiled for all sizes in {each['seconds']:.1f} s")
    for row in rows:
        one, every = row["ms"]["one_size"], row["ms"]["all_sizes"]
        print(
            f"{row['graph']} {row['sizes']}, {', '.join(row['took'])}: {every:.3f} ms,"
            f" for this size alone {one:.3f} ms ({one / every:.2f} of its speed)"
        )
    speeds = {"exact": list[float](), "masked": list[float]()}
    for row in rows:
        if min(row["sizes"][k] / t for k, t in GRAPHS[row["graph"]][0].items()) >= 1:
            speeds[row["took"][-1]].append(row["ms"]["one_size"] / row["ms"]["all_sizes"])
    targets = [
        Target(f"speed beside one size, {kind} tiles", WANTED, statistics.geometric_mean(each))
        for kind, each in speeds.items()
    ]
    figures = {"compilations": compilations, "sizes": rows}
    return finish(arguments, figures, targets, lambda path: draw(rows, path))


if __name__ == "__main__":
    sys.exit(main())

"""Plan the shared memory and place the barriers of known graphs' kernels for threads.

    python benchmarks/thread_kernels.py --json results/thread_kernels.json --check

Graphs are the published ones and some that Mirage saved (``tests/mugraph/ir/mirage_saved``;
``--every 1`` takes all, and half an hour). Of each kernel: the bytes of the exact plan beside those
of Mirage's three heuristics, the number of barriers, and whether a run without values finds a fault
(races, copies not waited for, reads of what nobody wrote); that run has the same tiles on fewer
blocks and iterations. Nothing is timed, so any machine gives the same figures.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import Target, command_line, finish, saved_by_mirage
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.errors import SizeError
from mlc_course.mugraph.codegen import in_blocks, published_tiling
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.kernel_checks import first_fault
from mlc_course.mugraph.kernel_checks.small_tilings import smaller
from mlc_course.mugraph.kernels import Barrier, Kernel, walk
from mlc_course.mugraph.programs import PROGRAM_OF, published
from mlc_course.mugraph.thread_kernels import Gpu, lower_for_threads
from mlc_course.mugraph.thread_kernels.memory_plan import (
    best_fit,
    first_fit,
    needs,
    worst_fit,
)
from mlc_course.mugraph.thread_kernels.thread_lowering import variants

STAGES = (2, 4)
HEURISTICS = {"first fit": first_fit, "best fit": best_fit, "worst fit": worst_fit}


def graphs(every: int) -> Iterator[tuple[str, KernelGraph]]:
    """Yield the published graphs, and every so many of Mirage's, with names."""
    for name in PROGRAM_OF:
        yield name, published(name)
    for _, saved in saved_by_mirage():
        for number, graph in list(enumerate(dict.fromkeys(saved), 1))[::every]:
            yield f"{graph.name} {number}", graph


def measured(name: str, graph: KernelGraph, place: int, stages: int) -> dict[str, Any] | None:
    """Return the figures of one kernel; None where its tiles need more than the memory."""
    gpu = Gpu(stages=stages)
    tilings = {place: published_tiling(block) for place, block in graph.blocks}
    try:
        kernel = lower_for_threads(graph, place, tilings[place], gpu)
    except SizeError:
        return None
    few = smaller(graph, tilings, iterations=stages + 1)
    short = lower_for_threads(few.graph, place, few.tilings[place], gpu)
    plans = {
        heuristic: max(plan(needs(each, kernel.shared, gpu.size_of)).total for each in of(kernel))
        for heuristic, plan in HEURISTICS.items()
    }
    fault = first_fault(short)
    return {
        "graph": name,
        "place": place,
        "stages": stages,
        "bytes": {"exact": kernel.shared_bytes, **plans},
        "barriers": sum(isinstance(each, Barrier) for each in walk(kernel.body)),
        "fault": str(fault) if fault else "",
    }


def of(kernel: Kernel) -> list[Any]:
    """Return the bodies of which a block runs one."""
    return variants(kernel.body)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw how much more the heuristics need, kernel by kernel, the worst first."""
    rows = [row for row in rows if row["bytes"]["exact"]]
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for heuristic in HEURISTICS:
        more = sorted(
            (row["bytes"][heuristic] / row["bytes"]["exact"] for row in rows), reverse=True
        )
        axes.plot(range(1, len(more) + 1), more, label=heuristic)
    axes.set_xlabel("kernels, the worst first")
    axes.set_ylabel("bytes, of the exact plan")
    axes.legend()
    figure.savefig(path)


def main() -> int:
    """Lower, plan and check all; print where a heuristic needs more."""
    parser = command_line(__doc__)
    parser.add_argument("--every", type=int, default=6, help="take every so many of Mirage's")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    too_large = 0
    for name, graph in tqdm(list(graphs(arguments.every)), unit="graph", disable=None):
        whole = in_blocks(graph)
        for place, _ in whole.blocks:
            for stages in STAGES:
                row = measured(name, whole, place, stages)
                if row is None:  # with any number of stages: fewer were tried
                    too_large += 1
                    break
                rows.append(row)
    for row in rows:
        exact, worst = row["bytes"]["exact"], max(row["bytes"].values())
        if worst > exact:
            said = ", ".join(f"{plan} {size}" for plan, size in row["bytes"].items())
            print(f"{row['graph']}, kernel {row['place']}, {row['stages']} stages: {said}")
    faults = [row for row in rows if row["fault"]]
    more = {
        heuristic: sum(row["bytes"][heuristic] > row["bytes"]["exact"] for row in rows)
        for heuristic in HEURISTICS
    }
    barriers = [row["barriers"] for row in rows]
    print(f"{len(rows)} kernels, {too_large} too large; more than the exact plan: {more}")
    print(f"barriers: {min(barriers)} to {max(barriers)}")
    targets = [
        Target("kernels without a fault, of all", 1.0, 1 - len(faults) / len(rows)),
        Target(
            "heuristics that need as much as the exact plan or more, of all",
            1.0,
            sum(min(row["bytes"].values()) == row["bytes"]["exact"] for row in rows) / len(rows),
        ),
    ]
    figures = {"rows": rows, "more_than_exact": more, "too_large": too_large}
    return finish(arguments, figures, targets, lambda path: draw(rows, path))


if __name__ == "__main__":
    sys.exit(main())

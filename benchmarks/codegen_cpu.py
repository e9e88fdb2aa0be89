"""Time found graphs on this CPU, beside NumPy and beside the program unfused.

    python benchmarks/codegen_cpu.py --json results/codegen_cpu.json --check

The seven programs at the shapes of Mirage's paper, float32. NumPy is what an engineer would write
(``mugraph.programs.numpy_programs``). Graphs are those that the search finds for this machine, and
the published ones; the cost model ranks their tilings, and the first few are timed. On one thread
contestants are timed in turns, call by call. On all cores each side has turns of its own, of some
calls after a pause, since the other library's threads go on spinning after a call.

On a machine with AVX-512 a machine with AVX2 is stood in for by
MLC_COURSE_ISA=AVX2 OPENBLAS_CORETYPE=Haswell.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from common import Target, command_line, finish
from matplotlib.figure import Figure
from other_compilers import PAUSE_S, TURNS, one_turn
from threadpoolctl import threadpool_info

from mlc_course.machine import describe, usable_cores
from mlc_course.measure import limited_threads, rank_correlation
from mlc_course.mugraph.cpu_kernels import cpu_target
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, in_numpy, published, workload
from mlc_course.mugraph.runtime import Racer, race, random_inputs
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.tensor_program.memory import Roofs, roofs

SEVEN = tuple(name for name in NAMES if name != "attention")
UNFUSED = "unfused"
# Multiplications and additions of products, exps, and bytes that have to be read or written.
WORK: Mapping[str, tuple[float, float, float]] = {
    "rms_norm_matmul": (2 * 16 * 4096 * 6144, 0, 4 * (4096 * 6144 + 16 * (4096 + 6144))),
    "gated_mlp": (2 * 8 * 4096 * 8192, 8 * 4096, 4 * (2 * 4096 * 4096 + 2 * 8 * 4096)),
    "lora": (2 * 16 * (256 * 4096 + 256 * 16 + 16 * 4096), 0, 4 * (272 * 4096 + 16 * 4352)),
    "n_trans": (0, 0, 4 * 4 * 8 * 4096),
    **dict.fromkeys(
        ("gqa", "qk_norm_attention", "stable_attention"),
        (2 * 2 * 2 * 256 * 4096 * 64, 2 * 256 * 4096, 4 * 2 * (2 * 4096 * 64 + 2 * 256 * 64)),
    ),
}
EXP_FLOPS = 40  # of vector instructions, counted as multiply-adds


def numpy_kernels() -> str:
    """Name NumPy's library of products, and the processor whose kernels it has chosen."""
    found = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return ", ".join(
        f"{each['internal_api']} {each['version']}, kernels for {each.get('architecture', '?')}"
        for each in found
    )


def graphs_of(program: KernelGraph, threads: int) -> dict[str, KernelGraph]:
    """Return the graphs that the search finds for this machine, and the published ones."""
    target = cpu_target(describe(), roofs(threads))
    found = [event for event in superoptimize(program, target) if isinstance(event, Found)]
    found.sort(key=lambda each: (float(each.cost.total), each.operators))
    graphs = {f"found {n}": each.graph for n, each in enumerate(found, 1)}
    known = [name for name, of in PROGRAM_OF.items() if of == program.name]
    return {**graphs, **{f"published {name}": published(name) for name in known}, UNFUSED: program}


def in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], threads: int) -> list[float]:
    """Return NumPy's time by ours, turn by turn: medians of calls of each side alone."""
    ratios = []
    with limited_threads(threads):
        for _ in range(TURNS):
            taken = []
            for call in (theirs, ours):
                time.sleep(PAUSE_S)
                taken.append(one_turn(call))
            ratios.append(taken[0] / taken[1])
    return ratios


def measured(name: str, machine_roofs: Mapping[int, Roofs]) -> dict[str, Any]:
    """Return one program's figures on one thread and on all cores."""
    program, cores = workload(name), usable_cores()
    inputs = random_inputs(program)
    numpy = in_numpy(program, inputs)
    row: dict[str, Any] = {"program": name}
    for threads in sorted({1, cores}):
        graphs = graphs_of(program, threads)
        published_names = [each for each in graphs if each.startswith("published")]
        racers = race(program, graphs, threads=threads, always=(UNFUSED, *published_names))
        best, unfused = racers[0], next(each for each in racers if each.name == UNFUSED)
        spreads = in_turns(best.compiled.bind(inputs), numpy, threads) if threads > 1 else []
        ratio = statistics.median(spreads) if spreads else best.comparison.ratio
        row[f"on_{threads}"] = {
            "ratio": ratio,
            "interval": [min(spreads), max(spreads)] if spreads else best.comparison.interval,
            "graph": best.name,
            "text": str(best.compiled.graph),
            "grids": [str(kernel.grid) for kernel in best.compiled.program.kernels],
            "ms": 1e3 * best.comparison.timing.best_s,
            "numpy_ms": 1e3 * best.comparison.baseline.best_s,
            "error": max(best.passed.errors),
            "of_the_roof": of_the_roof(name, best, machine_roofs[threads]),
            "limited_by": best.limited_by,
            "of_unfused": unfused.comparison.timing.best_s / best.comparison.timing.best_s,
            "warning": best.comparison.warning,
            "all": [
                [each.name, each.estimated_s, each.comparison.timing.best_s] for each in racers
            ],
        }
    return row


def of_the_roof(name: str, best: Racer, limits: Roofs) -> float:
    """Return the least time that the program can take on this machine, by the time it takes."""
    flops, exps, bytes_moved = WORK[name]
    near = bytes_moved < describe().l3_bytes
    bandwidth = limits.caches[-1] if near and limits.caches else limits.gbytes_per_s
    least = max((flops + EXP_FLOPS * exps) / limits.gflops, bytes_moved / bandwidth) / 1e9
    return least / best.comparison.timing.best_s


def line(row: Mapping[str, Any], threads: int) -> str:
    it = row[f"on_{threads}"]
    low, high = it["interval"]
    return (
        f"{row['program']:<18} {it['numpy_ms']:>8.3f} {it['ms']:>8.3f} {it['ratio']:>6.2f}x "
        f"[{low:.2f}, {high:.2f}]  {it['of_the_roof']:>5.0%} of the roof, {it['limited_by']}; "
        f"fusion {it['of_unfused']:.2f}x; {it['graph']}"
    )


def spearman(rows: list[dict[str, Any]], threads: int) -> float:
    """Return the rank correlation of estimates and times, over all graphs and tilings."""
    pairs = [pair for row in rows for pair in row[f"on_{threads}"]["all"]]
    return rank_correlation([e for _, e, _ in pairs], [t for _, _, t in pairs])


def draw(rows: list[dict[str, Any]], threads: int, path: Path) -> None:
    """Draw the ratios, a bar for each program."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    names = [row["program"] for row in rows]
    axes.barh(names, [row[f"on_{threads}"]["ratio"] for row in rows], color="#2a6f97")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel(f"times as fast as NumPy, {threads} thread{'s' * (threads > 1)}")
    axes.invert_yaxis()
    figure.savefig(path)


def main() -> int:
    """Measure, print a line for each program, and hold the figures against what was wanted."""
    parser = command_line(__doc__)
    parser.add_argument("--programs", nargs="*", default=SEVEN, help="only these")
    arguments = parser.parse_args()
    cores = usable_cores()
    machine_roofs = {threads: roofs(threads, remeasure=True) for threads in {1, cores}}
    print(f"NumPy has {numpy_kernels()}")
    rows = []
    for name in arguments.programs:
        rows.append(measured(name, machine_roofs))
        for threads in sorted({1, cores}):
            print(f"{threads} thread{'s' * (threads > 1)}: {line(rows[-1], threads)}", flush=True)
    avx2 = describe().vector_registers < 32
    targets, figures = [], {}
    for threads in sorted({1, cores}):
        ratios = [row[f"on_{threads}"]["ratio"] for row in rows]
        mean = statistics.geometric_mean(ratios)
        figures[f"mean_on_{threads}"] = mean
        what = f"geometric mean, {threads} thread{'s' * (threads > 1)}"
        targets.append(Target(what, 1.5 if avx2 and threads == 1 else 2.0, mean))
        least = 1.3 if threads == 1 and not avx2 else 1.0
        targets.append(Target(f"the least of them, {threads}", least, min(ratios)))
        rank = spearman(rows, threads)
        targets.append(Target(f"rank correlation of estimates and times, {threads}", 0.7, rank))
    error = max(row[f"on_{threads}"]["error"] for row in rows for threads in {1, cores})
    targets.append(Target("1e-5 / largest error", 1.0, 1e-5 / error))
    return finish(
        arguments,
        {
            "rows": rows,
            "numpy": numpy_kernels(),
            **figures,
        },
        targets,
        lambda path: draw(rows, cores, path),
    )


if __name__ == "__main__":
    sys.exit(main())

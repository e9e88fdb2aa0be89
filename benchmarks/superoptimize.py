"""How long does the superoptimizer search, what does it find, and what is each pruning worth?

    python benchmarks/superoptimize.py --json results/superoptimize.json --check

The seven programs at the shapes of Mirage's paper, and parts of today's models. "One core" is one
process; "two cores" is a pool of two. Growth: one nest of RMSNorm + matmul, candidates of up to 1
to 11 operators, each pruning left out in turn; a bank that is not complete after the time limit
counts as that long.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import sys
import time
from concurrent.futures import Executor, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from common import Target, command_line, finish
from matplotlib.figure import Figure

from mlc_course.deadline import until
from mlc_course.machine import usable_cores
from mlc_course.mugraph.cost import A100, cost
from mlc_course.mugraph.ir import BlockGraph, KernelGraph, run
from mlc_course.mugraph.programs import MODELS, NAMES, published, workload
from mlc_course.mugraph.search import (
    PRUNINGS,
    Ended,
    Found,
    Limits,
    Nest,
    Problem,
    Pruned,
    Tried,
    grow,
    start,
    superoptimize,
)

SEVEN = tuple(name for name in NAMES if name != "attention")
# name: (seconds at most, on how many cores, what is best known)
WANTED = {
    "rms_norm_matmul": (2, 1, "paper: 28 s on many cores, 183 s on one thread"),
    "gated_mlp": (2, 1, "Mirage's code, on one thread: 40.2 s"),
    "gqa": (5, 2, "a user of Mirage: nothing in 598 s"),
    "stable_attention": (10, 2, "no Mirage version does it"),
}
TOGETHER_S, MEMORY_GB = 5, 1
MODEL_S, MODEL_GB = 60, 2
CURVES = {
    "all prunings": frozenset(PRUNINGS),
    "without abstract expressions": frozenset(PRUNINGS) - {"expressions"},
    "without equality of values": frozenset(PRUNINGS) - {"equal"},
    "without an order of operands": frozenset(PRUNINGS) - {"order"},
}
SIZES = range(1, 12)
RUNS = 3  # of which the median is told


def search(name: str, executor: Executor | None = None) -> dict[str, Any]:
    """A search, without earlier results: its seconds, counts and graphs."""
    program, taken = workload(name), []
    for _ in range(RUNS):
        began = time.monotonic()
        events = list(superoptimize(program, executor=executor))
        taken.append(time.monotonic() - began)
    found = [event for event in events if isinstance(event, Found)]
    found.sort(key=lambda each: (float(each.cost.total), each.operators))
    pruned: dict[str, int] = {}
    for event in events:
        if isinstance(event, Pruned):
            pruned[event.reason] = pruned.get(event.reason, 0) + event.count
    tried = [event for event in events if isinstance(event, Tried)]
    return {
        "program": name,
        "seconds": statistics.median(taken),
        "seconds_of_each_run": taken,
        "candidates": sum(each.candidates for each in tried),
        "values": sum(each.values for each in tried),
        "grids_and_extents": sum(each.instances for each in tried),
        "pruned": pruned,
        "incomplete": [cut for event in events if isinstance(event, Ended) for cut in event.cut],
        "error_bound": max(each.verdict.error_bound for each in found),
        "worst_difference": max(difference(each.graph, program) for each in found),
        "known_graph": known(name, found),
        "found": [
            {
                "text": str(each.graph),
                "how": each.how,
                "operators": each.operators,
                "cost_us": 1e6 * float(each.cost.total),
            }
            for each in found
        ],
    }


def difference(graph: KernelGraph, program: KernelGraph) -> float:
    """The largest difference from the program in float64 at full shape, by its largest value."""
    rng = np.random.default_rng(0)
    shapes = zip(program.inputs, program.shapes, strict=False)
    inputs = {each.name: rng.standard_normal(shape) for each, shape in shapes}
    pairs = zip(run(graph, inputs), run(program, inputs), strict=True)
    return max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs)


def model(name: str, executor: Executor) -> dict[str, Any]:
    """A search for one of today's models: when it has its first graph, its best, and ends."""
    program, began, best = workload(name), time.monotonic(), list[tuple[float, Found]]()
    before = float(cost(program, A100).total)
    for event in superoptimize(program, executor=executor, time_limit=MODEL_S):
        cheaper = isinstance(event, Found) and (
            not best or event.cost.total < best[-1][1].cost.total
        )
        if isinstance(event, Found) and cheaper:
            best.append((time.monotonic() - began, event))
    seconds = time.monotonic() - began
    assert best, f"{name}: a graph that is cheaper than the program"
    (first_s, first), (best_s, last) = best[0], best[-1]
    return {
        "program": name,
        "operators": len(program.equations),
        "program_us": 1e6 * before,
        "first_s": first_s,
        "first_us": 1e6 * float(first.cost.total),
        "best_s": best_s,
        "best_us": 1e6 * float(last.cost.total),
        "seconds": seconds,
        "how": last.how,
        "kernels": len(last.graph.equations),
        "error_bound": last.verdict.error_bound,
        "text": str(last.graph),
    }


def known(name: str, found: list[Found]) -> bool | None:
    """Is the known graph among those found, but for the extents of its grid and loops?"""
    names = {  # not gated_mlp's: by the model it is dearer than the program, so it is not reported
        "rms_norm_matmul": "rms_norm_matmul_fused",
        "lora": "lora_fused",
        "n_trans": "n_trans_fused",
        "gqa": "gqa_split_kv",
        "stable_attention": "online_softmax_attention",
    }
    if name not in names:
        return None
    wanted = operators(published(names[name]))
    return any(operators(each.graph) == wanted for each in found)


def operators(graph: KernelGraph) -> list[list[str]]:
    """The operators of each kernel, in no order; what is in a thread graph is not set apart."""

    def of(equation: Any) -> list[str]:
        inner = getattr(equation.op, "equations", None)
        return [name for e in inner for name in of(e)] if inner else [equation.op.name]

    return [sorted(of(each)) for each in graph.equations if isinstance(each.op, BlockGraph)]


def growth(limit_s: float) -> list[dict[str, Any]]:
    """Seconds, candidates and values of a bank, by prunings and number of operators."""
    problem, points = Problem(workload("rms_norm_matmul")), list[dict[str, Any]]()
    for curve, prunings in CURVES.items():
        for most in SIZES:
            taken = list[float]()
            while len(taken) < RUNS and sum(taken) < limit_s:
                began = time.monotonic()
                begun = start(
                    problem, Nest(("d",)), seed="0", most_operators=most, prunings=prunings
                )
                with until(time.time() + limit_s):
                    cut = grow(begun.bank, begun.offer, Limits(10**9, 10**9))
                taken.append(time.monotonic() - began)
            point = {
                "curve": curve,
                "operators": most,
                "seconds": statistics.median(taken),
                "candidates": begun.bank.tried,
                "values": len(begun.bank.values),
                "complete": not cut,
                "found": None not in begun.found(),
            }
            points.append(point)
            print(f"{curve}, {most} operators: {point['seconds']:.2f} s, {point['values']} values")
            if cut:
                break
    return points


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a point of growth")
    arguments = parser.parse_args()
    alone = {name: search(name) for name in SEVEN}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(search, ["lora"] * 4))  # the workers have started, and know their modules
        together = {name: search(name, pool) for name in SEVEN}
        models = [model(name, pool) for name in MODELS]
    peak = max(peak, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9)
    targets = []
    for name in SEVEN:
        one, two = alone[name], together[name]
        assert one["found"] == two["found"], "the same graphs, whoever searched"
        best = one["found"][0]
        print(
            f"{name:>18}: {one['seconds']:5.2f} s on one core, {two['seconds']:5.2f} s on two; "
            f"{one['values']} values of {one['candidates']} candidates, "
            f"{len(one['found'])} graphs, best {best['cost_us']:.1f} us: {best['how']}"
        )
        targets.append(Target(f"{name}: 1e-9 / bound of the error", 1, 1e-9 / one["error_bound"]))
        worst = max(one["worst_difference"], 1e-16)
        targets.append(Target(f"{name}: 1e-11 / difference in float64", 1, 1e-11 / worst))
        if one["known_graph"] is not None:
            targets.append(Target(f"{name}: the known graph is found", 1, one["known_graph"]))
        if name in WANTED:
            limit, cores, known_best = WANTED[name]
            taken = (one if cores == 1 else two)["seconds"]
            what = f"{name}: {limit} s / seconds on {cores} (best known: {known_best})"
            targets.append(Target(what, 1, limit / taken))
    total = sum(each["seconds"] for each in together.values())
    targets.append(
        Target(f"all seven: {TOGETHER_S} s / seconds on two cores", 1, TOGETHER_S / total)
    )
    targets.append(Target(f"peak memory: {MEMORY_GB} GB / GB of a process", 1, MEMORY_GB / peak))
    targets.append(Target(f"models: {MODEL_GB} GB / GB of both processes", 1, MODEL_GB / 2 / peak))
    for each in models:
        print(
            f"{each['program']:>23}: {each['program_us']:.1f} us as it is; {each['first_us']:.1f} "
            f"after {each['first_s']:.1f} s, {each['best_us']:.1f} after {each['best_s']:.1f} s, "
            f"{each['kernels']} kernels; {each['seconds']:.1f} s in all"
        )
        what = f"{each['program']}: {MODEL_S} s / seconds to the best graph"
        targets.append(Target(what, 1, MODEL_S / each["best_s"]))
        cheaper = each["program_us"] / each["best_us"]
        targets.append(Target(f"{each['program']}: cost of the program / of the best", 1, cheaper))
    figures = {
        "cores": usable_cores(),
        "one_core": list(alone.values()),
        "two_cores_seconds": {name: each["seconds"] for name, each in together.items()},
        "two_cores_seconds_together": total,
        "models": models,
        "peak_gb": peak,
        "growth": growth(arguments.limit),
    }
    return finish(arguments, figures, targets, lambda path: draw(figures["growth"], path))


def draw(points: list[dict[str, Any]], path: Path) -> None:
    """Time against number of operators, one curve for each pruning left out.

    Markers get smaller and lines thinner from curve to curve, so that one is seen under another.
    """
    figure = Figure(figsize=(7.5, 5), layout="constrained")
    axes = figure.subplots()
    for number, (curve, marker) in enumerate(zip(CURVES, "osD^", strict=True)):
        own = [point for point in points if point["curve"] == curve]
        operators, seconds = [p["operators"] for p in own], [p["seconds"] for p in own]
        size, width = 11 - 2.5 * number, 4 - number
        (line,) = axes.plot(
            operators, seconds, marker=marker, markersize=size, linewidth=width, label=curve
        )
        if not own[-1]["complete"]:
            axes.annotate(
                f"not complete after {seconds[-1]:.0f} s",
                (operators[-1], seconds[-1]),
                textcoords="offset points",
                xytext=(10, -3),
                color=line.get_color(),
            )
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g} s")
    axes.set_xticks(SIZES)
    axes.grid(alpha=0.3)
    axes.set_xlabel("operators of a graph, at most")
    axes.set_ylabel("time, one process")
    axes.set_title("RMSNorm + matmul, one loop over d: what each pruning is worth")
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(path)


if __name__ == "__main__":
    sys.exit(main())

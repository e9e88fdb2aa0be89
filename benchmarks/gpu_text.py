"""Compile the CUDA text of known graphs without a GPU, and read what their kernels need.

    python benchmarks/gpu_text.py --json results/gpu_text.json --check

Graphs are the programs of the benchmark, the published graphs for them, the three best that our
search finds, and all different ones that Mirage saved (``--every 12`` takes fewer), in float16,
bfloat16 and float32, for sm_80, sm_90 and sm_90a. Of each kernel: registers, spills, shared memory,
barriers, and how many of its products are on the matrix unit. Every NVRTC that is installed
compiles all. Nothing is timed on a GPU.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import Target, command_line, finish, saved_by_mirage
from matplotlib.figure import Figure
from tqdm import tqdm

from mlc_course.errors import SizeError
from mlc_course.mugraph.cost import target
from mlc_course.mugraph.cuda import TARGETS, compile_cubin, generations, shared_limit
from mlc_course.mugraph.gpu_text import CUDA, STORAGE_BYTES, source_of
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.kernels import Barrier, Compute, Kernel, walk
from mlc_course.mugraph.programs import NAMES, PROGRAM_OF, published, workload
from mlc_course.mugraph.search import Found, superoptimize
from mlc_course.mugraph.thread_kernels import Gpu, thread_program

BEST = 3  # graphs of a search
NAMED = ("kind", "graph", "kernel", "storage")


def graphs(every: int) -> Iterator[tuple[str, str, KernelGraph]]:
    """Yield graphs with what they are and their names."""
    for name in NAMES:
        yield "program", name, workload(name)
    for name in PROGRAM_OF:
        yield "published", name, published(name)
    for name in NAMES:
        events = superoptimize(workload(name), target("h100"))
        found = [each for each in events if isinstance(each, Found)]
        best = sorted(found, key=lambda each: float(each.cost.total))[:BEST]
        for number, each in enumerate(best, 1):
            yield "found", f"{name} {number}", each.graph
    for _, saved in saved_by_mirage():
        for number, graph in list(enumerate(dict.fromkeys(saved), 1))[::every]:
            yield "saved by Mirage", f"{graph.name} {number}", graph


def products(kernel: Kernel) -> tuple[int, int]:
    """Return how many products a kernel has on the matrix unit, and in all."""
    found = [
        each
        for each in walk(kernel.body)
        if isinstance(each, Compute) and each.combine == "add" and "mul" in str(each.value)
    ]
    return sum(each.fragments is not None for each in found), len(found)


def measured(kind: str, name: str, graph: KernelGraph, storage: str) -> list[dict[str, Any]]:
    """Return the figures of each kernel, target and compiler."""
    rows = []
    for arch in TARGETS:
        gpu = Gpu(
            storage_bytes=STORAGE_BYTES[storage],
            most_shared_bytes=shared_limit(arch),
            matrix_unit=True,
            narrow_range=storage == "float16",
        )
        kernels = thread_program(graph, gpu).program.kernels
        source = source_of(kernels, CUDA, storage)
        for generation in generations():
            start = time.perf_counter()
            cubin = compile_cubin(source.text, arch, generation)
            seconds = time.perf_counter() - start
            for kernel, called in zip(kernels, source.names, strict=True):
                needed = cubin.kernels[called]
                rows.append(
                    {
                        "kind": kind,
                        "graph": name,
                        "kernel": kernel.name,
                        "storage": storage,
                        "generation": generation,
                        "arch": arch,
                        "registers": needed.registers,
                        "spills": needed.spills,
                        "stack": needed.stack,
                        "threads": kernel.threads,
                        "shared": kernel.shared_bytes + needed.shared,
                        "shared_limit": shared_limit(arch),
                        "barriers": sum(isinstance(s, Barrier) for s in walk(kernel.body)),
                        "matrix_products": products(kernel)[0],
                        "compile_s": seconds / len(kernels),
                    }
                )
    return rows


def most(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each kernel and storage: the most of each figure, of all machine code."""
    kernels: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        kernels.setdefault(tuple(row[key] for key in NAMED), []).append(row)
    counted = ("registers", "spills", "shared", "barriers", "matrix_products", "threads")
    return [
        {
            **dict(zip(NAMED, names, strict=True)),
            **{key: max(row[key] for row in own) for key in counted},
            "compile_s": round(sum(row["compile_s"] for row in own) / len(own), 3),
            "pieces": len(own),
            "spilling": sum(row["spills"] > 0 for row in own),
        }
        for names, own in kernels.items()
    ]


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw registers and shared memory of all kernels."""
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        axes.scatter(
            [row["registers"] for row in own],
            [row["shared"] / 1024 for row in own],
            s=9,
            alpha=0.5,
            label=kind,
        )
    axes.axvline(255, linestyle="--", color="black", linewidth=0.8)
    axes.set_xlabel("registers a thread (at most 255)")
    axes.set_ylabel("shared memory a block, KiB")
    axes.legend()
    figure.savefig(path)


def main() -> int:
    """Compile all; print what spills, and what does not fit."""
    parser = command_line(__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every so many of Mirage's")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    refused: list[str] = []
    for kind, name, graph in tqdm(list(graphs(arguments.every)), unit="graph", disable=None):
        for storage in STORAGE_BYTES:
            try:
                rows += measured(kind, name, graph, storage)
            except SizeError as error:
                refused.append(f"{name}, {storage}: {error}")
    for each in refused:
        print(f"does not fit: {each.splitlines()[0]}")
    spilling = [row for row in rows if row["spills"] or row["stack"]]
    for row in spilling:
        print(f"spills: {row}")
    kernels = {(row["graph"], row["kernel"], row["storage"]) for row in rows}
    print(f"{len(kernels)} kernels, {len(rows)} pieces of machine code, {len(refused)} refused")
    own = [row for row in rows if row["kind"] != "saved by Mirage"]
    targets = [
        Target("the benchmark's kernels without spills, of all", 1.0, _share(own)),
        Target("all kernels without spills, of all", 1.0, _share(rows)),
        Target(
            "graphs that fit a block, of all", 1.0, len(kernels) / (len(kernels) + len(refused))
        ),
        Target(
            "the shared memory that a block can have, by what a kernel needs, at least",
            1.0,
            min(row["shared_limit"] / max(1, row["shared"]) for row in rows),
        ),
    ]
    figures = {"rows": most(rows), "refused": refused, "generations": list(generations())}
    return finish(arguments, figures, targets, lambda path: draw(rows, path))


def _share(rows: list[dict[str, Any]]) -> float:
    return sum(not row["spills"] and not row["stack"] for row in rows) / max(1, len(rows))


if __name__ == "__main__":
    sys.exit(main())

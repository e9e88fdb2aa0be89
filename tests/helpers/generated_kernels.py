"""The CUDA text of published graphs with few steps, whose PTX is run on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from small_graphs import normal_inputs

from mlc_course.mugraph.codegen import program_of
from mlc_course.mugraph.cuda import LaunchPlan, launch_plan, shared_limit
from mlc_course.mugraph.gpu_text import STORAGE_BYTES
from mlc_course.mugraph.ir import FLOAT64, KernelGraph, evaluate
from mlc_course.mugraph.kernel_checks import Smaller, smaller
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.programs import published
from mlc_course.mugraph.ptx import Report, run_plan
from mlc_course.mugraph.thread_kernels import Gpu, lower_for_threads, thread_program

DTYPES: Mapping[str, Any] = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
}  # fmt: skip


@dataclass(frozen=True)
class Generated:
    """The kernels of a graph, their text and launches, and inputs as they are stored."""

    program: KernelProgram
    plan: LaunchPlan
    inputs: Mapping[str, np.ndarray]
    expected: tuple[np.ndarray, ...]

    def run(
        self, change: Callable[[str], str] = str, arch: str = "sm_80", **options: Any
    ) -> tuple[list[np.ndarray], tuple[Report, ...]]:
        """What the kernels leave, with their text changed, and what was found."""
        arrays = {name: each.copy() for name, each in self.inputs.items()}
        kind = next(iter(arrays.values())).dtype
        for buffer in (*self.program.temporaries, *self.program.outputs):
            arrays[buffer.name] = np.full(buffer.shape, np.nan, kind)
        changed = replace(self.plan, text=change(self.plan.text))
        reports = run_plan(changed, arrays, arch, **options)
        return [arrays[each.name] for each in self.program.outputs], reports

    def wrong(self, tolerance: float, **options: Any) -> str:
        """What is wrong with the kernels: a fault, or a value; nothing if all are right."""
        outputs, reports = self.run(**options)
        if faults := [str(fault) for report in reports for fault in report.faults]:
            return faults[0]
        for got, expected in zip(outputs, self.expected, strict=True):
            fine = np.isfinite(expected)
            largest = np.abs(expected[fine]).max(initial=1e-30)
            wide = got.astype("f8")
            if not np.array_equal(np.isnan(wide), np.isnan(expected)):
                return f"{np.isnan(wide).sum()} values are no numbers"
            error = np.abs(wide - expected)[fine].max(initial=0)
            if not error <= tolerance * largest:
                return f"a value is off by {error / largest:.1e} of the largest"
        return ""


def gpu_for(storage: str, **options: Any) -> Gpu:
    """The machine for which kernels are lowered that a GPU shall run."""
    size = STORAGE_BYTES[storage]
    return Gpu(
        storage_bytes=size,
        most_shared_bytes=shared_limit("sm_80"),
        matrix_unit=size == 2,
        narrow_range=storage == "float16",
        **options,
    )


@cache
def generated(name: str, storage: str, iterations: int = 4, stages: int = 3) -> Generated:
    """The kernels of a published graph with few steps, on the tiles that it gets at full size."""
    gpu = gpu_for(storage, stages=stages)
    whole = thread_program(published(name), gpu)
    graph = whole.program.graph
    places = [place for place, _ in graph.blocks]
    small = smaller(graph, dict(zip(places, whole.tilings, strict=True)), iterations)
    return of_tilings(small, storage, gpu, _inputs(name, small.graph))


def of_tilings(
    small: Smaller, storage: str, gpu: Gpu, inputs: Mapping[str, np.ndarray]
) -> Generated:
    """The kernels of a graph with these tilings."""
    kernels = [
        lower_for_threads(small.graph, place, tiling, gpu)
        for place, tiling in small.tilings.items()
    ]
    return of_program(program_of(small.graph, kernels), storage, inputs)


def of_program(program: KernelProgram, storage: str, inputs: Mapping[str, np.ndarray]) -> Generated:
    """The kernels of a program, and what its graph computes of inputs as they are stored."""
    stored = {each: value.astype(DTYPES[storage]) for each, value in inputs.items()}
    with np.errstate(all="ignore"):
        expected = evaluate(program.graph, [each.astype("f8") for each in stored.values()], FLOAT64)
    return Generated(program, launch_plan(program, storage), stored, expected)


def _inputs(name: str, graph: KernelGraph) -> dict[str, np.ndarray]:
    """Normal inputs; where a sum of exp is stored, such that float16 has room for it."""
    found = {each: np.array(value) for each, value in normal_inputs(graph).items()}
    if name == "gqa_split_kv":
        found["Q"] /= 8
    return found

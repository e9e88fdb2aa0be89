"""The CUDA text of published graphs with few steps, whose PTX is run on a CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
from small_graphs import normal_inputs

from mlc_course.mugraph.codegen import program_of
from mlc_course.mugraph.cuda import compile_ptx
from mlc_course.mugraph.gpu_text import CUDA, STORAGE_BYTES, Source, launch_grid, source_of
from mlc_course.mugraph.ir import FLOAT64, KernelGraph, evaluate
from mlc_course.mugraph.kernel_checks import smaller
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.programs import published
from mlc_course.mugraph.ptx import Report, load
from mlc_course.mugraph.thread_kernels import Gpu, lower_for_threads, thread_program

DTYPES: Mapping[str, Any] = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32,
}  # fmt: skip


@dataclass(frozen=True)
class Generated:
    """The kernels of a graph with few steps, their text, and inputs as they are stored."""

    program: KernelProgram
    source: Source
    inputs: Mapping[str, np.ndarray]
    expected: tuple[np.ndarray, ...]

    def run(
        self, change: Callable[[str], str] = str, **options: Any
    ) -> tuple[list[np.ndarray], list[Report]]:
        """What the kernels leave, with their text changed, and what was found."""
        module = load(compile_ptx(change(self.source.text), "sm_80"))
        arrays = {name: each.copy() for name, each in self.inputs.items()}
        kind = next(iter(arrays.values())).dtype
        for buffer in (*self.program.temporaries, *self.program.outputs):
            arrays[buffer.name] = np.full(buffer.shape, np.nan, kind)
        reports = []
        for kernel, name in zip(self.program.kernels, self.source.names, strict=True):
            arguments = {each.name: arrays[each.name] for each in (*kernel.inputs, *kernel.outputs)}
            grid = launch_grid(kernel, CUDA)
            reports.append(
                module.launch(name, grid, kernel.threads, kernel.shared_bytes, arguments, **options)
            )
        return [arrays[each.name] for each in self.program.outputs], reports


@cache
def generated(name: str, storage: str, iterations: int = 4, stages: int = 3) -> Generated:
    """The kernels of a published graph, with the tiles that it gets at full size."""
    gpu = Gpu(storage_bytes=STORAGE_BYTES[storage], matrix_unit=True, stages=stages)
    whole = thread_program(published(name), gpu)
    graph = whole.program.graph
    places = [place for place, _ in graph.blocks]
    small = smaller(graph, dict(zip(places, whole.tilings, strict=True)), iterations)
    kernels = [
        lower_for_threads(small.graph, place, tiling, gpu)
        for place, tiling in small.tilings.items()
    ]
    inputs = {
        each: value.astype(DTYPES[storage]) for each, value in _inputs(name, small.graph).items()
    }
    expected = evaluate(small.graph, [each.astype("f8") for each in inputs.values()], FLOAT64)
    return Generated(
        program_of(small.graph, kernels), source_of(kernels, CUDA, storage), inputs, expected
    )


def _inputs(name: str, graph: KernelGraph) -> dict[str, np.ndarray]:
    """Normal inputs; where exp is taken of scores, such that float16 has room for it."""
    found = {each: np.array(value) for each, value in normal_inputs(graph).items()}
    if name in ("gqa_split_kv", "attention_fused"):
        found["Q"] /= 8
    if name == "qk_norm_attention_fused":
        # Queries and keys are large in different places, so that their products are small.
        half = found["Q"].shape[-1] // 2
        found["Q"][..., half:] /= 10
        found["K"][..., :half, :] /= 10
    return found

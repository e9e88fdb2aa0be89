"""The box as a target of compiled graphs: what is compiled is a call that runs in the box.

It looks at every access, so it says what a kernel does wrong on the very inputs that it is given,
and it is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlc_course.errors import SizeError
from mlc_course.mugraph.box.program_kernels import Landing, run_kernel
from mlc_course.mugraph.box.schedule import Order
from mlc_course.mugraph.codegen import (
    Tiling,
    cut_extent,
    free_axes,
    in_blocks,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.cpu_kernels import program_of
from mlc_course.mugraph.ir import KernelGraph
from mlc_course.mugraph.kernels import Kernel, KernelProgram
from mlc_course.mugraph.thread_kernels import Gpu, lower_for_threads

TILES = (64, 16, 4, 1)  # extents to try, for block graphs that are not cut small enough


def box_program(graph: KernelGraph, storage: str = "float32", threads: int = 128) -> KernelProgram:
    """Return the kernels of a graph for threads, with its own tilings where these fit.

    Raises ``SizeError`` for a block graph that fits the shared memory with no tiling tried.
    """
    gpu = Gpu(threads=threads, storage_bytes=np.dtype(storage).itemsize, shared_bytes=227 * 1024)
    whole = in_blocks(graph)
    kernels = [_kernel(whole, place, published_tiling(block), gpu) for place, block in whole.blocks]
    return program_of(whole, kernels)


def _kernel(graph: KernelGraph, place: int, tiling: Tiling, gpu: Gpu) -> Kernel:
    free = free_axes(graph, place)
    axes = [
        axis
        for axis in (*free.grid, *(free.loops - free.assumed))
        if cut_extent(graph, place, axis) is not None
    ]
    for tile in TILES:
        try:
            return lower_for_threads(graph, place, tiling, gpu)
        except SizeError:
            tiling = retiled(graph, place, dict.fromkeys(axes, tile))
    return lower_for_threads(graph, place, tiling, gpu)


def box_entry(
    kernel: Kernel, storage: str = "float32", order: Order | None = None, copies: Landing = "late"
) -> Callable[..., None]:
    """Return a call on a kernel's inputs and outputs, arrays or views of DLPack, in its order.

    The call raises ``KernelFault`` where the kernel does something wrong.
    """

    def call(*arguments: Any) -> None:
        arrays = [
            each if isinstance(each, np.ndarray) else np.from_dlpack(each) for each in arguments
        ]
        inputs, outputs = arrays[: len(kernel.inputs)], arrays[len(kernel.inputs) :]
        done = run_kernel(kernel, inputs, storage=storage, order=order, copies=copies, keep=False)
        done.run.checked()
        for output, found in zip(outputs, done.outputs, strict=True):
            output[...] = found

    return call

"""The target ``box``: kernels for a GPU run thread by thread, and every access is looked at.

It says what a kernel does wrong on the very inputs that it is given, and it is slow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mlc_course.mugraph.box import run_kernel
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.runtime.target import Binder, Launch, Options, Target
from mlc_course.mugraph.thread_kernels import Gpu, ThreadProgram, thread_program


def lower(graph: KernelGraph, options: Options) -> ThreadProgram:
    """Return the kernels that a GPU would run."""
    return thread_program(graph, Gpu(storage_bytes=np.dtype(options.storage).itemsize))


def build(program: KernelProgram, options: Options) -> Binder:
    """Return a binder of the kernels; a launch raises ``KernelFault`` for what one does wrong."""

    def bind(arrays: Mapping[str, Array]) -> Launch:
        def launch() -> None:
            for kernel in program.kernels:
                inputs = [arrays[each.name] for each in kernel.inputs]
                done = run_kernel(kernel, inputs, storage=options.storage, keep=False)
                done.run.checked()
                for output, found in zip(kernel.outputs, done.outputs, strict=True):
                    arrays[output.name][...] = found

        return launch

    return bind


BOX = Target(name="box", storages=("float32", "float16"), lower=lower, build=build, texts={})

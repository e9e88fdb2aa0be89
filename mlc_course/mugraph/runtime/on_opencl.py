"""The target ``opencl``: the kernels that a GPU would run, on any OpenCL device.

Without a GPU that is PoCL, which runs the threads of a work-group on this machine's processor, from
one barrier to the next. Text needs no device; nothing is compiled before the first call.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlc_course.errors import MachineError
from mlc_course.mugraph.gpu_text import OPENCL as DIALECT
from mlc_course.mugraph.gpu_text import source_of
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import KernelProgram
from mlc_course.mugraph.opencl import Device, compile_kernels, find_device, gpu_of
from mlc_course.mugraph.runtime.target import Binder, Launch, Options, Target, Text
from mlc_course.mugraph.thread_kernels import ThreadProgram, thread_program


def lower(graph: KernelGraph, options: Options) -> ThreadProgram:
    """Return the kernels of a graph, for the limits of the device, or what each device has."""
    try:
        on: Device | None = find_device(options.threads)
    except MachineError:
        on = None
    return thread_program(graph, gpu_of(on, options.storage))


def build(program: KernelProgram, options: Options) -> Binder:
    """Return a binder of the kernels, which compiles them at its first call."""

    def bind(arrays: Mapping[str, Array]) -> Launch:
        on = find_device(options.threads)
        return compile_kernels(program.kernels, options.storage, on).bind(arrays)

    return bind


def text(program: KernelProgram, options: Options) -> str:
    """Return the kernels in OpenCL C."""
    return source_of(program.kernels, DIALECT, options.storage).text


OPENCL = Target(
    name="opencl",
    storages=tuple(DIALECT.types),
    lower=lower,
    build=build,
    texts={".cl": Text("OpenCL C", text)},
)

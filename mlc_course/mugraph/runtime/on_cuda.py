"""The target ``cuda``: kernels in CUDA C++, which CuPy compiles and launches on an NVIDIA GPU.

Arrays of CuPy stay where they are. Arrays of NumPy are copied to the GPU, and where all inputs are,
the outputs are copied back. Text needs neither CuPy nor a GPU: nothing is compiled before the first
call.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from mlc_course.errors import GraphError, MachineError, UsageError
from mlc_course.mugraph.cuda import (
    CupyRun,
    compile_ptx,
    compiled_by_cupy,
    cupy,
    cupy_told,
    gpus,
    launch_plan,
    shared_limit,
)
from mlc_course.mugraph.gpu_text import STORAGE_BYTES
from mlc_course.mugraph.ir import Array, KernelGraph
from mlc_course.mugraph.kernels import Buffer, KernelProgram
from mlc_course.mugraph.runtime import arrays as host
from mlc_course.mugraph.runtime.target import Binder, Launch, Options, Target, Text
from mlc_course.mugraph.thread_kernels import WIDEST, Gpu, ThreadProgram, thread_program

DEFAULT_ARCH = "sm_80"  # the oldest that has what kernels use


def lower(graph: KernelGraph, options: Options) -> ThreadProgram:
    """Return the kernels for the architecture that was named, or the GPU that is here."""
    gpu = Gpu(
        storage_bytes=STORAGE_BYTES[options.storage],
        most_shared_bytes=shared_limit(options.arch or arch_here()),
        matrix_unit=True,
        narrow_range=options.storage == "float16",
    )
    return thread_program(graph, gpu)


def arch_here() -> str:
    """Return the architecture of the first GPU, or ``DEFAULT_ARCH`` without one."""
    try:
        here = gpus()
    except MachineError:
        return DEFAULT_ARCH
    return here[0].arch if here else DEFAULT_ARCH


def build(program: KernelProgram, options: Options) -> Binder:
    """Return a binder of the kernels, which compiles them once for each device."""
    plan = launch_plan(program, options.storage)
    runs: dict[int, CupyRun] = {}

    def bind(given: Mapping[str, Array]) -> Launch:
        device = int(cupy().cuda.runtime.getDevice())
        if device not in runs:
            runs[device] = compiled_by_cupy(plan, options.arch)
        return runs[device](given)

    return bind


def cuda_text(program: KernelProgram, options: Options) -> str:
    """Return the CUDA C++ of all kernels."""
    return launch_plan(program, options.storage).text


def ptx_text(program: KernelProgram, options: Options) -> str:
    """Return their PTX; raises ``MachineError`` where NVRTC is not installed."""
    return compile_ptx(cuda_text(program, options), options.arch or arch_here())


# ---- arrays


GpuArray: TypeAlias = Any  # CuPy's, which has no types


def is_on_gpu(given: object) -> bool:
    """Tell whether something is an array in a GPU's memory: CuPy's, PyTorch's and others say so."""
    try:
        return not isinstance(given, np.ndarray) and hasattr(given, "__cuda_array_interface__")
    except Exception:  # it would say where it is, and something is in its way
        return True


def empty(shape: tuple[int, ...], dtype: str) -> GpuArray:
    """Return a new array on the current device."""
    with cupy_told("memory of the GPU"):
        return cupy().empty(shape, np.dtype(dtype))


def entered(given: Any, buffer: Buffer, dtype: str) -> GpuArray:
    """Return an input as a kernel reads it: on the current device, of its type, row-major.

    What is in this machine's memory is copied there. On the device an array of another layout or
    type is copied, with a ``CopiedInput`` warning. Raises as ``arrays.entered`` does.
    """
    cp, what = cupy(), f"input {buffer.name}"
    if not is_on_gpu(given):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", host.CopiedInput)  # it is copied anyway
            array = host.entered(given, buffer, dtype)
        with cupy_told(what):
            return cp.asarray(as_words(array)).view(np.dtype(dtype))
    found = _as_array(what, given)
    if found.shape != buffer.shape:
        raise GraphError(f"{what}: its shape", expected=buffer.shape, got=found.shape)
    host.check_real(what, found.dtype)
    reason = "; ".join(layout_faults(found, dtype))
    if not reason:
        return found
    with cupy_told(what):
        copy = cp.empty(buffer.shape, np.dtype(dtype))
        copy[...] = found
    warnings.warn(f"{what} is copied: {reason}", host.CopiedInput, stacklevel=4)
    return copy


def layout_faults(array: GpuArray, dtype: str) -> list[str]:
    """Return why a kernel cannot use an array on the device where it is, if it cannot."""
    reasons = []
    if array.dtype != np.dtype(dtype):
        reasons.append(f"it is of {array.dtype.name}, the kernel reads {dtype}")
    if not array.flags.c_contiguous:
        reasons.append("it is not row-major")
    if not reasons and array.data.ptr % WIDEST:
        reasons.append(f"it does not begin at a multiple of {WIDEST} bytes")
    return reasons


def checked_output(given: Any, buffer: Buffer, dtype: str) -> GpuArray:
    """Return an array that kernels write into, or are copied into if it is NumPy's.

    Raises ``UsageError`` for one that they cannot.
    """
    if not is_on_gpu(given):
        return host.checked_output(given, buffer, dtype)
    array = _as_array(f"output {buffer.name}", given)
    faults = layout_faults(array, dtype)
    if array.shape != buffer.shape or faults:
        raise UsageError(
            f"output {buffer.name}",
            expected=f"a row-major {dtype} array of shape {buffer.shape} on the device",
            got="; ".join(faults) or f"shape {array.shape}",
        )
    return array


def _as_array(what: str, given: Any) -> GpuArray:
    """An array on the current device as CuPy has it, in the same memory."""
    cp = cupy()
    with cupy_told(what):
        try:
            array = cp.asarray(given)
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"{what}: not an array", expected="an array of numbers", got=error
            ) from None
        here = int(cp.cuda.runtime.getDevice())
    if array.device.id != here:
        raise UsageError(
            f"{what}: it is on another device",
            expected=f"device {here}, the current one",
            got=f"device {array.device.id}",
            hint="make its device the current one: with cupy.cuda.Device(...):",
        )
    return array


def may_overlap(a: GpuArray, b: GpuArray) -> bool:
    """Tell whether two arrays may share memory; those on different sides do not."""
    if is_on_gpu(a) != is_on_gpu(b):
        return False
    return bool(cupy().may_share_memory(a, b) if is_on_gpu(a) else np.may_share_memory(a, b))


def copied(target: GpuArray, source: GpuArray) -> None:
    """Copy an array into another; from the GPU to this machine's memory it waits for kernels."""
    with cupy_told("a copy"):
        if is_on_gpu(source) and not is_on_gpu(target):
            as_words(source).get(out=as_words(target))
        else:
            target[...] = source


def on_host(array: GpuArray) -> Array:
    """Return an array in this machine's memory."""
    with cupy_told("a copy"):
        on_gpu = is_on_gpu(array)
        found: Array = as_words(array).get().view(array.dtype) if on_gpu else array
        return found


def as_words(array: GpuArray) -> GpuArray:
    """Return an array whose memory any CuPy copies: bfloat16 as whole numbers, others unchanged."""
    return array.view("uint16") if array.dtype == host.BRAIN else array


CUDA = Target(
    name="cuda",
    storages=tuple(STORAGE_BYTES),
    lower=lower,
    build=build,
    texts={".cu": Text("CUDA C++", cuda_text), ".ptx": Text("PTX", ptx_text)},
    memory=host.Memory(
        empty, entered, checked_output, may_overlap, holds=is_on_gpu, copied=copied, on_host=on_host
    ),
    has_arch=True,
)

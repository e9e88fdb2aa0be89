"""Kernels on an OpenCL device: compiled once, and launched on arrays in this machine's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from mlc_course.errors import MachineError, SizeError
from mlc_course.mugraph.gpu_text import OPENCL, STORAGE_BYTES, Source, launch_grid, source_of
from mlc_course.mugraph.ir import Array
from mlc_course.mugraph.kernels import SUM_BYTES, Barrier, Body, Buffer, Guard, Kernel, walk
from mlc_course.mugraph.opencl.device import MEANWHILE, Device, built, pyopencl
from mlc_course.mugraph.opencl.trial import LaunchSize, tried


@dataclass(frozen=True)
class Launches:
    """Kernels that run one after the other, compiled for a device."""

    kernels: tuple[Kernel, ...]
    source: Source
    device: Device
    program: Any = field(repr=False)  # pyopencl's

    def bind(self, arrays: Mapping[str, Array]) -> Callable[[], None]:
        """Return a call on arrays, given by the names of the kernels' buffers.

        A CPU's kernels read and write the arrays where they are; for another device they are
        copied there and back. Raises ``MachineError`` where the device refuses, as the call does.
        """
        on = self.device
        _, queue = _context(on)
        written = {each.name for kernel in self.kernels for each in kernel.outputs}
        with _refusals(on):
            buffers = {name: _buffer(array, on) for name, array in arrays.items()}
            calls = [
                (_kernel(self.program, name, [buffers[each.name] for each in _tensors(kernel)]),
                 *_threads(kernel))
                for kernel, name in zip(self.kernels, self.source.names, strict=True)
            ]  # fmt: skip

        def call() -> None:
            cl = pyopencl()
            with _refusals(on):
                if not on.is_cpu:
                    for name, array in arrays.items():
                        cl.enqueue_copy(queue, buffers[name], array, is_blocking=False)
                for kernel, everywhere, in_group in calls:
                    cl.enqueue_nd_range_kernel(queue, kernel, everywhere, in_group)
                for name in written:
                    _give_back(queue, buffers[name], arrays[name], on)
                queue.finish()

        return call


def compile_kernels(
    kernels: Sequence[Kernel], storage: str, on: Device, folder: Path | None = None
) -> Launches:
    """Compile kernels for a device; the first time in a child process (``trial``).

    Raises ``SizeError`` for kernels that the device cannot hold, ``RefusedText`` for a text that
    its driver refuses, and ``MachineError`` for a driver that ends the child.
    """
    for each in kernels:
        check_limits(each, storage, on)
    source = source_of(kernels, OPENCL, storage)
    if not kernels:
        return Launches((), source, on, None)
    sizes = [
        LaunchSize(name, *_threads(each), tuple(_bytes(b, storage) for b in _tensors(each)))
        for each, name in zip(kernels, source.names, strict=True)
    ]
    has_branches = any(has_barrier_in_branch(each.body) for each in kernels)
    options = tried(source.text, sizes, on, folder, has_branches=has_branches)
    with _refusals(on):
        return Launches(tuple(kernels), source, on, _program(source.text, options, on))


def has_barrier_in_branch(body: Body) -> bool:
    """Tell whether only some blocks, or iterations, come to a barrier."""
    guards = [each for each in walk(body) if isinstance(each, Guard)]
    inside = (each for guard in guards for each in (*walk(guard.body), *walk(guard.otherwise)))
    return any(isinstance(each, Barrier) for each in inside)


def check_limits(kernel: Kernel, storage: str, on: Device) -> None:
    """Raise ``SizeError`` for a kernel whose threads, shared memory or tensors a device lacks."""
    largest = max((_bytes(each, storage) for each in _tensors(kernel)), default=0)
    for what, most, got in (
        ("threads of a work-group", on.most_threads, kernel.threads),
        ("bytes of local memory", on.shared_bytes, kernel.shared_bytes),
        ("bytes of one tensor", on.most_bytes, largest),
    ):
        if got > most:
            raise SizeError(
                f"{kernel.name}: {what}",
                expected=f"at most {most:,}, those of {on}",
                got=f"{got:,}",
                hint="lower for this device (opencl.gpu_of)",
            )


@cache
def _context(on: Device) -> tuple[Any, Any]:
    cl = pyopencl()
    context = cl.Context([on.handle])
    return context, cl.CommandQueue(context)


@cache
def _program(text: str, options: tuple[str, ...], on: Device) -> Any:
    return built(text, options, on, _context(on)[0])


def _kernel(program: Any, name: str, buffers: Sequence[Any]) -> Any:
    found = pyopencl().Kernel(program, name)  # one for each call: it holds its arguments
    found.set_args(*buffers)
    return found


def _buffer(array: Array, on: Device) -> Any:
    cl = pyopencl()
    flags, context = cl.mem_flags, _context(on)[0]
    if on.is_cpu:
        return cl.Buffer(context, flags.READ_WRITE | flags.USE_HOST_PTR, hostbuf=array)
    return cl.Buffer(context, flags.READ_WRITE, size=array.nbytes)


def _give_back(queue: Any, buffer: Any, array: Array, on: Device) -> None:
    """Make what kernels have written visible in an array."""
    cl = pyopencl()
    if on.is_cpu:
        mapped, _ = cl.enqueue_map_buffer(
            queue, buffer, cl.map_flags.READ, 0, array.shape, array.dtype
        )
        mapped.base.release(queue)
    else:
        cl.enqueue_copy(queue, array, buffer, is_blocking=False)


def _threads(kernel: Kernel) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """All threads of a launch, and those of a work-group."""
    x, y, z = launch_grid(kernel, OPENCL)
    return (x * kernel.threads, y, z), (kernel.threads, 1, 1)


def _tensors(kernel: Kernel) -> tuple[Buffer, ...]:
    return (*kernel.inputs, *kernel.outputs)


def _bytes(buffer: Buffer, storage: str) -> int:
    return buffer.size * (STORAGE_BYTES[storage] if buffer.role == "storage" else SUM_BYTES)


@contextmanager
def _refusals(on: Device) -> Iterator[None]:
    try:
        yield
    except pyopencl().Error as error:
        raise MachineError(
            f"OpenCL refuses a launch on {on}", got=str(error).strip(), hint=MEANWHILE
        ) from None

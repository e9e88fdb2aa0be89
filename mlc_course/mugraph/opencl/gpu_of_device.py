"""An OpenCL device as the lowering for threads sees it."""

from __future__ import annotations

from mlc_course.mugraph.gpu_text import STORAGE_BYTES
from mlc_course.mugraph.opencl.device import Device
from mlc_course.mugraph.thread_kernels import Gpu

THREADS = 32  # a CPU runs a work-group's threads in turn: more of them bring nothing
WIDEST = 8  # PoCL 3 ends the process on some sums of 16 lanes
SHARED_BYTES = 64 * 1024  # as GPUs have; a CPU would keep more out of its nearest cache
STAGES = 2  # copies are not asynchronous here, but two slots save a barrier


LEAST_SHARED_BYTES = 32 * 1024  # that every OpenCL device has


def gpu_of(device: Device | None, storage: str) -> Gpu:
    """Return the sizes that kernels are lowered for; without a device, those that each one has."""
    size = STORAGE_BYTES[storage]
    if device is None:
        return Gpu(THREADS, LEAST_SHARED_BYTES, stages=STAGES, storage_bytes=size)
    return Gpu(
        threads=min(THREADS, device.most_threads),
        shared_bytes=min(SHARED_BYTES, device.shared_bytes),
        most_shared_bytes=device.shared_bytes,
        stages=STAGES,
        storage_bytes=size,
        multiprocessors=device.cores,
        widest=min(WIDEST, device.lanes),
        is_banked=not device.is_cpu,
    )

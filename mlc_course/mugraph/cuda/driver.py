"""NVIDIA's driver by ctypes: devices, memory, kernels and graphs of launches, without any package.

libcuda comes with the driver. Every function is declared as ``cuda.h`` has it, under the name that
the header gives it since CUDA 12 (``_v2`` where there is one); drivers keep these names.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import POINTER, c_char_p, c_float, c_int, c_size_t, c_ubyte, c_uint, c_uint64, c_void_p
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from mlc_course.errors import MachineError
from mlc_course.mugraph.cuda.launches import KernelLaunch, check_fits
from mlc_course.mugraph.cuda.nvrtc import generations
from mlc_course.mugraph.ir import Array

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
THREAD_LOCAL = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
MOST_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
ATTRIBUTES = {  # CU_DEVICE_ATTRIBUTE_...
    "multiprocessors": 16,
    "l2_bytes": 38,
    "major": 75,
    "minor": 76,
    "most_shared_bytes": 97,
}
# A handle is a pointer; a CUdevice is an int, a CUdeviceptr has 64 bits.
HANDLE, TO_HANDLE, DEVICE, ADDRESS = c_void_p, POINTER(c_void_p), c_int, c_uint64
SIGNATURES: Mapping[str, tuple[Any, ...]] = {
    "cuGetErrorName": (c_int, POINTER(c_char_p)),
    "cuGetErrorString": (c_int, POINTER(c_char_p)),
    "cuInit": (c_uint,),
    "cuDriverGetVersion": (POINTER(c_int),),
    "cuDeviceGetCount": (POINTER(c_int),),
    "cuDeviceGet": (POINTER(DEVICE), c_int),
    "cuDeviceGetName": (c_char_p, c_int, DEVICE),
    "cuDeviceGetAttribute": (POINTER(c_int), c_int, DEVICE),
    "cuDevicePrimaryCtxRetain": (TO_HANDLE, DEVICE),
    "cuDevicePrimaryCtxRelease_v2": (DEVICE,),
    "cuCtxPushCurrent_v2": (HANDLE,),
    "cuCtxPopCurrent_v2": (TO_HANDLE,),
    "cuModuleLoadData": (TO_HANDLE, c_char_p),
    "cuModuleUnload": (HANDLE,),
    "cuModuleGetFunction": (TO_HANDLE, HANDLE, c_char_p),
    "cuFuncSetAttribute": (HANDLE, c_int, c_int),
    "cuLaunchKernel": (
        HANDLE, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, HANDLE,
        POINTER(c_void_p), POINTER(c_void_p),
    ),
    "cuMemAlloc_v2": (POINTER(ADDRESS), c_size_t),
    "cuMemFree_v2": (ADDRESS,),
    "cuMemcpyHtoDAsync_v2": (ADDRESS, c_void_p, c_size_t, HANDLE),
    "cuMemcpyDtoHAsync_v2": (c_void_p, ADDRESS, c_size_t, HANDLE),
    "cuMemsetD8Async": (ADDRESS, c_ubyte, c_size_t, HANDLE),
    "cuStreamCreate": (TO_HANDLE, c_uint),
    "cuStreamDestroy_v2": (HANDLE,),
    "cuStreamSynchronize": (HANDLE,),
    "cuEventCreate": (TO_HANDLE, c_uint),
    "cuEventRecord": (HANDLE, HANDLE),
    "cuEventSynchronize": (HANDLE,),
    "cuEventElapsedTime": (POINTER(c_float), HANDLE, HANDLE),
    "cuEventDestroy_v2": (HANDLE,),
    "cuStreamBeginCapture_v2": (HANDLE, c_int),
    "cuStreamEndCapture": (HANDLE, TO_HANDLE),
    "cuGraphInstantiateWithFlags": (TO_HANDLE, HANDLE, c_uint64),
    "cuGraphLaunch": (HANDLE, HANDLE),
    "cuGraphExecDestroy": (HANDLE,),
    "cuGraphDestroy": (HANDLE,),
}  # fmt: skip


# ---- the library


@cache
def libcuda(name: str = LIBRARY) -> ctypes.CDLL:
    """Return the driver's library, with its functions declared.

    Raises ``MachineError`` where there is none, or one that is older than CUDA 12.
    """
    try:
        found = ctypes.CDLL(name)
    except OSError as error:
        raise MachineError(
            "no NVIDIA driver on this machine",
            expected=f"{name}, which the driver brings",
            got=error,
            hint="kernels run without one on cpu, opencl and box, and CUDA text is written as well",
        ) from None
    for function, arguments in SIGNATURES.items():
        try:
            declared = getattr(found, function)
        except AttributeError:
            raise MachineError(
                f"the driver has no {function}",
                expected="a driver for CUDA 12 or newer",
                hint="update the NVIDIA driver",
            ) from None
        declared.restype, declared.argtypes = c_int, arguments
    return found


def call(function: str, *arguments: Any) -> None:
    """Call a function of the driver; raise ``MachineError`` with the driver's text if it fails.

    ``MemoryError`` where the device has no memory left.
    """
    here = libcuda()
    status = getattr(here, function)(*arguments)
    if not status:
        return
    said = error_text(here, status)
    if status == OUT_OF_MEMORY:
        raise MemoryError(f"of the GPU: {function}: {said}")
    raise MachineError(f"NVIDIA's driver: {function}", got=said)


def error_text(driver: ctypes.CDLL, status: int) -> str:
    """Return the name of a status and the driver's text for it, such as it has them."""
    parts = []
    for function in ("cuGetErrorName", "cuGetErrorString"):
        text = c_char_p()
        failed = getattr(driver, function)(status, ctypes.byref(text))
        if not failed and text.value:
            parts.append(text.value.decode(errors="replace"))
    return ": ".join(parts) or f"status {status}, which it has no text for"


# ---- what there is


def driver_version() -> tuple[int, int] | None:
    """Return the newest CUDA that the driver here can run, such as (13, 0); None without one."""
    version = c_int()
    try:
        call("cuDriverGetVersion", ctypes.byref(version))
    except MachineError:
        return None
    return version.value // 1000, version.value % 1000 // 10


def extra_for(version: tuple[int, int] | None) -> str:
    """Return the extra of the course whose CuPy fits a driver; the newest without a driver."""
    return "gpu12" if version and version[0] < 13 else "gpu13"


def fitting_generation() -> int:
    """Return the newest generation of NVRTC here whose machine code the driver loads.

    Raises ``MachineError`` where there is none: a driver takes what is no newer than itself.
    """
    version = driver_version()
    here = generations()
    fitting = [each for each in here if version and each <= version[0]]
    if not fitting:
        raise MachineError(
            "no compiler whose machine code the driver loads",
            expected=f"NVRTC for the driver's CUDA {version[0]}" if version else "an NVIDIA driver",
            got=f"NVRTC of CUDA {' and '.join(map(str, here))}" if here else "no NVRTC",
            hint=f"pip install 'mlc-course[{extra_for(version)}]' brings it",
        )
    return max(fitting)


@dataclass(frozen=True)
class GpuDevice:
    """A GPU, by its number, and what kernels have to know of it."""

    number: int
    name: str
    capability: tuple[int, int]
    multiprocessors: int
    l2_bytes: int
    most_shared_bytes: int

    @property
    def arch(self) -> str:
        """The architecture to compile for."""
        return "sm_{}{}".format(*self.capability)


def gpus() -> list[GpuDevice]:
    """Return the GPUs that the driver shows; raise ``MachineError`` without driver or GPU."""
    call("cuInit", 0)
    count = c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    return [_device(number) for number in range(count.value)]


def _device(number: int) -> GpuDevice:
    handle, name = DEVICE(), ctypes.create_string_buffer(256)
    call("cuDeviceGet", ctypes.byref(handle), number)
    call("cuDeviceGetName", name, len(name), handle)
    known = {}
    for what, attribute in ATTRIBUTES.items():
        value = c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), attribute, handle)
        known[what] = value.value
    capability = (known.pop("major"), known.pop("minor"))
    return GpuDevice(number, name.value.decode(errors="replace"), capability, **known)


# ---- running


@dataclass(eq=False)
class DeviceArray:
    """Memory of a GPU, and the shape and type of what is in it."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return int(np.prod(self.shape)) * self.dtype.itemsize


class Packed:
    """The arguments of a kernel as the driver reads them: an array of pointers to addresses.

    The driver copies them while a launch is called; until then they have to be kept.
    """

    def __init__(self, addresses: Sequence[int]) -> None:
        self.values = (ADDRESS * len(addresses))(*addresses)
        first = ctypes.addressof(self.values)
        size = ctypes.sizeof(ADDRESS)
        places = (first + size * n for n in range(len(addresses)))
        self.pointers = (c_void_p * len(addresses))(*places)


@dataclass
class Session:
    """The use of one GPU: its primary context, a stream, and what was made on it.

    Use it in a ``with`` block; the end of the block gives everything back. All work is queued on
    ``stream``.
    """

    gpu: GpuDevice
    stream: c_void_p = field(default_factory=c_void_p)
    _ends: list[Callable[[], None]] = field(default_factory=list)

    def __enter__(self) -> Session:
        handle, context = DEVICE(), c_void_p()
        call("cuDeviceGet", ctypes.byref(handle), self.gpu.number)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self._ends.append(lambda: call("cuDevicePrimaryCtxRelease_v2", handle))
        try:
            call("cuCtxPushCurrent_v2", context)
            self._ends.append(lambda: call("cuCtxPopCurrent_v2", ctypes.byref(c_void_p())))
            self.stream = self._made("cuStreamCreate", "cuStreamDestroy_v2", NON_BLOCKING)
        except BaseException:
            self._give_back()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(MachineError):  # what failed has been raised already
            self.synchronize()
        self._give_back()

    def _give_back(self) -> None:
        while self._ends:
            with suppress(MachineError):
                self._ends.pop()()

    def _made(self, make: str, destroy: str, *arguments: Any) -> c_void_p:
        """A new handle, which the end of the session destroys."""
        handle = c_void_p()
        call(make, ctypes.byref(handle), *arguments)
        self._ends.append(lambda: call(destroy, handle))
        return handle

    def synchronize(self) -> None:
        """Wait for all that was queued; raises what a kernel did wrong."""
        call("cuStreamSynchronize", self.stream)

    # ---- memory

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        """Return new memory."""
        size = max(1, int(np.prod(shape)) * dtype.itemsize)
        address = ADDRESS()
        call("cuMemAlloc_v2", ctypes.byref(address), size)
        self._ends.append(lambda: call("cuMemFree_v2", address))
        return DeviceArray(int(address.value), shape, dtype)

    def put(self, array: Array) -> DeviceArray:
        """Return a copy of an array in memory of the GPU."""
        whole = np.ascontiguousarray(array).reshape(array.shape)
        found = self.empty(whole.shape, whole.dtype)
        self.fill(found, whole)
        return found

    def fill(self, target: DeviceArray, array: Array) -> None:
        """Copy an array of the same shape and type into memory of the GPU."""
        if array.shape != target.shape or array.dtype != target.dtype:
            raise ValueError(f"{array.dtype}{array.shape} into {target.dtype}{target.shape}")
        whole = np.ascontiguousarray(array)
        call("cuMemcpyHtoDAsync_v2", target.address, whole.ctypes.data, target.nbytes, self.stream)
        self.synchronize()  # the copy has left ``whole``, and is there before the next launch

    def get(self, source: DeviceArray) -> Array:
        """Return what is in memory of the GPU."""
        found = np.empty(source.shape, source.dtype)
        call("cuMemcpyDtoHAsync_v2", found.ctypes.data, source.address, source.nbytes, self.stream)
        self.synchronize()
        return found

    def set_bytes(self, target: DeviceArray, value: int) -> None:
        """Queue the setting of every byte to one value."""
        call("cuMemsetD8Async", target.address, value, target.nbytes, self.stream)

    # ---- kernels

    def loaded(
        self, image: bytes, launches: Sequence[KernelLaunch]
    ) -> Callable[[Mapping[str, DeviceArray]], Callable[[], None]]:
        """Load machine code; return what binds its launches to memory by the names of buffers.

        Raises ``SizeError`` for more shared memory than the GPU has, before anything is launched.
        """
        check_fits(launches, self.gpu)
        module = c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), image)
        self._ends.append(lambda: call("cuModuleUnload", module))
        functions = []
        for each in launches:
            function = c_void_p()
            call("cuModuleGetFunction", ctypes.byref(function), module, each.name.encode())
            if each.has_to_ask:
                call("cuFuncSetAttribute", function, MOST_DYNAMIC_SHARED, each.shared_bytes)
            functions.append(function)

        def bind(arrays: Mapping[str, DeviceArray]) -> Callable[[], None]:
            calls = [
                (function, each, Packed([arrays[name].address for name in each.arguments]))
                for function, each in zip(functions, launches, strict=True)
            ]

            def launch() -> None:
                for function, each, packed in calls:
                    call(
                        "cuLaunchKernel", function, *each.grid, each.threads, 1, 1,
                        each.shared_bytes, self.stream, packed.pointers, None,
                    )  # fmt: skip

            return launch

        return bind

    def captured(self, queue: Callable[[], object]) -> Callable[[], None]:
        """Return the launch of a graph of all that a function queues; it is not run here."""
        with self._capturing() as graph:
            queue()
        whole = c_void_p()
        try:
            call("cuGraphInstantiateWithFlags", ctypes.byref(whole), graph, 0)
        finally:
            call("cuGraphDestroy", graph)
        self._ends.append(lambda: call("cuGraphExecDestroy", whole))
        return lambda: call("cuGraphLaunch", whole, self.stream)

    @contextmanager
    def _capturing(self) -> Iterator[c_void_p]:
        graph = c_void_p()
        call("cuStreamBeginCapture_v2", self.stream, THREAD_LOCAL)
        try:
            yield graph
        except BaseException:
            with suppress(MachineError):  # the capture has failed, and is to end all the same
                call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
            if graph:
                call("cuGraphDestroy", graph)
            raise
        call("cuStreamEndCapture", self.stream, ctypes.byref(graph))

    def timed(self, queue: Callable[[], object]) -> float:
        """Return the seconds that the GPU takes for all that a function queues."""
        start, end = c_void_p(), c_void_p()
        milliseconds = c_float()
        try:
            for event in (start, end):
                call("cuEventCreate", ctypes.byref(event), 0)
            call("cuEventRecord", start, self.stream)
            queue()
            call("cuEventRecord", end, self.stream)
            call("cuEventSynchronize", end)
            call("cuEventElapsedTime", ctypes.byref(milliseconds), start, end)
        finally:
            for event in (start, end):
                if event:
                    call("cuEventDestroy_v2", event)
        return milliseconds.value / 1e3

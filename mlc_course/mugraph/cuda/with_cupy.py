"""Kernels through CuPy: its RawModule compiles their text for the current device, and launches it.

CuPy is optional, and imports without a driver too: ``cupy`` says what is missing.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

from mlc_course.errors import MachineError, RefusedText
from mlc_course.mugraph.cuda.driver import driver_version, extra_for, fitting_generation
from mlc_course.mugraph.cuda.launches import LaunchPlan, check_fits
from mlc_course.mugraph.cuda.nvrtc import STANDARD, compile_cubin, header_folders

MEANWHILE = (
    "meanwhile --target cpu, opencl and box run the same graphs, and the CUDA text is written "
    "without a GPU"
)


def cupy() -> ModuleType:
    """Return CuPy, with a device to use.

    Raises ``MachineError`` where it is not installed, or finds no driver or device.
    """
    try:
        found = importlib.import_module("cupy")
    except ImportError as error:
        raise MachineError(
            "CuPy cannot be imported",
            expected="CuPy, which runs kernels on an NVIDIA GPU",
            got=error,
            hint=f"pip install 'mlc-course[{extra_for(driver_version())}]'; {MEANWHILE}",
        ) from None
    with cupy_told("CuPy finds no GPU"):
        count = int(found.cuda.runtime.getDeviceCount())
        if not count:
            raise MachineError("CuPy finds no GPU", got="no device", hint=MEANWHILE)
    return found


@contextmanager
def cupy_told(what: str) -> Iterator[None]:
    """Turn what CuPy raises about driver, runtime and compiler into errors of the course."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        kind = type(error).__name__
        if kind == "CompileException":
            raise RefusedText(f"{what}: the compiler", got=error) from None
        if kind == "OutOfMemoryError":
            raise MemoryError(str(error)) from None
        if kind == "DynamicLibNotFoundError":
            hint = f"pip install 'mlc-course[{extra_for(driver_version())}]' brings the compiler"
            raise MachineError(what, got=str(error).strip(), hint=hint) from None
        if kind in ("CUDARuntimeError", "CUDADriverError", "NVRTCError"):
            raise MachineError(what, got=error, hint=MEANWHILE) from None
        raise


@dataclass(frozen=True)
class CupyDevice:
    """The current device, as CuPy sees it."""

    name: str
    capability: tuple[int, int]
    most_shared_bytes: int


def current_device() -> CupyDevice:
    """Return the device that kernels are launched on now."""
    cp = cupy()
    with cupy_told("the current device"):
        device = cp.cuda.Device()
        properties = cp.cuda.runtime.getDeviceProperties(device.id)
        shared = int(device.attributes["MaxSharedMemoryPerBlockOptin"])
    capability = (int(properties["major"]), int(properties["minor"]))
    return CupyDevice(properties["name"].decode(errors="replace"), capability, shared)


CupyRun: TypeAlias = Callable[[Mapping[str, Any]], Callable[[], None]]


def compiled_by_cupy(plan: LaunchPlan, arch: str | None = None) -> CupyRun:
    """Compile a plan's text for the current device; return what binds its launches to arrays.

    With an ``arch`` the text is compiled for that one, by ``nvrtc``. A launch is queued on the
    stream that is current then. Raises as ``check_fits`` does, ``RefusedText`` for a text that does
    not compile, and ``MachineError`` for what the driver refuses.
    """
    cp = cupy()
    check_fits(plan.launches, current_device())
    kernels = []
    with cupy_told("kernels for the GPU"), _module(cp, plan.text, arch) as module:
        for launch in plan.launches:
            kernel = module.get_function(launch.name)
            kernel.compile()  # now; it forgets what was asked for before
            if launch.has_to_ask:
                kernel.max_dynamic_shared_size_bytes = launch.shared_bytes
            kernels.append(kernel)

    def bind(arrays: Mapping[str, Any]) -> Callable[[], None]:
        calls = [
            (kernel, each, tuple(arrays[name] for name in each.arguments))
            for kernel, each in zip(kernels, plan.launches, strict=True)
        ]

        def launch() -> None:
            with cupy_told("a launch"):
                for kernel, each, arguments in calls:
                    kernel(each.grid, (each.threads, 1, 1), arguments, shared_mem=each.shared_bytes)

        return launch

    return bind


def cupy_options(generation: int) -> tuple[str, ...]:
    """Return the options of CuPy's compiler, with the headers that wheels of its generation have.

    CuPy adds the architecture, and the headers of a CUDA toolkit that it finds.
    """
    return (STANDARD, *(f"-I{each}" for each in header_folders(generation)))


@contextmanager
def _module(cp: ModuleType, text: str, arch: str | None) -> Iterator[Any]:
    """A module of a text. A file of machine code has to last until its first kernel is taken."""
    if arch is None:
        generation = int(cp.cuda.nvrtc.getVersion()[0])
        yield cp.RawModule(code=text, options=cupy_options(generation))
        return
    image = compile_cubin(text, arch, fitting_generation()).image
    with tempfile.TemporaryDirectory(prefix="mlc-cubin-") as folder:
        path = Path(folder) / "kernels.cubin"
        path.write_bytes(image)
        yield cp.RawModule(path=str(path))

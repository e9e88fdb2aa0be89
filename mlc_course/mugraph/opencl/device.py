"""The OpenCL device that kernels run on: PoCL's where there is a choice, and what it can hold."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from mlc_course.errors import MachineError, UsageError
from mlc_course.mugraph.opencl import unknown_processor

POCL = "Portable Computing Language"
CHOICE = "MLC_COURSE_OPENCL"  # a part of the name of the platform that is wanted
INSTALL = 'pip install "mlc-course[opencl]"'
MEANWHILE = "target cpu computes the same"


@dataclass(frozen=True)
class Device:
    """A device, and its limits in bytes.

    ``processor`` is the name that was given to a processor which the driver does not know.
    ``handle`` is pyopencl's. Its memory is this machine's where ``is_cpu``.
    """

    platform: str
    name: str
    version: str
    processor: str
    cores: int
    shared_bytes: int
    most_threads: int
    most_bytes: int  # of one tensor
    lanes: int  # of a vector of float32
    is_cpu: bool
    handle: Any = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name} ({self.platform})"


def pyopencl() -> Any:
    """Return the module; raise ``MachineError`` where it is not installed."""
    try:
        return importlib.import_module("pyopencl")
    except ImportError as error:
        raise MachineError(
            "OpenCL needs pyopencl", expected=INSTALL, got=error, hint=MEANWHILE
        ) from None


def find_device(cores: int | None = None) -> Device:
    """Return the device to run kernels on: that of PoCL, or of the first platform.

    The variable ``MLC_COURSE_OPENCL`` names another platform, by a part of its name. A CPU is asked
    for so many ``cores``; all if it is not said. Raises ``MachineError`` where there is no
    platform, and ``UsageError`` for a name that none has.
    """
    return _device(os.environ.get(CHOICE, ""), cores)


@cache
def _device(wanted: str, cores: int | None) -> Device:
    whole, processor = _whole(wanted)
    return _described(_of_cores(whole, cores), processor)


@cache
def _whole(wanted: str) -> tuple[Any, str]:
    """The device of a platform, and the name that its processor was given."""
    found = chosen(_platforms(), wanted).get_devices()[0]
    is_named = unknown_processor.is_unknown(found)
    return found, unknown_processor.give_name(found) if is_named else ""


def _platforms() -> list[Any]:
    """All platforms that have a device."""
    cl = pyopencl()
    try:
        return [each for each in cl.get_platforms() if _has_device(each)]
    except cl.Error:  # the loader finds no driver
        return []


def _has_device(platform: Any) -> bool:
    try:
        return bool(platform.get_devices())
    except pyopencl().Error:
        return False


def chosen(platforms: list[Any], wanted: str) -> Any:
    """Return the platform with ``wanted`` in its name; PoCL's, or the first, for "".

    Raises ``MachineError`` where there are no platforms, ``UsageError`` where none has that name.
    """
    if not platforms:
        raise MachineError(
            "no OpenCL platform is on this machine",
            expected=f"PoCL, which x86-64 Linux gets from {INSTALL}, or another driver",
            hint=MEANWHILE,
        )
    names = [str(each.name) for each in platforms]
    found = [p for p, name in zip(platforms, names, strict=True) if wanted.lower() in name.lower()]
    if not found:
        raise UsageError(
            f"{CHOICE}: no OpenCL platform of this name",
            expected=" | ".join(names),
            got=wanted,
            hint=f"unset {CHOICE}",
        )
    return next((each for each in found if str(each.name) == POCL), found[0])


def _of_cores(whole: Any, cores: int | None) -> Any:
    """A part of a CPU, where its driver makes one; else all of the device."""
    cl = pyopencl()
    kind = cl.device_partition_property
    if cores is None or cores >= whole.max_compute_units:
        return whole
    if kind.BY_COUNTS not in whole.partition_properties:
        return whole
    by_counts = [kind.BY_COUNTS, cores, kind.BY_COUNTS_LIST_END]
    return whole.create_sub_devices(by_counts)[0]


def _described(handle: Any, processor: str) -> Device:
    cl = pyopencl()
    return Device(
        platform=str(handle.platform.name),
        name=str(handle.name).strip(),
        version=f"{handle.platform.version}; {handle.version}; {handle.driver_version}",
        processor=processor,
        cores=int(handle.max_compute_units),
        shared_bytes=int(handle.local_mem_size),
        most_threads=int(min(handle.max_work_group_size, handle.max_work_item_sizes[0])),
        most_bytes=int(handle.max_mem_alloc_size),
        lanes=max(4, int(handle.native_vector_width_float)),
        is_cpu=bool(handle.type & cl.device_type.CPU),
        handle=handle,
    )


def ways_to_build(on: Device, *, has_branches: bool = False) -> tuple[tuple[str, ...], ...]:
    """Return options of a compiler, the fastest code first; the last are the ones to fall back on.

    PoCL 3 may end the process on code that was optimized before it made loops of a work-group's
    threads ("Could not find a dominating alternative variable"), and optimizes the loops well. It
    passes clang's own options on, if they follow a macro's name after something other than a space.
    Where a barrier is in a branch (``has_branches``), code is wrong unless nothing is optimized.
    """
    unoptimized = ("-cl-opt-disable",)
    first: tuple[str, ...] = ()
    if on.platform == POCL and "PoCL 3." in on.version:
        if has_branches:
            return (unoptimized,)
        # PoCL keeps machine code by text and options, and not by the name that was given here.
        macro = f"-DPROCESSOR_{on.processor.replace('-', '_') or 'known'}"
        first = (f"{macro}\t-disable-llvm-passes",)
    return first, unoptimized


def built(text: str, options: Sequence[str], on: Device, context: Any) -> Any:
    """Return pyopencl's program of a text; what the compiler says of it is not printed."""
    cl = pyopencl()
    program = cl.Program(context, text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cl.CompilerWarning)
        return program.build(list(options), devices=[on.handle], cache_dir=False)

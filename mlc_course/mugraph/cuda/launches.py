"""Launch plans: the text of a program's kernels, and for each its grid and arguments.

Whatever launches (CuPy in ``runtime.on_cuda``, or ``driver``), it follows such a plan. A kernel
takes pointers alone: its inputs, then its outputs, in this order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from mlc_course.errors import SizeError, UsageError
from mlc_course.mugraph.cuda.nvrtc import checked_arch
from mlc_course.mugraph.gpu_text import CUDA, launch_grid, source_of
from mlc_course.mugraph.kernels import KernelProgram

WITHOUT_ASKING = 48 * 1024  # bytes of shared memory that any block may have
OLDEST = (8, 0)  # compute capability: kernels copy asynchronously, and multiply on a matrix unit


@dataclass(frozen=True)
class KernelLaunch:
    """One launch: a kernel by its name in the text, and the buffers that it is given."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared_bytes: int
    arguments: tuple[str, ...]

    @property
    def has_to_ask(self) -> bool:
        """Tell whether its shared memory has to be asked for, as an attribute of the kernel."""
        return self.shared_bytes > WITHOUT_ASKING


@dataclass(frozen=True)
class LaunchPlan:
    """The text of a program, and its launches in their order."""

    text: str
    launches: tuple[KernelLaunch, ...]


class GpuLimits(Protocol):
    """The limits that a launch has to keep to."""

    @property
    def name(self) -> str:
        """The name of the device."""

    @property
    def capability(self) -> tuple[int, int]:
        """The compute capability, such as (9, 0)."""

    @property
    def most_shared_bytes(self) -> int:
        """The shared memory that a block may ask for."""


def launch_plan(program: KernelProgram, storage: str) -> LaunchPlan:
    """Return the text and the launches of a program; raises as ``gpu_text.source_of`` does."""
    source = source_of(program.kernels, CUDA, storage)
    launches = tuple(
        KernelLaunch(
            name,
            launch_grid(kernel, CUDA),
            kernel.threads,
            kernel.shared_bytes,
            tuple(each.name for each in (*kernel.inputs, *kernel.outputs)),
        )
        for name, kernel in zip(source.names, program.kernels, strict=True)
    )
    return LaunchPlan(source.text, launches)


def check_fits(launches: Sequence[KernelLaunch], gpu: GpuLimits) -> None:
    """Check that a GPU can run all launches, before one of them is under way.

    Raises ``UsageError`` for a GPU that is too old, ``SizeError`` for more shared memory than one
    of its blocks may have.
    """
    if gpu.capability < OLDEST:
        raise UsageError(
            f"{gpu.name} is too old for these kernels",
            expected="compute capability {}.{} or more".format(*OLDEST),
            got="{}.{}".format(*gpu.capability),
            hint="compile for opencl, cpu or box",
        )
    for each in launches:
        if each.shared_bytes > gpu.most_shared_bytes:
            raise SizeError(
                f"{each.name}: shared memory of a block, in bytes",
                expected=f"at most {gpu.most_shared_bytes:,}, on {gpu.name}",
                got=f"{each.shared_bytes:,}",
                hint="cut the tiles smaller (codegen.retiled)",
            )


def kernel_arch(arch: str) -> str:
    """Return an architecture that runs these kernels; raise ``UsageError`` for any other."""
    number = checked_arch(arch).removeprefix("sm_").rstrip("af")
    major, minor = int(number[:-1]), int(number[-1])
    if (major, minor) < OLDEST:
        raise UsageError(
            f"{arch} is too old for these kernels",
            expected="sm_{}{} or newer".format(*OLDEST),
            got=arch,
            hint="they copy asynchronously, and multiply on a matrix unit",
        )
    return arch

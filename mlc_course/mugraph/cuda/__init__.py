"""How does CUDA text become machine code, and run? By NVRTC without a GPU, and by CuPy on one.

Read ``launches`` first: what has to be launched. ``nvrtc`` compiles text, ``with_cupy`` runs it on
the arrays of CuPy, and ``driver`` runs machine code by the driver alone.
"""

from mlc_course.mugraph.cuda.driver import (
    GpuDevice,
    Session,
    driver_version,
    extra_for,
    fitting_generation,
    gpus,
)
from mlc_course.mugraph.cuda.launches import (
    KernelLaunch,
    LaunchPlan,
    check_fits,
    kernel_arch,
    launch_plan,
)
from mlc_course.mugraph.cuda.nvrtc import (
    TARGETS,
    Cubin,
    Resources,
    compile_cubin,
    compile_ptx,
    generations,
    shared_limit,
)
from mlc_course.mugraph.cuda.with_cupy import (
    CupyRun,
    compiled_by_cupy,
    cupy,
    cupy_told,
    current_device,
)

__all__ = [
    "Cubin",
    "CupyRun",
    "GpuDevice",
    "KernelLaunch",
    "LaunchPlan",
    "Resources",
    "Session",
    "TARGETS",
    "check_fits",
    "compile_cubin",
    "compile_ptx",
    "compiled_by_cupy",
    "cupy",
    "cupy_told",
    "current_device",
    "driver_version",
    "extra_for",
    "fitting_generation",
    "generations",
    "gpus",
    "kernel_arch",
    "launch_plan",
    "shared_limit",
]

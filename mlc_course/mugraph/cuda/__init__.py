"""How does CUDA text become machine code? By NVRTC, from PyPI, without a GPU."""

from mlc_course.mugraph.cuda.nvrtc import (
    TARGETS,
    Cubin,
    Resources,
    compile_cubin,
    compile_ptx,
    generations,
    shared_limit,
)

__all__ = [
    "Cubin",
    "Resources",
    "TARGETS",
    "compile_cubin",
    "compile_ptx",
    "generations",
    "shared_limit",
]

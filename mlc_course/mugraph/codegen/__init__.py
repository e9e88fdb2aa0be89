"""How does a block graph become a kernel? By a program of loops, buffers and barriers.

Read ``kernel_program`` first: its statements decide everything, and print as text. ``tile_graph``
runs the operators' formulas on tiles, ``cpu_lowering`` gives the tiles loops and memory, with the
``tilings`` of this machine, and ``tensor_ir`` spells the result for LLVM.
"""

from mlc_course.mugraph.codegen.cpu_lowering import Cpu, cpu_of, lower
from mlc_course.mugraph.codegen.kernel_program import Kernel, KernelProgram
from mlc_course.mugraph.codegen.tensor_ir import prim_func
from mlc_course.mugraph.codegen.tilings import Tiling, published_tiling, retiled

__all__ = [
    "Cpu",
    "Kernel",
    "KernelProgram",
    "Tiling",
    "cpu_of",
    "lower",
    "prim_func",
    "published_tiling",
    "retiled",
]

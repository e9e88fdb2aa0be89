"""How does a block graph become a kernel? By a program of loops, buffers and barriers.

Read ``kernel_program`` first: its statements decide everything, and print as text. ``tile_graph``
runs the operators' formulas on tiles, ``cpu_lowering`` and ``thread_lowering`` give the tiles loops
and memory, with ``tilings`` for the machine, and ``tensor_ir`` spells the result for LLVM. Is a
kernel right? ``memory_faults`` runs it without values, ``execution`` with them, and
``code_verification`` compares it with its graph; ``program_mutants`` are wrong ones.
"""

from mlc_course.mugraph.codegen.code_verification import CodeVerdict, compare_code, verify_code
from mlc_course.mugraph.codegen.cpu_cost import Estimate, Rates, estimate, rates_of
from mlc_course.mugraph.codegen.cpu_lowering import Cpu, cpu_of, lower
from mlc_course.mugraph.codegen.cpu_tilings import (
    CpuProgram,
    Ranked,
    candidates,
    choices,
    program_of,
    ranked_tilings,
)
from mlc_course.mugraph.codegen.dimension_labels import FreeAxes, free_axes
from mlc_course.mugraph.codegen.execution import Execution, execute
from mlc_course.mugraph.codegen.kernel_program import Buffer, Kernel, KernelProgram
from mlc_course.mugraph.codegen.machine_target import cpu_target
from mlc_course.mugraph.codegen.memory_faults import Fault, first_fault
from mlc_course.mugraph.codegen.program_mutants import Mutant, kernel_mutants
from mlc_course.mugraph.codegen.small_tilings import Smaller, smaller
from mlc_course.mugraph.codegen.tensor_ir import prim_func
from mlc_course.mugraph.codegen.thread_lowering import Gpu, lower_for_threads
from mlc_course.mugraph.codegen.tilings import Cut, Tiling, cut_extent, published_tiling, retiled
from mlc_course.mugraph.codegen.unfused import in_blocks

__all__ = [
    "Buffer",
    "CodeVerdict",
    "Cpu",
    "CpuProgram",
    "Cut",
    "Estimate",
    "Execution",
    "Fault",
    "FreeAxes",
    "Gpu",
    "Kernel",
    "KernelProgram",
    "Mutant",
    "Ranked",
    "Rates",
    "Smaller",
    "Tiling",
    "candidates",
    "choices",
    "compare_code",
    "cpu_of",
    "cpu_target",
    "cut_extent",
    "estimate",
    "execute",
    "first_fault",
    "free_axes",
    "in_blocks",
    "kernel_mutants",
    "lower",
    "lower_for_threads",
    "prim_func",
    "program_of",
    "published_tiling",
    "ranked_tilings",
    "rates_of",
    "retiled",
    "smaller",
    "verify_code",
]

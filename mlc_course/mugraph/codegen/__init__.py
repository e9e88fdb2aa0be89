"""How does a block graph become a kernel? By a program of loops, buffers and barriers.

Read ``kernel_program`` first: its statements decide everything, and print as text. ``tile_graph``
runs the operators' formulas on tiles, ``cpu_lowering`` and ``thread_lowering`` give the tiles loops
and memory, with ``tilings`` for the machine, and ``tensor_ir`` spells the result for LLVM. Is a
kernel right?
``memory_faults`` runs it without values, ``execution`` with them, and ``code_verification``
compares it with its graph; ``program_mutants`` are wrong ones.
"""

from mlc_course.mugraph.codegen.code_verification import CodeVerdict, compare_code, verify_code
from mlc_course.mugraph.codegen.cpu_lowering import Cpu, cpu_of, lower
from mlc_course.mugraph.codegen.execution import Execution, execute
from mlc_course.mugraph.codegen.kernel_program import Kernel, KernelProgram
from mlc_course.mugraph.codegen.memory_faults import Fault, first_fault
from mlc_course.mugraph.codegen.program_mutants import Mutant, kernel_mutants
from mlc_course.mugraph.codegen.small_tilings import Smaller, smaller
from mlc_course.mugraph.codegen.tensor_ir import prim_func
from mlc_course.mugraph.codegen.thread_lowering import Gpu, lower_for_threads
from mlc_course.mugraph.codegen.tilings import Tiling, published_tiling, retiled

__all__ = [
    "CodeVerdict",
    "Cpu",
    "Execution",
    "Fault",
    "Gpu",
    "Kernel",
    "KernelProgram",
    "Mutant",
    "Smaller",
    "Tiling",
    "compare_code",
    "cpu_of",
    "execute",
    "first_fault",
    "lower",
    "lower_for_threads",
    "prim_func",
    "kernel_mutants",
    "published_tiling",
    "retiled",
    "smaller",
    "verify_code",
]

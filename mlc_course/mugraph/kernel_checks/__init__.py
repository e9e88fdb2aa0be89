"""Is a kernel right? It is run without values, over floats, and over finite fields.

Read ``memory_faults`` first: bounds, definedness, races and layouts, decided without values.
``execution`` runs a kernel over any arithmetic, ``code_verification`` compares it with its graph,
and ``program_mutants`` are wrong kernels, which have to be refused.
"""

from mlc_course.mugraph.kernel_checks.code_verification import (
    CodeVerdict,
    compare_code,
    evaluate_tiled,
    verify_code,
    verify_program,
)
from mlc_course.mugraph.kernel_checks.execution import Execution, execute, values
from mlc_course.mugraph.kernel_checks.memory_faults import Fault, first_fault
from mlc_course.mugraph.kernel_checks.program_mutants import Mutant, kernel_mutants
from mlc_course.mugraph.kernel_checks.small_tilings import Smaller, smaller

__all__ = [
    "CodeVerdict",
    "Execution",
    "Fault",
    "Mutant",
    "Smaller",
    "compare_code",
    "evaluate_tiled",
    "execute",
    "first_fault",
    "kernel_mutants",
    "smaller",
    "values",
    "verify_code",
    "verify_program",
]

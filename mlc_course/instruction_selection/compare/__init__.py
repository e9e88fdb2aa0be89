"""How fast is a found program, beside what else one could run, and what is it bound by?

Read ``comparison`` first: times taken in turns, ratios with quartiles. ``contestants`` are LLVM's
loops and NumPy, ``narrow_loop`` is the wording that suits LLVM best, ``loads_and_stores`` is what
any program must do, ``turns`` takes the times, and ``int8_matmul`` does all of it for a matmul.
"""

from mlc_course.instruction_selection.compare.comparison import (
    FOUND,
    OUTPUTS,
    ROUNDS,
    LoopComparison,
    compare,
    geometric_mean,
    inputs,
    outputs_in_l1,
)
from mlc_course.instruction_selection.compare.contestants import (
    MOVES,
    NUMPY,
    Loop,
    llvm_loops,
    numpy_programs,
    vectorized,
)
from mlc_course.instruction_selection.compare.int8_matmul import (
    BLAS,
    SAME_LOOPS,
    compare_matmul,
)
from mlc_course.instruction_selection.compare.loads_and_stores import data_movement
from mlc_course.instruction_selection.compare.narrow_loop import narrow_expression, narrowed

__all__ = [
    "BLAS",
    "FOUND",
    "MOVES",
    "NUMPY",
    "OUTPUTS",
    "ROUNDS",
    "SAME_LOOPS",
    "Loop",
    "LoopComparison",
    "compare",
    "compare_matmul",
    "data_movement",
    "geometric_mean",
    "inputs",
    "llvm_loops",
    "narrow_expression",
    "narrowed",
    "numpy_programs",
    "outputs_in_l1",
    "vectorized",
]

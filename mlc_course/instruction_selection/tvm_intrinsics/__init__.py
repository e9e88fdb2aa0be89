"""Are TVM's own tensor intrinsics what their descriptions say, and do they compile? Are ours?

Read ``checking`` first: the verdict on each. ``vector_reading`` runs vector code in TensorIR on
formulas, with ``llvm_meanings`` of the LLVM intrinsics that it calls.
"""

from mlc_course.instruction_selection.tvm_intrinsics.checking import (
    TVM_INTRINSICS,
    IntrinsicCheck,
    IntrinsicRun,
    TvmIntrinsic,
    check_intrinsic,
    check_intrinsics,
    compared,
    read_back,
    run_intrinsic,
)
from mlc_course.instruction_selection.tvm_intrinsics.llvm_meanings import LlvmMeaning, meaning_of
from mlc_course.instruction_selection.tvm_intrinsics.vector_reading import memory_of, run

__all__ = [
    "TVM_INTRINSICS",
    "IntrinsicCheck",
    "IntrinsicRun",
    "LlvmMeaning",
    "TvmIntrinsic",
    "check_intrinsic",
    "check_intrinsics",
    "compared",
    "meaning_of",
    "memory_of",
    "read_back",
    "run",
    "run_intrinsic",
]

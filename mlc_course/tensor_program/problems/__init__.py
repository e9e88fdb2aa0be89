"""What is to be computed? Each problem in NumPy, in float64 and in TensorIR, with its inputs.

Read ``workload`` first, then ``catalogue``, which has the course's seven problems.
"""

from mlc_course.tensor_program.problems.catalogue import (
    WORKLOADS,
    contract,
    elementwise,
    linear_relu,
    make_workload,
    matmul,
    matmul_exp_matmul,
    placeholders,
    rms_norm,
    softmax,
    two_layer_network,
)
from mlc_course.tensor_program.problems.workload import (
    FLOAT_BYTES,
    Array,
    Operand,
    Workload,
    aligned,
    relative_error,
)

__all__ = [
    "Array",
    "FLOAT_BYTES",
    "Operand",
    "WORKLOADS",
    "Workload",
    "aligned",
    "contract",
    "elementwise",
    "linear_relu",
    "make_workload",
    "matmul",
    "matmul_exp_matmul",
    "placeholders",
    "relative_error",
    "rms_norm",
    "softmax",
    "two_layer_network",
]

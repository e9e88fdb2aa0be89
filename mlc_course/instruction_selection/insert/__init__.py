"""How does a program of instructions get into a schedule, and run?

Read ``tensor_intrinsic`` first: a register program in TensorIR. ``selecting`` is the schedule step
that puts it into a block, and ``rest`` divides a loop that a tile does not divide. ``features``
asks what processors have, before LLVM does. ``compiling`` makes machine code of the same loop in
several forms, ``hot_loop`` counts its vector instructions, ``arm_code`` is for an emulator, and
``int8_ladder`` is a whole matmul.
"""

from mlc_course.instruction_selection.insert.arm_code import (
    CallMemory,
    MachineCode,
    call_memory,
    machine_code,
)
from mlc_course.instruction_selection.insert.compiling import (
    FORMS,
    Compiled,
    Form,
    check_compiles,
    compiled,
)
from mlc_course.instruction_selection.insert.features import (
    check_level,
    check_target,
    processor_has,
    target_of,
)
from mlc_course.instruction_selection.insert.hot_loop import VectorLoop, vector_instructions
from mlc_course.instruction_selection.insert.int8_ladder import (
    INT8_CELL,
    int8_matmul,
    int8_rungs,
    packed_bytes,
)
from mlc_course.instruction_selection.insert.rest import divide
from mlc_course.instruction_selection.insert.selecting import select
from mlc_course.instruction_selection.insert.tensor_intrinsic import (
    implementation,
    intrinsic,
    source,
)

__all__ = [
    "FORMS",
    "INT8_CELL",
    "CallMemory",
    "Compiled",
    "Form",
    "MachineCode",
    "VectorLoop",
    "call_memory",
    "check_compiles",
    "check_level",
    "check_target",
    "compiled",
    "divide",
    "implementation",
    "int8_matmul",
    "int8_rungs",
    "intrinsic",
    "machine_code",
    "packed_bytes",
    "processor_has",
    "select",
    "source",
    "target_of",
    "vector_instructions",
]

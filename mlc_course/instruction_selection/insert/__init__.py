"""How does a program of instructions get into a schedule, and run?

Read ``intrinsic`` first: a register program in TensorIR. ``selecting`` is the schedule step that
puts it into a block, and ``rest`` divides a loop that a tile does not divide. ``features`` asks
what processors have, before LLVM does. ``compiling`` makes machine code of the same loop in several
forms, ``hot_loop`` counts its vector instructions, and ``machine_code`` is for an emulator.
"""

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
from mlc_course.instruction_selection.insert.intrinsic import implementation, intrinsic, source
from mlc_course.instruction_selection.insert.machine_code import (
    CallMemory,
    MachineCode,
    call_memory,
    machine_code,
)
from mlc_course.instruction_selection.insert.rest import divide
from mlc_course.instruction_selection.insert.selecting import select

__all__ = [
    "FORMS",
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
    "intrinsic",
    "machine_code",
    "processor_has",
    "select",
    "source",
    "target_of",
    "vector_instructions",
]

"""What does the processor do with a program? Instructions, operations, and tasks on threads.

Read ``assembly_code`` first: it counts the instructions of the hot loop. ``operations`` counts work
that is done twice, ``task_simulation`` predicts which worker runs what and
when, ``task_clock`` measures it, ``false_sharing`` finds who writes the same cache line.
"""

from mlc_course.tensor_program.processor import thread_scaling
from mlc_course.tensor_program.processor.assembly_code import (
    UNTOLD,
    Assembly,
    arithmetic_loops,
    assembly,
    longest_chain,
    read_assembly,
)
from mlc_course.tensor_program.processor.control_flow import Function, functions
from mlc_course.tensor_program.processor.false_sharing import NOBODY, SEVERAL, writes_by_worker
from mlc_course.tensor_program.processor.iterations import Counters
from mlc_course.tensor_program.processor.operations import (
    Stage,
    exps,
    flops,
    flops_by_worker,
    most_flops,
    stages,
)
from mlc_course.tensor_program.processor.task_clock import timeline, with_clock
from mlc_course.tensor_program.processor.task_simulation import (
    HOW,
    Interval,
    Timeline,
    amdahl,
    chunks,
    grouped,
    serial_share,
    simulate,
)
from mlc_course.tensor_program.processor.thread_scaling import prepared, scaling, speedups

__all__ = [
    "Assembly",
    "Counters",
    "Function",
    "HOW",
    "Interval",
    "NOBODY",
    "SEVERAL",
    "Stage",
    "Timeline",
    "UNTOLD",
    "amdahl",
    "arithmetic_loops",
    "assembly",
    "chunks",
    "exps",
    "flops",
    "flops_by_worker",
    "functions",
    "grouped",
    "longest_chain",
    "most_flops",
    "prepared",
    "read_assembly",
    "scaling",
    "serial_share",
    "simulate",
    "speedups",
    "stages",
    "thread_scaling",
    "timeline",
    "with_clock",
    "writes_by_worker",
]

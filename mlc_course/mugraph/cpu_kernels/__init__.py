"""Kernels for a CPU: register tiles, lanes, strips on their way, one block a core.

Read ``cpu_lowering`` first. ``cpu_tilings`` chooses among tilings by the estimate of ``cpu_cost``,
``tensor_ir`` spells the result for LLVM. ``machine_target`` is this machine as a search's target.
"""

from mlc_course.mugraph.cpu_kernels.cpu_cost import Estimate, Rates, estimate, rates_of
from mlc_course.mugraph.cpu_kernels.cpu_lowering import Cpu, cpu_of, lower, lower_sized
from mlc_course.mugraph.cpu_kernels.cpu_tilings import (
    CpuProgram,
    Ranked,
    candidates,
    choices,
    ranked_tilings,
)
from mlc_course.mugraph.cpu_kernels.machine_target import cpu_target
from mlc_course.mugraph.cpu_kernels.tensor_ir import ERF_ABOVE, ERF_BELOW, prim_func

__all__ = [
    "Cpu",
    "CpuProgram",
    "ERF_ABOVE",
    "ERF_BELOW",
    "Estimate",
    "Ranked",
    "Rates",
    "candidates",
    "choices",
    "cpu_of",
    "cpu_target",
    "estimate",
    "lower",
    "lower_sized",
    "prim_func",
    "ranked_tilings",
    "rates_of",
]

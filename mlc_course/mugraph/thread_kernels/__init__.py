"""Kernels for many threads and shared memory: spreads, copies, layouts, barriers.

Read ``thread_lowering`` first. ``barriers`` are placed only where a value crosses threads,
``memory_plan`` gives buffers that are not alive together one place, and ``shared_layouts`` keeps
threads out of each other's banks. ``thread_tilings`` cuts what does not fit a block.
"""

from mlc_course.mugraph.thread_kernels.memory_plan import Need, best_fit
from mlc_course.mugraph.thread_kernels.shared_layouts import (
    BANKS,
    WIDEST,
    WORD,
    Cost,
    kernel_cost,
    wavefronts,
)
from mlc_course.mugraph.thread_kernels.thread_accesses import with_buffers
from mlc_course.mugraph.thread_kernels.thread_lowering import Gpu, lower_for_threads
from mlc_course.mugraph.thread_kernels.thread_tilings import ThreadProgram, thread_program

__all__ = [
    "BANKS",
    "Cost",
    "Gpu",
    "Need",
    "WIDEST",
    "WORD",
    "best_fit",
    "kernel_cost",
    "lower_for_threads",
    "ThreadProgram",
    "thread_program",
    "wavefronts",
    "with_buffers",
]

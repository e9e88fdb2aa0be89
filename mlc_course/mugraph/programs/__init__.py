"""Which programs are known? The benchmark's workloads, and fused graphs written by hand.

The graphs are text files in ``graphs/``; ``catalogue`` reads them by name. ``in_numpy`` has the
programs as an engineer writes them in NumPy, to be timed beside compiled graphs.
"""

from mlc_course.mugraph.programs.catalogue import (
    FOUND,
    FREE_SIZED,
    MODELS,
    NAMES,
    PROGRAM_OF,
    found,
    free_sized,
    published,
    workload,
)
from mlc_course.mugraph.programs.numpy_programs import in_numpy

__all__ = [
    "FOUND",
    "FREE_SIZED",
    "MODELS",
    "NAMES",
    "PROGRAM_OF",
    "found",
    "free_sized",
    "in_numpy",
    "published",
    "workload",
]

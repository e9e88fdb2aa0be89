"""Which programs are known? The benchmark's workloads, and fused graphs written by hand.

The graphs are text files in ``graphs/``; ``catalogue`` reads them by name.
"""

from mlc_course.mugraph.programs.catalogue import (
    MODELS,
    NAMES,
    PROGRAM_OF,
    published,
    workload,
)

__all__ = [
    "MODELS",
    "NAMES",
    "PROGRAM_OF",
    "published",
    "workload",
]

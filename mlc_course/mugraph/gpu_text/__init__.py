"""What does a kernel look like in CUDA C++ or OpenCL C? Its text, statement by statement.

Read ``c_text`` first: the spelling of every statement. ``dialects`` is what two dialects of C
differ in, as data, and ``matrix_text`` spells products on a matrix unit.
"""

from mlc_course.mugraph.gpu_text.c_text import Source, launch_grid, source_of
from mlc_course.mugraph.gpu_text.dialects import CUDA, OPENCL, STORAGE_BYTES, Dialect

__all__ = [
    "CUDA",
    "Dialect",
    "OPENCL",
    "STORAGE_BYTES",
    "Source",
    "launch_grid",
    "source_of",
]

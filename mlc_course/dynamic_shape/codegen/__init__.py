"""Which code runs a program at every size? Kernels with loops of unknown length, and guards.

Read ``places`` first, the index maps, then ``points`` (what one element needs), ``passes`` (visits
of a row's columns), and ``cpu_rows`` and ``gpu_rows``, the loops around them. ``guarded_variants``
are for sizes that a guard asks for, ``compiled`` makes a function of it all, and ``index_cost``
counts divisions.
"""

from mlc_course.dynamic_shape.codegen.compiled import Bound, Compiled, compile_for_all_sizes
from mlc_course.dynamic_shape.codegen.cpu_rows import cpu_kernel
from mlc_course.dynamic_shape.codegen.gpu_rows import gpu_kernel
from mlc_course.dynamic_shape.codegen.guarded_variants import Variant, likely_sizes, variants
from mlc_course.dynamic_shape.codegen.index_cost import divisions_at
from mlc_course.dynamic_shape.codegen.templates import Lowered

__all__ = [
    "Bound",
    "Compiled",
    "Lowered",
    "Variant",
    "compile_for_all_sizes",
    "cpu_kernel",
    "divisions_at",
    "gpu_kernel",
    "likely_sizes",
    "variants",
]

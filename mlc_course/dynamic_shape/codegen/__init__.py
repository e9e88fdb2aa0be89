"""Which code runs a program at every size? Kernels with loops of unknown length, and guards.

Read ``places`` first, the index maps, then ``points`` (what one element needs), ``passes`` (visits
of a row's columns), and ``cpu_rows`` and ``gpu_rows``, the loops around them. ``row_memory`` says
where a row is kept between passes. ``guarded_variants`` are for sizes that a guard asks for,
``plan_code`` has those of a plan, ``compiled`` makes a function of them, and ``index_cost`` counts
divisions.
"""

from mlc_course.dynamic_shape.codegen.compiled import Bound, Compiled, compile_for_all_sizes
from mlc_course.dynamic_shape.codegen.guarded_variants import Variant
from mlc_course.dynamic_shape.codegen.index_cost import divisions_at
from mlc_course.dynamic_shape.codegen.plan_code import (
    CODE,
    PlannedKernel,
    Target,
    planned_kernels,
)
from mlc_course.dynamic_shape.codegen.templates import Lowered

__all__ = [
    "Bound",
    "CODE",
    "Compiled",
    "Lowered",
    "PlannedKernel",
    "Target",
    "Variant",
    "compile_for_all_sizes",
    "divisions_at",
    "planned_kernels",
]

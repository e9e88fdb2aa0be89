"""Which mu-graphs run at every size? One kernel, for all extents of a grid and of a loop.

Read ``symbolic_graphs`` first, which says what follows a size and what is refused, then
``all_sizes``, which decides that kernels are right at every size, by as many of them as
``sums_multiplied`` counts. ``kernel_guards`` say which of
them runs, and ``compiled_symbolic`` makes a function of it all.
"""

from mlc_course.mugraph.symbolic.all_sizes import AllSizes, deciding_sizes, verify_all_sizes
from mlc_course.mugraph.symbolic.compiled_symbolic import (
    BoundSymbolic,
    CompiledSymbolic,
    compile_symbolic,
)
from mlc_course.mugraph.symbolic.kernel_guards import Variant, variants
from mlc_course.mugraph.symbolic.symbolic_graphs import SymbolicGraph, symbolic_graph

__all__ = [
    "AllSizes",
    "BoundSymbolic",
    "CompiledSymbolic",
    "SymbolicGraph",
    "Variant",
    "compile_symbolic",
    "deciding_sizes",
    "symbolic_graph",
    "variants",
    "verify_all_sizes",
]

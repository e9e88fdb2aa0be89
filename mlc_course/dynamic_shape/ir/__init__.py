"""Which sizes does a program not know yet, and how do they depend on each other?

Read ``dims`` first, then ``constraints``, the predicates of the shape-constraint graph.
"""

from mlc_course.dynamic_shape.ir.constraints import (
    AffineEq,
    AtMost,
    Constraint,
    Divisible,
    Eq,
    Less,
    MulEq,
    ProductEq,
    dims_of,
    holds,
    said,
)
from mlc_course.dynamic_shape.ir.dims import Dim, SymbolicDim

__all__ = [
    "AffineEq",
    "AtMost",
    "Constraint",
    "Dim",
    "Divisible",
    "Eq",
    "Less",
    "MulEq",
    "ProductEq",
    "SymbolicDim",
    "dims_of",
    "holds",
    "said",
]

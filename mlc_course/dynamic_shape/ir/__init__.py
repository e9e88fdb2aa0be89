"""Which sizes does a program not know yet, and how do they depend on each other?

Read ``dims`` and ``constraints`` first, the shape-constraint graph, then ``operators``, each with
the facts that it asserts, ``module``, and ``text_form``. ``lowering`` goes from tensors to buffers
and back, and ``interpreter`` runs it all.
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
    forced_size,
    holds,
    said,
)
from mlc_course.dynamic_shape.ir.dims import LARGEST, Dim, SymbolicDim, is_name
from mlc_course.dynamic_shape.ir.formulas import parse_constraint
from mlc_course.dynamic_shape.ir.interpreter import bind, run
from mlc_course.dynamic_shape.ir.lowering import memory_of, to_buffers, to_tensors
from mlc_course.dynamic_shape.ir.module import Equation, Function, Input, Module
from mlc_course.dynamic_shape.ir.operators import BY_NAME, DTYPES, Array, Op, Type
from mlc_course.dynamic_shape.ir.specialize import specialized
from mlc_course.dynamic_shape.ir.text_form import parse, text, type_text

__all__ = [
    "AffineEq",
    "Array",
    "AtMost",
    "BY_NAME",
    "Constraint",
    "DTYPES",
    "Dim",
    "Divisible",
    "Eq",
    "Equation",
    "Function",
    "Input",
    "LARGEST",
    "Less",
    "Module",
    "MulEq",
    "Op",
    "ProductEq",
    "SymbolicDim",
    "Type",
    "bind",
    "dims_of",
    "forced_size",
    "holds",
    "is_name",
    "memory_of",
    "parse",
    "parse_constraint",
    "run",
    "said",
    "specialized",
    "text",
    "to_buffers",
    "to_tensors",
    "type_text",
]

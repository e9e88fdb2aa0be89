"""How does a graph become a function of arrays? It is lowered, compiled, and called.

Read ``compiled`` first: ``compile_graph`` gives a callable, for a target of ``TARGETS``; ``target``
says what a target is; ``on_cpu``, ``on_box`` and ``on_cuda`` are some. ``arrays`` says what may be
given to a call, ``checking`` compares what it returns with the interpreter, and ``beside_numpy``
times the first few of the tilings that the cost model ranks.
"""

from mlc_course.mugraph.runtime.arrays import HOST, CopiedInput, Memory, empty, random_inputs
from mlc_course.mugraph.runtime.beside_numpy import (
    BLOCK_BY_BLOCK,
    NUMPY,
    Racer,
    fastest_of_each,
    race,
    timed,
    verified,
)
from mlc_course.mugraph.runtime.checking import Check, check
from mlc_course.mugraph.runtime.compiled import TARGETS, Bound, Compiled, compile_graph
from mlc_course.mugraph.runtime.on_cuda import arch_here
from mlc_course.mugraph.runtime.target import Lowered, Options, Target, Text

__all__ = [
    "BLOCK_BY_BLOCK",
    "Bound",
    "Check",
    "Compiled",
    "CopiedInput",
    "HOST",
    "Lowered",
    "Memory",
    "NUMPY",
    "Options",
    "Racer",
    "TARGETS",
    "Target",
    "Text",
    "arch_here",
    "check",
    "compile_graph",
    "empty",
    "fastest_of_each",
    "race",
    "random_inputs",
    "timed",
    "verified",
]

"""What is a mu-graph? Operators, graphs of three levels, their text form and their interpreter.

Read ``nodes`` first, then ``ops``, where each operator is one shape rule and one formula, then
``parser`` and ``printer`` for the text form. ``builder`` makes graphs in Python, ``interpreter``
runs them.
"""

from mlc_course.mugraph.ir import ops
from mlc_course.mugraph.ir.arithmetic import FLOAT16, FLOAT32, FLOAT64, Array, Floats, Shape
from mlc_course.mugraph.ir.builder import BlockBuilder, Builder, Value
from mlc_course.mugraph.ir.check import AFTER, ALWAYS, GRID_AXES, LOOP, offsets, resolved
from mlc_course.mugraph.ir.constants import Constant, Number, root
from mlc_course.mugraph.ir.graph import KernelGraph
from mlc_course.mugraph.ir.interpreter import (
    Access,
    Blocks,
    Index,
    evaluate,
    indices,
    run,
    value_of,
)
from mlc_course.mugraph.ir.json_form import from_json, to_json
from mlc_course.mugraph.ir.mirage import read_mirage
from mlc_course.mugraph.ir.nodes import (
    Axes,
    AxisMap,
    BlockGraph,
    Equation,
    Input,
    Load,
    Store,
    ThreadGraph,
    thread_graph,
)
from mlc_course.mugraph.ir.ops import BY_NAME, Op, reduced
from mlc_course.mugraph.ir.parser import parse
from mlc_course.mugraph.ir.printer import call, map_text, thread_lines

__all__ = [
    "AFTER",
    "ALWAYS",
    "Access",
    "Array",
    "Axes",
    "AxisMap",
    "BY_NAME",
    "BlockBuilder",
    "BlockGraph",
    "Blocks",
    "Builder",
    "Constant",
    "Equation",
    "FLOAT16",
    "FLOAT32",
    "FLOAT64",
    "Floats",
    "GRID_AXES",
    "Index",
    "Input",
    "KernelGraph",
    "LOOP",
    "Load",
    "Number",
    "Op",
    "Shape",
    "Store",
    "ThreadGraph",
    "Value",
    "call",
    "evaluate",
    "from_json",
    "indices",
    "map_text",
    "offsets",
    "ops",
    "parse",
    "read_mirage",
    "reduced",
    "resolved",
    "root",
    "run",
    "thread_graph",
    "thread_lines",
    "value_of",
    "to_json",
]

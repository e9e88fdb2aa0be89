"""Lowering of block graphs to kernels, as far as it is the same for all machines.

Read ``tile_graph`` first, which runs the operators' formulas on tiles, then ``block_lowering``,
which gives tiles their place and their order. ``tilings`` are the steps of grids and loops,
``dimension_labels`` says which may be changed, and ``unfused`` makes block graphs of operators.
``sized_lowering`` is for grids and loops whose extents depend on sizes.
"""

from mlc_course.mugraph.codegen.block_lowering import (
    BlockLowering,
    Finish,
    Formula,
    Indexed,
    KernelLowering,
    global_buffer,
    program_of,
    value_name,
)
from mlc_course.mugraph.codegen.dimension_labels import FreeAxes, free_axes, obstacle
from mlc_course.mugraph.codegen.sized_lowering import Sized, SizedLowering
from mlc_course.mugraph.codegen.tile_graph import (
    CONCAT,
    ELEMENT,
    LOAD,
    PRODUCT,
    REDUCE,
    STATE,
    VIEW,
    Carry,
    Node,
    TileGraph,
    at_index,
    live_nodes,
)
from mlc_course.mugraph.codegen.tilings import (
    Cut,
    SizedCut,
    Tiling,
    cut_extent,
    load_tile,
    published_tiling,
    retiled,
)
from mlc_course.mugraph.codegen.unfused import in_blocks

__all__ = [
    "BlockLowering",
    "CONCAT",
    "Carry",
    "Cut",
    "ELEMENT",
    "Finish",
    "Formula",
    "FreeAxes",
    "Indexed",
    "KernelLowering",
    "LOAD",
    "Node",
    "PRODUCT",
    "REDUCE",
    "STATE",
    "Sized",
    "SizedCut",
    "SizedLowering",
    "TileGraph",
    "Tiling",
    "VIEW",
    "at_index",
    "cut_extent",
    "free_axes",
    "global_buffer",
    "in_blocks",
    "live_nodes",
    "load_tile",
    "obstacle",
    "program_of",
    "published_tiling",
    "retiled",
    "value_name",
]

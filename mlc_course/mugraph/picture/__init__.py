"""What does a mu-graph look like? SVG of kernel graphs, and of one block's tiles at work.

Read ``kernel_graph`` first; ``block_tiles`` shows the tiles of one block in one iteration.
"""

from mlc_course.mugraph.picture.block_tiles import Stage, tiles_svg
from mlc_course.mugraph.picture.kernel_graph import graph_svg

__all__ = [
    "Stage",
    "graph_svg",
    "tiles_svg",
]

"""What does a graph cost before it has been measured? Bytes, operations, launches, estimated time.

Read ``graph_cost`` first; ``targets`` are the machines, ``memory_traffic`` the bytes alone.
"""

from mlc_course.mugraph.cost.block_accesses import (
    Tile,
    block_graph,
    moment,
    said,
    sentence,
    tiles,
)
from mlc_course.mugraph.cost.graph_cost import (
    Cost,
    Counts,
    block_counts,
    cost,
    counts,
    fits,
    loaded_elements,
    seconds,
    why,
)
from mlc_course.mugraph.cost.memory_traffic import kilobytes, table, total, traffic
from mlc_course.mugraph.cost.operation_counts import Operations, operations
from mlc_course.mugraph.cost.targets import A100, H100, TARGETS, Target, target

__all__ = [
    "A100",
    "Cost",
    "Counts",
    "H100",
    "Operations",
    "TARGETS",
    "Target",
    "Tile",
    "block_counts",
    "block_graph",
    "cost",
    "counts",
    "fits",
    "kilobytes",
    "loaded_elements",
    "moment",
    "operations",
    "said",
    "seconds",
    "sentence",
    "table",
    "target",
    "tiles",
    "total",
    "traffic",
    "why",
]

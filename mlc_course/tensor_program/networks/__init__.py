"""How are operators put together? A network as a Relax graph: read, fused, compiled, raced.

Read ``graphs`` first, then ``fusion``: who may share a kernel, and why not.
"""

from mlc_course.tensor_program.networks import network, passes
from mlc_course.tensor_program.networks.fusion import fuse, partitioned, sketch, traffic
from mlc_course.tensor_program.networks.graphs import KINDS, Graph, graph, scratch_bytes
from mlc_course.tensor_program.networks.network import (
    CLASSES,
    HIDDEN,
    PIXELS,
    Network,
    classifier,
    digits,
    linear,
    linear_relu,
    train,
)
from mlc_course.tensor_program.networks.picture import graph_svg
from mlc_course.tensor_program.networks.race import compiled, race_graphs

__all__ = [
    "CLASSES",
    "Graph",
    "HIDDEN",
    "KINDS",
    "Network",
    "PIXELS",
    "classifier",
    "compiled",
    "digits",
    "fuse",
    "graph",
    "graph_svg",
    "linear",
    "linear_relu",
    "network",
    "partitioned",
    "passes",
    "race_graphs",
    "scratch_bytes",
    "sketch",
    "traffic",
    "train",
]

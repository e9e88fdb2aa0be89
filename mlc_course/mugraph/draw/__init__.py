"""Pictures of mu-graphs as SVG text."""

from mlc_course.mugraph.draw.graph import graph_svg
from mlc_course.mugraph.draw.tiles import tiles_svg

__all__ = ["graph_svg", "tiles_svg"]

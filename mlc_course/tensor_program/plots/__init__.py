"""What do a climb and a roofline look like? Pictures of records, drawn by matplotlib.

Read ``ladder_bars`` first: ours are bars, NumPy is a line, the roof is dashed.
"""

from mlc_course.tensor_program.plots import ladder_bars
from mlc_course.tensor_program.plots.ladder_bars import (
    ladder_svg,
    machines_drawing,
    save_machines,
    save_plot,
)
from mlc_course.tensor_program.plots.roofline_plot import record_svg, roofline_svg, save_roofline

__all__ = [
    "ladder_bars",
    "ladder_svg",
    "machines_drawing",
    "record_svg",
    "roofline_svg",
    "save_machines",
    "save_plot",
    "save_roofline",
]
